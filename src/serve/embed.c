/* Vectors of the texts of a file, written as .npy, as lines of JSON, or shown on a terminal. */
#include <gabbro/serve.h>

#include <gabbro/json.h>
#include <gabbro/os.h>
#include <gabbro/rows.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK   256 /* texts in memory at a time */
#define PREVIEW 6   /* numbers of a vector shown on a terminal */
#define CUT     50  /* characters of a text shown there */

/* Texts of the input. */
typedef struct embed_texts {
    char **texts;    /* [count] what becomes a vector */
    char **ids;      /* [count] or NULL each */
    uint32_t count;  /* in memory */
    gb_lines *lines; /* of the input */
    bool json;       /* lines are objects; known from the first */
    bool begun;      /* a line has been read */
} embed_texts;

static void clear(embed_texts *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        free(t->texts[i]);
        free(t->ids[i]);
    }
    t->count = 0;
}

/* The id of a line, if it has one. False where it is neither text nor a whole number. */
static bool take_id(const embed_texts *t, const json_t *object, char **id, gb_status *status)
{
    const json_t *value = gb_json_either(object, "_id", "id");
    char number[GB_JSON_NUMBER];
    if (!value || json_is_null(value))
        return true;
    const char *text = gb_json_id(value, number);
    if (!text)
        return gb_lines_fail(t->lines, status, "ids are texts or whole numbers",
                             "its id is neither");
    return (*id = gb_strdup(text, status)) != NULL;
}

static bool take_json(embed_texts *t, const char *line, size_t length, gb_status *status)
{
    json_t *object = gb_json_line(t->lines, line, length, 0, status);
    const char *text = json_string_value(json_object_get(object, "text"));
    const char *title = gb_json_text(object, "title");
    bool ok = object != NULL;
    if (ok && !text)
        ok = gb_lines_fail(t->lines, status, "one text a line does as well",
                           "it has no \"text\" that is a string");
    char *id = NULL;
    if (ok && (ok = take_id(t, object, &id, status))) {
        t->texts[t->count] = gb_format(status, "%s%s%s", title, *title ? " " : "", text);
        t->ids[t->count] = id;
        t->count++; /* also what has no text, to be freed */
        ok = t->texts[t->count - 1] != NULL;
    }
    json_decref(object);
    return ok;
}

/* The next texts; false at a failure. None: the end. */
static bool read_chunk(embed_texts *t, gb_status *status)
{
    char *line;
    size_t length;
    int got = 1;
    clear(t);
    while (t->count < CHUNK && (got = gb_lines_next_text(t->lines, &line, &length, status)) == 1) {
        if (!t->begun)
            t->json = *line == '{';
        t->begun = true;
        if (t->json) {
            if (!take_json(t, line, length, status))
                return false;
            continue;
        }
        if (!(t->texts[t->count] = gb_format(status, "%.*s", (int)length, line)))
            return false;
        t->ids[t->count++] = NULL;
    }
    return got >= 0;
}

/* ---- writing ---- */

typedef struct embed_output {
    const gb_embed_params *how; /* as asked for */
    gb_out *file;               /* or NULL: standard output */
    gb_out *scales;             /* factors of int8 vectors, or NULL */
    void *packed;               /* [width] room for a vector of other numbers */
    bool npy;                   /* the file is of vectors alone */
    uint32_t width, rows;       /* of the vectors; written so far */
} embed_output;

static FILE *stream_of(const embed_output *o)
{
    return o->file ? gb_out_stream(o->file) : stdout;
}

/* Is that a .npy file of int8, whose factors scales.npy has? */
static bool has_scales(const char *path)
{
    char header[GB_NPY_HEADER];
    FILE *file = gb_os_fopen(path, "rb");
    size_t length = file ? fread(header, 1, sizeof header, file) : 0;
    if (file)
        fclose(file);
    return gb_find_bytes(header, length, "'|i1'", 5) != NULL;
}

/* scales.npy beside int8 vectors: those of others are not replaced. */
static bool open_scales(embed_output *o, const char *path, gb_status *status)
{
    const char *slash = strrchr(path, '/');
    char header[GB_NPY_HEADER] = {0};
    char *scales = gb_format(status, "%.*sscales.npy", (int)(slash ? slash - path + 1 : 0), path);
    bool ok = scales != NULL;
    if (ok && !strcmp(scales, path))
        ok = gb_fail(status, GB_USAGE, path, "give the vectors another name",
                     "the factors of int8 vectors are written there");
    else if (ok && gb_file_exists(scales) && !has_scales(path))
        ok = gb_fail(status, GB_USAGE, scales, "give another folder",
                     "the factors of other vectors are there");
    o->scales = ok ? gb_out_open(scales, status) : NULL;
    free(scales);
    if (o->scales)
        fwrite(header, 1, sizeof header, gb_out_stream(o->scales));
    return o->scales != NULL;
}

static bool write_numbers(embed_output *o, const float *vector, gb_status *status)
{
    const gb_number kind = o->how->numbers;
    float factor;
    if (!gb_number_pack(kind, vector, o->width, o->packed, &factor, o->how->out, status))
        return false;
    fwrite(o->packed, gb_number_bytes(kind), o->width, stream_of(o));
    if (o->scales)
        fwrite(&factor, sizeof factor, 1, gb_out_stream(o->scales));
    return true;
}

static bool open_output(embed_output *o, gb_status *status)
{
    const char *path = o->how->out, *ending = path ? strrchr(path, '.') : NULL;
    if (!path)
        return true;
    o->npy = ending && !strcmp(ending, ".npy");
    if (!o->npy && (!ending || strcmp(ending, ".jsonl") != 0))
        return gb_fail(status, GB_USAGE, path, NULL, "--out takes a file .npy or .jsonl");
    if (!o->npy && o->how->numbers != GB_NUMBER_FLOAT32)
        return gb_fail(status, GB_USAGE, path, "name a file .npy", "--numbers is for .npy");
    o->file = gb_out_open(path, status);
    char header[GB_NPY_HEADER] = {0}; /* is put in at the end */
    if (o->file && o->npy)
        fwrite(header, 1, sizeof header, stream_of(o));
    return o->file && (o->packed = gb_alloc(o->width, sizeof(float), status)) &&
           (o->how->numbers != GB_NUMBER_INT8 || open_scales(o, path, status));
}

/* Characters of the first CUT of a text, not in the middle of one. */
static int shown_bytes(const char *text)
{
    int bytes = 0;
    for (int characters = 0; text[bytes] && characters < CUT; characters++)
        do
            bytes++;
        while ((text[bytes] & 0xc0) == 0x80);
    return bytes;
}

static bool write_one(embed_output *o, const char *id, const char *text, const float *vector,
                      gb_status *status)
{
    FILE *out = stream_of(o);
    if (o->npy)
        return write_numbers(o, vector, status);
    if (o->how->preview) {
        int bytes = shown_bytes(text);
        fprintf(out, "%.*s%s\n   ", bytes, text, text[bytes] ? "..." : "");
        for (uint32_t i = 0; i < o->width && i < PREVIEW; i++)
            fprintf(out, " %8.5f", (double)vector[i]);
        fprintf(out, "%s  (%u numbers)\n", o->width > PREVIEW ? " ..." : "", o->width);
        return true;
    }
    for (uint32_t i = 0; i < o->width; i++)
        if (!isfinite(vector[i]))
            return gb_fail(status, GB_DATA, NULL, "look at the model; FILE.npy takes such numbers",
                           "a number of the vector of \"%.*s\" is %g", shown_bytes(text), text,
                           (double)vector[i]);
    json_t *line = json_object(), *numbers = json_array();
    gb_text printed = {0};
    if (id)
        json_object_set_new(line, "_id", json_string(id));
    json_object_set_new(line, "text", json_string(text));
    for (uint32_t i = 0; i < o->width; i++)
        json_array_append_new(numbers, json_real((double)vector[i]));
    json_object_set_new(line, "vector", numbers);
    bool ok = gb_json_print(line, JSON_COMPACT | JSON_REAL_PRECISION(9) | GB_JSON_NEWLINE, &printed,
                            status);
    if (ok)
        fwrite(printed.data, 1, printed.length, out);
    gb_text_free(&printed);
    json_decref(line);
    return ok;
}

/* The headers, which have the number of rows. */
static bool write_headers(embed_output *o, gb_status *status)
{
    char header[GB_NPY_HEADER];
    if (!gb_out_rewind(o->file, status))
        return false;
    gb_number_header(o->how->numbers, o->rows, o->width, header);
    fwrite(header, 1, sizeof header, stream_of(o));
    if (!o->scales)
        return true;
    if (!gb_out_rewind(o->scales, status))
        return false;
    gb_npy_scales_header(o->rows, header);
    fwrite(header, 1, sizeof header, gb_out_stream(o->scales));
    return true;
}

static bool end_output(embed_output *o, bool ok, gb_status *status)
{
    free(o->packed);
    ok = ok && (!o->npy || write_headers(o, status));
    if (ok && !o->file)
        return fflush(stdout) == 0 ||
               gb_fail(status, GB_DATA, NULL, NULL, "standard output cannot be written");
    if (ok && o->scales) /* first: without them the vectors cannot be read */
        ok = gb_out_commit(o->scales, status);
    else
        gb_out_abandon(o->scales);
    if (ok)
        return gb_out_commit(o->file, status);
    gb_out_abandon(o->file);
    return ok;
}

/* ---- all of it ---- */

static bool embed_chunk(gabbro_model *model, const embed_texts *t, embed_output *o, float *vectors,
                        gb_status *status)
{
    gabbro_status said = {0};
    if (!gabbro_encode(model, o->how->queries ? GABBRO_QUERY : GABBRO_PASSAGE,
                       (const char *const *)t->texts, t->count, vectors, &said))
        return gb_library_failed(&said, status);
    bool ok = true;
    for (uint32_t i = 0; ok && i < t->count; i++)
        ok = write_one(o, t->ids[i], t->texts[i], vectors + (size_t)i * o->width, status);
    o->rows += t->count;
    return ok;
}

static gabbro_model *open_model(const gb_embed_params *params, gb_status *status)
{
    gabbro_status said = {0};
    gabbro_model *model = gb_library_open_model(params->config, params->model, &params->how, &said);
    if (!model)
        gb_library_failed(&said, status);
    return model;
}

/* All texts in chunks, the next of them while there are any. */
static bool embed_all(gabbro_model *model, embed_texts *texts, embed_output *out, float *vectors,
                      gb_status *status)
{
    gb_progress progress;
    const char *label = out->how->label;
    bool ok = true;
    if (label)
        gb_progress_begin(&progress, label, "texts", 0, 0);
    while (ok && (ok = read_chunk(texts, status)) && texts->count) {
        ok = embed_chunk(model, texts, out, vectors, status);
        if (label)
            gb_progress_update(&progress, out->rows, NULL);
    }
    if (ok && label)
        gb_progress_end(&progress, out->rows, NULL);
    return ok;
}

bool gb_embed_texts(const gb_embed_params *params, gb_status *status)
{
    embed_texts texts = {.texts = gb_alloc(CHUNK, sizeof *texts.texts, status),
                         .ids = gb_alloc(CHUNK, sizeof *texts.ids, status)};
    embed_output out = {.how = params};
    float *vectors = NULL;
    gabbro_model *model = NULL;
    bool ok = texts.texts && texts.ids && (texts.lines = gb_lines_open(params->input, status)) &&
              (model = open_model(params, status));
    out.width = model ? gabbro_model_width(model) : 0;
    ok = ok && (vectors = gb_alloc((size_t)CHUNK * out.width, sizeof *vectors, status)) &&
         open_output(&out, status) && embed_all(model, &texts, &out, vectors, status);
    uint64_t empty = ok && !texts.json ? gb_lines_number(texts.lines) - out.rows : 0;
    if (empty)
        gb_log(GB_LOG_WARN, "%llu empty lines have no vector: rows are not numbers of lines",
               (unsigned long long)empty);
    if (ok && !out.rows)
        ok = gb_fail(status, GB_DATA, strcmp(params->input, "-") ? params->input : "standard input",
                     "one text a line", "there is no text in it");
    ok = end_output(&out, ok, status);
    clear(&texts);
    free(texts.texts);
    free(texts.ids);
    gb_lines_close(texts.lines);
    gabbro_model_close(model);
    free(vectors);
    return ok;
}
