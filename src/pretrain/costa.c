/* COSTA (Ma et al., 2022): the projected [CLS] vector of a text is drawn to the means of its own
 * spans' states and away from all other texts and spans, beside the masked LM of the same pass.
 *   L = w L_gwc + L_mlm,
 *   L_gwc = mean_i -1/|S(i)| sum_{p in S(i)} log exp(z_i . z_p / t) / sum_{j != i} exp(z_i . z_j /
 * t) over all texts and spans j of the batch; dot products, no normalisation (equation 8). The
 * paper prints L_gwc and L_mlm as sums without a batch size; both are means here, so that the
 * weight w does not depend on the batch. The spans of a text are drawn once, by (seed, passage), as
 * the paper stores them once; whether its contrastive pass saw masked text is not said. */
#include "contrast.h"

#include <stdlib.h>
#include <string.h>

#define LEVELS 4 /* of granularity */

/* Its settings. The ablations say a temperature of 1, but their table 7 has the base's value at .1.
 */
typedef struct costa_settings {
    double mask_ratio;           /* of the tokens */
    const char *granularities;   /* names of gb_granularity, commas between */
    uint32_t spans;              /* of each granularity and text; 5 (paper; 3 in its ablations) */
    gb_projector_kind projector; /* on the text's [CLS] only, not on spans */
    double contrast_weight;      /* of the contrastive loss beside the masked LM */
    double temperature;          /* of it */
} costa_settings;

static const costa_settings defaults = {
    .15, "word,phrase,sentence,paragraph", 5, GB_PROJECTOR_NONLINEAR, .1, .1};
static const gb_option options[] = {
    OPTION_MASK_RATIO(costa_settings, mask_ratio),
    {"granularities", GB_OPTION_TEXT, GB_FIELD(costa_settings, granularities), 0, "LIST",
     "some of word,phrase,sentence,paragraph"},
    {"spans", GB_OPTION_U32, GB_FIELD(costa_settings, spans), 0, NULL,
     "spans of each granularity and passage"},
    {"projector", GB_OPTION_CHOICE, GB_FIELD(costa_settings, projector), 0, NULL,
     "projector on [CLS]", gb_projector_names},
    {"contrast-weight", GB_OPTION_REAL, GB_FIELD(costa_settings, contrast_weight), 0, NULL,
     "weight of the contrastive loss"},
    OPTION_TEMPERATURE(costa_settings, temperature),
    {0}};

typedef struct costa {
    gb_pretrain_params params; /* settings */
    costa_settings own;        /* and its own */
    gb_pretrain_data data;     /* texts */
    const gb_bert *bert;       /* model */
    gb_projector projector;    /* on [CLS] */
    row_order order;           /* passages */
    masker masker;             /* scratch */
    batch_texts texts;         /* of the step */
    uint32_t granularities;    /* bits of gb_granularity */
    uint32_t levels;           /* their number */
    uint32_t *word_starts;     /* [longest] scratch */
    gb_id_range *ranges;       /* [batch * levels * spans] of each text; start = end: none */
    uint32_t *starts;          /* lists of rows: the texts' own, which are empty, then the spans' */
    uint32_t *rows;            /* rows of the batch in them */
    float *weights;            /* their weights, 1/length */
    size_t row_capacity, weight_capacity; /* allocated */
} costa;

static uint32_t spans_of_text(const costa *c)
{
    return c->levels * c->own.spans;
}

/* Texts and their spans, present or not: first all texts, then the spans of the first, and so on.
 * In a part the spans of a text stand behind it. */
static uint32_t vectors(const costa *c)
{
    return c->params.batch * (1 + spans_of_text(c));
}

/* ---- spans ---- */

static void draw_spans(costa *c, uint32_t passage, gb_id_range *ranges)
{
    text_ids text = pretrain_passage_ids(&c->data, passage);
    uint32_t length = (uint32_t)text.length, most = c->params.max_length - 2, at = 0;
    length = length < most ? length : most;
    uint32_t words = gb_word_starts(c->data.vocab, text.ids, length, c->word_starts);
    gb_rng rng = gb_rng_make(c->params.seed, GB_RNG_CONTEXT, 0, passage);
    memset(ranges, 0, sizeof *ranges * spans_of_text(c));
    for (uint32_t level = 0; level < LEVELS; level++)
        if (c->granularities >> level & 1) {
            gb_sample_spans(c->data.vocab, (gb_granularity)(1u << level), text.ids, c->word_starts,
                            words, c->own.spans, &rng, ranges + at);
            at += c->own.spans;
        }
}

/* The list of the rows of a span of a text that starts at row `first`. */
static bool list_span(costa *c, uint32_t first, gb_id_range range, size_t *count, gb_status *status)
{
    if (!gb_grow(&c->rows, &c->row_capacity, *count + range.end - range.start + 1, sizeof *c->rows,
                 status) ||
        !gb_grow(&c->weights, &c->weight_capacity, *count + range.end - range.start + 1,
                 sizeof *c->weights, status))
        return false;
    for (uint32_t i = range.start; i < range.end; i++) {
        c->rows[*count] = first + 1 + i; /* behind [CLS] */
        c->weights[(*count)++] = 1.0f / (float)(range.end - range.start);
    }
    return true;
}

/* Lists of the rows of every span. */
static bool list_rows(costa *c, gb_status *status)
{
    uint32_t batch = c->params.batch, per_text = spans_of_text(c);
    size_t count = 0;
    memset(c->starts, 0, sizeof *c->starts * batch);
    for (uint32_t s = 0; s < batch * per_text; s++) {
        c->starts[batch + s] = (uint32_t)count;
        if (!list_span(c, c->texts.all.starts[s / per_text], c->ranges[s], &count, status))
            return false;
    }
    c->starts[batch + batch * per_text] = (uint32_t)count;
    return true;
}

/* The same of a part; texts that are not there have empty lists. */
static bool list_range(costa *c, gb_status *status)
{
    uint32_t per_text = spans_of_text(c), at = 0;
    const gb_batch *texts = &c->texts.now;
    size_t count = 0;
    for (uint32_t t = 0; t < texts->count; t++) {
        c->starts[at++] = (uint32_t)count; /* the text itself */
        for (uint32_t s = 0; s < per_text; s++) {
            c->starts[at++] = (uint32_t)count;
            if (!list_span(c, texts->starts[t], c->ranges[(c->texts.first + t) * per_text + s],
                           &count, status))
                return false;
        }
    }
    while (at <= vectors(c))
        c->starts[at++] = (uint32_t)count;
    return true;
}

/* ---- the task ---- */

static bool sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    costa *c = self;
    pretrain_batch_texts_reset(&c->texts);
    for (uint32_t i = 0; i < c->params.batch; i++) {
        uint32_t passage = pretrain_row_order_at(&c->order, (uint64_t)step * c->params.batch + i);
        gb_rng rng = gb_rng_make(c->params.seed, GB_RNG_MASK, step, i);
        if (!pretrain_add_masked(&c->masker, &c->texts.all, &c->data,
                                 pretrain_passage_ids(&c->data, passage), c->own.mask_ratio,
                                 c->params.max_length, &rng, status))
            return false;
        draw_spans(c, passage, c->ranges + (size_t)i * spans_of_text(c));
    }
    return list_rows(c, status) && pretrain_batch_texts_masked(&c->texts, 1, bucket, status);
}

static uint32_t count(const void *self)
{
    return ((const costa *)self)->params.batch;
}

static void size(const void *self, uint32_t first, uint32_t texts, gb_bucket *bucket)
{
    const costa *c = self;
    pretrain_batch_texts_size(&c->texts, first, texts, 1, bucket);
}

static bool take(void *self, uint32_t first, uint32_t texts, gb_status *status)
{
    costa *c = self;
    return pretrain_batch_texts_take(&c->texts, first, texts, status) && list_range(c, status);
}

/* ---- vectors of texts and of spans ---- */

/* Where the vectors of texts stand among all. */
typedef struct text_places {
    const costa *c;         /* for whom */
    gb_sparse spans;        /* [texts + spans] means; zero for the texts */
    gb_tensor whole, place; /* u32: text of each of those rows or GB_NO_ROW; and back */
    uint32_t texts;         /* of the program */
    bool part;              /* which is for a part of a batch */
} text_places;

static bool fill_places(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const text_places *at = record;
    const costa *c = at->c;
    uint32_t each = 1 + spans_of_text(c);
    if (!gb_sparse_fill(exec, &at->spans, c->starts, c->rows, c->weights, status))
        return false;
    uint32_t *whole = gb_executable_input(exec, at->whole, status);
    uint32_t *place = whole ? gb_executable_input(exec, at->place, status) : NULL;
    if (!place)
        return false;
    for (uint32_t v = 0; v < at->texts * each; v++)
        whole[v] = GB_NO_ROW;
    for (uint32_t i = 0; i < at->texts; i++) {
        place[i] = at->part ? i * each : i;
        whole[place[i]] = i;
    }
    return true;
}

/* Vectors of texts and spans, from the states of `texts` texts; *z gets those of the texts. */
static gb_tensor text_vectors(const costa *c, gb_builder *builder, const gb_batch_inputs *in,
                              bool part, gb_tensor h, gb_tensor *z)
{
    uint32_t texts = in->count, per_text = spans_of_text(c), max_length = c->params.max_length;
    uint32_t all = texts * (1 + per_text);
    gb_selection cls = gb_first_rows_declare(builder, texts, in->rows, &c->texts.now, 0);
    const text_places at = {
        .c = c,
        .spans = gb_sparse_input(builder->tape, all, in->rows, texts * per_text * max_length,
                                 max_length, per_text),
        .whole = gb_tape_input(builder->tape, "text of vectors", GB_U32, 1, all),
        .place = gb_tape_input(builder->tape, "vector of texts", GB_U32, 1, texts),
        .texts = texts,
        .part = part};
    gb_tape_fill_by(builder->tape, fill_places, &at, sizeof at);
    *z = gb_projector_apply(builder, &c->projector, gb_selection_gather(builder, h, &cls));
    return gb_scatter_rows(builder->tape, gb_sparse_matmul(builder->tape, h, &at.spans), *z,
                           at.whole, at.place);
}

/* ---- the contrastive loss ---- */

typedef struct set_targets {
    const costa *c;                /* for whom */
    gb_tensor positives, excluded; /* u32 [texts, words] */
    gb_tensor weights;             /* f32 [texts, 1] */
} set_targets;

/* Positives are the text's own spans; itself and spans that are not there take no part. */
static void fill_sets(const costa *c, uint32_t *positives, uint32_t *excluded)
{
    uint32_t batch = c->params.batch, per_text = spans_of_text(c), words = (vectors(c) + 31) / 32;
    memset(positives, 0, sizeof *positives * batch * words);
    memset(excluded, 0, sizeof *excluded * batch * words);
    for (uint32_t i = 0; i < batch; i++) {
        excluded[(size_t)i * words + i / 32] |= 1u << (i % 32);
        for (uint32_t s = 0; s < batch * per_text; s++) {
            bool there = c->ranges[s].end > c->ranges[s].start;
            uint32_t column = batch + s, bit = 1u << (column % 32);
            if (!there)
                excluded[(size_t)i * words + column / 32] |= bit;
            else if (s / per_text == i)
                positives[(size_t)i * words + column / 32] |= bit;
        }
    }
}

static bool fill_targets(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const set_targets *to = record;
    const costa *c = to->c;
    uint32_t *positives = gb_executable_input(exec, to->positives, status);
    uint32_t *excluded = positives ? gb_executable_input(exec, to->excluded, status) : NULL;
    float *weights = excluded ? gb_executable_input(exec, to->weights, status) : NULL;
    for (uint32_t i = 0; weights && i < c->params.batch; i++)
        weights[(size_t)i * 4] = 1.0f / (float)c->params.batch;
    if (weights)
        fill_sets(c, positives, excluded);
    return weights != NULL;
}

static gb_tensor contrast(const costa *c, gb_builder *builder, gb_tensor z, gb_tensor all)
{
    gb_tape *tape = builder->tape;
    uint32_t batch = c->params.batch, words = (vectors(c) + 31) / 32;
    const set_targets to = {.c = c,
                            .positives = gb_tape_input(tape, "positives", GB_U32, batch, words),
                            .excluded = gb_tape_input(tape, "excluded", GB_U32, batch, words),
                            .weights = gb_tape_input(tape, "text weights", GB_F32, batch, 1)};
    gb_tape_fill_by(tape, fill_targets, &to, sizeof to);
    float by = (float)(1 / c->own.temperature);
    gb_tensor scores = gb_scale(tape, gb_matmul(tape, GB_NT, z, all), by);
    return gb_multilabel_loss(tape, scores, to.positives, to.weights, to.excluded);
}

/* ---- the program ---- */

static void build(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    costa *c = self;
    gb_tape *tape = builder->tape;
    uint32_t batch = pretrain_texts_of(bucket, c->params.batch);
    gb_batch_inputs in = gb_batch_declare(builder, &c->bert->config, bucket->size[BUCKET_ROWS],
                                          batch, &c->texts.now, c->params.seed);
    labelled_inputs labels = pretrain_labelled_declare(builder, bucket->size[BUCKET_LABELLED],
                                                       in.rows, &c->texts.now_labelled, 0, NULL);
    gb_tensor z, h = gb_bert_encode(builder, c->bert, &in, 0, NULL);
    losses[1] = pretrain_labelled_loss(builder, c->bert, &labels, h, GB_NO_TENSOR);
    builder->vectors = text_vectors(c, builder, &in, bucket->texts > 0, h, &z);
    losses[0] = losses[1];
    losses[2] = GB_NO_TENSOR;
    if (bucket->texts)
        return;
    losses[2] = contrast(c, builder, z, builder->vectors);
    losses[0] = gb_add(tape, losses[1], gb_scale(tape, losses[2], (float)c->own.contrast_weight));
}

/* ---- of a batch in parts ---- */

typedef struct whole_order {
    const costa *c;  /* for whom */
    gb_selection in; /* vectors in the order of the whole batch */
} whole_order;

static bool fill_order(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const whole_order *order = record;
    const costa *c = order->c;
    uint32_t batch = c->params.batch, per_text = spans_of_text(c);
    uint32_t *index = gb_executable_input(exec, order->in.index, status);
    uint32_t *inverse = index ? gb_executable_input(exec, order->in.inverse, status) : NULL;
    for (uint32_t v = 0; inverse && v < vectors(c); v++) {
        uint32_t text = v / (1 + per_text), span = v % (1 + per_text);
        inverse[v] = span ? batch + text * per_text + span - 1 : text;
        index[inverse[v]] = v;
    }
    return inverse != NULL;
}

static void compare(void *self, gb_builder *builder, gb_tensor given,
                    gb_tensor losses[GB_MAX_LOSSES])
{
    costa *c = self;
    const whole_order order = {c, gb_selection_declare(builder, vectors(c), vectors(c))};
    gb_tape_fill_by(builder->tape, fill_order, &order, sizeof order);
    gb_selection texts = gb_row_range_declare(builder, c->params.batch, vectors(c), 0);
    gb_tensor all = gb_selection_gather(builder, given, &order.in);
    losses[2] = contrast(c, builder, gb_selection_gather(builder, all, &texts), all);
    losses[0] = gb_scale(builder->tape, losses[2], (float)c->own.contrast_weight);
}

static void destroy(void *self)
{
    costa *c = self;
    if (!c)
        return;
    pretrain_row_order_free(&c->order);
    pretrain_masker_free(&c->masker);
    pretrain_batch_texts_free(&c->texts);
    free(c->word_starts);
    free(c->ranges);
    free(c->starts);
    free(c->rows);
    free(c->weights);
    free(c);
}

/* A list "word,phrase" as bits. */
static bool read_granularities(costa *c, gb_status *status)
{
    static const char *const names[LEVELS] = {"word", "phrase", "sentence", "paragraph"};
    for (const char *at = c->own.granularities; *at;) {
        size_t length = strcspn(at, ","), i = 0;
        while (i < LEVELS && (strlen(names[i]) != length || strncmp(at, names[i], length)))
            i++;
        if (i == LEVELS)
            return gb_fail(status, GB_USAGE, NULL, NULL,
                           "--granularities is a list of word, phrase, sentence, paragraph");
        c->levels += !(c->granularities >> i & 1);
        c->granularities |= 1u << i;
        at += length + (at[length] == ',');
    }
    return true;
}

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    costa *c = gb_alloc(1, sizeof *c, status);
    if (!c)
        return NULL;
    c->params = *params;
    c->own = *(const costa_settings *)params->own;
    c->data = *data;
    c->bert = bert;
    c->texts.all_read = true; /* by spans */
    bool ok = read_granularities(c, status) &&
              ((c->levels && c->own.spans) ||
               gb_fail(status, GB_USAGE, NULL, NULL, "costa needs a granularity and a span"));
    ok = ok && (c->word_starts = gb_alloc(params->max_length, sizeof *c->word_starts, status)) &&
         (c->ranges = gb_alloc(vectors(c), sizeof *c->ranges, status)) &&
         (c->starts = gb_alloc((size_t)vectors(c) + 1, sizeof *c->starts, status)) &&
         gb_projector_declare(model, "projector", c->own.projector, &bert->config, &c->projector,
                              status) &&
         pretrain_row_order_passages(&c->order, data, params, status);
    if (!ok) {
        destroy(c);
        return NULL;
    }
    *task = (gb_task){.self = c,
                      .loss_names = {"total", "mlm", "contrastive"},
                      .sample = sample,
                      .build = build,
                      .microbatch = {.count = count,
                                     .size = size,
                                     .select = take,
                                     .vectors = 1 + spans_of_text(c),
                                     .compare = compare}};
    return c;
}

const gb_objective objective_costa = {
    .name = "costa",
    .help = "masked LM, and a contrastive loss between [CLS] and spans of the passage",
    .options = options,
    .defaults = &defaults,
    .own_bytes = sizeof defaults,
    .create = create,
    .destroy = destroy};
