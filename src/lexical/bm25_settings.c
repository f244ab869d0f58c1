/* How commands rank by BM25: options, passages with generated queries appended, feedback. */
#include "bm25.h"

#include <gabbro/artifact.h>

#include <stdlib.h>
#include <string.h>

#define FIELD(member) GB_FIELD(gb_bm25_settings, member)
const gb_option gb_bm25_options[] = {
    {"k1", GB_OPTION_REAL, FIELD(k1), 0, NULL, "BM25's k1", .max = 1e30},
    {"b", GB_OPTION_RATIO, FIELD(b), 0, NULL, "BM25's b"},
    {"queries-per-passage", GB_OPTION_U32, FIELD(per_passage), 0, NULL,
     "append the first N generated queries of a passage to it, as docT5query; 0: none"},
    {"generated", GB_OPTION_TEXT, FIELD(generated), GB_OPTION_INPUT, "ARTIFACT",
     "generated queries to append (default: the collection's own)"},
    {"repetitions", GB_OPTION_U32, FIELD(repetitions), 0, NULL,
     "times that each generated query is appended: its weight", .min = 1, .max = 1000},
    {"term-weights", GB_OPTION_TEXT, FIELD(weights), GB_OPTION_INPUT, "ARTIFACT",
     "index the words and frequencies of gabbro weigh-words in the place of the passages (DeepCT)"},
    {"expansions", GB_OPTION_TEXT, FIELD(expansions), GB_OPTION_INPUT, "FILE",
     "texts to append to queries (GAR): lines of {\"_id\": \"q1\", \"text\": \"...\"}, or the "
     "artifact of "
     "gabbro generate for a collection --questions-of"},
    {"rm3", GB_OPTION_FLAG, FIELD(rm3), 0, NULL,
     "search again with terms of the first passages (RM3)"},
    {"feedback-passages", GB_OPTION_U32, FIELD(feedback.passages), 0, NULL,
     "passages that RM3 takes terms of", .min = 1, .max = 10000},
    {"feedback-terms", GB_OPTION_U32, FIELD(feedback.terms), 0, NULL, "terms that RM3 adds",
     .min = 1, .max = 10000},
    {"original-weight", GB_OPTION_RATIO, FIELD(feedback.original), 0, NULL,
     "weight of the original query in RM3's"},
    {0}};
#undef FIELD

bool gb_bm25_settings_plain(const gb_bm25_settings *s)
{
    const gb_bm25_settings plain = GB_BM25_SETTINGS;
    return s->k1 == plain.k1 && s->b == plain.b && !s->per_passage && !s->generated &&
           !s->weights && !s->expansions && !s->rm3 && s->repetitions == plain.repetitions &&
           s->feedback.passages == plain.feedback.passages &&
           s->feedback.terms == plain.feedback.terms &&
           s->feedback.original == plain.feedback.original;
}

bool gb_bm25_settings_check(const gb_bm25_settings *s, gb_status *status)
{
    const gb_bm25_settings plain = GB_BM25_SETTINGS;
    if (!s->per_passage && (s->generated || s->repetitions != plain.repetitions))
        return gb_fail(status, GB_USAGE, NULL, "give --queries-per-passage, too",
                       "--generated and --repetitions are of queries that are appended");
    if (s->weights && s->per_passage)
        return gb_fail(status, GB_USAGE, NULL, "leave one of them out",
                       "--term-weights stands in the place of passages, to which "
                       "--queries-per-passage appends");
    if (!s->rm3 && (s->feedback.passages != plain.feedback.passages ||
                    s->feedback.terms != plain.feedback.terms ||
                    s->feedback.original != plain.feedback.original))
        return gb_fail(status, GB_USAGE, NULL, "give --rm3, too",
                       "--feedback-passages, --feedback-terms and --original-weight are of RM3");
    return true;
}

bool gb_bm25_settings_use(const gb_bm25_settings *s, gb_collection *collection, gb_status *status)
{
    if (!gb_bm25_settings_check(s, status))
        return false;
    if (!s->per_passage)
        return true;
    if (s->generated)
        return gb_use_queries(collection, s->generated, status);
    return collection->generated || gb_fail(status, GB_DATA, collection->path, "give --generated",
                                            "the collection has no generated queries to append");
}

gb_bm25_params gb_bm25_settings_params(const gb_bm25_settings *s)
{
    gb_bm25_params params = gb_bm25_defaults();
    params.k1 = s->k1;
    params.b = s->b;
    if (s->rm3)
        params.rm3 = s->feedback;
    return params;
}

void gb_bm25_settings_expand(const gb_bm25_settings *s, const gb_collection *collection,
                             uint32_t passage, gb_text *text)
{
    size_t length, size;
    if (!s->per_passage || !collection || !collection->generated)
        return;
    const char *row = gb_row_file_row(collection->generated, passage, &length);
    uint32_t count = gb_generated_row_count(row, length);
    for (uint32_t i = 0; i < count && i < s->per_passage; i++) {
        const char *query = gb_generated_row_query(row, length, i, &size);
        for (uint32_t n = 0; n < s->repetitions; n++) {
            gb_text_append(text, " ", 1);
            gb_text_append(text, query, size);
        }
    }
}

/* Passages of a file of weights, in the collection's order. */
typedef struct weighted {
    gb_bm25 *index;                  /* growing */
    const gb_collection *collection; /* whose passages they are */
    gb_progress progress;            /* in passages */
} weighted;

static bool take_weighted(void *ctx, const gb_lines *lines, const json_t *object, gb_status *status)
{
    weighted *w = ctx;
    const char *id = gb_json_text(object, "id"), *word;
    const json_t *vector = json_object_get(object, "vector");
    json_t *value;
    uint32_t row = gb_bm25_count(w->index);
    size_t length = 0;
    const char *wanted = row < w->collection->passages
                             ? gb_row_file_row(w->collection->passage_ids, row, &length)
                             : "";
    if (row >= w->collection->passages || strlen(id) != length || memcmp(id, wanted, length) != 0)
        return gb_lines_fail(lines, status, "weigh the words of this collection",
                             "passage \"%.80s\", not \"%.*s\"", id, (int)length, wanted);
    if (!json_is_object(vector))
        return gb_lines_fail(lines, status,
                             "a line is {\"id\": \"p1\", \"vector\": {\"word\": 12}}",
                             "no \"vector\" of words");
    json_object_foreach((json_t *)vector, word, value)
    {
        json_int_t count = json_is_integer(value) ? json_integer_value(value) : -1;
        if (count < 0 || count > UINT16_MAX)
            return gb_lines_fail(lines, status, "frequencies are whole numbers from 0 to 65535",
                                 "the frequency of \"%.80s\" is none", word);
        if (!gb_bm25_add_words(w->index, word, strlen(word), (uint32_t)count, status))
            return false;
    }
    gb_progress_update(&w->progress, row + 1, NULL);
    return gb_not_interrupted(NULL, status) && gb_bm25_end_words(w->index, status);
}

/* Adds the words of an artifact of gabbro weigh-words in the place of the passages. */
static bool add_weighted(gb_bm25 *index, const gb_collection *collection, const char *artifact,
                         gb_status *status)
{
    weighted w = {.index = index, .collection = collection};
    gb_progress_begin(&w.progress, "bm25 index", "passages", collection->passages, 0);
    char *path = gb_path_join(status, artifact, "vectors.jsonl");
    bool ok = path && gb_jsonl_each(gb_lines_open(path, status), take_weighted, &w, status);
    if (ok && gb_bm25_count(index) != collection->passages)
        ok = gb_fail(status, GB_DATA, path, "weigh the words of this collection",
                     "%u passages of %u", gb_bm25_count(index), collection->passages);
    if (ok)
        gb_progress_end_long(&w.progress, collection->passages);
    free(path);
    return ok;
}

static bool add_passages(gb_bm25 *index, const gb_collection *collection,
                         const gb_bm25_settings *settings, gb_status *status)
{
    gb_text text = {0};
    gb_progress progress;
    bool ok = true;
    gb_progress_begin(&progress, "bm25 index", "passages", collection->passages, 0);
    for (uint32_t p = 0; ok && p < collection->passages; p++) {
        text.length = 0;
        gb_collection_passage(collection, p, &text);
        gb_bm25_settings_expand(settings, collection, p, &text);
        ok = text.failed ? gb_fail_memory(status, "indexing")
                         : gb_not_interrupted(NULL, status) &&
                               gb_bm25_add(index, text.data ? text.data : "", text.length, status);
        gb_progress_update(&progress, p + 1, NULL);
    }
    if (ok)
        gb_progress_end_long(&progress, collection->passages);
    gb_text_free(&text);
    return ok;
}

bool lexical_add_collection(gb_bm25 *index, const gb_collection *collection,
                            const gb_bm25_settings *settings, gb_status *status)
{
    return settings->weights ? add_weighted(index, collection, settings->weights, status)
                             : add_passages(index, collection, settings, status);
}

gb_bm25 *gb_bm25_of_settings(const gb_collection *collection, const gb_bm25_settings *settings,
                             gb_status *status)
{
    gb_bm25 *index = gb_bm25_create(gb_bm25_settings_params(settings), status);
    if (index && lexical_add_collection(index, collection, settings, status) &&
        gb_bm25_finish(index, status))
        return index;
    gb_bm25_destroy(index);
    return NULL;
}

gb_bm25 *gb_bm25_of(const gb_collection *collection, gb_status *status)
{
    const gb_bm25_settings plain = GB_BM25_SETTINGS;
    return gb_bm25_of_settings(collection, &plain, status);
}
