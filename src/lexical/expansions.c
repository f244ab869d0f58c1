/* Queries with texts appended, such as those that a generator writes for them (GAR). */
#include <gabbro/json.h>
#include <gabbro/lexical.h>

#include <stdlib.h>
#include <string.h>

struct gb_expansions {
    gb_names *names;   /* ids of the queries */
    gb_query_fn *text; /* gives a query as it is */
    const void *ctx;   /* its first argument */
    char **expanded;   /* [count] with what is appended, or NULL: nothing is */
    uint32_t count;    /* queries */
};

static bool take(void *ctx, const gb_lines *lines, const json_t *object, gb_status *status)
{
    gb_expansions *e = ctx;
    char number[GB_JSON_NUMBER];
    const char *id = gb_json_id(gb_json_either(object, "_id", "id"), number);
    const char *text = json_string_value(json_object_get(object, "text"));
    uint32_t row;
    size_t length;
    if (!text)
        text = json_string_value(json_object_get(object, "query"));
    if (!text || !id || !*id)
        return gb_lines_fail(lines, status, "a line is {\"_id\": \"q1\", \"text\": \"...\"}",
                             "no \"_id\", or no \"text\"");
    if (!gb_names_row(e->names, id, strlen(id), &row, status))
        return false;
    if (row >= e->count)
        return gb_lines_fail(lines, status, "expand the queries of this collection",
                             "there is no query \"%.80s\"", id);
    const char *before = e->expanded[row];
    if (!before)
        before = e->text(e->ctx, row, &length);
    else
        length = strlen(before);
    char *longer = gb_format(status, "%.*s %s", (int)length, before, text);
    free(e->expanded[row]);
    e->expanded[row] = longer;
    return longer;
}

gb_expansions *gb_expansions_read(const char *path, gb_names *names, uint32_t count,
                                  gb_query_fn *text, const void *ctx, gb_status *status)
{
    gb_expansions *e = gb_alloc(1, sizeof *e, status);
    if (!e)
        return NULL;
    *e = (gb_expansions){.names = names,
                         .text = text,
                         .ctx = ctx,
                         .expanded = gb_alloc(count, sizeof *e->expanded, status),
                         .count = count};
    char *inside = gb_path_join(status, path, "queries.jsonl");
    bool ok =
        e->expanded && inside &&
        gb_jsonl_each(gb_lines_open(gb_dir_exists(path) ? inside : path, status), take, e, status);
    free(inside);
    if (ok)
        return e;
    gb_expansions_destroy(e);
    return NULL;
}

void gb_expansions_destroy(gb_expansions *e)
{
    if (!e)
        return;
    for (uint32_t i = 0; e->expanded && i < e->count; i++)
        free(e->expanded[i]);
    free(e->expanded);
    free(e);
}

const char *gb_expansions_text(const void *expansions, uint32_t query, size_t *length)
{
    const gb_expansions *e = expansions;
    if (query >= e->count || !e->expanded[query])
        return e->text(e->ctx, query, length);
    *length = strlen(e->expanded[query]);
    return e->expanded[query];
}
