/* Exact search of sparse vectors in files of JSON lines. */
#include <gabbro/json.h>
#include <gabbro/lexical.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct json_search {
    const gb_impacts_params *params; /* of the caller */
    const gb_run_names *names;       /* of the caller, growing */
    gb_map *terms;                   /* term -> number */
    gb_impacts search;               /* of these numbers */
} json_search;

/* Number of a term; a new one where it is unknown and `grow`, otherwise GB_MAP_NONE. */
static bool term_number(json_search *s, const char *term, bool grow, uint32_t *number,
                        gb_status *status)
{
    size_t length = strlen(term);
    *number = gb_map_get(s->terms, term, length);
    if (*number != GB_MAP_NONE || !grow)
        return true;
    *number = s->search.term_count++;
    return gb_map_set(s->terms, term, length, *number, status);
}

/* The vector of a line, {"id": "p1", "vector": {"term": weight}}, is the next of `v`. Of queries
 * terms that are new grow. */
static bool add_vector(json_search *s, gb_impacts_vectors *v, gb_names *names, bool grow,
                       const gb_lines *lines, const json_t *object, gb_status *status)
{
    char written[GB_JSON_NUMBER];
    const char *id = gb_json_id(json_object_get(object, "id"), written), *term;
    const json_t *vector = json_object_get(object, "vector");
    json_t *value;
    uint32_t row;
    if (!id || !*id || !json_is_object(vector))
        return gb_lines_fail(lines, status,
                             "a line is {\"id\": \"p1\", \"vector\": {\"term\": 1.5}}",
                             "no \"id\", or no \"vector\" of terms");
    if (!gb_lines_check_id(lines, id, grow, status) ||
        !gb_names_row(names, id, strlen(id), &row, status))
        return false;
    if (row != v->end)
        return gb_lines_fail(lines, status, "ids must be unique", "\"%.80s\" comes twice", id);
    json_object_foreach((json_t *)vector, term, value)
    {
        double weight = json_number_value(value);
        uint32_t number;
        if (!json_is_number(value))
            return gb_lines_fail(lines, status, "weights are numbers from 0 on",
                                 "the weight of \"%.80s\" is no number", term);
        if (!(weight >= 0 && (float)weight < INFINITY))
            return gb_lines_fail(lines, status, "weights are numbers from 0 on",
                                 "the weight of \"%.80s\" is %g", term, weight);
        if (!term_number(s, term, grow, &number, status) ||
            ((float)weight > 0 && number != GB_MAP_NONE &&
             !gb_impacts_add(v, number, (float)weight, status)))
            return false;
    }
    return true;
}

static bool take_query(void *ctx, const gb_lines *lines, const json_t *object, gb_status *status)
{
    json_search *s = ctx;
    gb_impacts_vectors *queries = &s->search.queries;
    if (!add_vector(s, queries, s->names->queries, true, lines, object, status))
        return false;
    queries->end++;
    return true;
}

/* Terms that no query has are left out: they cannot score. */
static bool take_passage(void *ctx, const gb_lines *lines, const json_t *object, gb_status *status)
{
    json_search *s = ctx;
    return add_vector(s, &s->search.part, s->names->passages, false, lines, object, status) &&
           gb_impacts_passage(&s->search, status);
}

static bool search_all(json_search *s, gb_run *run, gb_status *status)
{
    const gb_impacts_params *params = s->params;
    gb_impacts *search = &s->search;
    bool ok = gb_jsonl_each(gb_lines_open(params->queries, status), take_query, s, status);
    if (ok && !search->queries.end)
        ok = gb_fail(status, GB_DATA, params->queries, NULL, "no queries");
    ok = ok && gb_impacts_begin(search, status) &&
         gb_jsonl_each(gb_lines_open(params->passages, status), take_passage, s, status) &&
         gb_impacts_end(search, status);
    if (ok && !search->part.end)
        ok = gb_fail(status, GB_DATA, params->passages, NULL, "no passages");
    for (uint32_t query = 0; ok && query < search->queries.end; query++)
        ok = gb_run_add(run, query, search->hits + (size_t)query * params->depth,
                        search->found[query], status);
    return ok;
}

bool gb_impacts_search(const gb_impacts_params *params, const gb_run_names *names, gb_run *run,
                       uint32_t *parts, gb_status *status)
{
    json_search s = {.params = params,
                     .names = names,
                     .terms = gb_map_create(status),
                     .search = {.depth = params->depth, .memory_bytes = params->memory_bytes}};
    bool ok = s.terms && search_all(&s, run, status);
    *parts = s.search.parts;
    gb_map_destroy(s.terms);
    gb_impacts_free(&s.search);
    return ok;
}
