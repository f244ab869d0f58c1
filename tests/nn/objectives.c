/* Loss and gradients of every pre-training objective as a whole: the device against the float64
 * reference, and the reference against finite differences. */
#include "../parity/trust.h"
#include "tiny.h"

#include <math.h>

typedef struct objective_case {
    const char *objective;                 /* by name */
    gb_context context;                    /* of the pairs */
    uint32_t decoder;                      /* CoT-MAE */
    uint32_t layers;                       /* of the Condenser head or the decoder */
    uint32_t skip_from, window;            /* Condenser; causal decoder */
    bool odd;                              /* sizes that are no multiples of 4 or 8 */
    double dropout;                        /* of states and attention */
    uint32_t contrast;                     /* coCondenser */
    double lm_weight;                      /* coCondenser */
    void (*change)(tiny_params *settings); /* what else differs from tiny_settings */
} objective_case;

/* Float32 against float64, relative to the largest gradient of a parameter. */
#define TOLERANCE 1e-5

/* Nothing of the batch touches the second token type and the positions behind the longest sequence,
 * and nothing at all the extra parameter. */
static void check_unreached(const model *m, const float *gradients)
{
    static const char *const names[] = {"bert.embeddings.token_type_embeddings.weight",
                                        "bert.embeddings.position_embeddings.weight",
                                        "unreached.weight"};
    const uint32_t first[] = {1, TINY_LONGEST, 0};
    for (int i = 0; i < 3; i++) {
        const gb_param *p = gb_params_at(m->params, gb_params_find(m->params, names[i]));
        for (size_t k = (size_t)first[i] * p->ld; k < (size_t)p->rows * p->ld; k++)
            cr_expect_eq(gradients[p->offset + k], 0, "%s has a gradient", p->name);
    }
}

/* A larger bucket changes nothing but the order of sums. */
static void check_padding(const model *m, gb_device *device, const pass *p)
{
    pass larger = compare_pass_make(m, device, 2, 192);
    for (int l = 0; l < GB_MAX_LOSSES && m->task.loss_names[l]; l++)
        cr_expect_float_eq(larger.loss[l], p->loss[l], 2e-6 * fabs(p->loss[l]), "%s",
                           m->task.loss_names[l]);
    check_unreached(m, larger.gradients);
    double worst = worst_gradient(m->params, larger.gradients,
                                  gb_reference_arena(p->reference, GB_ARENA_GRADS));
    cr_expect_leq(worst, TOLERANCE, "gradients of a larger bucket differ by %g", worst);
    compare_pass_free(&larger);
}

static void note(const gb_device *device, const objective_case *c, double worst)
{
    char what[100];
    snprintf(what, sizeof what, "%s: gradient of every parameter, %s kernels", c->objective,
             gb_kernel_profile_name(gb_device_get_caps(device)->profile));
    trust_note(what, "float64 reference", worst, TOLERANCE);
}

/* Batches that are only counted, without a device, have the sizes of those that are trained on. */
static void check_counted(const model *m)
{
    gb_status status = {0};
    gb_bucket trained = {0}, counted = {0};
    MUST(m->task.sample(m->self, 2, &trained, &status));
    MUST(m->objective->prepare(m->self, NULL, m->params, m->values, &status));
    MUST(m->task.sample(m->self, 2, &counted, &status));
    cr_expect_arr_eq(counted.size, trained.size, sizeof trained.size, "%s", m->objective->name);
}

static void check_case(const tiny *t, gb_device *device, const objective_case *c)
{
    gb_bert_config config = tiny_config(t, c->odd ? 24 : 16, c->odd ? 38 : 32, c->dropout);
    config.vocab_size = c->odd ? 63 : 64;
    tiny_params settings = tiny_settings();
    settings.common.context = c->context;
    settings.decoder = c->decoder;
    settings.head_layers = settings.decoder_layers = c->layers;
    settings.skip_from = c->skip_from;
    if (c->decoder != TINY_MASKED) /* which sees all tokens */
        settings.window = c->window;
    settings.contrast = c->contrast;
    settings.lm_weight = c->lm_weight > 0 ? c->lm_weight : 1;
    if (c->change)
        c->change(&settings);
    model m;
    model_make(&m, t, &config, c->objective, &settings);
    if (m.objective->prepare) {
        gb_status status = {0};
        MUST(m.objective->prepare(m.self, device, m.params, m.values, &status));
    }
    pass p = compare_pass_make(&m, device, 2, 0);
    size_t bytes = gb_params_floats(m.params) * sizeof(double);
    double *start = malloc(bytes);
    memcpy(start, gb_reference_arena(p.reference, GB_ARENA_PARAMS), bytes);
    gb_reference_run(p.reference);
    for (int l = 0; l < GB_MAX_LOSSES && m.task.loss_names[l]; l++) {
        double wanted = *gb_reference_f(p.reference, p.losses[l]);
        cr_expect_float_eq(p.loss[l], wanted, 2e-6 * fabs(wanted), "%s: %.9g, not %.9g",
                           m.task.loss_names[l], p.loss[l], wanted);
    }
    double worst =
        worst_gradient(m.params, p.gradients, gb_reference_arena(p.reference, GB_ARENA_GRADS));
    cr_expect_leq(worst, TOLERANCE, "gradients differ by %g", worst);
    note(device, c, worst);
    check_unreached(&m, p.gradients);
    check_padding(&m, device, &p);
    check_differences(&p, m.params, start);
    if (m.objective->prepare)
        check_counted(&m);
    free(start);
    compare_pass_free(&p);
    model_free(&m);
}

static void check_cases(const objective_case *cases, size_t count)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    tiny_generator(&t);
    gb_device *device = tiny_device(GB_USER_TRAIN);
    for (size_t i = 0; i < count; i++)
        check_case(&t, device, &cases[i]);
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}
#define CHECK(cases) check_cases(cases, sizeof cases / sizeof *cases)

Test(objectives, mlm)
{
    static const objective_case cases[] = {
        {.objective = "mlm"},
        {.objective = "mlm", .odd = true, .dropout = .1},
    };
    CHECK(cases);
}

Test(objectives, cocondenser)
{
    static const objective_case cases[] = {
        {"cocondenser", GB_CONTEXT_SPAN, .layers = 1, .skip_from = 0},
        {"cocondenser", GB_CONTEXT_QUERY, .layers = 2, .skip_from = 1, .odd = true},
        {"cocondenser", GB_CONTEXT_SPAN, .layers = 2, .skip_from = 1, .dropout = .1},
        {"cocondenser", GB_CONTEXT_QUERY, .layers = 1, .contrast = TINY_ONE_SIDED},
        {"cocondenser", GB_CONTEXT_SELF, .layers = 1, .lm_weight = 2},
        {"condenser", .layers = 2, .skip_from = 1, .odd = true, .dropout = .1},
    };
    CHECK(cases);
}

Test(objectives, cotmae_causal)
{
    static const objective_case cases[] = {
        {"cotmae", GB_CONTEXT_QUERY, TINY_CAUSAL, .layers = 1, .window = 3},
        {"cotmae", GB_CONTEXT_SPAN, TINY_CAUSAL, .layers = 2, .odd = true},
        {"cotmae", GB_CONTEXT_SPAN, TINY_CAUSAL, .layers = 1, .window = 3, .dropout = .1},
    };
    CHECK(cases);
}

Test(objectives, cotmae_masked)
{
    static const objective_case cases[] = {
        {"cotmae", GB_CONTEXT_QUERY, TINY_MASKED, .layers = 2},
        {"cotmae", GB_CONTEXT_SPAN, TINY_MASKED, .layers = 1, .odd = true, .dropout = .1},
    };
    CHECK(cases);
}

/* The passage itself, or a query, decoded in every other way. */
Test(objectives, decoders)
{
    static const objective_case cases[] = {
        {"autoencoding", .layers = 1, .odd = true, .dropout = .1},
        {"autoregression", .layers = 1, .window = 0, .dropout = .1},
        {"bottleneck", GB_CONTEXT_MIXED_EXAMPLE, .layers = 1, .window = 3},
        {"bottleneck", GB_CONTEXT_SELF, .layers = 1, .odd = true},
    };
    CHECK(cases);
}

Test(objectives, enhanced)
{
    static const objective_case cases[] = {
        {"enhanced", .layers = 1},
        {"enhanced", .layers = 1, .odd = true, .dropout = .1},
    };
    CHECK(cases);
}

Test(objectives, seed)
{
    static const objective_case cases[] = {
        {"seed", .layers = 3, .window = 2},
        {"seed", .layers = 1, .window = 8, .odd = true, .dropout = .1},
    };
    CHECK(cases);
}

static void independent_masks(tiny_params *settings)
{
    settings->decoder_masks = TINY_INDEPENDENT;
}

Test(objectives, simlm)
{
    static const objective_case cases[] = {
        {.objective = "simlm", .layers = 2},
        {.objective = "simlm", .odd = true, .dropout = .1, .change = independent_masks},
    };
    CHECK(cases);
}

static void projection(tiny_params *settings)
{
    settings->bow_head = TINY_PROJECTION;
}

Test(objectives, bow)
{
    static const objective_case cases[] = {
        {.objective = "bow", .odd = true, .change = projection},
        {.objective = "bow", .odd = true, .dropout = .1},
    };
    CHECK(cases);
}

static void linear_projector(tiny_params *settings)
{
    settings->projector = GB_PROJECTOR_LINEAR;
    settings->granularities = "phrase,paragraph";
    settings->spans = 2;
}

Test(objectives, costa)
{
    static const objective_case cases[] = {
        {.objective = "costa"},
        {.objective = "costa", .odd = true, .dropout = .1, .change = linear_projector},
    };
    CHECK(cases);
}

/* A projector, and cosines; keys that do not move while differences are taken. */
static void contrastive(tiny_params *settings)
{
    settings->momentum = 1;
    settings->temperature = .5;
}

static void means(tiny_params *settings)
{
    contrastive(settings);
    settings->mean_pooling = true;
}

Test(objectives, pairs)
{
    static const objective_case cases[] = {
        {.objective = "ict", .odd = true, .dropout = .1, .change = contrastive},
        {.objective = "simcse", .odd = true, .dropout = .3, .change = contrastive},
    };
    CHECK(cases);
}

Test(objectives, contriever)
{
    static const objective_case cases[] = {
        {.objective = "contriever", .change = contrastive},
        {.objective = "contriever", .odd = true, .dropout = .1, .change = means},
    };
    CHECK(cases);
}

Test(objectives, prop)
{
    static const objective_case cases[] = {
        {.objective = "prop", .odd = true, .dropout = .1},
        {.objective = "bprop", .odd = true},
    };
    CHECK(cases);
}

Test(objectives, deepct)
{
    static const objective_case cases[] = {
        {.objective = "deepct"},
        {.objective = "deepct", .odd = true, .dropout = .1},
    };
    CHECK(cases);
}

Test(objectives, settings)
{
    for (size_t i = 0; gb_objectives[i]; i++) {
        const gb_objective *o = gb_objectives[i];
        cr_expect_lt(i, GB_OBJECTIVES_MAX);
        cr_expect_eq(gb_objective_find(o->name), o);
        cr_expect_leq(o->own_bytes, GB_OWN_BYTES, "%s has too many settings", o->name);
    }
    gb_status status = {0};
    const gb_objective *ict = gb_objective_find("ict");
    gb_own_settings own = gb_objective_defaults(ict), same = own;
    cr_expect_not(gb_objective_set(ict, &own, "queue", "8", &status));
    cr_expect_eq(status.code, GB_USAGE);
    cr_expect_not(gb_objective_set(ict, &own, "temperature", "0", &(gb_status){0}));
    cr_expect_arr_eq(&own, &same, sizeof own);
    status = (gb_status){0};
    MUST(gb_objective_set(ict, &own, "temperature", "2", &status));
    cr_expect(memcmp(&own, &same, sizeof own));
}
