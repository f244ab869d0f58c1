/* Numbers that another program computed with a model, and the texts they are of. */
#include "verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_ROWS  1024 /* tokens of a batch, or one text */
#define BATCH_TEXTS 64   /* texts of a batch */

/* ---- the tokenizer ---- */

bool compare_tokenizing_open(tokenizing *t, const gb_folder *folder, gb_status *status)
{
    *t = (tokenizing){0};
    if ((t->vocab = gb_folder_vocab(folder, status))) {
        t->params = gb_vocab_get_rules(t->vocab)->words;
        if ((t->tokenizer = gb_tokenizer_create(t->vocab, t->params, status)))
            return true;
    }
    compare_tokenizing_close(t);
    return false;
}

void compare_tokenizing_close(tokenizing *t)
{
    gb_tokenizer_destroy(t->tokenizer);
    gb_vocab_destroy(t->vocab);
    *t = (tokenizing){0};
}

bool compare_tokenizing_add(const tokenizing *t, gb_batch *batch, const char *text, size_t length,
                            uint32_t max_length, gb_status *status)
{
    gb_ids ids = {0};
    gb_special_ids specials = gb_vocab_specials(t->vocab);
    bool ok = gb_tokenize(t->tokenizer, text, length, &ids, status) &&
              gb_batch_add(batch, &specials, ids.data, NULL, ids.count, max_length, status);
    free(ids.data);
    return ok;
}

/* ---- the file ---- */

/* What is compared, and how it went. */
typedef struct comparison {
    const char *name;           /* in the file */
    const gb_stored *stored;    /* there, or NULL */
    float *values;              /* all of it */
    uint32_t cols;              /* of a row */
    bool of_tokens;             /* rows are tokens, else texts */
    double difference, largest; /* so far */
} comparison;

#define MOST_KINDS 260 /* layers and the four others */

typedef struct golden {
    const char *path;            /* file */
    gb_safetensors *file;        /* open */
    verification *v;             /* borrowed */
    const forward_model *model;  /* of it */
    const gb_stored *text, *ids; /* there, or NULL */
    uint64_t texts;              /* how many */
    uint32_t max_length;         /* tokens of a text at most */
    comparison *kinds;           /* hidden.0 ... hidden.L, cls, mean, sentence, logits */
    uint32_t count;              /* of them */
    const char *at;              /* next text */
    uint64_t done, tokens;       /* texts and tokens compared */
    uint64_t other_ids;          /* texts whose tokens are not those of the file */
} golden;

static bool fail_form(const golden *g, const char *name, const char *form, gb_status *status)
{
    return gb_fail(status, GB_DATA, g->path, "see gabbro verify --help", "tensor %s is not %s",
                   name, form);
}

/* How many texts there are, and how long. */
static bool find_texts(golden *g, gb_status *status)
{
    g->text = gb_safetensors_find(g->file, "text");
    g->ids = gb_safetensors_find(g->file, "ids");
    g->max_length = g->model->sentence.max_length;
    if (g->text && (strcmp(g->text->dtype, "U8") != 0 || g->text->rank != 1))
        return fail_form(g, "text", "a list of bytes", status);
    if (g->ids && (strcmp(g->ids->dtype, "I32") != 0 || g->ids->rank != 2 || !g->ids->shape[1] ||
                   g->ids->shape[1] > g->model->config.max_positions))
        return fail_form(g, "ids", "i32 [texts, at most the model's positions]", status);
    if (!g->text && !g->ids)
        return gb_fail(status, GB_DATA, g->path, "see gabbro verify --help",
                       "neither text nor ids in the file");
    if (g->ids) {
        g->texts = g->ids->shape[0];
        g->max_length = (uint32_t)g->ids->shape[1];
    }
    if (g->text) {
        const char *bytes = g->at = g->text->data;
        uint64_t lines = 0;
        for (uint64_t i = 0; i < g->text->bytes; i++)
            lines += bytes[i] == '\n';
        if ((g->text->bytes && bytes[g->text->bytes - 1] != '\n') || (g->ids && lines != g->texts))
            return fail_form(g, "text", "one line for every text", status);
        g->texts = lines;
    }
    return true;
}

static bool add_kind(golden *g, const char *name, uint32_t cols, bool of_tokens, gb_status *status)
{
    comparison *k = &g->kinds[g->count++];
    *k = (comparison){.name = name,
                      .cols = cols,
                      .of_tokens = of_tokens,
                      .stored = gb_safetensors_find(g->file, name)};
    if (!k->stored)
        return true;
    uint64_t rows = k->stored->rank == 2 ? k->stored->shape[0] : 0;
    if (!of_tokens && rows != g->texts)
        return fail_form(g, name, "one row for every text", status);
    k->values = gb_alloc((size_t)rows * cols, sizeof *k->values, status);
    return k->values && gb_stored_read(k->stored, rows, cols, k->values, status);
}

static bool anything(const golden *g, gb_status *status)
{
    bool any = g->text && g->ids; /* the tokenizer's work is compared */
    for (uint32_t i = 0; i < g->count; i++)
        any |= g->kinds[i].stored != NULL;
    return any || gb_fail(status, GB_DATA, g->path,
                          "store hidden.0 and so on, cls, mean, sentence or logits",
                          "there are texts, and nothing to compare of them");
}

static bool find_kinds(golden *g, gb_arena *arena, gb_status *status)
{
    const gb_bert_config *c = &g->model->config;
    bool ok =
        c->layers + 5 <= MOST_KINDS && (g->kinds = gb_alloc(MOST_KINDS, sizeof *g->kinds, status));
    for (uint32_t l = 0; ok && l <= c->layers; l++) {
        char name[32];
        snprintf(name, sizeof name, "hidden.%u", l);
        char *kept = gb_arena_strdup(arena, name, strlen(name), status);
        ok = kept && add_kind(g, kept, c->hidden_size, true, status);
    }
    return ok && add_kind(g, "cls", c->hidden_size, false, status) &&
           add_kind(g, "mean", c->hidden_size, false, status) &&
           add_kind(g, "sentence",
                    g->model->sentence.pooling == GB_POOLING_TERMS ? c->vocab_size : c->hidden_size,
                    false, status) &&
           add_kind(g, "logits", c->vocab_size, true, status);
}

/* ---- texts ---- */

static int32_t id_at(const golden *g, uint64_t text, uint32_t column)
{
    int32_t id;
    memcpy(&id, (const char *)g->ids->data + sizeof id * (text * g->max_length + column),
           sizeof id);
    return column < g->max_length ? id : -1;
}

/* Append text number g->done + batch->count, by its ids in the file. */
static bool add_ids(golden *g, gb_batch *batch, gb_status *status)
{
    gb_special_ids specials = gb_vocab_specials(g->v->tokens.vocab);
    uint64_t text = g->done + batch->count;
    uint32_t length = 0, *ids = gb_alloc(g->max_length, sizeof *ids, status);
    if (!ids)
        return false;
    while (length < g->max_length && id_at(g, text, length) >= 0) {
        ids[length] = (uint32_t)id_at(g, text, length);
        if (ids[length++] >= g->model->config.vocab_size)
            break;
    }
    bool sound = length >= 2 && ids[0] == specials.cls && ids[length - 1] == specials.sep;
    bool ok =
        sound ? gb_batch_add(batch, &specials, ids + 1, NULL, length - 2, g->max_length, status)
              : fail_form(g, "ids", "[CLS] ... [SEP] of the model's tokens in every row", status);
    free(ids);
    return ok;
}

/* The same by its text; tokens that are not those of the file are counted. */
static bool add_text(golden *g, gb_batch *batch, gb_status *status)
{
    uint64_t text = g->done + batch->count;
    const char *end =
        memchr(g->at, '\n', (size_t)((const char *)g->text->data + g->text->bytes - g->at));
    if (!compare_tokenizing_add(&g->v->tokens, batch, g->at, (size_t)(end - g->at), g->max_length,
                                status))
        return false;
    g->at = end + 1;
    if (!g->ids)
        return true;
    uint32_t first = batch->starts[batch->count - 1], length = batch->rows - first;
    bool same = length == g->max_length || id_at(g, text, length) < 0;
    for (uint32_t i = 0; same && i < length; i++)
        same = (uint32_t)id_at(g, text, i) == batch->ids[first + i];
    g->other_ids += !same;
    return true;
}

static bool next_batch(golden *g, gb_batch *batch, gb_status *status)
{
    gb_batch_reset(batch);
    while (g->done + batch->count < g->texts && batch->count < BATCH_TEXTS &&
           (batch->count == 0 || batch->rows + g->max_length <= BATCH_ROWS))
        if (!(g->text ? add_text(g, batch, status) : add_ids(g, batch, status)))
            return false;
    return true;
}

/* ---- comparing ---- */

/* The tensor that the program has for kind number k. */
static gb_tensor tensor_of(const golden *g, const forward *f, uint32_t k)
{
    uint32_t layers = g->model->config.layers;
    const gb_tensor others[] = {f->first, f->mean, f->sentence, f->logits};
    return k <= layers ? f->hidden[k] : others[k - layers - 1];
}

static bool compare_batch(golden *g, const forward *f, const gb_batch *batch, uint64_t ticket,
                          gb_status *status)
{
    for (uint32_t i = 0; i < g->count; i++) {
        comparison *k = &g->kinds[i];
        gb_tensor tensor = tensor_of(g, f, i);
        if (!k->stored || tensor == GB_NO_TENSOR)
            continue;
        uint32_t rows = k->of_tokens ? batch->rows : batch->count;
        uint64_t first = k->of_tokens ? g->tokens : g->done;
        if (first + rows > k->stored->shape[0])
            return fail_form(g, k->name, "one row for every token", status);
        const float *got = gb_executable_output(f->exec, ticket, tensor, status);
        if (!got)
            return false;
        compare_forward_differs(got, gb_tape_tensor(gb_executable_tape(f->exec), tensor)->ld,
                                k->values + first * k->cols, rows, k->cols, &k->difference,
                                &k->largest);
    }
    return true;
}

static bool run_batches(golden *g, gb_status *status)
{
    gb_batch batch = {0};
    bool ok = true, logits = g->kinds[g->count - 1].stored != NULL;
    while (ok && g->done < g->texts) {
        forward f = {0};
        uint64_t ticket;
        ok = next_batch(g, &batch, status) &&
             compare_forward_make(&f, g->model, g->v->state, batch.rows, batch.count, g->max_length,
                                  logits, status) &&
             compare_forward_run(&f, &batch, &ticket, status) &&
             compare_batch(g, &f, &batch, ticket, status);
        compare_forward_free(&f);
        g->done += batch.count;
        g->tokens += batch.rows;
    }
    gb_batch_free(&batch);
    return ok;
}

static void report(const golden *g)
{
    static const char *const names[] = {"[CLS] vectors", "mean vectors", "sentence vectors",
                                        "masked-LM logits"};
    uint32_t layers = g->model->config.layers;
    double states = 0, bound = g->v->params->bound;
    bool any = false;
    fprintf(g->v->params->out, "  %-12s %s: %llu texts, %llu tokens\n", "golden", g->path,
            (unsigned long long)g->texts, (unsigned long long)g->tokens);
    if (g->text && g->ids)
        compare_verify_measured(g->v, "texts with other tokens", "golden numbers",
                                (double)g->other_ids, 0);
    for (uint32_t i = 0; i < g->count; i++) {
        const comparison *k = &g->kinds[i];
        double worst = k->difference > 0 ? k->difference / k->largest : 0;
        if (!k->stored)
            continue;
        any = any || i <= layers;
        if (i <= layers)
            states = fmax(states, worst);
        else if (i + 1 < g->count || g->model->bert.head)
            compare_verify_measured(g->v, names[i - layers - 1], "golden numbers", worst, bound);
    }
    if (any)
        compare_verify_measured(g->v, "states of every layer", "golden numbers", states, bound);
}

bool compare_golden_compare(verification *v, const char *path, gb_status *status)
{
    golden g = {.path = path, .v = v, .model = &v->model};
    gb_arena *arena = gb_arena_create(1 << 12, status);
    bool ok = arena && (g.file = gb_safetensors_open(path, status)) && find_texts(&g, status) &&
              find_kinds(&g, arena, status) && anything(&g, status) && run_batches(&g, status);
    if (ok)
        report(&g);
    for (uint32_t i = 0; g.kinds && i < g.count; i++)
        free(g.kinds[i].values);
    free(g.kinds);
    gb_safetensors_close(g.file);
    gb_arena_destroy(arena);
    return ok;
}
