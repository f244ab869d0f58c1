/* gabbro filter-queries: the step that drops generated queries: repeated ones, and those whose
 * passage a retriever does not find. */
#include "ranking.h"

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro filter-queries --collection STEP --queries STEP [--unique]\n"
    "           [--keep-if-ranked K --retriever MODEL --tokens STEP] [options]\n\n"
    "Queries of a step of gabbro generate or gabbro queries that are worth keeping. The tokens "
    "are\n"
    "those of gabbro tokenize --generated with the same queries. Prints the step's folder, for\n"
    "gabbro tokenize --generated: queries.jsonl with the lines that are left, generated.gbt,\n"
    "queries.json.\n";

enum { CHUNK = 1 << 16 }; /* queries that are ranked at a time */

typedef struct settings {
    const char *collection, *queries, *retriever, *tokens; /* steps */
    uint32_t keep_if_ranked;                               /* depth; 0: do not rank */
    bool unique;                                           /* drop repeated ones */
} settings;

typedef struct filter {
    gb_collection *collection; /* with the queries in place of its own */
    uint32_t *passages;        /* [count] of each query */
    bool *drop;                /* [count] */
    uint32_t count;            /* queries in all */
    uint32_t repeated;         /* dropped as such */
    uint32_t lost;             /* dropped because their passage ranks too low */
} filter;

/* ---- repeated queries ---- */

/* A query of a row: from `at` to its line end. */
static size_t line_length(const char *row, size_t length, size_t at)
{
    const char *end = memchr(row + at, '\n', length - at);
    return end ? (size_t)(end - row) - at : length - at;
}

static bool said_before(const char *row, size_t at, size_t size)
{
    for (size_t before = 0; before < at;) {
        size_t other = line_length(row, at, before);
        if (other == size && !memcmp(row + before, row + at, size))
            return true;
        before += other + 1;
    }
    return false;
}

/* All queries in order, and which of them repeat one of the same passage. */
static bool list_queries(filter *f, bool unique, gb_status *status)
{
    size_t space = 0, drop_space = 0;
    for (uint32_t p = 0; p < f->collection->passages; p++) {
        size_t length;
        const char *row = gb_table_row(f->collection->generated, p, &length);
        for (size_t at = 0; at < length;) {
            size_t size = line_length(row, length, at);
            if (!gb_grow(&f->passages, &space, (size_t)f->count + 1, sizeof *f->passages, status) ||
                !gb_grow(&f->drop, &drop_space, (size_t)f->count + 1, sizeof *f->drop, status))
                return false;
            f->drop[f->count] = unique && said_before(row, at, size);
            f->repeated += f->drop[f->count];
            f->passages[f->count++] = p;
            at += size + 1;
        }
    }
    return true;
}

/* ---- ranking ---- */

/* The tokens must be those of the queries that are filtered. */
static bool check_tokens(const settings *o, gb_status *status)
{
    char identity[GB_IDENTITY];
    if (!gb_identity(o->queries, identity, status))
        return false;
    json_t *run = gb_step_read(o->tokens, status);
    const char *of =
        json_string_value(json_object_get(json_object_get(run, "inputs"), "generated"));
    bool same = of && !strcmp(of, identity);
    if (run && !same)
        gb_fail(status, GB_DATA, o->tokens, "gabbro tokenize --generated QUERIES",
                "the tokens were made of other queries");
    json_decref(run);
    return same;
}

/* The ids of all queries, one a row, as a table. */
static gb_table *query_table(const filter *f, const gb_tokens *tokens, uint32_t sep,
                             const char *path, gb_status *status)
{
    gb_table_writer *writer = gb_table_writer_open(path, sizeof(uint32_t), status);
    bool ok = writer != NULL;
    uint32_t which = 0;
    for (uint32_t i = 0; ok && i < f->count; i++) {
        const uint32_t *ids;
        size_t length;
        which = i && f->passages[i] == f->passages[i - 1] ? which + 1 : 0;
        if (!gb_tokens_generated(tokens, sep, f->passages[i], which, &ids, &length))
            length = 0; /* no token is left of the last one */
        ok = gb_table_writer_add(writer, length ? ids : &sep, length, status);
    }
    ok = gb_table_writer_end(writer, ok, status);
    return ok ? gb_table_open(path, sizeof(uint32_t), status) : NULL;
}

/* Drop those of queries first, first + 1 ... whose list does not have their passage. */
static void drop_lost(filter *f, const gb_run *run)
{
    for (size_t l = 0; l < run->list_count; l++) {
        const gb_run_list *list = &run->lists[l];
        bool found = false;
        for (uint32_t h = 0; h < list->count; h++)
            found |= run->hits[list->first + h].passage == f->passages[list->query];
        if (!found && !f->drop[list->query]) {
            f->drop[list->query] = true;
            f->lost++;
        }
    }
}

/* The table of queries takes the place of the collection's in the retriever. */
static bool rank_all(filter *f, ranking_dense *dense, gb_table *queries, uint32_t depth,
                     gb_status *status)
{
    uint32_t *rows = gb_alloc(CHUNK, sizeof *rows, status);
    gb_table *own = dense->tokens.queries;
    bool ok = rows != NULL;
    dense->tokens.queries = queries;
    for (uint32_t first = 0; ok && first < f->count; first += CHUNK) {
        uint32_t count = f->count - first < CHUNK ? f->count - first : CHUNK;
        gb_run run = {0};
        for (uint32_t i = 0; i < count; i++)
            rows[i] = first + i;
        ok = ranking_dense_run(dense, rows, count, depth, &run, status);
        if (ok)
            drop_lost(f, &run);
        gb_run_free(&run);
    }
    dense->tokens.queries = own;
    free(rows);
    return ok;
}

static bool rank(filter *f, const settings *o, step_run *run, gb_status *status)
{
    ranking_dense dense = {0};
    gb_table *queries = NULL;
    char *path = step_resume_file(run, "queries.gbt", status);
    bool ok = path && check_tokens(o, status) && step_device(run, status) &&
              ranking_dense_open(&dense, run, "passages", o->retriever, o->tokens, status);
    if (ok) {
        uint32_t sep = dense.specials.sep;
        queries = query_table(f, &dense.tokens, sep, path, status);
        ok = queries && rank_all(f, &dense, queries, o->keep_if_ranked, status);
        ranking_dense_close(&dense);
    }
    gb_table_close(queries);
    free(path);
    return ok;
}

/* ---- writing ---- */

/* {"id", "query"} of one that no file has a line of. */
static bool write_plain(const filter *f, uint32_t passage, const char *query, size_t length,
                        FILE *out, gb_status *status)
{
    size_t id_length;
    const char *id = gb_table_row(f->collection->passage_ids, passage, &id_length);
    json_t *line = json_pack("{s:s%, s:s%}", "id", id, id_length, "query", query, length);
    bool ok = line && json_dumpf(line, out, JSON_COMPACT) == 0;
    fputc('\n', out);
    json_decref(line);
    return ok || gb_fail_memory(status, "writing queries");
}

/* The lines that are left: those of the generator's file where there is one, which has them in the
 * same order. */
static bool write_left(const filter *f, gb_lines *lines, FILE *out, gb_status *status)
{
    uint32_t i = 0;
    for (uint32_t p = 0; p < f->collection->passages; p++) {
        size_t length;
        const char *row = gb_table_row(f->collection->generated, p, &length);
        for (size_t at = 0; at < length; i++) {
            size_t size = line_length(row, length, at), bytes = 0;
            char *line = NULL;
            int got = lines ? gb_lines_next(lines, &line, &bytes, status) : 1;
            if (got != 1)
                return got == 0 &&
                       gb_lines_fail(lines, status, NULL, "there are fewer queries than %u", i + 1);
            if (!f->drop[i] && line)
                fprintf(out, "%s\n", line);
            else if (!f->drop[i] && !write_plain(f, p, row + at, size, out, status))
                return false;
            at += size + 1;
        }
    }
    return true;
}

static bool write(filter *f, const settings *o, step_run *run, gb_status *status)
{
    char *from = gb_path_join(status, o->queries, "queries.jsonl");
    char *to = step_file(run, "queries.jsonl", status);
    gb_lines *lines = from && gb_file_exists(from) ? gb_lines_open(from, status) : NULL;
    gb_out *out = to && from && (lines || !gb_file_exists(from)) ? gb_out_open(to, status) : NULL;
    bool ok = out && write_left(f, lines, gb_out_stream(out), status);
    if (ok)
        ok = gb_out_commit(out, status);
    else
        gb_out_abandon(out);
    gb_queries_params params = {.from = to, .writer = f->collection->generator};
    ok = ok && gb_queries_make(f->collection, &params, gb_step_path(run->step), status);
    gb_lines_close(lines);
    free(from);
    free(to);
    return ok;
}

/* ---- the step ---- */

static bool filter_all(const settings *o, step_run *run, gb_status *status)
{
    filter f = {.collection = gb_open_collection(o->collection, status)};
    bool ok = f.collection && gb_collection_use_queries(f.collection, o->queries, status) &&
              list_queries(&f, o->unique, status) &&
              (!o->keep_if_ranked || rank(&f, o, run, status)) && write(&f, o, run, status);
    json_t *facts = ok ? json_pack("{s:i, s:i, s:i}", "queries_before", (int)f.count, "repeated",
                                   (int)f.repeated, "ranked_too_low", (int)f.lost)
                       : NULL;
    if (ok)
        gb_log(GB_LOG_INFO, "%u queries: %u repeated, %u whose passage ranks too low, %u left",
               f.count, f.repeated, f.lost, f.count - f.repeated - f.lost);
    ok = ok && step_end(run, facts, status);
    json_decref(facts);
    gb_collection_close(f.collection);
    free(f.passages);
    free(f.drop);
    return ok;
}

int gb_cli_filter_queries(int argc, char **argv)
{
    gb_status status = {0};
    settings o = {0};
    const step_option options[] = {
        {"collection", OPTION_TEXT, &o.collection, true, true, "step of a collection"},
        {"queries", OPTION_TEXT, &o.queries, true, true, "step of its generated queries"},
        {"unique", OPTION_FLAG, &o.unique, false, false, "drop repeated queries of a passage"},
        {"keep-if-ranked", OPTION_U32, &o.keep_if_ranked, false, false,
         "keep queries whose passage is among the first K (0: do not rank)"},
        {"retriever", OPTION_TEXT, &o.retriever, false, true, "that ranks: step or model folder"},
        {"tokens", OPTION_TEXT, &o.tokens, false, true, "step of tokens of the queries"},
        {0}};
    step_run run = {.kind = "filter-queries", .options = options, .encodes = true};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    bool ok = true;
    if (!o.unique && !o.keep_if_ranked)
        ok = gb_fail(&status, GB_USAGE, NULL, "see --help",
                     "give --unique or --keep-if-ranked: there is nothing to do");
    else if (o.keep_if_ranked ? !o.retriever || !o.tokens : o.retriever || o.tokens)
        ok = gb_fail(&status, GB_USAGE, NULL, "see --help",
                     "--keep-if-ranked, --retriever and --tokens are given together");
    if (ok && step_begin(&run, 1, o.keep_if_ranked > 0, NULL, &status)) {
        if (gb_step_done(run.step))
            step_end(&run, NULL, &status);
        else
            filter_all(&o, &run, &status);
    }
    return step_close(&run, &status);
}
