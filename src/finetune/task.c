/* The task of fine-tuning: a batch through the encoder, a scoring, a loss. */
#include "private.h"

#include <stdlib.h>

/* Towers: the encoder of all texts or of passages, and that of queries. */
enum { PASSAGES, QUERIES, TOWERS };

/* Texts that go through one encoder. */
typedef struct encoded {
    const gb_bert *bert;   /* it */
    gb_batch part;         /* a copy of some texts */
    gb_batch now;          /* those that run; the arrays are of the drawn batch or of part */
    gb_selected_rows read; /* their first rows */
} encoded;

typedef struct finetune {
    gb_finetune_params params; /* settings */
    const gb_scoring *scoring; /* how texts are compared */
    const gb_loss *loss;       /* of the scores */
    void *scoring_self;        /* the scoring's own data */
    gb_own_settings own[2];    /* defaults of scoring and loss, where none were given */
    finetune_drawer drawer;    /* draws the batch */
    encoded towers[TOWERS];    /* one encoder's texts, or passages and queries apart */
    uint32_t tower_count;      /* 1 or 2 */
    uint32_t first_passage;    /* of two towers: queries among the texts that run */
} finetune;

static bool reads_all(const finetune *f)
{
    return f->scoring->reads_all && f->scoring->reads_all(f->scoring_self);
}

static uint32_t rows_per_text(const finetune *f)
{
    return f->scoring->vectors ? f->scoring->vectors(f->scoring_self) : 1;
}

/* Of texts [first, first + count), those of a tower. */
static void range_of(const finetune *f, int tower, uint32_t *first, uint32_t *count)
{
    uint32_t end = *first + *count, queries = f->drawer.batch.queries;
    if (f->tower_count == 1)
        return;
    if (tower == QUERIES)
        end = end < queries ? end : queries;
    else if (*first < queries)
        *first = queries;
    *count = end > *first ? end - *first : 0;
    *first = *count ? *first : 0;
}

/* Rows of each tower, and those that are read of the last states: the first of each text where
 * vectors are made of them. */
static void size(const void *self, uint32_t first, uint32_t texts, gb_bucket *bucket)
{
    const finetune *f = self;
    for (uint32_t t = 0; t < f->tower_count; t++) {
        uint32_t from = first, count = texts;
        range_of(f, (int)t, &from, &count);
        const uint32_t *starts = f->drawer.batch.tokens.starts + from;
        uint32_t rows = gb_bucket_rows(count ? starts[count] - starts[0] : 1);
        bucket->size[2 * t] = rows;
        bucket->size[2 * t + 1] =
            reads_all(f) || !count ? rows : gb_selected_rows_bucket(starts, count, NULL, 0, rows);
    }
}

/* These texts run in a tower. */
static bool set_now(finetune *f, encoded *tower, const gb_batch *texts, gb_status *status)
{
    tower->now = *texts;
    return reads_all(f) || gb_selected_rows_pooled(&tower->read, texts, f->params.pooling, status);
}

/* Texts [first, first + texts) run, in two towers queries apart from passages. */
static bool take(void *self, uint32_t first, uint32_t texts, gb_status *status)
{
    finetune *f = self;
    bool ok = true;
    for (uint32_t t = 0; ok && t < f->tower_count; t++) {
        encoded *tower = &f->towers[t];
        uint32_t from = first, count = texts;
        range_of(f, (int)t, &from, &count);
        f->first_passage = t == QUERIES ? count : 0;
        ok = gb_batch_slice(&f->drawer.batch.tokens, from, count, &tower->part, status) &&
             set_now(f, tower, &tower->part, status);
    }
    return ok;
}

static bool meet(void *self, const float *vectors, uint32_t width, uint32_t ld, gb_status *status)
{
    finetune *f = self;
    return finetune_meet(&f->drawer, vectors, width, ld, status);
}

static bool sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    finetune *f = self;
    if (!finetune_draw(&f->drawer, step, status))
        return false;
    size(f, 0, f->drawer.batch.texts, bucket);
    return f->tower_count == 2 ? take(f, 0, f->drawer.batch.texts, status)
                               : set_now(f, f->towers, &f->drawer.batch.tokens, status);
}

/* ---- parts: texts, queries and passages alike ---- */

static uint32_t count(const void *self)
{
    const finetune *f = self;
    return f->drawer.batch.texts;
}

/* ---- the loss ---- */

static gb_side side_of(const finetune *f, gb_text_kind kind)
{
    const gb_training_batch *b = &f->drawer.batch;
    bool queries = kind == GB_TEXT_QUERY;
    uint32_t first = queries ? 0 : b->queries;
    return (gb_side){.vectors = GB_NO_TENSOR,
                     .batch = &b->tokens,
                     .first = first,
                     .texts = queries ? b->queries : b->texts - first,
                     .kind = kind};
}

/* The loss of the scores of two sides. */
static gb_tensor loss_of(const finetune *f, gb_builder *builder, const gb_side *q, const gb_side *p)
{
    const gb_training_batch *b = &f->drawer.batch;
    float temperature = f->params.temperature;
    gb_batch_scores scores = {.columns = gb_training_batch_columns(b),
                              .batch = b,
                              .queries = f->scoring->single ? q->vectors : GB_NO_TENSOR,
                              .passages = f->scoring->single ? p->vectors : GB_NO_TENSOR,
                              .temperature = temperature > 0 ? temperature : 1};
    scores.scores = f->scoring->compare(f->scoring_self, builder, q, p);
    if (scores.temperature != 1)
        scores.scores = gb_scale(builder->tape, scores.scores, 1 / scores.temperature);
    return f->loss->build(&f->params, f->params.loss_own, builder, &scores);
}

/* The sum of the losses of shorter vectors. */
static gb_tensor loss_of_parts(const finetune *f, gb_builder *builder, const gb_side *q,
                               const gb_side *p)
{
    const gb_matryoshka *parts = &f->params.matryoshka;
    uint32_t width = f->towers[PASSAGES].bert->config.hidden_size;
    gb_tensor sum = GB_NO_TENSOR;
    for (uint32_t i = 0; i < parts->count; i++) {
        gb_side short_q = *q, short_p = *p;
        if (parts->dims[i] < width) {
            bool unit = f->params.normalize;
            gb_tensor columns = finetune_select_columns(builder, parts->dims[i], width);
            short_q.vectors = finetune_cut_vectors(builder, q->vectors, columns, unit);
            short_p.vectors = finetune_cut_vectors(builder, p->vectors, columns, unit);
        }
        gb_tensor loss = loss_of(f, builder, &short_q, &short_p);
        if (parts->weights[i] != 1)
            loss = gb_scale(builder->tape, loss, parts->weights[i]);
        sum = i == 0 ? loss : gb_add(builder->tape, sum, loss);
    }
    return sum;
}

/* losses[0]: the total; then, where the scoring adds losses, that of the scores and those. */
static void compare_sides(const finetune *f, gb_builder *builder, const gb_side *q,
                          const gb_side *p, gb_tensor losses[GB_MAX_LOSSES])
{
    losses[0] =
        f->params.matryoshka.count ? loss_of_parts(f, builder, q, p) : loss_of(f, builder, q, p);
    if (!f->scoring->extra)
        return;
    losses[1] = losses[0];
    for (int l = 2; l < GB_MAX_LOSSES; l++)
        losses[l] = GB_NO_TENSOR;
    f->scoring->extra(f->scoring_self, builder, q, p, losses + 2);
    for (int l = 2; l < GB_MAX_LOSSES && losses[l] != GB_NO_TENSOR; l++)
        losses[0] = gb_add(builder->tape, losses[0], losses[l]);
}

/* vectors: of all texts, in equal numbers of rows. */
static void compare(void *self, gb_builder *builder, gb_tensor vectors,
                    gb_tensor losses[GB_MAX_LOSSES])
{
    finetune *f = self;
    uint32_t rows = rows_per_text(f), all = f->drawer.batch.texts * rows;
    gb_side q = side_of(f, GB_TEXT_QUERY), p = side_of(f, GB_TEXT_PASSAGE);
    if (f->drawer.data.fixed) {
        q.vectors = vectors;
        p.vectors = finetune_fixed_vectors(builder, &f->drawer);
    } else {
        gb_selection first = gb_row_range_declare(builder, q.texts * rows, all, 0);
        gb_selection rest = gb_row_range_declare(builder, p.texts * rows, all, q.texts * rows);
        p.vectors = gb_selection_gather(builder, vectors, &rest);
        q.vectors = gb_selection_gather(builder, vectors, &first);
    }
    compare_sides(f, builder, &q, &p, losses);
}

/* ---- the program ---- */

/* The last states of at most `texts` texts of a tower. */
static gb_text_states encode(finetune *f, gb_builder *builder, int at, const gb_bucket *bucket,
                             uint32_t texts, gb_batch_inputs *in)
{
    encoded *tower = &f->towers[at];
    uint32_t rows = bucket->size[2 * at];
    *in = f->scoring->inputs
              ? f->scoring->inputs(f->scoring_self, builder, rows, texts, &tower->now)
              : gb_batch_declare(builder, &tower->bert->config, rows, texts, &tower->now,
                                 f->params.seed);
    if (bucket->size[2 * at + 1] < in->rows)
        gb_selected_rows_declare(builder, in, bucket->size[2 * at + 1], &tower->now, &tower->read);
    return (gb_text_states){.h = gb_bert_encode(builder, tower->bert, in, 0, NULL),
                            .in = in,
                            .batch = &tower->now,
                            .texts = texts,
                            .kind = GB_TEXT_MIXED};
}

/* Where the vectors of a tower go among those of a part of the batch. */
typedef struct placement {
    const finetune *f;      /* which texts run */
    gb_selection places[2]; /* by tower */
    uint32_t rows;          /* of a text */
    uint32_t texts;         /* of a part at most */
} placement;

static bool fill_places(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const placement *p = record;
    uint32_t *rows = gb_alloc((size_t)p->texts * p->rows, sizeof *rows, status);
    for (uint32_t r = 0; rows && r < p->texts * p->rows; r++)
        rows[r] = r;
    bool ok = rows;
    for (int t = PASSAGES; ok && t < TOWERS; t++)
        ok = gb_selection_fill(exec, &p->places[t], rows, p->f->towers[t].now.count * p->rows,
                               t == PASSAGES ? p->f->first_passage * p->rows : 0, status);
    free(rows);
    return ok;
}

/* Vectors of a part of the batch by two towers: of its queries, then of its passages. */
static gb_tensor vectors_of_towers(finetune *f, gb_builder *builder, const gb_bucket *bucket)
{
    placement p = {.f = f, .rows = rows_per_text(f), .texts = bucket->texts};
    uint32_t rows = p.rows * p.texts;
    gb_tensor vectors[TOWERS];
    for (int t = PASSAGES; t < TOWERS; t++)
        p.places[t] = gb_selection_declare(builder, rows, rows);
    gb_tape_fill_by(builder->tape, fill_places, &p, sizeof p);
    for (int t = PASSAGES; t < TOWERS; t++) {
        gb_batch_inputs in;
        gb_text_states states = encode(f, builder, t, bucket, bucket->texts, &in);
        states.kind = t == QUERIES ? GB_TEXT_QUERY : GB_TEXT_PASSAGE;
        vectors[t] = gb_selection_gather(
            builder, f->scoring->represent(f->scoring_self, builder, &states), &p.places[t]);
    }
    return gb_add(builder->tape, vectors[QUERIES], vectors[PASSAGES]);
}

static void build_towers(finetune *f, gb_builder *builder, const gb_bucket *bucket,
                         gb_tensor losses[GB_MAX_LOSSES])
{
    gb_side q = side_of(f, GB_TEXT_QUERY), p = side_of(f, GB_TEXT_PASSAGE);
    gb_side *sides[TOWERS] = {[PASSAGES] = &p, [QUERIES] = &q};
    losses[0] = GB_NO_TENSOR;
    if (bucket->texts) {
        builder->vectors = vectors_of_towers(f, builder, bucket);
        return;
    }
    for (int t = PASSAGES; t < TOWERS; t++) {
        gb_batch_inputs in;
        gb_text_states states = encode(f, builder, t, bucket, sides[t]->texts, &in);
        states.kind = sides[t]->kind;
        sides[t]->vectors = f->scoring->represent(f->scoring_self, builder, &states);
    }
    compare_sides(f, builder, &q, &p, losses);
}

static void build(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    finetune *f = self;
    const gb_training_batch *b = &f->drawer.batch;
    gb_batch_inputs in;
    if (f->tower_count == 2) {
        build_towers(f, builder, bucket, losses);
        return;
    }
    gb_text_states states =
        encode(f, builder, 0, bucket, bucket->texts ? bucket->texts : b->texts, &in);
    losses[0] = GB_NO_TENSOR;
    if (bucket->texts || f->scoring->together || f->drawer.data.fixed) {
        gb_tensor vectors = f->scoring->represent(f->scoring_self, builder, &states);
        if (bucket->texts)
            builder->vectors = vectors;
        else
            compare(f, builder, vectors, losses);
        return;
    }
    gb_side q = side_of(f, GB_TEXT_QUERY), p = side_of(f, GB_TEXT_PASSAGE);
    gb_side *sides[2] = {&p, &q};
    for (int s = 0; s < 2; s++) {
        states.first = sides[s]->first;
        states.texts = sides[s]->texts;
        states.kind = sides[s]->kind;
        sides[s]->vectors = f->scoring->represent(f->scoring_self, builder, &states);
    }
    compare_sides(f, builder, &q, &p, losses);
}

/* ---- the task ---- */

static void set_defaults(finetune *f)
{
    gb_finetune_params *params = &f->params;
    f->scoring = params->scoring ? params->scoring : gb_scorings[0];
    f->loss = params->loss ? params->loss : gb_losses[0];
    f->own[0] = gb_own_settings_of(f->scoring->defaults, f->scoring->own_bytes);
    f->own[1] = gb_own_settings_of(f->loss->defaults, f->loss->own_bytes);
    params->scoring_own = params->scoring_own ? params->scoring_own : &f->own[0];
    params->loss_own = params->loss_own ? params->loss_own : &f->own[1];
}

static bool fits(const finetune *f, const gb_finetune_data *data, gb_status *status)
{
    if (f->loss->needs & GB_LOSS_SINGLE && !f->scoring->single)
        return gb_fail(status, GB_USAGE, "--loss", "use --scoring dense, or another loss",
                       "the loss %s compares passages with passages, of which the scoring %s makes "
                       "no single vectors",
                       f->loss->name, f->scoring->name);
    if (f->params.matryoshka.count && !f->scoring->single)
        return gb_fail(status, GB_USAGE, "--matryoshka", "use --scoring dense",
                       "the scoring %s makes no vectors that can be cut", f->scoring->name);
    for (uint32_t i = 0; i < f->params.matryoshka.count; i++)
        if (f->params.matryoshka.dims[i] > data->bert->config.hidden_size)
            return gb_fail(status, GB_USAGE, "--matryoshka", "give lengths up to the model's",
                           "vectors of %u numbers cannot be cut after %u",
                           data->bert->config.hidden_size, f->params.matryoshka.dims[i]);
    if (data->query_bert && (!f->scoring->towers || data->bert->projector.kind))
        return gb_fail(status, GB_USAGE, "--two-towers", "use --scoring dense, and no projector",
                       "the scoring %s, or a projector, has one encoder for queries and passages",
                       f->scoring->name);
    if (data->fixed &&
        (!f->scoring->towers || data->query_bert || data->bert->projector.kind || f->loss->needs))
        return gb_fail(status, GB_USAGE, "--passage-vectors",
                       "use --scoring dense, no --projector, and --loss lambdarank",
                       "against fixed passages one encoder of queries is trained, by a loss that "
                       "needs scores alone");
    if (f->loss->needs & GB_LOSS_TEACHER && !data->teacher && !data->pair_teacher)
        return gb_fail(status, GB_USAGE, "--loss", "give --teacher, or vectors of one",
                       "the loss %s needs scores of a teacher", f->loss->name);
    return true;
}

static void set_task(finetune *f, gb_task *task)
{
    *task = (gb_task){.self = f,
                      .loss_names = {f->loss->label},
                      .sample = sample,
                      .build = build,
                      .microbatch = {.count = count,
                                     .size = size,
                                     .select = take,
                                     .vectors = rows_per_text(f),
                                     .compare = compare,
                                     .meet = f->drawer.data.fixed ? meet : NULL}};
    if (!f->scoring->extra)
        return;
    task->loss_names[0] = "total";
    task->loss_names[1] = f->loss->label;
    for (int l = 2; l < GB_MAX_LOSSES; l++)
        task->loss_names[l] = f->scoring->extra_names[l - 2];
}

bool gb_finetune_prepare(const gb_finetune_data *data, gb_finetune_params *params,
                         gb_bert_config *config, gb_status *status)
{
    const gb_scoring *scoring = params->scoring;
    return !scoring || !scoring->prepare ||
           scoring->prepare(data, params->scoring_own ? params->scoring_own : scoring->defaults,
                            params, config, status);
}

void *gb_finetune_create(const gb_finetune_params *params, const gb_finetune_data *data,
                         gb_params *model, gb_task *task, gb_status *status)
{
    finetune *f = gb_alloc(1, sizeof *f, status);
    if (!f)
        return NULL;
    f->params = *params;
    f->towers[PASSAGES].bert = data->bert;
    f->towers[QUERIES].bert = data->query_bert;
    f->tower_count = data->query_bert ? 2 : 1;
    set_defaults(f);
    f->drawer = (finetune_drawer){.params = &f->params, .data = *data, .scoring = f->scoring};
    const gb_scoring_context context = {.params = &f->params,
                                        .batch = &f->drawer.batch,
                                        .vocab = data->vocab,
                                        .bert = data->bert,
                                        .own = f->params.scoring_own,
                                        .init = data->init};
    if (!fits(f, data, status) ||
        !(f->scoring_self = f->scoring->create(&context, model, status)) ||
        !(f->drawer.scoring_self = f->scoring_self) || !finetune_drawer_make(&f->drawer, status)) {
        gb_finetune_destroy(f);
        return NULL;
    }
    set_task(f, task);
    return f;
}

void gb_finetune_destroy(void *self)
{
    finetune *f = self;
    if (!f)
        return;
    if (f->scoring_self)
        f->scoring->destroy(f->scoring_self);
    finetune_drawer_free(&f->drawer);
    for (int t = PASSAGES; t < TOWERS; t++) {
        gb_batch_free(&f->towers[t].part);
        gb_selected_rows_free(&f->towers[t].read);
    }
    free(f);
}

bool gb_finetune_start(void *self, const gb_folder *init, const gb_params *params, uint64_t seed,
                       float *values, gb_status *status)
{
    finetune *f = self;
    return !f->scoring->start ||
           f->scoring->start(f->scoring_self, init, params, seed, values, status);
}

bool gb_finetune_copies(void *self, uint32_t steps, uint64_t *copies, gb_status *status)
{
    finetune *f = self;
    return finetune_count_copies(&f->drawer, steps, copies, status);
}

bool gb_finetune_collisions(void *self, uint32_t steps, gb_collisions *found, gb_status *status)
{
    finetune *f = self;
    return finetune_find_collisions(&f->drawer, steps, found, status);
}

bool gb_finetune_save(void *self, const gb_retriever_folder *folder, gb_status *status)
{
    finetune *f = self;
    if (f->scoring->save)
        return f->scoring->save(f->scoring_self, folder, status);
    return gb_model_save(folder->path, folder->config, folder->params, folder->values,
                         folder->vocab, folder->tokenizer, folder->how, folder->card, status);
}

bool gb_finetune_describe(const void *self, char *text, size_t size)
{
    const finetune *f = self;
    if (f->scoring->describe)
        f->scoring->describe(f->scoring_self, text, size);
    return f->scoring->describe;
}
