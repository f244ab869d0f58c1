/* Tokenised collections. Rows are cut into blocks; each worker tokenises a slice of a block into
 * its own buffer and the slices are written in order, so the number of threads changes nothing. */
#include "data/tokens.h"
#include <gabbro/json.h>
#include <gabbro/os.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const gb_title_join_names[] = {"space", "sep", "none", NULL};

enum { SPECIALS = 2, BLOCK_ROWS = 1 << 14, MAX_THREADS = 64 };

/* What makes ids of texts: a tokenizer of a vocabulary, or of a language model. */
typedef struct source {
    const gb_tokenizer *tokenizer; /* or NULL */
    const gb_coder *coder;         /* otherwise */
    char vocabulary[GB_HASH_SIZE]; /* hash of its tokens */
    uint32_t size;                 /* of its vocabulary */
    uint32_t around;               /* tokens that models put around a text */
    uint32_t sep, unk;             /* special tokens */
} source;

typedef enum token_kind { TOKENS_PASSAGES, TOKENS_QUERIES, TOKENS_GENERATED } token_kind;

/* What is said about a table when it is done. */
typedef struct token_counts {
    uint64_t texts;      /* passages or queries */
    uint64_t tokens;     /* ids kept */
    uint64_t truncated;  /* texts that were cut */
    uint64_t unknown;    /* [UNK] among the ids kept */
    uint64_t max_length; /* ids of the longest text before cutting */
} token_counts;

typedef struct token_job {
    const gb_collection *collection;
    const source *source;
    token_kind kind;
    size_t limit;       /* ids kept of a text */
    const char *prompt; /* put before every text, or NULL */
    gb_title_join join; /* of title and text of a passage */
} token_job;

/* A worker's slice of the current block. */
typedef struct slice {
    const token_job *job;
    uint32_t first, end; /* rows */
    gb_ids ids;          /* ids of all rows, one after another */
    size_t *row_end;     /* [rows] end of each row in ids */
    size_t row_space;    /* capacity of row_end */
    gb_text text;        /* scratch */
    gb_text prompted;    /* scratch: a text with its prompt */
    token_counts counts; /* over all blocks */
    gb_status status;    /* of this worker */
    bool ok;             /* the slice is complete */
} slice;

static bool add_ids(slice *s, const char *text, size_t length)
{
    const source *from = s->job->source;
    return from->coder ? gb_coder_encode_bare(from->coder, text, length, &s->ids, &s->status)
                       : gb_tokenize(from->tokenizer, text, length, &s->ids, &s->status);
}

/* Tokenise a text behind what ids hold, with the prompt before it. */
static bool add_prompted(slice *s, const char *text, size_t length)
{
    const token_job *job = s->job;
    if (job->prompt) {
        s->prompted.length = 0;
        gb_text_printf(&s->prompted, "%s", job->prompt);
        gb_text_append(&s->prompted, text, length);
        if (s->prompted.failed)
            return gb_fail_memory(&s->status, "tokenising");
        text = s->prompted.data ? s->prompted.data : "";
        length = s->prompted.length;
    }
    return add_ids(s, text, length);
}

/* The ids from `start` on are those of one text: cut at the limit, and counted. */
static void end_text(slice *s, size_t start)
{
    const token_job *job = s->job;
    uint32_t *ids = s->ids.data + start;
    size_t count = s->ids.count - start;
    if (job->kind == TOKENS_GENERATED) { /* a literal [SEP] would end the query early */
        size_t kept = 0;
        for (size_t i = 0; i < count; i++)
            if (ids[i] != job->source->sep)
                ids[kept++] = ids[i];
        count = kept;
    }
    s->counts.texts++;
    if (count > s->counts.max_length)
        s->counts.max_length = count;
    if (count > job->limit) {
        s->counts.truncated++;
        count = job->limit;
    }
    s->counts.tokens += count;
    for (size_t i = 0; i < count; i++)
        s->counts.unknown += ids[i] == job->source->unk;
    s->ids.count = start + count;
}

/* Tokenise one text behind what ids hold, cut at the limit. */
static bool add_text(slice *s, const char *text, size_t length)
{
    size_t start = s->ids.count;
    if (!add_prompted(s, text, length))
        return false;
    end_text(s, start);
    return true;
}

/* A passage whose title is joined with a token, or left away. */
static bool add_joined(slice *s, uint32_t row)
{
    const gb_collection *collection = s->job->collection;
    size_t length, titled, start = s->ids.count;
    const char *title = gb_row_file_row(collection->titles, row, &titled);
    const char *text = gb_row_file_row(collection->texts, row, &length);
    if (s->job->join == GB_TITLE_NONE || !titled)
        return add_text(s, text, length);
    if (!add_prompted(s, title, titled) ||
        !gb_ids_append(&s->ids, s->job->source->sep, &s->status) || !add_ids(s, text, length))
        return false;
    end_text(s, start);
    return true;
}

/* The queries of a passage, [SEP] between them. One without any token keeps its place as [UNK]. */
static bool add_generated(slice *s, const char *row, size_t length)
{
    for (size_t at = 0; at < length;) {
        const char *end = memchr(row + at, '\n', length - at);
        size_t size = end ? (size_t)(end - row) - at : length - at;
        if (at > 0 && !gb_ids_append(&s->ids, s->job->source->sep, &s->status))
            return false;
        size_t before = s->ids.count;
        if (!add_text(s, row + at, size) ||
            (s->ids.count == before && !gb_ids_append(&s->ids, s->job->source->unk, &s->status)))
            return false;
        at += size + 1;
    }
    return true;
}

static bool add_row(slice *s, uint32_t row)
{
    const gb_collection *collection = s->job->collection;
    size_t length;
    const char *text;
    switch (s->job->kind) {
    case TOKENS_PASSAGES:
        if (s->job->join != GB_TITLE_SPACE)
            return add_joined(s, row);
        s->text.length = 0;
        gb_collection_passage(collection, row, &s->text);
        if (s->text.failed)
            return gb_fail_memory(&s->status, "tokenising");
        return add_text(s, s->text.data ? s->text.data : "", s->text.length);
    case TOKENS_QUERIES:
        text = gb_row_file_row(collection->queries, row, &length);
        return add_text(s, text, length);
    case TOKENS_GENERATED:
        text = gb_row_file_row(collection->generated, row, &length);
        return add_generated(s, text, length);
    }
    return false;
}

static void *run_slice(void *argument)
{
    slice *s = argument;
    s->ids.count = 0;
    s->ok = gb_grow(&s->row_end, &s->row_space, (size_t)(s->end - s->first) + 1, sizeof *s->row_end,
                    &s->status);
    for (uint32_t row = s->first; row < s->end && s->ok; row++) {
        s->ok = add_row(s, row);
        s->row_end[row - s->first] = s->ids.count;
    }
    return NULL;
}

static bool write_slice(const slice *s, gb_row_writer *writer, gb_status *status)
{
    if (!s->ok) {
        if (status)
            *status = s->status;
        return false;
    }
    size_t start = 0;
    for (uint32_t i = 0; i < s->end - s->first; i++) {
        const uint32_t *row = s->ids.data ? s->ids.data + start : NULL;
        if (!gb_row_writer_add(writer, row, s->row_end[i] - start, status))
            return false;
        start = s->row_end[i];
    }
    return true;
}

/* Tokenise rows [first, end) with all slices and write them in order. */
static bool run_block(slice *slices, unsigned threads, uint32_t first, uint32_t end,
                      gb_row_writer *writer, gb_status *status)
{
    uint32_t rows = end - first;
    for (unsigned t = 0; t < threads; t++) {
        slices[t].first = first + (uint32_t)((uint64_t)rows * t / threads);
        slices[t].end = first + (uint32_t)((uint64_t)rows * (t + 1) / threads);
    }
    gb_run_parts(run_slice, slices, sizeof *slices, threads);
    for (unsigned t = 0; t < threads; t++)
        if (!write_slice(&slices[t], writer, status))
            return false;
    return true;
}

static void report(const char *label, const slice *slices, unsigned threads, json_t *json)
{
    token_counts all = {0};
    for (unsigned t = 0; t < threads; t++) {
        all.texts += slices[t].counts.texts;
        all.tokens += slices[t].counts.tokens;
        all.truncated += slices[t].counts.truncated;
        all.unknown += slices[t].counts.unknown;
        if (slices[t].counts.max_length > all.max_length)
            all.max_length = slices[t].counts.max_length;
    }
    double texts = all.texts ? (double)all.texts : 1.0,
           tokens = all.tokens ? (double)all.tokens : 1.0;
    gb_log(GB_LOG_INFO,
           "%s: %llu texts, %.1f tokens each, %.2f%% truncated, %.2f%% of tokens [UNK]", label,
           (unsigned long long)all.texts, (double)all.tokens / texts,
           100.0 * (double)all.truncated / texts, 100.0 * (double)all.unknown / tokens);
    json_t *counts = json_object();
    json_object_set_new(counts, "texts", json_integer((json_int_t)all.texts));
    json_object_set_new(counts, "tokens", json_integer((json_int_t)all.tokens));
    json_object_set_new(counts, "longest", json_integer((json_int_t)all.max_length));
    json_object_set_new(counts, "truncated", json_integer((json_int_t)all.truncated));
    json_object_set_new(counts, "unknown", json_integer((json_int_t)all.unknown));
    json_object_set_new(json, label, counts);
}

/* Tokenise one table of the collection into out_dir/<label>.ids.gbt. */
static bool tokenize_table(const token_job *job, const char *label, uint32_t rows,
                           const char *out_dir, unsigned threads, json_t *json, gb_status *status)
{
    char *path = gb_format(status, "%s/%s.ids.gbt", out_dir, label);
    slice *slices = gb_alloc(threads, sizeof *slices, status);
    gb_row_writer *writer = path && slices ? gb_row_writer_open(path, 4, status) : NULL;
    bool ok = writer != NULL;
    gb_progress progress;
    char shown[40];
    snprintf(shown, sizeof shown, "tokenize %s", label);
    gb_progress_begin(&progress, shown, "texts", rows, 0);
    for (unsigned t = 0; ok && t < threads; t++)
        slices[t].job = job;
    for (uint32_t first = 0, end; ok && first < rows; first = end) {
        end = rows - first < BLOCK_ROWS ? rows : first + BLOCK_ROWS;
        ok = run_block(slices, threads, first, end, writer, status);
        gb_progress_update(&progress, end, NULL);
    }
    if (ok)
        gb_progress_end_long(&progress, rows);
    ok = gb_row_writer_end(writer, ok, status);
    if (ok)
        report(label, slices, threads, json);
    for (unsigned t = 0; slices && t < threads; t++) {
        free(slices[t].ids.data);
        free(slices[t].row_end);
        gb_text_free(&slices[t].text);
        gb_text_free(&slices[t].prompted);
    }
    free(slices);
    free(path);
    return ok;
}

static bool tokenize_all(const gb_collection *collection, token_job *job,
                         const gb_tokenize_params *params, const char *out_dir, unsigned threads,
                         json_t *json, gb_status *status)
{
    job->kind = TOKENS_PASSAGES;
    job->limit = params->max_passage - job->source->around;
    job->prompt = params->passage_prompt;
    job->join = params->title_join;
    if (!tokenize_table(job, "passages", collection->passages, out_dir, threads, json, status))
        return false;
    job->kind = TOKENS_QUERIES;
    job->limit = params->max_query - job->source->around;
    job->prompt = params->query_prompt;
    uint32_t queries = (uint32_t)gb_row_file_count(collection->queries);
    if (!tokenize_table(job, "queries", queries, out_dir, threads, json, status))
        return false;
    job->kind = TOKENS_GENERATED;
    return !collection->generated ||
           tokenize_table(job, "generated", collection->passages, out_dir, threads, json, status);
}

static bool tokenize_by(const gb_collection *collection, const source *from,
                        const gb_tokenize_params *params, const char *out_dir, unsigned threads,
                        gb_status *status)
{
    if (params->max_passage <= SPECIALS || params->max_query <= SPECIALS)
        return gb_fail(status, GB_USAGE, NULL, "lengths count [CLS] and [SEP]",
                       "maximum lengths %u and %u leave no room for text", params->max_passage,
                       params->max_query);
    if (threads < 1 || threads > MAX_THREADS)
        threads = threads < 1 ? 1 : MAX_THREADS;
    token_job job = {.collection = collection, .source = from};
    char *path = gb_path_join(status, out_dir, "tokens.json");
    json_t *json = json_object();
    bool ok = path && gb_make_dirs(out_dir, status);
    if (ok) {
        json_object_set_new(json, "vocabulary_hash", json_string(from->vocabulary));
        json_object_set_new(json, "vocabulary", json_integer(from->size));
        json_object_set_new(json, "max_passage", json_integer(params->max_passage));
        json_object_set_new(json, "max_query", json_integer(params->max_query));
        if (params->query_prompt)
            json_object_set_new(json, "query_prompt", json_string(params->query_prompt));
        if (params->passage_prompt)
            json_object_set_new(json, "passage_prompt", json_string(params->passage_prompt));
        if (params->title_join != GB_TITLE_SPACE)
            json_object_set_new(json, "title_join",
                                json_string(gb_title_join_names[params->title_join]));
        ok = tokenize_all(collection, &job, params, out_dir, threads, json, status) &&
             gb_json_save(json, GB_JSON_DESCRIPTION, path, status);
    }
    json_decref(json);
    free(path);
    return ok;
}

bool data_collection_tokenize_with(const gb_collection *collection, const gb_tokenizer *tokenizer,
                                   const gb_vocab *vocab, const gb_tokenize_params *params,
                                   const char *out_dir, unsigned threads, gb_status *status)
{
    gb_special_ids ids = gb_vocab_specials(vocab);
    source of = {.tokenizer = tokenizer,
                 .size = gb_vocab_size(vocab),
                 .around = SPECIALS,
                 .sep = ids.sep,
                 .unk = ids.unk};
    return gb_vocab_hash(vocab, of.vocabulary, status) &&
           tokenize_by(collection, &of, params, out_dir, threads, status);
}

bool gb_collection_tokenize_language(const gb_collection *collection, const gb_coder *coder,
                                     const gb_tokenize_params *params, const char *out_dir,
                                     gb_status *status)
{
    gb_coder_ids ids = gb_coder_special_ids(coder);
    source of = {.coder = coder,
                 .size = gb_coder_size(coder),
                 .around = gb_coder_around(coder),
                 .sep = ids.end,
                 .unk = ids.unk};
    if (params->title_join == GB_TITLE_SEP)
        return gb_fail(status, GB_USAGE, "--title-join", "space or none",
                       "a language model has no separator token");
    snprintf(of.vocabulary, sizeof of.vocabulary, "%s", gb_coder_hash(coder));
    return tokenize_by(collection, &of, params, out_dir, gb_os_processors(), status);
}

bool gb_collection_tokenize(const gb_collection *collection, const gb_tokenizer *tokenizer,
                            const gb_vocab *vocab, const gb_tokenize_params *params,
                            const char *out_dir, gb_status *status)
{
    return data_collection_tokenize_with(collection, tokenizer, vocab, params, out_dir,
                                         gb_os_processors(), status);
}

/* ---- reading ---- */

static bool read_prompt(const json_t *json, const char *name, char **prompt, gb_status *status)
{
    const char *text = json_string_value(json_object_get(json, name));
    return !text || (*prompt = gb_strdup(text, status)) != NULL;
}

/* tokens.json */
static bool read_making(const char *dir, gb_tokens *tokens, gb_status *status)
{
    char *path = gb_path_join(status, dir, "tokens.json");
    json_t *json = path ? gb_json_load(path, 0, status) : NULL;
    const char *hash = json_string_value(json_object_get(json, "vocabulary_hash"));
    bool ok = json != NULL;
    if (ok) {
        tokens->max_passage = (uint32_t)json_integer_value(json_object_get(json, "max_passage"));
        tokens->max_query = (uint32_t)json_integer_value(json_object_get(json, "max_query"));
        snprintf(tokens->vocabulary, sizeof tokens->vocabulary, "%s", hash ? hash : "");
        ok = read_prompt(json, "query_prompt", &tokens->query_prompt, status) &&
             read_prompt(json, "passage_prompt", &tokens->passage_prompt, status);
    }
    if (ok && (tokens->max_passage <= SPECIALS || tokens->max_query <= SPECIALS || !hash))
        ok = gb_fail(status, GB_DATA, path, "tokenize the collection again",
                     "it does not say the lengths and the vocabulary of the tokens");
    json_decref(json);
    free(path);
    return ok;
}

bool gb_tokens_open(const char *dir, gb_tokens *tokens, gb_status *status)
{
    *tokens = (gb_tokens){0};
    char *path = gb_path_join(status, dir, "generated.ids.gbt");
    bool ok = path && read_making(dir, tokens, status) &&
              (tokens->passages = gb_row_file_open_in(dir, "passages.ids.gbt", 4, status)) &&
              (tokens->queries = gb_row_file_open_in(dir, "queries.ids.gbt", 4, status)) &&
              (!gb_file_exists(path) || (tokens->generated = gb_row_file_open(path, 4, status)));
    free(path);
    if (ok && tokens->generated &&
        gb_row_file_count(tokens->generated) != gb_row_file_count(tokens->passages))
        ok = gb_fail(status, GB_DATA, dir, "tokenize the collection again",
                     "passages and generated queries do not agree");
    if (!ok)
        gb_tokens_close(tokens);
    return ok;
}

void gb_tokens_close(gb_tokens *tokens)
{
    gb_row_file_close(tokens->passages);
    gb_row_file_close(tokens->queries);
    gb_row_file_close(tokens->generated);
    free(tokens->query_prompt);
    free(tokens->passage_prompt);
    *tokens = (gb_tokens){0};
}

bool gb_tokens_fit(const char *path, const char *model, uint32_t positions, const char *text,
                   uint32_t length, gb_status *status)
{
    if (length <= positions)
        return true;
    char hint[80];
    snprintf(hint, sizeof hint, "gabbro tokenize --%s-tokens %u cuts them shorter", text,
             positions);
    return gb_fail(status, GB_DATA, path, hint, "the %s has %u positions, a %s up to %u tokens",
                   model, positions, text, length);
}

bool gb_tokens_generated(const gb_tokens *tokens, uint32_t sep, uint32_t passage, uint32_t which,
                         const uint32_t **ids, size_t *length)
{
    if (!tokens->generated)
        return false;
    size_t count;
    const uint32_t *row = gb_row_file_row(tokens->generated, passage, &count);
    for (size_t start = 0, end; count && start <= count; start = end + 1) {
        for (end = start; end < count && row[end] != sep;)
            end++;
        if (which-- == 0) {
            *ids = row + start;
            *length = end - start;
            return true;
        }
    }
    return false;
}

uint32_t gb_tokens_generated_count(const gb_tokens *tokens, uint32_t sep, uint32_t passage)
{
    if (!tokens->generated)
        return 0;
    size_t count;
    const uint32_t *row = gb_row_file_row(tokens->generated, passage, &count);
    uint32_t queries = count > 0;
    for (size_t i = 0; i < count; i++)
        queries += row[i] == sep;
    return queries;
}
