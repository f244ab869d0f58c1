/* Answers to questions on a terminal: the passages of an index that are nearest. */
#include <gabbro/serve.h>

#include <gabbro/json.h>

#include <stdlib.h>
#include <string.h>

/* Of printed texts: columns, columns left empty before them, bytes unless they are whole. */
enum { COLUMNS = 96, INDENT = 5, CUT = 320 };

/* What answers. */
typedef struct asking {
    const gb_ask_params *how; /* as asked for */
    gabbro_model *model;      /* of questions */
    gabbro_index *index;      /* passages */
    float *vector;            /* of the question */
    gabbro_hit *hits;         /* its passages */
    uint32_t count;           /* of them */
} asking;

static bool open_all(asking *a, const gb_ask_params *params, gb_status *status)
{
    *a = (asking){.how = params};
    gabbro_status said = {0};
    gabbro_model_params open = params->how;
    open.compare = true;
    if (!(a->model = gb_library_open_model(params->config, params->model, &open, &said)))
        return gb_library_failed(&said, status);
    const gabbro_index_params how = {.size = sizeof how, .model = a->model};
    if (!(a->index = gb_library_open_index(params->config, params->index, &how, &said)))
        return gb_library_failed(&said, status);
    uint32_t rows = gabbro_index_rows(a->index);
    a->count = params->passages < rows ? params->passages : rows;
    return (a->vector = gb_alloc(gabbro_model_width(a->model), sizeof *a->vector, status)) &&
           (a->hits = gb_alloc(a->count, sizeof *a->hits, status));
}

static void close_all(asking *a)
{
    gabbro_index_close(a->index);
    gabbro_model_close(a->model);
    free(a->vector);
    free(a->hits);
}

static bool search(asking *a, const char *question, gb_status *status)
{
    gabbro_status said = {0};
    return (gabbro_encode(a->model, GABBRO_QUERY, &question, 1, a->vector, &said) &&
            gabbro_search(a->index, a->vector, 1, gabbro_model_width(a->model), a->count, a->hits,
                          &said)) ||
           gb_library_failed(&said, status);
}

/* ---- printing ---- */

/* Words of a text in lines of COLUMNS, up to `most` bytes. */
static void print_filled(const char *text, size_t length, size_t most)
{
    size_t column = 0;
    bool cut = false;
    for (size_t at = 0; at < length && !cut;) {
        size_t end;
        while (at < length && memchr(" \t\r\n", text[at], 4))
            at++;
        for (end = at; end < length && !strchr(" \t\r\n", text[end]);)
            end++;
        size_t wide = 0;
        for (size_t i = at; i < end; i++)
            wide += (text[i] & 0xc0) != 0x80;
        if (end == at)
            break;
        if ((cut = end > most))
            printf(" ...");
        else if (!column || column + 1 + wide > COLUMNS)
            column = (size_t)printf("%s%*s%.*s", column ? "\n" : "", INDENT, "", (int)(end - at),
                                    text + at) > 0
                         ? INDENT + wide
                         : 0;
        else
            column += printf(" %.*s", (int)(end - at), text + at) > 0 ? 1 + wide : 0;
        at = end;
    }
    if (column)
        printf("\n");
}

static void print_answer(const asking *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const gabbro_hit *hit = &a->hits[i];
        size_t id_length, title_length = 0, length = 0;
        const char *id = gabbro_index_id(a->index, hit->row, &id_length), *title = "", *text = "";
        gabbro_index_passage(a->index, hit->row, &title, &title_length, &text, &length);
        printf("%3u  %.4f  %.*s  %.*s\n", i + 1, (double)hit->score, (int)id_length, id,
               (int)title_length, title);
        print_filled(text, length, a->how->whole ? SIZE_MAX : CUT);
    }
}

static bool print_json(const asking *a, const char *question, gb_status *status)
{
    json_t *line = json_object(), *passages = json_array();
    gb_text printed = {0};
    json_object_set_new(line, "question", json_string(question));
    for (uint32_t i = 0; i < a->count; i++)
        json_array_append_new(passages, gb_library_passage(a->index, a->hits[i]));
    json_object_set_new(line, "passages", passages);
    bool ok = gb_json_print(line, JSON_COMPACT | JSON_REAL_PRECISION(9) | GB_JSON_NEWLINE, &printed,
                            status);
    if (ok)
        fwrite(printed.data, 1, printed.length, stdout);
    gb_text_free(&printed);
    json_decref(line);
    return ok;
}

static bool answer(asking *a, const char *question, gb_status *status)
{
    if (!search(a, question, status))
        return false;
    if (a->how->json)
        return print_json(a, question, status);
    if (!a->how->question)
        printf("%s\n", question);
    print_answer(a);
    fflush(stdout);
    return true;
}

/* ---- all of it ---- */

static bool answer_lines(asking *a, gb_status *status)
{
    gb_lines *lines = gb_lines_open("-", status);
    bool ok = lines != NULL;
    for (int got = 1; ok && got == 1;) {
        char *line;
        size_t length;
        ok = (got = gb_lines_next_text(lines, &line, &length, status)) >= 0;
        char *question = got == 1 ? gb_format(status, "%.*s", (int)length, line) : NULL;
        if (got == 1)
            ok = question && answer(a, question, status);
        free(question);
    }
    gb_lines_close(lines);
    return ok;
}

bool gb_ask(const gb_ask_params *params, gb_status *status)
{
    asking a;
    bool ok = open_all(&a, params, status) &&
              (params->question ? answer(&a, params->question, status) : answer_lines(&a, status));
    close_all(&a);
    return ok;
}
