/* Which generated queries are kept: not repeated ones, nor those whose passage a retriever does not
 * find, nor those that a cross-encoder scores low. */
#include "private.h"

#include <gabbro/artifact.h>
#include <gabbro/retrieve.h>

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16 }; /* queries that are ranked at a time */

typedef querygen_filter filter;

/* ---- repeated queries ---- */

size_t querygen_line_length(const char *row, size_t length, size_t at)
{
    const char *end = memchr(row + at, '\n', length - at);
    return end ? (size_t)(end - row) - at : length - at;
}

static bool said_before(const char *row, size_t at, size_t size)
{
    for (size_t before = 0; before < at;) {
        size_t other = querygen_line_length(row, at, before);
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
        const char *row = gb_row_file_row(f->collection->generated, p, &length);
        for (size_t at = 0; at < length;) {
            size_t size = querygen_line_length(row, length, at);
            if (!gb_grow(&f->passages, &space, (size_t)f->counts.before + 1, sizeof *f->passages,
                         status) ||
                !gb_grow(&f->drop, &drop_space, (size_t)f->counts.before + 1, sizeof *f->drop,
                         status))
                return false;
            f->drop[f->counts.before] = unique && said_before(row, at, size);
            f->counts.repeated += f->drop[f->counts.before];
            f->passages[f->counts.before++] = p;
            at += size + 1;
        }
    }
    return true;
}

/* ---- ranking ---- */

/* The tokens must be those of the queries that are filtered. */
static bool check_tokens(const gb_filter_params *params, gb_status *status)
{
    char identity[GB_IDENTITY];
    if (!gb_identity(params->queries, identity, status))
        return false;
    json_t *run = gb_artifact_read(params->tokens, status);
    const char *of =
        json_string_value(json_object_get(json_object_get(run, "inputs"), "generated"));
    bool same = of && !strcmp(of, identity);
    if (run && !same)
        gb_fail(status, GB_DATA, params->tokens, "gabbro tokenize --generated QUERIES",
                "the tokens were made of other queries");
    json_decref(run);
    return same;
}

/* The ids of all queries, one a row, as a table. */
static gb_row_file *query_table(const filter *f, const gb_tokens *tokens, uint32_t sep,
                                const char *path, gb_status *status)
{
    gb_row_writer *writer = gb_row_writer_open(path, sizeof(uint32_t), status);
    bool ok = writer != NULL;
    uint32_t which = 0;
    for (uint32_t i = 0; ok && i < f->counts.before; i++) {
        const uint32_t *ids;
        size_t length;
        which = i && f->passages[i] == f->passages[i - 1] ? which + 1 : 0;
        if (!gb_tokens_generated(tokens, sep, f->passages[i], which, &ids, &length))
            length = 0; /* no token is left of the last one */
        ok = gb_row_writer_add(writer, length ? ids : &sep, length, status);
    }
    ok = gb_row_writer_end(writer, ok, status);
    return ok ? gb_row_file_open(path, sizeof(uint32_t), status) : NULL;
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
            f->counts.lost++;
        }
    }
}

static bool rank_all(filter *f, gb_retriever *retriever, const gb_row_file *queries, uint32_t depth,
                     gb_status *status)
{
    bool ok = true;
    for (uint32_t first = 0; ok && first < f->counts.before; first += CHUNK) {
        uint32_t left = f->counts.before - first;
        const gb_encode_rows chunk = {.tokens = queries,
                                      .first = first,
                                      .count = left < CHUNK ? left : CHUNK,
                                      .label = "encode queries"};
        gb_run run = {0};
        ok = gb_retriever_rank(retriever, &chunk, depth, &run, status);
        if (ok)
            drop_lost(f, &run);
        gb_run_free(&run);
    }
    return ok;
}

static bool rank(filter *f, const gb_filter_params *params, gb_maker *maker, gb_status *status)
{
    gb_retriever *retriever = NULL;
    gb_row_file *queries = NULL;
    char *path = gb_maker_resume_file(maker, "queries.gbt", status);
    bool ok = path && check_tokens(params, status) &&
              (retriever = gb_retriever_of(maker, params->retriever, params->tokens, f->collection,
                                           NULL, "passages", status)) &&
              (queries = query_table(f, gb_retriever_tokens(retriever),
                                     gb_retriever_specials(retriever).sep, path, status)) &&
              rank_all(f, retriever, queries, params->ranked, status);
    gb_retriever_close(retriever);
    gb_row_file_close(queries);
    free(path);
    return ok;
}

/* ---- writing ---- */

/* {"id", "query"} of one that no file has a line of. */
static bool write_plain(const filter *f, uint32_t passage, const char *query, size_t length,
                        FILE *out, gb_status *status)
{
    size_t id_length;
    const char *id = gb_row_file_row(f->collection->passage_ids, passage, &id_length);
    return gb_json_write_line(
        json_pack("{s:s%, s:s%}", "id", id, id_length, "query", query, length), out, status);
}

/* The lines that are left: those of the generator's file where there is one, which has them in the
 * same order. */
static bool write_left(const filter *f, gb_lines *lines, FILE *out, gb_status *status)
{
    uint32_t i = 0;
    for (uint32_t p = 0; p < f->collection->passages; p++) {
        size_t length;
        const char *row = gb_row_file_row(f->collection->generated, p, &length);
        for (size_t at = 0; at < length; i++) {
            size_t size = querygen_line_length(row, length, at), bytes = 0;
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

static bool write(filter *f, const gb_filter_params *params, gb_maker *maker, gb_status *status)
{
    char *from = gb_path_join(status, params->queries, "queries.jsonl");
    char *to = gb_maker_file(maker, "queries.jsonl", status);
    gb_lines *lines = from && gb_file_exists(from) ? gb_lines_open(from, status) : NULL;
    gb_out *out = to && from && (lines || !gb_file_exists(from)) ? gb_out_open(to, status) : NULL;
    bool ok = out && write_left(f, lines, gb_out_stream(out), status);
    if (ok)
        ok = gb_out_commit(out, status);
    else
        gb_out_abandon(out);
    gb_queries_params target = {.from = to, .writer = f->collection->generator};
    ok = ok && gb_queries_make(f->collection, &target, gb_maker_folder(maker), status);
    gb_lines_close(lines);
    free(from);
    free(to);
    return ok;
}

/* ---- the whole ---- */

bool gb_queries_filter(gb_maker *maker, gb_collection *collection, const gb_filter_params *params,
                       gb_filter_counts *counts, gb_status *status)
{
    filter f = {.collection = collection};
    bool ok = gb_use_queries(collection, params->queries, status) &&
              list_queries(&f, params->unique, status) &&
              (!params->ranked || rank(&f, params, maker, status)) &&
              (!params->cross || querygen_filter_by_score(&f, params, maker, status)) &&
              write(&f, params, maker, status);
    *counts = f.counts;
    free(f.passages);
    free(f.drop);
    return ok;
}
