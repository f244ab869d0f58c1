/* Answers to questions on a terminal: the passages of an index that are nearest. */
#include <gabbro/serve.h>

#include <gabbro/json.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    COLUMNS = 96,
    INDENT = 5,
    CUT = 320
}; /* of printed texts: columns, and of them empty; bytes */

/* What answers. */
typedef struct asking {
    const gb_ask_params *how; /* as asked for */
    gb_text_encoder *encoder; /* of questions */
    gb_index index;           /* passages */
    float *vector;            /* of the question */
    gb_found found;           /* its passages */
    uint32_t count;           /* of them */
} asking;

static bool open_all(asking *a, const gb_ask_params *params, gb_status *status)
{
    *a = (asking){.how = params};
    if (!gb_index_open(&a->index, &params->index, 1, status) ||
        !(a->encoder = gb_text_encoder_open(&params->encoder, status)))
        return false;
    const gb_vectors *vectors = &a->index.vectors.vectors;
    a->count = params->passages < vectors->rows ? params->passages : vectors->rows;
    return (a->vector = gb_alloc(gb_text_encoder_width(a->encoder), sizeof *a->vector, status)) &&
           (a->found.rows = gb_alloc(a->count, sizeof *a->found.rows, status)) &&
           (a->found.scores = gb_alloc(a->count, sizeof *a->found.scores, status));
}

static void close_all(asking *a)
{
    gb_text_encoder_close(a->encoder);
    gb_index_close(&a->index);
    free(a->vector);
    free(a->found.rows);
    free(a->found.scores);
}

static bool search(asking *a, const char *question, gb_status *status)
{
    const gb_vectors query = {
        .rows = 1, .width = gb_text_encoder_width(a->encoder), .values = a->vector};
    const gb_search_params how = {.k = a->count, .quiet = true};
    return gb_text_encoder_run(a->encoder, GB_TEXT_QUERY, &question, 1, NULL, a->vector, status) &&
           gb_search(gb_text_encoder_device(a->encoder), &query, &a->index.vectors.vectors, &how,
                     &a->found, status);
}

/* ---- printing ---- */

static const char *row_of(const asking *a, const gb_row_file *file, uint32_t row, size_t *length)
{
    *length = 0;
    return a->index.collection && gb_row_file_count(file) ? gb_row_file_row(file, row, length) : "";
}

static const char *title_of(const asking *a, uint32_t row, size_t *length)
{
    return row_of(a, a->index.collection ? a->index.collection->titles : NULL, row, length);
}

static const char *text_of(const asking *a, uint32_t row, size_t *length)
{
    return row_of(a, a->index.collection ? a->index.collection->texts : NULL, row, length);
}

/* Words of a text in lines of COLUMNS, up to `most` bytes. */
static void print_filled(const char *text, size_t length, size_t most)
{
    size_t column = 0;
    bool cut = false;
    for (size_t at = 0; at < length && !cut;) {
        size_t space = strspn(text + at, " \t\r\n"), end;
        at += space;
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
        uint32_t row = a->found.rows[i];
        size_t id_length, title_length, length;
        const char *id = gb_vector_set_id(&a->index.vectors, row, &id_length);
        const char *title = title_of(a, row, &title_length), *text = text_of(a, row, &length);
        printf("%3u  %.4f  %.*s  %.*s\n", i + 1, (double)a->found.scores[i], (int)id_length, id,
               (int)title_length, title);
        print_filled(text, length, a->how->whole ? SIZE_MAX : CUT);
    }
}

static json_t *passage_json(const asking *a, uint32_t i)
{
    uint32_t row = a->found.rows[i];
    size_t length;
    json_t *passage = json_object();
    const char *id = gb_vector_set_id(&a->index.vectors, row, &length);
    json_object_set_new(passage, "_id", json_stringn(id, length));
    json_object_set_new(passage, "score", json_real((double)a->found.scores[i]));
    if (!a->index.collection)
        return passage;
    const char *title = title_of(a, row, &length);
    json_object_set_new(passage, "title", json_stringn(title, length));
    const char *text = text_of(a, row, &length);
    json_object_set_new(passage, "text", json_stringn(text, length));
    return passage;
}

static bool print_json(const asking *a, const char *question, gb_status *status)
{
    json_t *line = json_object(), *passages = json_array();
    gb_text printed = {0};
    json_object_set_new(line, "question", json_string(question));
    for (uint32_t i = 0; i < a->count; i++)
        json_array_append_new(passages, passage_json(a, i));
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
    gb_lines *lines = gb_lines_open("/dev/stdin", status);
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
