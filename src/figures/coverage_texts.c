/* The texts whose coverage is counted: a sample of a collection, or texts of one's own. */
#include "coverage.h"

#include <stdlib.h>
#include <string.h>

/* A seeded sample without repeats, in order. */
static bool sample_rows(coverage_texts *t, uint32_t all, uint32_t wanted, uint64_t seed,
                        gb_status *status)
{
    gb_rng rng = gb_rng_make(seed, GB_RNG_SPLIT, 0, 0);
    uint32_t *rows = gb_alloc(all, sizeof *rows, status), kept = 0;
    if (!rows)
        return false;
    t->count = wanted && wanted < all ? wanted : all;
    /* Selection sampling (Knuth's algorithm S). */
    for (uint32_t i = 0; i < all && kept < t->count; i++)
        if (gb_rng_below(&rng, all - i) < t->count - kept)
            rows[kept++] = i;
    t->rows = rows;
    return true;
}

bool figures_coverage_texts_draw(coverage_texts *t, const gb_coverage_params *o, gb_status *status)
{
    bool ok = (t->collection = gb_open_collection(o->collection, status)) &&
              gb_open_tokens(o->tokens, t->collection, &t->tokens, status);
    t->file = t->tokens.passages;
    return ok && sample_rows(t, t->collection->passages, o->passages, o->seed, status);
}

/* A row of at most `most` tokens, which are all that the model reads; *cut counts longer texts. */
static bool add_text(gb_row_writer *writer, const gb_tokenizer *tokenizer, const char *text,
                     size_t length, size_t most, gb_ids *ids, uint32_t *cut, gb_status *status)
{
    ids->count = 0;
    if (!gb_tokenize(tokenizer, text, length, ids, status))
        return false;
    *cut += ids->count > most;
    return gb_row_writer_add(writer, ids->data ? ids->data : (const uint32_t[]){0},
                             ids->count < most ? ids->count : most, status);
}

/* Tokenise one text, or the lines of a file, into the row file at `path`. */
static bool make_table(const gb_coverage_params *o, const gb_model_input *model, const char *path,
                       gb_status *status)
{
    gb_tokenizer *tokenizer = gb_tokenizer_create(model->vocab, model->tokenizer, status);
    gb_row_writer *writer = tokenizer ? gb_row_writer_open(path, 4, status) : NULL;
    gb_lines *lines = writer && o->texts ? gb_lines_open(o->texts, status) : NULL;
    gb_ids ids = {0};
    char *line;
    size_t length, most = model->config.max_positions - 2; /* [CLS] and [SEP] are read, too */
    uint32_t cut = 0;
    int got = 0;
    bool ok = writer && (lines || !o->texts);
    if (ok && !o->texts && !gb_utf8_valid(o->text, strlen(o->text)))
        ok = gb_fail(status, GB_USAGE, "--text", "give it in UTF-8", "the text is not UTF-8");
    if (ok && !o->texts)
        ok = add_text(writer, tokenizer, o->text, strlen(o->text), most, &ids, &cut, status);
    while (ok && lines && (got = gb_lines_next_text(lines, &line, &length, status)) == 1)
        ok = add_text(writer, tokenizer, line, length, most, &ids, &cut, status);
    ok = ok && got == 0;
    ok = gb_row_writer_end(writer, ok, status);
    if (ok && cut)
        gb_log(GB_LOG_WARN, "%u texts are longer than the model reads: the first %zu tokens count",
               cut, most);
    gb_lines_close(lines);
    gb_tokenizer_destroy(tokenizer);
    free(ids.data);
    return ok;
}

bool figures_coverage_texts_tokenize(coverage_texts *t, const gb_coverage_params *o,
                                     const gb_model_input *model, const char *path,
                                     gb_status *status)
{
    if (!make_table(o, model, path, status) || !(t->own = gb_row_file_open(path, 4, status)))
        return false;
    t->file = t->own;
    if (!gb_row_file_count(t->own))
        return gb_fail(status, GB_DATA, o->texts, "one text a line", "no text in the file");
    return sample_rows(t, (uint32_t)gb_row_file_count(t->own), 0, 0, status);
}

void figures_coverage_texts_close(coverage_texts *t)
{
    gb_tokens_close(&t->tokens);
    gb_collection_close(t->collection);
    gb_row_file_close(t->own);
    free(t->rows);
}
