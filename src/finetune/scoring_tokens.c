/* Late interaction: a score is made of the vectors of tokens. ColBERT's is the sum over the query's
 * tokens of the best cosine with a token of the passage (Khattab and Zaharia, 2020). COIL's is the
 * inner product of the [CLS] states plus the same sum over tokens of equal ids, of inner products
 * from 0 on (Gao et al., 2021). */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* What the options set. */
typedef struct tokens_own {
    uint32_t width;        /* of a token's vector */
    uint32_t query_length; /* of ColBERT: tokens of a query, filled up with [MASK] */
    bool attend;           /* of ColBERT: the query sees these [MASK]s */
} tokens_own;

typedef struct tokens {
    gb_scoring_context context; /* what it is made of */
    gb_late_settings settings;  /* as the folder will say */
    gb_late late;               /* the projection */
} tokens;

/* ---- settings ---- */

/* As the folder says that training starts from, or of a new model. config: of the encoder before
 * the scoring changed it. */
static bool make_settings(gb_late_kind kind, const gb_folder *init, const gb_vocab *vocab,
                          const tokens_own *own, const gb_finetune_params *params,
                          gb_bert_config *config, gb_late_settings *late, gb_status *status)
{
    bool colbert = kind == GB_LATE_COLBERT;
    *late = (gb_late_settings){0};
    if (init && !gb_folder_late(init, vocab, late, status))
        return false;
    if (late->kind != GB_LATE_NONE && late->kind != kind)
        return gb_fail(status, GB_DATA, gb_folder_path(init),
                       "take the other scoring, or start from an encoder",
                       "a %s model cannot become a %s model", gb_late_kind_name(late->kind),
                       gb_late_kind_name(kind));
    if (late->kind == GB_LATE_NONE) {
        if (!gb_late_settings_new(kind, vocab, config, late, status))
            return false;
        late->width = own->width;
        late->query_length = colbert ? own->query_length : params->max_query_length;
        late->attend = colbert && own->attend;
        late->passage_length = params->max_passage_length;
    }
    if (late->passage_length > params->max_passage_length)
        late->passage_length = params->max_passage_length;
    uint32_t least = colbert ? 4 : 3;
    return (late->width && late->query_length >= least && late->passage_length >= least &&
            late->query_length <= config->max_positions) ||
           gb_fail(
               status, GB_USAGE, NULL, "see --help",
               "vectors of %u numbers, queries of %u tokens and passages of %u: the least is 1, "
               "%u and %u, and the encoder has %u positions",
               late->width, late->query_length, late->passage_length, least, least,
               config->max_positions);
}

static bool prepare(gb_late_kind kind, const gb_finetune_data *data, const void *own,
                    gb_finetune_params *params, gb_bert_config *config, gb_status *status)
{
    gb_late_settings late;
    bool ok = make_settings(kind, data->init, data->vocab, own, params, config, &late, status);
    if (ok)
        params->max_query_length = late.query_length;
    gb_late_settings_free(&late);
    return ok;
}

static void destroy(void *self)
{
    tokens *t = self;
    gb_late_settings_free(&t->settings);
    free(t);
}

/* The encoder's sizes before `prepare` added rows for markers. */
static gb_bert_config before_prepare(gb_late_kind kind, const gb_scoring_context *context)
{
    if (context->init)
        return *gb_folder_config(context->init);
    gb_bert_config config = context->bert->config, grown = config;
    gb_late_settings late;
    if (gb_late_settings_new(kind, context->vocab, &grown, &late, NULL))
        config.vocab_size -= grown.vocab_size - config.vocab_size;
    gb_late_settings_free(&late);
    return config;
}

static void *create(gb_late_kind kind, const gb_scoring_context *context, gb_params *model,
                    gb_status *status)
{
    tokens *t = gb_alloc(1, sizeof *t, status);
    if (!t)
        return NULL;
    t->context = *context;
    gb_bert_config config = before_prepare(kind, context);
    if (make_settings(kind, context->init, context->vocab, context->own, context->params, &config,
                      &t->settings, status) &&
        gb_late_declare(model, &context->bert->config, &t->settings,
                        gb_vocab_specials(context->vocab), &t->late, status))
        return t;
    destroy(t);
    return NULL;
}

/* The projection of a new model, and the rows of word embeddings that its markers have got. */
static bool start(void *self, const gb_folder *init, const gb_params *params, uint64_t seed,
                  float *values, gb_status *status)
{
    const tokens *t = self;
    const gb_param *weight = gb_params_at(params, t->late.weight);
    const gb_param *words = gb_params_at(params, t->context.bert->word);
    float *fresh = gb_alloc(gb_params_floats(params), sizeof *fresh, status);
    if (!fresh)
        return false;
    gb_params_init(params, seed, fresh);
    if (!gb_folder_has(init, weight->name))
        memcpy(values + weight->offset, fresh + weight->offset,
               sizeof *fresh * weight->rows * weight->ld);
    uint64_t known = (uint64_t)gb_folder_config(init)->vocab_size * words->ld,
             all = (uint64_t)words->rows * words->ld;
    if (known < all)
        memcpy(values + words->offset + known, fresh + words->offset + known,
               sizeof *fresh * (all - known));
    free(fresh);
    return true;
}

/* ---- texts ---- */

static gb_late_side side_of(gb_text_kind kind)
{
    return kind == GB_TEXT_QUERY ? GB_LATE_QUERY : GB_LATE_PASSAGE;
}

static bool add_text(void *self, gb_text_kind kind, const uint32_t *ids, size_t length,
                     gb_batch *batch, gb_status *status)
{
    const tokens *t = self;
    return gb_late_add(&t->late, side_of(kind), ids, length, batch, status);
}

static gb_batch_inputs inputs(void *self, gb_builder *builder, uint32_t rows, uint32_t texts,
                              const gb_batch *batch)
{
    const tokens *t = self;
    return gb_late_batch_declare(builder, &t->context.bert->config, &t->late, rows, texts, batch,
                                 t->context.params->seed);
}

static bool reads_all(const void *self)
{
    (void)self;
    return true;
}

/* ---- representations ---- */

static bool is_coil(const tokens *t)
{
    return t->settings.kind == GB_LATE_COIL;
}

/* Rows of a text: of COIL the state of [CLS], then room for its longest. */
static uint32_t vectors(const void *self)
{
    const tokens *t = self;
    uint32_t query = gb_late_longest(&t->late, GB_LATE_QUERY),
             passage = gb_late_longest(&t->late, GB_LATE_PASSAGE);
    return (query > passage ? query : passage) + is_coil(t);
}

/* Which rows of a batch go where. */
typedef struct place_record {
    gb_selection in;       /* filled */
    const gb_batch *batch; /* from */
    uint32_t texts, rows;  /* of it; rows of a text in the result */
    bool first;            /* the first row of each text to the first of its rows; otherwise all
                              rows, behind a row for the first if `behind` */
    bool behind;           /* see first */
} place_record;

static bool fill_places(const void *record_, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const place_record *p = record_;
    uint32_t *index = gb_executable_input(exec, p->in.index, status);
    uint32_t *inverse = index ? gb_executable_input(exec, p->in.inverse, status) : NULL;
    if (!inverse)
        return false;
    for (uint32_t i = 0; i < p->in.count; i++)
        index[i] = GB_NO_ROW;
    for (uint32_t r = 0; r < p->in.rows; r++)
        inverse[r] = GB_NO_ROW;
    for (uint32_t t = 0; t < p->texts && t < p->batch->count; t++) {
        uint32_t row = p->batch->starts[t], end = p->first ? row + 1 : p->batch->starts[t + 1];
        for (uint32_t at = t * p->rows + p->behind; row < end; row++, at++) {
            index[at] = row;
            inverse[row] = at;
        }
    }
    return true;
}

static gb_tensor place(const tokens *t, gb_builder *builder, gb_tensor x,
                       const gb_text_states *states, bool first, bool behind)
{
    uint32_t rows = vectors(t);
    const place_record record = {
        .in = gb_selection_declare(builder, states->texts * rows, states->in->rows),
        .batch = states->batch,
        .texts = states->texts,
        .rows = rows,
        .first = first,
        .behind = behind};
    gb_tape_fill_by(builder->tape, fill_places, &record, sizeof record);
    return gb_selection_gather(builder, x, &record.in);
}

/* The matrix [H, width] that has 1 where row and column are equal. */
typedef struct unit_record {
    gb_tensor unit; /* filled */
} unit_record;

static bool fill_unit(const void *record_, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const unit_record *record = record_;
    float *values = gb_executable_input(exec, record->unit, status);
    const gb_tensor_info *info = gb_tape_tensor(gb_executable_tape(exec), record->unit);
    for (uint32_t r = 0; values && r < info->rows; r++)
        for (uint32_t c = 0; c < info->cols; c++)
            values[(size_t)r * info->ld + c] = r == c;
    return values != NULL;
}

static gb_tensor unit_of(const tokens *t, gb_builder *builder)
{
    const unit_record record = {gb_tape_input(
        builder->tape, "unit", GB_F32, t->context.bert->config.hidden_size, t->settings.width)};
    gb_tape_fill_by(builder->tape, fill_unit, &record, sizeof record);
    return record.unit;
}

/* Of COIL, all in rows as wide as [CLS]: a product with 1 and sums with 0 are exact. */
static gb_tensor represent(void *self, gb_builder *builder, const gb_text_states *states)
{
    const tokens *t = self;
    gb_tensor projected = gb_late_vectors(builder, &t->late, states->h);
    if (!is_coil(t))
        return place(t, builder, projected, states, false, false);
    gb_tensor wide = gb_matmul(builder->tape, GB_NT, projected, unit_of(t, builder));
    return gb_add(builder->tape, place(t, builder, wide, states, false, true),
                  place(t, builder, states->h, states, true, false));
}

/* ---- scores ---- */

/* The rows of a side that are compared. */
typedef struct side_record {
    const tokens *scoring;  /* whose */
    gb_side side;           /* texts */
    uint32_t longest;       /* tokens of one */
    gb_selection in;        /* their rows, `longest` each */
    gb_tensor starts, tags; /* see gb_max_sim_input */
    uint32_t tag_count;     /* words of tags */
} side_record;

static bool fill_side(const void *record_, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const side_record *s = record_;
    const tokens *t = s->scoring;
    const gb_batch *batch = s->side.batch;
    uint32_t rows = vectors(t), behind = is_coil(t);
    uint32_t *index = gb_executable_input(exec, s->in.index, status);
    uint32_t *inverse = index ? gb_executable_input(exec, s->in.inverse, status) : NULL;
    uint32_t *starts = inverse ? gb_executable_input(exec, s->starts, status) : NULL;
    uint32_t *tags = starts ? gb_executable_input(exec, s->tags, status) : NULL;
    if (!tags)
        return false;
    for (uint32_t r = 0; r < s->in.rows; r++)
        inverse[r] = GB_NO_ROW;
    for (uint32_t i = 0; i < s->tag_count; i++)
        tags[i] = GB_NO_ROW;
    for (uint32_t i = 0; i < s->side.texts; i++) {
        uint32_t first = batch->starts[s->side.first + i], at = i * s->longest;
        starts[i] = at;
        for (uint32_t r = 0; r < s->longest; r++) {
            index[at + r] = i * rows + behind + r;
            inverse[index[at + r]] = at + r;
        }
        gb_late_tags(&t->late, side_of(s->side.kind), batch->ids + first,
                     batch->starts[s->side.first + i + 1] - first, tags + at);
    }
    starts[s->side.texts] = s->side.texts * s->longest;
    return true;
}

/* The vectors of a side's tokens, `longest` of each text. */
static gb_tensor tokens_of(const tokens *t, gb_builder *builder, const gb_side *side,
                           gb_tensor starts, gb_tensor tags)
{
    const gb_tensor_info *tag_info = gb_tape_tensor(builder->tape, tags);
    side_record record = {.scoring = t,
                          .side = *side,
                          .longest = gb_late_longest(&t->late, side_of(side->kind)),
                          .starts = starts,
                          .tags = tags,
                          .tag_count = tag_info ? tag_info->rows * tag_info->cols : 0};
    record.in =
        gb_selection_declare(builder, side->texts * record.longest, side->texts * vectors(t));
    gb_tape_fill_by(builder->tape, fill_side, &record, sizeof record);
    gb_tensor rows = gb_selection_gather(builder, side->vectors, &record.in);
    return is_coil(t) ? gb_matmul(builder->tape, GB_NN, rows, unit_of(t, builder)) : rows;
}

/* The first row of every text of a side. */
typedef struct first_record {
    gb_selection in; /* filled */
    uint32_t rows;   /* of a text */
} first_record;

static bool fill_first(const void *record_, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const first_record *record = record_;
    uint32_t *index = gb_executable_input(exec, record->in.index, status);
    uint32_t *inverse = index ? gb_executable_input(exec, record->in.inverse, status) : NULL;
    for (uint32_t r = 0; inverse && r < record->in.rows; r++)
        inverse[r] = r % record->rows ? GB_NO_ROW : r / record->rows;
    for (uint32_t i = 0; inverse && i < record->in.count; i++)
        index[i] = i * record->rows;
    return inverse != NULL;
}

static gb_tensor cls_of(const tokens *t, gb_builder *builder, const gb_side *side)
{
    const first_record record = {
        gb_selection_declare(builder, side->texts, side->texts * vectors(t)), vectors(t)};
    gb_tape_fill_by(builder->tape, fill_first, &record, sizeof record);
    return gb_selection_gather(builder, side->vectors, &record.in);
}

static gb_tensor compare(void *self, gb_builder *builder, const gb_side *queries,
                         const gb_side *passages)
{
    const tokens *t = self;
    gb_tape *tape = builder->tape;
    gb_max_sim_input in = gb_max_sim_declare(
        tape, queries->texts, queries->texts * gb_late_longest(&t->late, GB_LATE_QUERY),
        passages->texts, passages->texts * gb_late_longest(&t->late, GB_LATE_PASSAGE));
    gb_tensor q = tokens_of(t, builder, queries, in.query_starts, in.query_tags);
    gb_tensor p = tokens_of(t, builder, passages, in.passage_starts, in.passage_tags);
    gb_tensor scores = gb_max_sim(tape, q, p, &in, is_coil(t));
    if (!is_coil(t))
        return scores;
    return gb_add(
        tape, scores,
        gb_matmul(tape, GB_NT, cls_of(t, builder, queries), cls_of(t, builder, passages)));
}

/* ---- the folder ---- */

static bool save(void *self, const gb_retriever_folder *folder, gb_status *status)
{
    const tokens *t = self;
    gb_sentence_settings how = *folder->how;
    how.late = &t->settings;
    return gb_model_save(folder->path, folder->config, folder->params, folder->values,
                         folder->vocab, folder->tokenizer, &how, folder->card, status);
}

static void describe(const void *self, char *text, size_t size)
{
    const tokens *t = self;
    snprintf(text, size, "A passage retriever by late interaction (%s) fine-tuned by gabbro.",
             gb_late_kind_name(t->settings.kind));
}

/* ---- both kinds ---- */

#define OF_KIND(id, KIND)                                                                          \
    static bool prepare_##id(const gb_finetune_data *data, const void *own,                        \
                             gb_finetune_params *params, gb_bert_config *config,                   \
                             gb_status *status)                                                    \
    {                                                                                              \
        return prepare(KIND, data, own, params, config, status);                                   \
    }                                                                                              \
    static void *create_##id(const gb_scoring_context *context, gb_params *model,                  \
                             gb_status *status)                                                    \
    {                                                                                              \
        return create(KIND, context, model, status);                                               \
    }
OF_KIND(tokens, GB_LATE_COLBERT)
OF_KIND(coil, GB_LATE_COIL)
#undef OF_KIND

#define FIELD(member) GB_FIELD(tokens_own, member)
static const gb_option tokens_options[] = {
    {"token-width", GB_OPTION_U32, FIELD(width), 0, NULL, "dimensions of a token's vector",
     .min = 1, .max = 4096},
    {"query-length", GB_OPTION_U32, FIELD(query_length), 0, NULL,
     "tokens to which a query is padded with [MASK], or cut", .min = 4, .max = 512},
    {"attend-to-masks", GB_OPTION_FLAG, FIELD(attend), 0, NULL,
     "the query's tokens see these [MASK]s, too"},
    {0}};
static const gb_option coil_options[] = {{"coil-width", GB_OPTION_U32, FIELD(width), 0, NULL,
                                          "dimensions of a token's vector", .min = 1, .max = 4096},
                                         {0}};
#undef FIELD
static const tokens_own tokens_defaults = {.width = 128, .query_length = 32};
static const tokens_own coil_defaults = {.width = 32};

const gb_scoring scoring_tokens = {
    .name = "tokens",
    .help = "the best cosine of every query token with a token of the passage (ColBERT)",
    .needs = GB_SCORING_TOKENS,
    .users = GB_USER_LATE,
    .together = true,
    .options = tokens_options,
    .defaults = &tokens_defaults,
    .own_bytes = sizeof tokens_defaults,
    .prepare = prepare_tokens,
    .create = create_tokens,
    .destroy = destroy,
    .start = start,
    .add_text = add_text,
    .inputs = inputs,
    .reads_all = reads_all,
    .vectors = vectors,
    .represent = represent,
    .compare = compare,
    .save = save,
    .describe = describe};

const gb_scoring scoring_coil = {
    .name = "coil",
    .help = "[CLS] vectors, and the best product of every query token with an equal one (COIL)",
    .needs = GB_SCORING_TOKENS,
    .users = GB_USER_LATE,
    .together = true,
    .options = coil_options,
    .defaults = &coil_defaults,
    .own_bytes = sizeof coil_defaults,
    .prepare = prepare_coil,
    .create = create_coil,
    .destroy = destroy,
    .start = start,
    .add_text = add_text,
    .inputs = inputs,
    .reads_all = reads_all,
    .vectors = vectors,
    .represent = represent,
    .compare = compare,
    .save = save,
    .describe = describe};
