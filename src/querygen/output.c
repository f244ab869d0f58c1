/* The file of generated queries: a line a query with all that made it. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* What is the same in all lines; a new reference. */
static json_t *description(const gb_querygen *g)
{
    const gb_querygen_params *o = g->params;
    json_t *line = json_pack("{s:s, s:s, s:s, s:I, s:{s:f, s:i, s:f, s:i, s:i}}", "generator",
                             o->name, "weights", g->weights, "prompt", g->prompt.name, "seed",
                             (json_int_t)o->seed, "settings", "temperature", o->temperature,
                             "top_k", (int)o->top_k, "top_p", o->top_p, "max_tokens",
                             (int)o->max_tokens, "prompt_tokens", (int)o->prompt_tokens);
    if (o->quant)
        json_object_set_new(json_object_get(line, "settings"), "weights",
                            json_string(gb_packing_names[o->quant]));
    return line;
}

static bool write_query(gb_querygen *g, FILE *out, uint32_t passage, uint32_t number,
                        const char *query, size_t length, const json_t *about, gb_status *status)
{
    size_t id_length;
    const char *id = gb_row_file_row(g->collection->passage_ids, passage, &id_length);
    json_t *line = json_object();
    json_object_set_new(line, "id", json_stringn(id, id_length));
    json_object_set_new(line, "query", json_stringn(query, length));
    json_object_set_new(line, "number", json_integer(number));
    json_object_update(line, (json_t *)about);
    bool ok = gb_memory_check("generated queries", status) &&
              (json_dumpf(line, out, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0 ||
               gb_fail(status, GB_DATA, "queries.jsonl", "is the disk full?", "cannot write"));
    fputc('\n', out);
    json_decref(line);
    g->queries++;
    return ok;
}

/* The queries of a passage: numbers of single ones are those of their draws. */
static bool write_passage(gb_querygen *g, FILE *out, uint32_t passage, const json_t *about,
                          gb_status *status)
{
    const char *line = gb_journal_line(g->journal, passage - g->first, status);
    json_t *texts =
        line ? gb_json_parse(line, strlen(line), GB_JSON_ANY, "resume/made", NULL) : NULL;
    gb_text lines = {0};
    uint32_t number = 0;
    bool ok = json_is_array(texts);
    if (line && !ok)
        ok = gb_fail(status, GB_DATA, "resume/made", "remove the step's work folder",
                     "the answers for passage %u cannot be read", passage);
    for (size_t i = 0; ok && i < json_array_size(texts); i++) {
        const json_t *text = json_array_get(texts, i);
        size_t at = lines.length;
        gb_answer_queries(&g->prompt, json_string_value(text) ? json_string_value(text) : "",
                          json_string_length(text), &lines);
        number = g->prompt.list ? number : (uint32_t)i;
        while (ok && at < lines.length && number < g->params->queries) {
            size_t length = strcspn(lines.data + at, "\n");
            ok = write_query(g, out, passage, number++, lines.data + at, length, about, status);
            at += length + 1;
        }
    }
    ok = ok && (!lines.failed || gb_fail_memory(status, "generated queries"));
    gb_text_free(&lines);
    json_decref(texts);
    return ok;
}

bool querygen_write(gb_querygen *g, const char *path, gb_status *status)
{
    json_t *about = description(g);
    gb_out *out = about ? gb_out_open(path, status) : NULL;
    bool ok = out != NULL;
    for (uint32_t p = g->first; ok && p < g->end; p++)
        ok = write_passage(g, gb_out_stream(out), p, about, status);
    if (ok)
        ok = gb_out_commit(out, status);
    else
        gb_out_abandon(out);
    json_decref(about);
    return ok;
}
