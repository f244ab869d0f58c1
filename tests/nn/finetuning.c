/* Scorings and losses of fine-tuning: whole gradients against float64, in parts and shards. */
#include "../parity/trust.h"
#include "gradients.h"

#include <gabbro/finetune.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct finetune_case {
    const char *name;            /* of the trust lines */
    const char *scoring, *loss;  /* by name; NULL: the first */
    const char *set[5];          /* options of the two and their values, in turn, then NULL */
    gb_projector_kind projector; /* on the vectors */
    gb_pooling pooling;          /* of states */
    bool normalize;              /* vectors of length 1 */
    bool towers;                 /* queries have an encoder of their own */
    uint32_t random;             /* negatives from the whole collection */
    bool mask;                   /* copies of positives are no negatives in a batch */
    float temperature;           /* of scores */
    const char *dims, *weights;  /* lengths of vectors with losses of their own, and weights */
    uint64_t seed;               /* of the draws; 0: 5. Where ranks weigh pairs, one that has no two
                                    scores so near that a difference changes their order */
    bool kinked;                 /* see model */
    bool fixed;                  /* passages are not trained */
    gb_encoder_kind kind;        /* of encoder */
    uint32_t global_every;       /* ModernBERT: of its three layers */
} finetune_case;

enum { QUERIES = 4, PASSAGES = 8, WIDTH = 16 };

/* Passages that are not trained, and what was searched for last. */
typedef struct fixed_passages {
    float *values;            /* [passages, WIDTH] */
    double queries[3][WIDTH]; /* vectors of the step's queries */
    uint32_t found[3][5];     /* the best of each */
    uint32_t searches;        /* so far */
    gb_fixed_passages as;     /* for the task */
} fixed_passages;

/* What a case trains on. */
typedef struct fixture {
    tiny t;                                /* texts */
    gb_training_query queries[QUERIES];    /* of the set */
    uint32_t passages[QUERIES * PASSAGES]; /* of the set */
    gb_training_set set;                   /* both */
    gb_run teacher;                        /* scores of every passage */
    gb_own_settings scoring_own, loss_own; /* with what the case sets */
    gb_finetune_params params;             /* of the task */
} fixture;

static uint32_t find(const char *const *names, const char *name)
{
    uint32_t i = 0;
    while (name && names[i] && strcmp(names[i], name))
        i++;
    cr_assert(names[i], "no %s", name);
    return i;
}

/* A training set by hand: query i belongs to passage i, the others are negatives. */
static void make_set(fixture *f)
{
    for (uint32_t q = 0; q < QUERIES; q++) {
        gb_hit hits[PASSAGES];
        f->queries[q] = (gb_training_query){q, q * PASSAGES, 1, q * PASSAGES + 1, PASSAGES - 1};
        for (uint32_t p = 0; p < PASSAGES; p++) {
            uint32_t passage = (q + p) % f->t.collection->passages, at = q * PASSAGES + p;
            f->passages[at] = passage;
            hits[p] = (gb_hit){.passage = passage, .score = 3 * sin(1 + 5 * at)};
        }
        cr_assert(gb_run_add(&f->teacher, q, hits, PASSAGES, NULL));
    }
    f->set = (gb_training_set){.queries = f->queries, .count = QUERIES, .passages = f->passages};
}

static void make_params(fixture *f, const finetune_case *c)
{
    gb_status status = {0};
    const gb_scoring *scoring = gb_scorings[find(gb_scoring_names, c->scoring)];
    const gb_loss *loss = gb_losses[find(gb_loss_names, c->loss)];
    const gb_option none[] = {{0}};
    f->scoring_own = gb_own_settings_of(scoring->defaults, scoring->own_bytes);
    f->loss_own = gb_own_settings_of(loss->defaults, loss->own_bytes);
    for (int i = 0; c->set[i]; i += 2) { /* a flag has no value */
        const gb_option_table tables[] = {
            {NULL, loss->options ? loss->options : none, &f->loss_own},
            {NULL, scoring->options ? scoring->options : none, &f->scoring_own},
            {0}};
        MUST(gb_option_set(tables, c->set[i], c->set[i + 1], &status));
    }
    f->params = (gb_finetune_params){.batch = 3,
                                     .negatives = 2,
                                     .random = c->random,
                                     .max_query_length = 12,
                                     .max_passage_length = TINY_LONGEST,
                                     .pooling = c->pooling,
                                     .normalize = c->normalize,
                                     .temperature = c->temperature,
                                     .seed = c->seed ? c->seed : 5,
                                     .steps = 9,
                                     .scoring = scoring,
                                     .loss = loss,
                                     .scoring_own = &f->scoring_own,
                                     .loss_own = &f->loss_own};
    MUST(gb_matryoshka_read(c->dims, c->weights, &f->params.matryoshka, &status));
}

/* ---- fixed passages ---- */

static double product(const fixed_passages *f, uint32_t query, uint32_t passage)
{
    double sum = 0;
    for (uint32_t d = 0; d < WIDTH; d++)
        sum += f->queries[query][d] * f->values[passage * WIDTH + d];
    return sum;
}

/* By looking at all passages, k times. */
static bool search_all(void *context, const gb_vectors *queries, uint32_t k, uint32_t *rows,
                       gb_status *status)
{
    (void)status;
    fixed_passages *f = context;
    cr_assert_eq(queries->rows, 3);
    cr_assert_leq(k, 5);
    f->searches++;
    for (uint32_t q = 0; q < queries->rows; q++) {
        for (uint32_t d = 0; d < WIDTH; d++)
            f->queries[q][d] = queries->values[q * WIDTH + d];
        for (uint32_t n = 0; n < k; n++) {
            rows[q * k + n] = UINT32_MAX;
            for (uint32_t p = 0; p < f->as.vectors.rows; p++) {
                bool taken = false;
                for (uint32_t i = 0; i < n; i++)
                    taken |= rows[q * k + i] == p;
                if (!taken && (rows[q * k + n] == UINT32_MAX ||
                               product(f, q, p) > product(f, q, rows[q * k + n])))
                    rows[q * k + n] = p;
            }
            f->found[q][n] = rows[q * k + n];
        }
    }
    return true;
}

static void make_fixed(fixed_passages *f, uint32_t passages)
{
    gb_status status = {0};
    *f = (fixed_passages){0};
    MUST(f->values = gb_alloc((size_t)passages * WIDTH, sizeof *f->values, &status));
    for (uint32_t i = 0; i < passages * WIDTH; i++)
        f->values[i] = (float)sin(1 + 3 * i);
    f->as = (gb_fixed_passages){.vectors = {.rows = passages, .width = WIDTH, .values = f->values},
                                .search = search_all,
                                .context = f};
}

/* LambdaRank by its formula, over what was found and the positive, of queries `first` and on. */
static double lambdarank_of(const fixed_passages *f, uint32_t k, const uint32_t *positives)
{
    double sum = 0;
    for (uint32_t q = 0; q < 3; q++) {
        uint32_t before = 0, negatives = 0;
        double loss = 0, s = product(f, q, positives[q]);
        for (uint32_t i = 0; i < k; i++)
            before += f->found[q][i] != positives[q] && product(f, q, f->found[q][i]) > s;
        for (uint32_t i = 0; i < k; i++) {
            if (f->found[q][i] == positives[q])
                continue;
            double other = product(f, q, f->found[q][i]);
            uint32_t rank = negatives++ + 1 + (other < s);
            loss += fabs(1.0 / (before + 1) - 1.0 / rank) * log1p(exp(other - s));
        }
        sum += loss / negatives / 3;
    }
    return sum;
}

/* The device's step searches once, with the vectors of its queries, for what the loss is of. The
 * batch stays for what follows, which draws the same step and has no search. */
static void check_search(gb_device *device, const model *m, const fixed_passages *f,
                         const gb_train_params *params, uint32_t k)
{
    uint32_t before = f->searches, positives[3];
    gradient g = gradient_by(device, m, params);
    gb_epochs order = {0};
    gb_status status = {0};
    MUST(gb_epochs_make(&order, QUERIES, 5, 1, &status));
    for (uint32_t i = 0; i < 3; i++) /* query i has the one positive i */
        positives[i] = gb_epochs_at(&order, GRADIENT_STEP * 3 + i);
    gb_epochs_free(&order);
    cr_expect_eq(f->searches, before + 1);
    double wanted = lambdarank_of(f, k, positives);
    trust("fine-tuning against fixed passages: loss", "LambdaRank over a full search",
          fabs(g.losses[0] - wanted) / wanted, 2e-6);
    free(g.values);
}

/* A positive is often drawn as a negative of another query, whose own it is not. */
static void expect_copies(const model *m, bool some, bool fixed)
{
    gb_status status = {0};
    gb_collisions found;
    uint64_t copies;
    MUST(gb_finetune_copies(m->self, 9, &copies, &status));
    cr_expect_eq(copies > 0, some, "%llu copies in batches", (unsigned long long)copies);
    MUST(gb_finetune_collisions(m->self, 9, &found, &status)); /* those that nothing leaves out */
    cr_expect_eq(found.positives > 0, !some && !fixed, "%llu of %llu pairs",
                 (unsigned long long)found.positives, (unsigned long long)found.pairs);
    cr_expect_leq(found.positives, found.pairs);
}

/* What sets an encoder apart from BERT. */
static void make_kind(gb_bert_config *config, const finetune_case *c)
{
    gb_encoder_kind kind = config->kind = c->kind;
    if (kind == GB_ENCODER_MPNET || kind == GB_ENCODER_DISTILBERT || kind == GB_ENCODER_MODERNBERT)
        config->type_vocab_size = 0;
    if (kind == GB_ENCODER_MODERNBERT) {
        config->window = 6;
        config->global_every = c->global_every;
        config->theta = 1000;
        config->local_theta = 100;
    }
    if (kind == GB_ENCODER_MPNET || kind == GB_ENCODER_ROBERTA)
        config->position_offset = 2;
    if (kind == GB_ENCODER_MPNET)
        config->buckets = 8;
}

static void check_finetuning(const finetune_case *c)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    fixture f = {.t = tiny_make()};
    make_set(&f);
    make_params(&f, c);
    gb_device *device = tiny_device(GB_USER_TRAIN | f.params.scoring->users | f.params.loss->users |
                                    (c->kind ? GB_USER_TRAIN_LM : 0));
    bool head = f.params.scoring->needs & GB_SCORING_HEAD;
    model m = {
        .config = tiny_config(&f.t, 16, 32, .1), .max_length = TINY_LONGEST, .kinked = c->kinked};
    m.config.layers = 3;
    make_kind(&m.config, c);
    gb_text_hashes texts = {0};
    gb_bert query_bert = {0};
    fixed_passages fixed;
    make_fixed(&fixed, f.t.collection->passages);
    f.params.negatives = c->fixed ? 5 : f.params.negatives;
    MUST(gb_text_hashes_make(&texts, &f.t.tokens, &status));
    const gb_finetune_data data = {.set = &f.set,
                                   .tokens = &f.t.tokens,
                                   .vocab = f.t.vocab,
                                   .bert = &m.bert,
                                   .query_bert = c->towers ? &query_bert : NULL,
                                   .teacher = &f.teacher,
                                   .copies = c->mask ? &texts : NULL,
                                   .fixed = c->fixed ? &fixed.as : NULL};
    MUST(gb_finetune_prepare(&data, &f.params, &m.config, &status));
    MUST(m.params = gb_params_create(&status));
    MUST(gb_bert_declare(m.params, &m.config, head, &m.bert, &status));
    MUST(gb_bert_add_projector(m.params, &m.bert, c->projector, &status));
    if (c->towers)
        MUST(gb_bert_declare_tower(m.params, "query.", &m.bert, &query_bert, &status));
    MUST(m.self = gb_finetune_create(&f.params, &data, m.params, &m.task, &status));
    gb_params_freeze(m.params);
    MUST(m.values = gb_alloc(gb_params_floats(m.params), sizeof *m.values, &status));
    gb_params_init(m.params, 7, m.values);
    const gb_train_params plain = plain_params(&m);
    if (c->fixed)
        check_search(device, &m, &fixed, &plain, f.params.negatives);
    check_reference(device, &m, c->name);
    check_parts(device, &m, c->name);
    if (!c->loss && c->projector == GB_PROJECTOR_NONE) /* shards cut what losses do not see */
        check_shards(device, &m, c->name);
    expect_copies(&m, c->mask, c->fixed);
    free(fixed.values);
    gb_finetune_destroy(m.self);
    gb_text_hashes_free(&texts);
    gb_bert_free(&query_bert);
    model_free(&m);
    tiny_device_close(device);
    gb_run_free(&f.teacher);
    tiny_free(&f.t);
    scratch_leave(&s);
}

Test(finetuning, dense)
{
    check_finetuning(&(finetune_case){.name = "fine-tuning"});
}

Test(finetuning, two_towers)
{
    /* Of length 1: what is added to all passages alike changes no softmax, so that the last bias of
     * their tower has a gradient of nothing but rounding. */
    check_finetuning(&(finetune_case){.name = "fine-tuning, two towers",
                                      .towers = true,
                                      .normalize = true,
                                      .temperature = 1,
                                      .seed = 9});
    check_finetuning(&(finetune_case){.name = "fine-tuning, two towers of means",
                                      .towers = true,
                                      .loss = "pairwise",
                                      .pooling = GB_POOLING_MEAN,
                                      .normalize = true,
                                      .temperature = .2f});
}

Test(finetuning, encoders_of_other_kinds)
{
    check_finetuning(
        &(finetune_case){.name = "fine-tuning, DistilBERT", .kind = GB_ENCODER_DISTILBERT});
    check_finetuning(&(finetune_case){
        .name = "fine-tuning, MPNet, means", .kind = GB_ENCODER_MPNET, .pooling = GB_POOLING_MEAN});
    check_finetuning(&(finetune_case){.name = "fine-tuning, MPNet, last tokens",
                                      .kind = GB_ENCODER_MPNET,
                                      .pooling = GB_POOLING_LAST});
}

Test(finetuning, modernbert)
{
    check_finetuning(&(finetune_case){.name = "fine-tuning, ModernBERT, last layer of all tokens",
                                      .kind = GB_ENCODER_MODERNBERT,
                                      .global_every = 2});
    check_finetuning(&(finetune_case){.name = "fine-tuning, ModernBERT, last layer of windows",
                                      .kind = GB_ENCODER_MODERNBERT,
                                      .global_every = 3,
                                      .towers = true,
                                      .normalize = true,
                                      .temperature = 1});
    check_finetuning(&(finetune_case){.name = "fine-tuning, ModernBERT, terms of its head",
                                      .kind = GB_ENCODER_MODERNBERT,
                                      .global_every = 2,
                                      .scoring = "sparse",
                                      .pooling = GB_POOLING_TERMS,
                                      .kinked = true});
}

Test(finetuning, without_copies)
{
    check_finetuning(&(finetune_case){
        .name = "fine-tuning, copies masked, random negatives", .random = 1, .mask = true});
}

Test(finetuning, with_a_projector)
{
    check_finetuning(
        &(finetune_case){.name = "fine-tuning, projected", .projector = GB_PROJECTOR_NONLINEAR});
}

Test(finetuning, of_means)
{
    check_finetuning(&(finetune_case){.name = "fine-tuning, cosines of means",
                                      .pooling = GB_POOLING_MEAN,
                                      .normalize = true,
                                      .temperature = .5f});
}

Test(finetuning, of_shorter_vectors)
{
    check_finetuning(&(finetune_case){.name = "fine-tuning, Matryoshka, two towers of means",
                                      .towers = true,
                                      .dims = "16,7,4",
                                      .weights = "1,.5,.25",
                                      .pooling = GB_POOLING_MEAN,
                                      .normalize = true,
                                      .temperature = .5f});
    check_finetuning(&(finetune_case){.name = "fine-tuning, Matryoshka, MarginMSE",
                                      .dims = "12,5",
                                      .loss = "margin-mse",
                                      .temperature = 4});
}

/* Lists that are none are refused. */
Test(finetuning, lengths_of_vectors)
{
    static const char *const bad[][2] = {{"", NULL},
                                         {"8,x", NULL},
                                         {"8,8", NULL},
                                         {"0", NULL},
                                         {"2.5", NULL},
                                         {"-4", NULL},
                                         {"8,4", "1"},
                                         {"8", "1,2"},
                                         {NULL, "1"},
                                         {"8", "0"},
                                         {"nan", NULL},
                                         {"8,,4", NULL},
                                         {"1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", NULL}};
    gb_matryoshka parts;
    gb_status status = {0};
    MUST(gb_matryoshka_read("768,64", NULL, &parts, &status));
    cr_expect(parts.count == 2 && parts.dims[0] == 768 && parts.dims[1] == 64 &&
              parts.weights[0] == 1 && parts.weights[1] == 1);
    MUST(gb_matryoshka_read(NULL, NULL, &parts, &status));
    cr_expect_eq(parts.count, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        status = (gb_status){0};
        cr_expect(!gb_matryoshka_read(bad[i][0], bad[i][1], &parts, &status), "%zu", i);
        cr_expect_eq(status.code, GB_USAGE);
    }
}

Test(finetuning, margins_of_a_teacher)
{
    check_finetuning(
        &(finetune_case){.name = "fine-tuning, MarginMSE", .loss = "margin-mse", .temperature = 4});
    check_finetuning(&(finetune_case){.name = "fine-tuning, MarginMSE in the batch",
                                      .loss = "margin-mse",
                                      .set = {"in-batch-weight", ".75", "contrast-weight", ".5"},
                                      .normalize = true,
                                      .temperature = .2f});
}

Test(finetuning, softmax_of_a_teacher)
{
    check_finetuning(&(finetune_case){
        .name = "fine-tuning, KL", .loss = "kl", .set = {"contrast-weight", ".2"}});
    check_finetuning(&(finetune_case){.name = "fine-tuning, KL in the batch",
                                      .loss = "kl",
                                      .set = {"all-passages", NULL, "teacher-temperature", ".25"}});
}

Test(finetuning, order_of_a_teacher)
{
    check_finetuning(&(finetune_case){.name = "fine-tuning, a teacher's order (LED)",
                                      .loss = "ordered",
                                      .mask = true,
                                      .set = {"contrast-weight", ".5"}});
}

Test(finetuning, order_of_pairs)
{
    check_finetuning(
        &(finetune_case){.name = "fine-tuning, pairs", .loss = "pairwise", .mask = true});
    check_finetuning(&(finetune_case){.name = "fine-tuning, pairs weighted by ranks",
                                      .loss = "lambdarank",
                                      .set = {"rank-cut", "5"},
                                      .seed = 8});
}

Test(finetuning, against_fixed_passages)
{
    check_finetuning(&(finetune_case){
        .name = "fine-tuning, fixed passages (ADORE)", .loss = "lambdarank", .fixed = true});
}

Test(finetuning, passages_against_passages)
{
    check_finetuning(&(finetune_case){.name = "fine-tuning, passage-centred",
                                      .loss = "passage-centred",
                                      .set = {"passage-weight", ".4"}});
}

Test(finetuning, sparse)
{
    check_finetuning(&(finetune_case){.name = "fine-tuning, term weights",
                                      .scoring = "sparse",
                                      .kinked = true,
                                      .set = {"flops-queries", ".05", "flops-passages", ".02"}});
}

/* Only passages go through the encoder. */
Test(finetuning, sparse_passages)
{
    check_finetuning(&(finetune_case){.name = "fine-tuning, term weights of passages",
                                      .scoring = "sparse",
                                      .kinked = true,
                                      .set = {"query-tokens", NULL, "flops-passages", ".02"}});
    check_finetuning(&(finetune_case){.name = "fine-tuning, term weights, MarginMSE",
                                      .scoring = "sparse",
                                      .loss = "margin-mse",
                                      .kinked = true,
                                      .set = {"flops-queries", ".05"}});
}

Test(finetuning, tokens)
{
    check_finetuning(&(finetune_case){.name = "fine-tuning, late interaction",
                                      .scoring = "tokens",
                                      .kinked = true,
                                      .set = {"token-width", "8", "query-length", "17"}});
}

Test(finetuning, coil)
{
    check_finetuning(&(finetune_case){.name = "fine-tuning, COIL",
                                      .scoring = "coil",
                                      .kinked = true,
                                      .set = {"coil-width", "8"}});
}
