#include "tiny.h"

#include <math.h>
#include <signal.h>
#include <string.h>

/* ---- the collection ---- */

/* Words of one to three syllables, the short ones more often. */
static void add_word(gb_text *text, gb_rng *rng)
{
    static const char *const syllables[] = {"ba", "de", "fi", "go", "hu", "ka"};
    uint32_t count = 1 + gb_rng_below(rng, 2) + gb_rng_below(rng, 2);
    for (uint32_t i = 0; i < count; i++)
        gb_text_printf(text, "%s", syllables[gb_rng_below(rng, 6)]);
}

static void add_text(gb_text *text, uint32_t words, gb_rng *rng)
{
    for (uint32_t w = 0; w < words; w++) {
        gb_text_printf(text, "%s", w ? " " : "");
        add_word(text, rng);
    }
}

static void write_documents(const char *path)
{
    static const uint32_t passages[] = {3, 2, 1, 4, 2, 1};
    gb_text text = {0};
    gb_rng rng = gb_rng_make(1, GB_RNG_TEST, 0, 0);
    for (uint32_t d = 0; d < 6; d++) {
        gb_text_printf(&text, "{\"id\": \"d%u\", \"title\": \"\", \"passages\": [", d);
        for (uint32_t p = 0; p < passages[d]; p++) {
            gb_text_printf(&text, "%s{\"id\": \"d%u-%u\", \"text\": \"", p ? ", " : "", d, p);
            add_text(&text, d == 0 && p == 0 ? 36 : 4 + gb_rng_below(&rng, 8), &rng);
            gb_text_printf(&text, "\"}");
        }
        gb_text_printf(&text, "]}\n");
    }
    cr_assert(!text.failed);
    scratch_write(path, text.data);
    gb_text_free(&text);
}

static gb_vocab *train_vocab(const gb_collection *collection)
{
    gb_status status = {0};
    gb_vocab_trainer_params params = GB_VOCAB_TRAINER_DEFAULTS;
    params.size = 60;
    gb_vocab_trainer *trainer = gb_vocab_trainer_create(params, &status);
    MUST(trainer);
    for (uint32_t p = 0; p < collection->passages; p++) {
        size_t length;
        const char *text = gb_row_file_row(collection->texts, p, &length);
        MUST(gb_vocab_trainer_add(trainer, text, length, &status));
    }
    gb_vocab *vocab = gb_vocab_trainer_finish(trainer, &status);
    MUST(vocab);
    gb_vocab_trainer_destroy(trainer);
    return vocab;
}

tiny tiny_make(void)
{
    gb_status status = {0};
    gb_log_set_level(GB_LOG_WARN);
    write_documents("documents.jsonl");
    gb_import_params import = GB_IMPORT_DEFAULTS;
    import.path = "documents.jsonl";
    MUST(gb_collection_import(&import, "collection", &status));
    tiny t = {.collection = gb_collection_open("collection", &status)};
    MUST(t.collection);
    t.vocab = train_vocab(t.collection);
    gb_tokenizer *tokenizer = gb_tokenizer_create(t.vocab, GB_TOKENIZER_DEFAULTS, &status);
    MUST(tokenizer);
    const gb_tokenize_params lengths = {.max_passage = 40, .max_query = 16};
    MUST(gb_collection_tokenize(t.collection, tokenizer, t.vocab, &lengths, "tokens", &status));
    gb_tokenizer_destroy(tokenizer);
    MUST(gb_tokens_open("tokens", &t.tokens, &status));
    return t;
}

void tiny_free(tiny *t)
{
    gb_folder_close(t->generator);
    gb_tokens_close(&t->tokens);
    gb_vocab_destroy(t->vocab);
    gb_collection_close(t->collection);
}

gb_pretrain_data tiny_data(const tiny *t)
{
    return (gb_pretrain_data){t->collection, &t->tokens, t->vocab, t->generator};
}

tiny_params tiny_settings(void)
{
    return (tiny_params){.common.context = GB_CONTEXT_QUERY,
                         .common.batch = 5,
                         .common.max_length = TINY_LONGEST,
                         .common.queries = 5,
                         .mask_ratio = .3,
                         .decoder_mask_ratio = .45,
                         .head_layers = 2,
                         .skip_from = 1,
                         .lm_weight = 1,
                         .decoder = TINY_CAUSAL,
                         .decoder_layers = 1,
                         .window = 3,
                         .common.seed = 11,
                         .common.steps = 9,
                         .bow_weight = 1,
                         .bow_weight_final = .1,
                         .granularities = "word,phrase,sentence,paragraph",
                         .spans = 3,
                         .temperature = .8,
                         .projector = GB_PROJECTOR_NONLINEAR,
                         .contrast_weight = .6,
                         .queue = 7,
                         .momentum = .9};
}

#define FIELD(name, kind, member)                                                                  \
    {                                                                                              \
        name, kind, GB_FIELD(tiny_params, member)                                                  \
    }
static const gb_option own_settings[] = {
    FIELD("mask-ratio", GB_OPTION_RATIO, mask_ratio),
    FIELD("decoder-mask-ratio", GB_OPTION_RATIO, decoder_mask_ratio),
    FIELD("decoder-masks", GB_OPTION_CHOICE, decoder_masks),
    FIELD("head-layers", GB_OPTION_U32, head_layers),
    FIELD("skip-from", GB_OPTION_U32, skip_from),
    FIELD("contrast", GB_OPTION_CHOICE, contrast),
    FIELD("lm-weight", GB_OPTION_REAL, lm_weight),
    FIELD("decoder", GB_OPTION_CHOICE, decoder),
    FIELD("decoder-layers", GB_OPTION_U32, decoder_layers),
    FIELD("window", GB_OPTION_U32, window),
    FIELD("bow-head", GB_OPTION_CHOICE, bow_head),
    FIELD("bow-weight", GB_OPTION_REAL, bow_weight),
    FIELD("bow-weight-final", GB_OPTION_REAL, bow_weight_final),
    FIELD("granularities", GB_OPTION_TEXT, granularities),
    FIELD("spans", GB_OPTION_U32, spans),
    FIELD("temperature", GB_OPTION_REAL, temperature),
    FIELD("projector", GB_OPTION_CHOICE, projector),
    FIELD("contrast-weight", GB_OPTION_REAL, contrast_weight),
    FIELD("queue", GB_OPTION_U32, queue),
    FIELD("momentum", GB_OPTION_RATIO, momentum),
    FIELD("mean-pooling", GB_OPTION_FLAG, mean_pooling),
    FIELD("train-queries", GB_OPTION_U32, train_queries),
    {0}};
#undef FIELD

static void copy_setting(const gb_option *to, const tiny_params *settings)
{
    static const size_t bytes[] = {
        [GB_OPTION_TEXT] = sizeof(char *),     [GB_OPTION_U32] = sizeof(uint32_t),
        [GB_OPTION_REAL] = sizeof(double),     [GB_OPTION_RATIO] = sizeof(double),
        [GB_OPTION_CHOICE] = sizeof(uint32_t), [GB_OPTION_FLAG] = sizeof(bool)};
    const gb_option_table tables[] = {{NULL, own_settings, (void *)settings}, {0}};
    bool found = false;
    for (gb_option_walk from = {0}; gb_option_next(&from, tables);)
        if (!strcmp(from.option.name, to->name)) {
            cr_assert_eq(from.option.kind, to->kind);
            memcpy(to->value, from.option.value, bytes[to->kind]);
            found = true;
        }
    cr_assert(found, "the tests have no setting --%s", to->name);
}

gb_pretrain_params tiny_pretrain(const tiny_params *settings, const gb_objective *objective,
                                 gb_own_settings *own)
{
    const gb_option_table tables[] = {{NULL, objective->options, own}, {0}};
    *own = gb_objective_defaults(objective);
    for (gb_option_walk to = {0}; gb_option_next(&to, tables);)
        copy_setting(&to.option, settings);
    gb_pretrain_params params = settings->common;
    params.own = own;
    return params;
}

gb_bert_config tiny_config(const tiny *t, uint32_t hidden, uint32_t ffn, double dropout)
{
    gb_bert_config config = GB_BERT_BASE;
    config.vocab_size = gb_vocab_size(t->vocab) + 3;
    config.hidden_size = hidden;
    config.layers = 2;
    config.heads = 2;
    config.intermediate_size = ffn;
    config.max_positions = TINY_LONGEST + 5;
    config.pad_token_id = gb_vocab_specials(t->vocab).pad;
    config.hidden_dropout = config.attention_dropout = dropout;
    return config;
}

gb_device *tiny_device(uint32_t users)
{
    gb_status status = {0};
    static gb_config config;
    config = gb_config_read();
    config.poison = "1"; /* activations are NaN before every run */
    gb_device_params params = gb_ops_device(&config, NULL);
    params.validation = params.quiet = true;
    params.users = users | GB_USER_FP16 | GB_USER_BF16;
    gb_device *device = gb_device_open(&params, &status);
    MUST(device);
    return device;
}

void tiny_device_close(gb_device *device)
{
    cr_expect_eq(gb_device_validation_count(device), 0, "the validation layer spoke");
    gb_device_close(device);
}

/* ---- a model ---- */

static void random_values(const gb_params *params, float *values)
{
    memset(values, 0, gb_params_floats(params) * sizeof *values);
    for (uint32_t i = 0; i < gb_params_count(params); i++) {
        const gb_param *p = gb_params_at(params, i);
        gb_rng rng = gb_rng_make(3, GB_RNG_TEST, i, 0);
        for (uint32_t r = 0; r < p->rows; r++)
            for (uint32_t c = 0; c < p->cols; c++)
                values[p->offset + (size_t)r * p->ld + c] =
                    (float)((p->init == GB_INIT_ONES) + .3 * gb_rng_normal(&rng));
    }
}

void model_make(model *m, const tiny *t, const gb_bert_config *config, const char *objective,
                const tiny_params *settings)
{
    gb_status status = {0};
    gb_pretrain_data data = tiny_data(t);
    *m = (model){.config = *config,
                 .max_length = settings ? settings->common.max_length : TINY_LONGEST};
    MUST(gb_bert_config_check(config, "test", &status));
    MUST(m->params = gb_params_create(&status));
    MUST(gb_bert_declare(m->params, config, true, &m->bert, &status));
    if (objective) {
        MUST(m->objective = gb_objective_find(objective));
        gb_own_settings own;
        gb_pretrain_params params = tiny_pretrain(settings, m->objective, &own);
        m->self = m->objective->create(&params, &data, &m->bert, m->params, &m->task, &status);
        MUST(m->self);
        MUST(gb_params_add_matrix(m->params, "unreached.weight", 3, 5, 1, &status) != UINT32_MAX);
    }
    gb_params_freeze(m->params);
    MUST(m->values = gb_alloc(gb_params_floats(m->params), sizeof *m->values, &status));
    random_values(m->params, m->values);
}

void model_free(model *m)
{
    if (m->objective)
        m->objective->destroy(m->self);
    gb_bert_free(&m->bert);
    gb_params_destroy(m->params);
    free(m->values);
}

gb_bert_config tiny_generator(tiny *t)
{
    gb_status status = {0};
    gb_bert_config config = tiny_config(t, 8, 12, .1);
    model m;
    model_make(&m, t, &config, NULL, NULL);
    MUST(gb_model_save("generator", &config, m.params, m.values, t->vocab, GB_TOKENIZER_DEFAULTS,
                       TINY_SENTENCE, &(gb_model_card){.title = "generator", .what = "A test."},
                       &status));
    MUST(t->generator = gb_folder_open("generator", &status));
    model_free(&m);
    return config;
}

const float *model_values(const model *m, uint32_t *ld, const char *fmt, ...)
{
    char name[128];
    va_list args;
    va_start(args, fmt);
    vsnprintf(name, sizeof name, fmt, args);
    va_end(args);
    uint32_t index = gb_params_find(m->params, name);
    cr_assert(index != UINT32_MAX, "no parameter %s", name);
    const gb_param *p = gb_params_at(m->params, index);
    if (ld)
        *ld = p->ld;
    return m->values + p->offset;
}

void expect_same_values(const gb_params *params, const float *a, const float *b)
{
    for (uint32_t i = 0; i < gb_params_count(params); i++) {
        const gb_param *p = gb_params_at(params, i);
        for (uint32_t r = 0; r < p->rows; r++) {
            size_t at = p->offset + (size_t)r * p->ld;
            cr_expect_eq(memcmp(a + at, b + at, p->cols * sizeof *a), 0, "%s differs in row %u",
                         p->name, r);
        }
    }
}

/* ---- one pass ---- */

static void build(pass *p, const model *m, uint32_t step, uint32_t larger)
{
    gb_status status = {0};
    MUST(m->task.sample(m->task.self, step, &p->bucket, &status));
    for (int i = 0; i < GB_BUCKET_SIZES; i++)
        p->bucket.size[i] += p->bucket.size[i] ? larger : 0;
    MUST(p->tape = gb_tape_create(m->params, "pass", &status));
    gb_builder builder = {.tape = p->tape,
                          .dropout = (float)m->config.hidden_dropout,
                          .attention_dropout = (float)m->config.attention_dropout,
                          .eps = (float)m->config.layer_norm_eps,
                          .max_length = m->max_length};
    m->task.build(m->task.self, &builder, &p->bucket, p->losses);
    MUST(gb_tape_ok(p->tape, &status));
    for (int l = 0; l < GB_MAX_LOSSES && m->task.loss_names[l]; l++)
        gb_tape_output(p->tape, p->losses[l]);
    p->forward_nodes = gb_tape_node_count(p->tape);
    MUST(gb_backward(p->tape, p->losses[0], &status));
}

/* What the objective wrote for the device, into the reference. */
static void copy_inputs(pass *p, gb_executable *exec)
{
    gb_status status = {0};
    for (gb_tensor t = 0; t < (gb_tensor)gb_tape_tensor_count(p->tape); t++) {
        const gb_tensor_info *info = gb_tape_tensor(p->tape, t);
        if (info->role != GB_ROLE_INPUT)
            continue;
        size_t count = (size_t)info->rows * info->ld;
        const void *staged = gb_executable_input(exec, t, &status);
        MUST(staged);
        if (info->type == GB_U32)
            memcpy(gb_reference_u(p->reference, t), staged, count * 4);
        else
            for (size_t i = 0; i < count; i++)
                gb_reference_f(p->reference, t)[i] = ((const float *)staged)[i];
    }
}

pass compare_pass_make(const model *m, gb_device *device, uint32_t step, uint32_t larger)
{
    gb_status status = {0};
    pass p = {0};
    build(&p, m, step, larger);
    gb_state *state = gb_state_create(device, m->params, true, &status);
    MUST(state);
    MUST(gb_state_write(state, GB_ARENA_PARAMS, m->values, &status));
    gb_executable *exec = gb_executable_create(state, p.tape, &status);
    MUST(exec);
    MUST(gb_plan_check(p.tape, &status));
    MUST(gb_executable_fill(exec, step, &status));
    MUST(p.reference = gb_reference_create(p.tape, &status));
    copy_inputs(&p, exec);
    uint64_t ticket, trained = gb_params_arena_floats(m->params, GB_ARENA_GRADS);
    for (uint64_t i = 0; i < gb_params_floats(m->params); i++)
        gb_reference_arena(p.reference, GB_ARENA_PARAMS)[i] = m->values[i];
    MUST(gb_executable_run(exec, &ticket, &status));
    p.kinked = m->kinked;
    for (int l = 0; l < GB_MAX_LOSSES && m->task.loss_names[l]; l++) {
        if (p.losses[l] == GB_NO_TENSOR)
            continue;
        const float *loss = gb_executable_output(exec, ticket, p.losses[l], &status);
        MUST(loss);
        p.loss[l] = *loss;
    }
    MUST(p.gradients = gb_alloc(trained, sizeof *p.gradients, &status));
    MUST(gb_state_read(state, GB_ARENA_GRADS, p.gradients, &status));
    gb_executable_destroy(exec);
    gb_state_destroy(state);
    return p;
}

void compare_pass_free(pass *p)
{
    gb_reference_destroy(p->reference);
    gb_tape_destroy(p->tape);
    free(p->gradients);
}

gb_tensor pass_input(const pass *p, const char *name, uint32_t n)
{
    for (gb_tensor t = 0; t < (gb_tensor)gb_tape_tensor_count(p->tape); t++) {
        const gb_tensor_info *info = gb_tape_tensor(p->tape, t);
        if (info->role == GB_ROLE_INPUT && !strcmp(info->name, name) && !n--)
            return t;
    }
    cr_assert_fail("no such input: %s", name);
    return GB_NO_TENSOR;
}

double worst_gradient(const gb_params *params, const float *got, const double *wanted)
{
    double worst = 0;
    for (uint32_t i = 0; i < gb_params_count(params); i++) {
        const gb_param *p = gb_params_at(params, i);
        double largest = 0, difference = 0;
        for (uint32_t r = 0; p->trained && r < p->rows; r++)
            for (uint32_t c = 0; c < p->cols; c++) {
                size_t at = p->offset + (size_t)r * p->ld + c;
                double d = fabs(got[at] - wanted[at]);
                largest = fmax(largest, fabs(wanted[at]));
                difference = d <= difference ? difference : isnan(d) ? INFINITY : d;
            }
        double relative = difference > 0 ? difference / largest : 0; /* inf where 0 is wanted */
        if (getenv("GABBRO_TEST_SHOW"))
            fprintf(stderr, "%-60s largest %9.3g differs %8.2g\n", p->name, largest, relative);
        worst = fmax(worst, relative);
    }
    return worst;
}

/* Loss of the reference with one parameter value moved from `start`: a program may change
 * parameters. */
static double moved(const pass *p, const double *start, size_t count, size_t at, double by)
{
    double *values = gb_reference_arena(p->reference, GB_ARENA_PARAMS);
    memcpy(values, start, count * sizeof *values);
    values[at] += by;
    gb_reference_run_nodes(p->reference, 0, p->forward_nodes);
    return *gb_reference_f(p->reference, p->losses[0]);
}

void check_differences(const pass *p, const gb_params *params, const double *start)
{
    size_t count = gb_params_floats(params);
    double h = p->kinked ? 1e-6 : 1e-3, bound = p->kinked ? 1e-7 : 1e-8;
    gb_rng rng = gb_rng_make(5, GB_RNG_TEST, 1, 0);
    for (uint32_t i = 0; i < gb_params_count(params); i++) {
        const gb_param *param = gb_params_at(params, i);
        if (!param->trained)
            continue;
        size_t at = param->offset + (size_t)gb_rng_below(&rng, param->rows) * param->ld +
                    gb_rng_below(&rng, param->cols);
        double gradient = gb_reference_arena(p->reference, GB_ARENA_GRADS)[at];
        double wide = moved(p, start, count, at, h) - moved(p, start, count, at, -h);
        double narrow = moved(p, start, count, at, h / 2) - moved(p, start, count, at, -h / 2);
        double numeric = (8 * narrow - wide) / (6 * h);
        cr_expect(fabs(numeric - gradient) <= bound * (1 + fabs(gradient)),
                  "reference gradient of %s: %.12g, by differences %.12g", param->name, gradient,
                  numeric);
    }
}

/* ---- a task that something happens to ---- */

static bool watched_sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    watched *w = self;
    if (w->signal && step == w->at)
        raise(w->signal);
    return w->inner.sample(w->inner.self, step, bucket, status);
}

static void watched_build(void *self, gb_builder *builder, const gb_bucket *bucket,
                          gb_tensor losses[GB_MAX_LOSSES])
{
    watched *w = self;
    w->inner.build(w->inner.self, builder, bucket, losses);
}

gb_task watched_task(watched *w)
{
    gb_task task = w->inner;
    task.self = w;
    task.sample = watched_sample;
    task.build = watched_build;
    task.microbatch = (gb_microbatch){0}; /* its functions know the inner task alone */
    return task;
}
