/* Writes runs as DPR's results of retrieval, or as Pyserini's (dpr.c has both). */
#include <gabbro/eval.h>

#include <stdlib.h>
#include <string.h>

/* A file being written. */
typedef struct writing {
    const gb_run *run;               /* what */
    const gb_run_names *names;       /* ids of the collection's rows */
    const gb_collection *collection; /* texts */
    const gb_run_style *style;       /* how */
    gb_answers *answers;             /* by which has_answer is known, or NULL */
    char **lines;                    /* [queries] answers as they are written, with tabs between */
    gb_out *out;                     /* file */
} writing;

static bool take_answers(writing *w, char *line, gb_status *status)
{
    char *rest = strchr(line, '\t');
    uint32_t query;
    if (!rest)
        return true; /* gb_answers_of has refused it */
    if (!gb_names_row(w->names->queries, line, (size_t)(rest - line), &query, status))
        return false;
    if (query == GB_MAP_NONE || w->lines[query])
        return true;
    return (w->lines[query] = gb_strdup(rest + 1, status)) != NULL;
}

static bool read_answers(writing *w, gb_status *status)
{
    uint32_t count = gb_names_count(w->names->queries);
    if (!gb_answers_of(w->collection, w->names->queries, &w->answers, status) ||
        !(w->lines = gb_alloc(count + 1, sizeof *w->lines, status)))
        return false;
    if (!w->answers)
        return true;
    char *path = gb_path_join(status, w->collection->path, "answers.tsv"), *line;
    gb_lines *lines = path ? gb_lines_open(path, status) : NULL;
    size_t length;
    int got = lines ? 1 : -1;
    while (got == 1 && (got = gb_lines_next(lines, &line, &length, status)) == 1)
        if (!take_answers(w, line, status))
            got = -1;
    gb_lines_close(lines);
    free(path);
    return got == 0;
}

/* A text without the line ends by which Pyserini tells title and text apart. */
static json_t *one_line(const char *title, size_t title_length, const char *text, size_t length)
{
    gb_text both = {0};
    gb_text_append(&both, title, title_length);
    gb_text_append(&both, "\n", 1);
    gb_text_append(&both, text, length);
    for (size_t i = 0; !both.failed && i < both.length; i++)
        if (i != title_length && (both.data[i] == '\n' || both.data[i] == '\r'))
            both.data[i] = ' ';
    json_t *json = both.failed ? NULL : json_stringn(both.data, both.length);
    gb_text_free(&both);
    return json;
}

static json_t *context_of(const writing *w, uint32_t query, const gb_hit *hit, gb_status *status)
{
    const gb_collection *c = w->collection;
    const bool named = w->style->format == GB_RUN_PYSERINI;
    size_t id_length, title_length, length;
    const char *id = gb_names_get(w->names->passages, hit->passage, &id_length);
    const char *title = gb_row_file_row(c->titles, hit->passage, &title_length);
    const char *text = gb_row_file_row(c->texts, hit->passage, &length);
    bool held = false;
    if (w->lines[query] && !gb_answers_hold(w->answers, query, text, length, &held, status))
        return NULL;
    char score[40];
    gb_run_print_score(hit->score, score);
    json_t *context = json_object();
    json_object_set_new(context, named ? "docid" : "id", json_stringn(id, id_length));
    if (!named)
        json_object_set_new(context, "title", json_stringn(title, title_length));
    json_object_set_new(context, "text",
                        named ? one_line(title, title_length, text, length)
                              : json_stringn(text, length));
    json_object_set_new(context, "score", json_string(score));
    if (w->lines[query])
        json_object_set_new(context, "has_answer", json_boolean(held));
    return context;
}

/* Answers of a query; none where none are known. */
static json_t *answers_of(const writing *w, uint32_t query)
{
    json_t *list = json_array();
    for (const char *at = w->lines[query]; at;) {
        size_t length = strcspn(at, "\t");
        json_array_append_new(list, json_stringn(at, length));
        at = at[length] ? at + length + 1 : NULL;
    }
    return list;
}

static bool write_list(const writing *w, size_t number, gb_text *room, gb_status *status)
{
    const gb_run_list *list = &w->run->lists[number];
    const bool named = w->style->format == GB_RUN_PYSERINI;
    uint32_t depth =
        w->style->depth && w->style->depth < list->count ? w->style->depth : list->count;
    size_t length, id_length;
    const char *question = gb_collection_query(w->collection, list->query, &length);
    const char *id = gb_names_get(w->names->queries, list->query, &id_length);
    json_t *object = json_object(), *contexts = json_array(), *name = json_stringn(id, id_length);
    json_object_set_new(object, "question", json_stringn(question, length));
    json_object_set_new(object, "answers", answers_of(w, list->query));
    if (!named) /* Pyserini's objects are named; two questions may be one text */
        json_object_set(object, "query_id", name);
    json_object_set_new(object, named ? "contexts" : "ctxs", contexts);
    bool ok = object && contexts && name;
    for (uint32_t i = 0; ok && i < depth; i++) {
        const gb_hit *hit = &w->run->hits[list->first + i];
        json_t *context =
            hit->passage == GB_NO_PASSAGE ? NULL : context_of(w, list->query, hit, status);
        ok =
            hit->passage == GB_NO_PASSAGE || (context && !json_array_append_new(contexts, context));
    }
    room->length = 0;
    gb_text_append(room, number ? ",\n" : "\n", number ? 2 : 1);
    ok = ok &&
         (!named || (gb_json_print(name, JSON_ENCODE_ANY, room, status) &&
                     (gb_text_append(room, ": ", 2), true))) &&
         gb_json_print(object, 0, room, status);
    json_decref(object);
    json_decref(name);
    if (ok)
        fwrite(room->data, 1, room->length, gb_out_stream(w->out));
    return ok || status->code != GB_OK || gb_fail_memory(status, "writing a run");
}

bool gb_run_write_dpr(const gb_run *run, const gb_collection *collection, const gb_run_names *names,
                      const gb_run_style *style, const char *path, gb_status *status)
{
    writing w = {.run = run, .names = names, .collection = collection, .style = style};
    gb_text room = {0};
    const bool named = style->format == GB_RUN_PYSERINI;
    bool ok = read_answers(&w, status) && (w.out = gb_out_open(path, status));
    if (ok)
        fputs(named ? "{" : "[", gb_out_stream(w.out));
    for (size_t i = 0; ok && i < run->list_count; i++)
        ok = write_list(&w, i, &room, status);
    if (ok)
        fputs(named ? "\n}\n" : "\n]\n", gb_out_stream(w.out));
    if (ok)
        ok = gb_out_commit(w.out, status);
    else
        gb_out_abandon(w.out);
    for (uint32_t i = 0; w.lines && i < gb_names_count(names->queries); i++)
        free(w.lines[i]);
    free(w.lines);
    gb_answers_destroy(w.answers);
    gb_text_free(&room);
    return ok;
}
