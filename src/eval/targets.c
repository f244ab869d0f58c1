/* Questions as texts to generate from: what a generator learns to write for them (GAR, Mao et al.,
 * "Generation-augmented retrieval for open-domain question answering", ACL 2021). */
#include <gabbro/eval.h>

#include <gabbro/json.h>

#include <stdlib.h>
#include <string.h>

const char *const gb_generated_names[] = {"none", "answer", "sentence", "title", NULL};

typedef struct targets {
    const gb_collection *collection; /* of questions and passages */
    gb_generated kind;               /* what is wanted */
    gb_run_names names;              /* of the collection */
    gb_answers *answers;             /* or NULL */
    char **first;                    /* [queries] first answer of each, or NULL */
    gb_analyzer *analyzer;           /* for sentences without answers */
    gb_span *spans;                  /* sentences of a passage */
    size_t span_capacity;            /* allocated */
    FILE *queries, *qrels;           /* what is written */
    uint32_t count;                  /* targets so far */
} targets;

/* ---- answers ---- */

static bool read_first_answers(targets *t, gb_status *status)
{
    const gb_collection *c = t->collection;
    if (c->regex_answers)
        return gb_fail(status, GB_DATA, c->path, "use another --target",
                       "its answers are regular expressions, which nobody should learn to write");
    char *path = gb_path_join(status, c->path, "answers.tsv"), *line;
    size_t length;
    int got = path ? 0 : -1;
    t->first = gb_alloc(gb_row_file_count(c->queries), sizeof *t->first, status);
    gb_lines *lines = t->first && path && gb_file_exists(path) ? gb_lines_open(path, status) : NULL;
    while (lines && (got = gb_lines_next_text(lines, &line, &length, status)) == 1) {
        const char *id = gb_take_field(&line, "\t"), *answer = gb_take_field(&line, "\t");
        uint32_t row;
        if (!gb_names_row(t->names.queries, id, strlen(id), &row, status) ||
            (answer && row != GB_MAP_NONE && !t->first[row] &&
             !(t->first[row] = gb_strdup(answer, status))))
            break;
    }
    gb_lines_close(lines);
    free(path);
    return t->first && got == 0;
}

/* ---- sentences ---- */

/* Counts terms of a sentence that the question has. */
typedef struct shared {
    gb_map *terms;     /* of the question */
    uint32_t count;    /* of them in the sentence */
    gb_status *status; /* of the map */
} shared;

static bool add_term(void *ctx, const char *bytes, size_t length)
{
    shared *s = ctx;
    return gb_map_set(s->terms, bytes, length, 1, s->status);
}

static bool count_term(void *ctx, const char *bytes, size_t length)
{
    shared *s = ctx;
    s->count += gb_map_get(s->terms, bytes, length) != GB_MAP_NONE;
    return true;
}

/* How well a sentence does: 1 if it holds an answer, else 0; without answers the terms that it
 * shares with the question. */
static bool score_sentence(targets *t, uint32_t query, shared *s, const char *text, size_t length,
                           uint32_t *score, gb_status *status)
{
    bool held = false;
    s->count = 0;
    if (t->answers ? !gb_answers_hold(t->answers, query, text, length, &held, status)
                   : !gb_analyze(t->analyzer, text, length, count_term, s, status))
        return false;
    *score = t->answers ? held : s->count;
    return true;
}

/* The best sentence of a passage, of equal ones the first; *length is 0 if none is any good. */
static bool best_sentence(targets *t, uint32_t query, uint32_t passage, const char **sentence,
                          size_t *length, gb_status *status)
{
    size_t bytes, query_bytes, count = 0;
    const char *text = gb_row_file_row(t->collection->texts, passage, &bytes);
    const char *question = gb_row_file_row(t->collection->queries, query, &query_bytes);
    shared s = {.terms = gb_map_create(status), .status = status};
    uint32_t most = 0;
    bool ok = s.terms && gb_analyze(t->analyzer, question, query_bytes, add_term, &s, status) &&
              gb_sentences(text, bytes, &t->spans, &t->span_capacity, &count, status);
    *length = 0;
    for (size_t i = 0; ok && i < count; i++) {
        const gb_span *span = &t->spans[i];
        uint32_t score = 0;
        ok = score_sentence(t, query, &s, text + span->start, span->end - span->start, &score,
                            status);
        if (score <= most)
            continue;
        most = score;
        *sentence = text + span->start;
        *length = span->end - span->start;
    }
    gb_map_destroy(s.terms);
    return ok;
}

/* ---- files ---- */

static bool write_text(FILE *out, const char *id, size_t id_length, const char *text, size_t length,
                       gb_status *status)
{
    return gb_json_write_line(json_pack("{s:s%, s:s%}", "_id", id, id_length, "text", text, length),
                              out, status);
}

/* Text and length of what is to be written for a question by one of its positives; length 0:
 * nothing.
 */
static bool find_target(targets *t, uint32_t query, uint32_t passage, const char **text,
                        size_t *length, gb_status *status)
{
    *length = 0;
    if (t->kind == GB_GENERATED_SENTENCE)
        return best_sentence(t, query, passage, text, length, status);
    if (t->kind == GB_GENERATED_TITLE)
        *text = gb_row_file_row(t->collection->titles, passage, length);
    else if ((*text = t->first[query]))
        *length = strlen(*text);
    return true;
}

/* The target of the questions of the training split: of the first positive that has one. */
static bool write_targets(targets *t, const gb_qrels *qrels, gb_status *status)
{
    for (size_t j = 0; j < qrels->count; j++) {
        const gb_qrel *judged = &qrels->rows[j];
        const char *text = NULL;
        size_t length, id_length;
        const char *id = gb_row_file_row(t->collection->query_ids, judged->query, &id_length);
        if (judged->grade <= 0)
            continue;
        if (!find_target(t, judged->query, judged->passage, &text, &length, status))
            return false;
        if (!length)
            continue;
        if (!write_text(t->queries, id, id_length, text, length, status))
            return false;
        fprintf(t->qrels, "%.*s\t%.*s\t1\n", (int)id_length, id, (int)id_length, id);
        t->count++;
        while (j + 1 < qrels->count && qrels->rows[j + 1].query == judged->query)
            j++;
    }
    return true;
}

static bool write_questions(targets *t, FILE *out, gb_status *status)
{
    const gb_collection *c = t->collection;
    for (uint32_t q = 0; q < gb_row_file_count(c->queries); q++) {
        size_t id_length, length;
        const char *id = gb_row_file_row(c->query_ids, q, &id_length);
        const char *text = gb_row_file_row(c->queries, q, &length);
        if (!write_text(out, id, id_length, text, length, status))
            return false;
    }
    return true;
}

static gb_out *open_in(const char *folder, const char *name, gb_status *status)
{
    char *path = gb_path_join(status, folder, name);
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    free(path);
    return out;
}

static bool write_all(targets *t, const gb_qrels *qrels, const char *folder, gb_status *status)
{
    gb_out *corpus = open_in(folder, "corpus.jsonl", status);
    gb_out *queries = corpus ? open_in(folder, "queries.jsonl", status) : NULL;
    gb_out *judged = queries ? open_in(folder, "qrels/train.tsv", status) : NULL;
    bool ok = judged && write_questions(t, gb_out_stream(corpus), status);
    if (ok) {
        t->queries = gb_out_stream(queries);
        t->qrels = gb_out_stream(judged);
        fprintf(t->qrels, "query-id\tcorpus-id\tscore\n");
        ok = write_targets(t, qrels, status);
    }
    gb_out *all[] = {corpus, queries, judged};
    for (int i = 0; i < 3; i++) {
        if (ok)
            ok = gb_out_commit(all[i], status);
        else
            gb_out_abandon(all[i]);
    }
    return ok;
}

bool gb_targets_write(const gb_collection *collection, gb_generated kind, const char *folder,
                      gb_status *status)
{
    targets t = {.collection = collection, .kind = kind};
    gb_qrels qrels = {0};
    char *inside = gb_path_join(status, folder, "qrels");
    bool ok = inside && gb_make_dirs(inside, status) &&
              gb_run_names_of(collection, &t.names, status) &&
              gb_answers_of(collection, t.names.queries, &t.answers, status) &&
              (t.analyzer = gb_analyzer_create(status)) &&
              (kind != GB_GENERATED_ANSWER || read_first_answers(&t, status)) &&
              gb_collection_qrels(collection, "train", &qrels, status) &&
              write_all(&t, &qrels, folder, status);
    if (ok && !t.count)
        ok = gb_fail(status, GB_DATA, collection->path,
                     "use another --target, or a collection that has it",
                     "no training query has a target \"%s\"", gb_generated_names[kind]);
    for (uint32_t q = 0; t.first && q < gb_row_file_count(collection->queries); q++)
        free(t.first[q]);
    free(t.first);
    free(t.spans);
    free(qrels.rows);
    free(inside);
    gb_analyzer_destroy(t.analyzer);
    gb_answers_destroy(t.answers);
    gb_run_names_free(&t.names);
    return ok;
}
