/* Token coverage of several models: counting, and what it gives. */
#include "coverage.h"

#include <stdlib.h>
#include <string.h>

struct gb_coverage_study {
    const gb_coverage_params *params; /* borrowed */
    gb_device *device;                /* borrowed */
    coverage_texts texts;             /* input */
    gb_vocab *vocab;                  /* of all models */
    char vocab_hash[GB_HASH_SIZE];    /* its hash */
    uint32_t **top;                   /* [models] [count, depth] best tokens of each */
    gb_coverage **coverage;           /* [models] means */
    gb_coverage *frequent;            /* of one list for all, or NULL */
    bool *rare;                       /* [V] tokens, or NULL */
    gb_coverage *(*variants)[GB_COVERAGE_VARIANTS]; /* [models] other projections */
    gb_arena *arena;                                /* what the view points to */
    gb_text about;                                  /* words of the view */
    gb_coverage_view view;                          /* all of it, to be shown */
};

/* ---- counting ---- */

/* A model, and the head that projects its vectors: its own or the reference's. */
typedef struct model {
    gb_vocab_projection own;              /* the model */
    const gb_vocab_projection *reference; /* params NULL: there is none */
    size_t index;                         /* of the model */
    gb_projected_vectors vectors;         /* of the texts */
} model;

/* All models speak of the same tokens: those of the first. */
static bool same_vocabulary(gb_coverage_study *s, gb_vocab_projection *p, const char *path,
                            gb_status *status)
{
    char hash[GB_HASH_SIZE];
    if (!gb_vocab_hash(p->model.vocab, hash, status))
        return false;
    if (!s->vocab) {
        memcpy(s->vocab_hash, hash, sizeof hash);
        s->vocab = p->model.vocab;
        p->model.vocab = gb_folder_vocab(p->model.folder, status);
        return p->model.vocab != NULL;
    }
    return !strcmp(s->vocab_hash, hash) ||
           gb_fail(status, GB_USAGE, path, "compare models of one vocabulary",
                   "the model has another vocabulary than the first");
}

/* Which tokens are rare, and how far one list of the most frequent would come. */
static bool count_frequent(gb_coverage_study *s, gb_status *status)
{
    enum { RARE = 100 }; /* a passage in so many has it at most */
    const gb_coverage_params *o = s->params;
    const coverage_texts *t = &s->texts;
    uint32_t size = gb_vocab_size(s->vocab);
    uint64_t passages = gb_row_file_count(t->file);
    uint64_t *having = gb_alloc(size, sizeof *having, status); /* passages that have a token */
    uint64_t *last = gb_alloc(size, sizeof *last, status);     /* of them, counted from 1 */
    uint32_t *top = gb_alloc(o->depth, sizeof *top, status);
    bool ok = having && last && top && (s->rare = gb_alloc(size, sizeof *s->rare, status));
    for (uint64_t row = 0; ok && row < passages; row++) {
        size_t length;
        const uint32_t *ids = gb_row_file_row(t->file, row, &length);
        for (size_t i = 0; i < length; i++)
            if (ids[i] < size && !gb_vocab_is_special(s->vocab, ids[i]) &&
                last[ids[i]] != row + 1) {
                last[ids[i]] = row + 1;
                having[ids[i]]++;
            }
    }
    for (uint32_t id = 0; ok && id < size; id++)
        s->rare[id] = having[id] * RARE <= passages;
    for (uint32_t k = 0; ok && k < o->depth; k++) {
        for (uint32_t id = 0; id < size; id++)
            if (having[id] > having[top[k]])
                top[k] = id;
        having[top[k]] = 0;
    }
    ok = ok && (s->frequent = gb_coverage_create(s->vocab, o->depth, s->rare, status));
    for (uint32_t i = 0; ok && i < t->count; i++) {
        size_t length;
        const uint32_t *ids = gb_row_file_row(t->file, t->rows[i], &length);
        gb_coverage_add(s->frequent, top, ids, length);
    }
    free(having);
    free(last);
    free(top);
    return ok;
}

/* Best tokens of all texts by a head, and how many of them the texts have. */
static bool project(const gb_coverage_study *s, const gb_vocab_projection *head,
                    const gb_projected_vectors *vectors, uint32_t *top, gb_coverage **coverage,
                    gb_status *status)
{
    const coverage_texts *t = &s->texts;
    uint32_t depth = s->params->depth;
    *coverage = gb_coverage_create(s->vocab, depth, s->rare, status);
    if (!*coverage || !gb_vocab_projection_top(head, s->device, vectors, depth, top, status))
        return false;
    for (uint32_t i = 0; i < t->count; i++) {
        size_t length;
        const uint32_t *ids = gb_row_file_row(t->file, t->rows[i], &length);
        gb_coverage_add(*coverage, top + (size_t)i * depth, ids, length);
    }
    return true;
}

/* Own and reference head, bare and full; a head that is not there gives nothing. */
static bool count_variants(gb_coverage_study *s, const model *m, gb_status *status)
{
    uint32_t *top = gb_alloc((size_t)s->texts.count * s->params->depth, sizeof *top, status);
    bool ok = top != NULL;
    for (size_t v = 0; ok && v < GB_COVERAGE_VARIANTS; v++) {
        const gb_vocab_projection *head = v / 2 ? m->reference : &m->own;
        gb_projected_vectors vectors = m->vectors;
        vectors.full = v % 2;
        if (head->params && (!vectors.full || head->has_head))
            ok = project(s, head, &vectors, top, &s->variants[m->index][v], status);
    }
    free(top);
    return ok;
}

static uint32_t max_length(const coverage_texts *t, const gb_vocab_projection *p)
{
    uint32_t most = p->model.config.max_positions;
    return t->collection && t->tokens.max_passage < most ? t->tokens.max_passage : most;
}

/* Of the collection, or NULL. */
static const gb_tokens *tokens_of(const coverage_texts *t)
{
    return t->collection ? &t->tokens : NULL;
}

static bool count_model(gb_coverage_study *s, model *m, gb_status *status)
{
    const coverage_texts *t = &s->texts;
    const gb_coverage_params *o = s->params;
    gb_projected_texts texts = {t->file, t->rows, t->count, max_length(t, &m->own)};
    float *vectors = NULL;
    uint32_t *top = gb_alloc((size_t)t->count * o->depth, sizeof *top, status);
    s->top[m->index] = top;
    bool ok = top && gb_vocab_projection_encode(&m->own, s->device, &texts, &vectors, status);
    m->vectors =
        (gb_projected_vectors){vectors, t->count, m->own.model.config.hidden_size, o->full};
    const gb_vocab_projection *head = m->reference->params ? m->reference : &m->own;
    ok = ok && project(s, head, &m->vectors, top, &s->coverage[m->index], status) &&
         (!o->variants || count_variants(s, m, status));
    free(vectors);
    return ok;
}

/* One's own texts are cut to what the first model reads, a collection's to what its tokens are. */
static bool reads_texts(const coverage_texts *t, const gb_vocab_projection *p, const char *path,
                        gb_status *status)
{
    size_t longest = 0, length;
    for (uint32_t i = 0; i < t->count && !t->collection; i++) {
        gb_row_file_row(t->file, t->rows[i], &length);
        longest = length > longest ? length : longest;
    }
    return longest <= p->model.config.max_positions - 2 ||
           gb_fail(status, GB_USAGE, path, "name the model that reads least first",
                   "the model reads %u tokens of a text, the first model reads %zu",
                   p->model.config.max_positions - 2, longest);
}

/* Opens a model, with the first one the texts too (one's own need its tokenizer), and counts. */
static bool count_next(gb_coverage_study *s, const gb_vocab_projection *reference, size_t index,
                       const char *file, gb_status *status)
{
    const gb_coverage_params *o = s->params;
    model m = {.reference = reference, .index = index};
    if (!gb_vocab_projection_open(&m.own, o->models[index], tokens_of(&s->texts), status))
        return false;
    bool ok = same_vocabulary(s, &m.own, o->models[index], status) &&
              (s->texts.file ||
               figures_coverage_texts_tokenize(&s->texts, o, &m.own.model, file, status)) &&
              reads_texts(&s->texts, &m.own, o->models[index], status) &&
              (s->frequent || !o->collection || count_frequent(s, status)) &&
              count_model(s, &m, status);
    gb_vocab_projection_close(&m.own);
    return ok;
}

static bool count_all(gb_coverage_study *s, const char *file, gb_status *status)
{
    const gb_coverage_params *o = s->params;
    gb_vocab_projection reference = {0};
    if (o->collection && !figures_coverage_texts_draw(&s->texts, o, status))
        return false;
    bool ok = !o->reference ||
              (gb_vocab_projection_open(&reference, o->reference, tokens_of(&s->texts), status) &&
               same_vocabulary(s, &reference, o->reference, status));
    for (size_t m = 0; ok && m < o->model_count; m++)
        ok = count_next(s, &reference, m, file, status);
    gb_vocab_projection_close(&reference);
    return ok;
}

/* ---- what is shown ---- */

/* Texts to show: ids and the best of every model, in `arena`. */
static bool shown_texts(gb_coverage_study *s, gb_status *status)
{
    const gb_coverage_params *o = s->params;
    gb_arena *arena = s->arena;
    gb_coverage_view *view = &s->view;
    const coverage_texts *t = &s->texts;
    view->text_count = o->text || o->show > t->count ? t->count : o->show;
    gb_coverage_text *list = gb_arena_alloc(arena, (view->text_count + 1) * sizeof *list, status);
    for (size_t i = 0; list && i < view->text_count; i++) {
        const uint32_t **top = gb_arena_alloc(arena, o->model_count * sizeof *top, status);
        char name[40];
        snprintf(name, sizeof name, "Text %zu", i + 1);
        size_t length = strlen(name);
        const char *id =
            t->collection ? gb_row_file_row(t->collection->passage_ids, t->rows[i], &length) : name;
        list[i].name = gb_arena_strdup(arena, id, length, status);
        list[i].ids = gb_row_file_row(t->file, t->rows[i], &list[i].length);
        list[i].top = top;
        if (!top || !list[i].name)
            return false;
        for (size_t m = 0; m < o->model_count; m++)
            top[m] = s->top[m] + i * o->depth;
    }
    view->texts = list;
    return list != NULL;
}

static bool write_about(gb_coverage_study *s, gb_status *status)
{
    gb_text_printf(&s->about,
                   "The [CLS] vector of a text is projected to the vocabulary, %s, with %s; "
                   "the k best tokens are compared with the text's own (BoW prediction, "
                   "Algorithm 1). Mean over %u ",
                   s->params->full ? "through the whole masked-LM head"
                                   : "by the bare word embeddings",
                   s->params->reference ? "the weights of one reference model"
                                        : "the weights of the model itself",
                   gb_coverage_texts(s->coverage[0]));
    if (s->texts.collection)
        gb_text_printf(&s->about, "passages of %s, drawn with seed %llu.",
                       s->texts.collection->name, (unsigned long long)s->params->seed);
    else
        gb_text_printf(&s->about, "texts.");
    return !s->about.failed || gb_fail_memory(status, "describing the coverage");
}

static bool make_view(gb_coverage_study *s, gb_status *status)
{
    const gb_coverage_params *o = s->params;
    if (!gb_coverage_texts(s->coverage[0]))
        return gb_fail(status, GB_DATA, o->texts, "give texts with words", "no text has a token");
    const char **names = gb_arena_alloc(s->arena, o->model_count * sizeof *names, status);
    if (!names || !write_about(s, status))
        return false;
    for (size_t m = 0; m < o->model_count; m++)
        names[m] = o->names[m];
    s->view = (gb_coverage_view){.vocab = s->vocab,
                                 .models = names,
                                 .model_count = o->model_count,
                                 .depth = o->depth,
                                 .coverage = (const gb_coverage *const *)s->coverage,
                                 .reading = o->reading,
                                 .frequent = s->frequent,
                                 .rare = s->rare,
                                 .about = s->about.data};
    if (o->variants)
        s->view.variants = (const gb_coverage *const(*)[GB_COVERAGE_VARIANTS])s->variants;
    return shown_texts(s, status);
}

/* ---- the study ---- */

gb_coverage_study *gb_coverage_study_create(const gb_coverage_params *params, gb_device *device,
                                            const char *file, gb_status *status)
{
    gb_coverage_study *s = gb_alloc(1, sizeof *s, status);
    if (!s)
        return NULL;
    s->params = params;
    s->device = device;
    bool ok = (s->top = gb_alloc(params->model_count, sizeof *s->top, status)) &&
              (s->coverage = gb_alloc(params->model_count, sizeof *s->coverage, status)) &&
              (s->variants = gb_alloc(params->model_count, sizeof *s->variants, status)) &&
              (s->arena = gb_arena_create(1 << 16, status)) && count_all(s, file, status) &&
              make_view(s, status);
    if (ok)
        return s;
    gb_coverage_study_destroy(s);
    return NULL;
}

void gb_coverage_study_destroy(gb_coverage_study *s)
{
    if (!s)
        return;
    for (size_t m = 0; m < s->params->model_count; m++) {
        if (s->coverage)
            gb_coverage_destroy(s->coverage[m]);
        for (size_t v = 0; s->variants && v < GB_COVERAGE_VARIANTS; v++)
            gb_coverage_destroy(s->variants[m][v]);
        if (s->top)
            free(s->top[m]);
    }
    free(s->coverage);
    free(s->variants);
    free(s->top);
    gb_coverage_destroy(s->frequent);
    free(s->rare);
    gb_vocab_destroy(s->vocab);
    figures_coverage_texts_close(&s->texts);
    gb_text_free(&s->about);
    gb_arena_destroy(s->arena);
    free(s);
}

const gb_coverage_view *gb_coverage_study_view(const gb_coverage_study *s)
{
    return &s->view;
}

static json_t *model_json(const gb_coverage_study *s, const gb_coverage *coverage)
{
    json_t *one = json_object();
    for (int r = 0; r < (s->rare ? GB_COVERAGE_READINGS : GB_COVERAGE_RARE); r++) {
        gb_coverage_reading reading = (gb_coverage_reading)r;
        json_t *values = json_array();
        for (uint32_t k = 1; k <= s->params->depth; k++)
            json_array_append_new(values, json_real(gb_coverage_at(coverage, reading, k)));
        json_object_set_new(one, gb_coverage_reading_name(reading), values);
    }
    return one;
}

/* coverage.json */
static bool write_json(const gb_coverage_study *s, const char *folder, gb_status *status)
{
    const gb_coverage_params *o = s->params;
    json_t *models = json_object();
    for (size_t m = 0; m < o->model_count; m++)
        json_object_set_new(models, o->names[m], model_json(s, s->coverage[m]));
    json_t *root =
        json_pack("{s:i, s:s, s:b, s:i, s:i, s:o}", "format", 1, "projection",
                  o->full ? "full" : "plain", "reference", o->reference != NULL, "texts",
                  (int)gb_coverage_texts(s->coverage[0]), "k", (int)o->depth, "models", models);
    bool ok = gb_json_save_in(root, GB_JSON_FILE, folder, "coverage.json", status);
    json_decref(root);
    return ok;
}

bool gb_coverage_study_write(const gb_coverage_study *s, const char *folder, gb_status *status)
{
    return gb_coverage_write(&s->view, folder, status) && write_json(s, folder, status);
}

json_t *gb_coverage_study_metrics(const gb_coverage_study *s)
{
    static const uint32_t cuts[] = {10, 20, 50, 100};
    json_t *metrics = json_object();
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        char name[32];
        snprintf(name, sizeof name, "coverage@%u", cuts[i]);
        if (cuts[i] <= s->params->depth)
            json_object_set_new(
                metrics, name,
                json_real(gb_coverage_at(s->coverage[0], s->params->reading, cuts[i])));
    }
    return metrics;
}
