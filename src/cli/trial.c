/* A small training on made-up tokens: pairs of texts drawn by (seed, step), masked LM of their
 * tokens and a contrastive loss between their [CLS] vectors. */
#include "trial.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VOCABULARY 211 /* no multiple of anything */
#define SEED       42
#define SHORTEST   5  /* tokens of a text, without [CLS] and [SEP] */
#define LONGEST    22 /* with them */
#define MASK_EVERY 5  /* one token in five is masked */
#define MOST_ROWS  (TRIAL_TEXTS * LONGEST)

/* Inputs of a program. */
typedef struct graph {
    gb_packed_inputs in;                     /* texts */
    gb_rows_inputs masked, cls;              /* picked rows */
    gb_tensor labels, weights;               /* of the masked rows */
    gb_tensor sibling, pair_weights, itself; /* of the contrastive loss */
} graph;

static const gb_special_ids specials = {.pad = 0, .unk = 1, .cls = 2, .sep = 3, .mask = 4};

/* Words follow a law, so that there is something to learn: the next is often the last plus 7. */
static uint32_t next_word(gb_rng *rng, uint32_t last)
{
    uint32_t any = gb_rng_below(rng, VOCABULARY - 5);
    return gb_rng_below(rng, 4) ? 5 + (last + 2) % (VOCABULARY - 5) : 5 + any;
}

/* Masked rows among rows [row0, row0 + rows) of the batch, counted from there. */
static void pick(trial *t, uint32_t row0, uint32_t rows)
{
    t->picked_first = t->picked_count = 0;
    for (uint32_t i = 0; i < t->masked_count; i++) {
        if (t->masked[i] < row0)
            t->picked_first++;
        else if (t->masked[i] - row0 < rows)
            t->picked[t->picked_count++] = t->masked[i] - row0;
    }
}

static bool sample(void *self, uint32_t step, gb_shape *shape, gb_status *status)
{
    trial *t = self;
    if (step == t->kill_at)
        kill(getpid(), SIGKILL);
    gb_packed_reset(&t->packed);
    t->masked_count = 0;
    for (uint32_t i = 0; i < TRIAL_TEXTS; i++) {
        gb_rng rng = gb_rng_make(SEED, GB_RNG_TEST, step, i);
        uint32_t ids[LONGEST], length = SHORTEST + gb_rng_below(&rng, LONGEST - 1 - SHORTEST);
        length = length < LONGEST - 2 ? length : LONGEST - 2;
        uint32_t first = t->packed.rows, word = 5 + gb_rng_below(&rng, VOCABULARY - 5);
        for (uint32_t k = 0; k < length; k++) {
            ids[k] = word = next_word(&rng, word);
            if (gb_rng_below(&rng, MASK_EVERY))
                continue;
            t->masked[t->masked_count] = first + 1 + k;
            t->labels[t->masked_count++] = word;
            ids[k] = specials.mask;
        }
        if (!gb_packed_add(&t->packed, &specials, ids, NULL, length, LONGEST, status))
            return false;
    }
    pick(t, 0, t->packed.rows);
    t->in_part = false;
    shape->size[0] = gb_bucket_rows(t->packed.rows);
    shape->size[1] = gb_bucket_rows(t->masked_count);
    return true;
}

static uint32_t count(const void *self)
{
    (void)self;
    return TRIAL_TEXTS;
}

static bool take_part(void *self, uint32_t first, uint32_t texts, gb_shape *shape,
                      gb_status *status)
{
    trial *t = self;
    if (!gb_packed_part(&t->packed, first, texts, &t->part, status))
        return false;
    pick(t, t->part.row0, t->part.rows);
    t->in_part = true;
    shape->size[0] = gb_bucket_rows(t->part.rows);
    shape->size[1] = gb_bucket_rows(t->picked_count);
    return true;
}

static void declare_pairs(gb_net *net, graph *g)
{
    g->sibling = gb_tape_input(net->tape, "siblings", GB_U32, TRIAL_TEXTS, 1);
    g->pair_weights = gb_tape_input(net->tape, "pair weights", GB_F32, TRIAL_TEXTS, 1);
    g->itself = gb_tape_input(net->tape, "diagonal", GB_U32, TRIAL_TEXTS, 1);
}

static gb_tensor contrast(gb_net *net, const graph *g, gb_tensor cls)
{
    return gb_softmax_loss(net->tape, gb_matmul(net->tape, GB_NT, cls, cls), g->sibling,
                           g->pair_weights, g->itself);
}

static void build(void *self, gb_net *net, const gb_shape *shape, void *graph_,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    trial *t = self;
    graph *g = graph_;
    uint32_t rows = shape->size[0], masked = shape->size[1];
    uint32_t texts = shape->texts ? shape->texts : TRIAL_TEXTS;
    g->in = gb_packed_declare(net, &t->config, rows, texts);
    g->masked = gb_rows_declare(net, masked, rows);
    g->cls = gb_rows_declare(net, texts, rows);
    g->labels = gb_tape_input(net->tape, "labels", GB_U32, masked, 1);
    g->weights = gb_tape_input(net->tape, "weights", GB_F32, masked, 1);
    if (!shape->texts)
        declare_pairs(net, g);
    gb_tensor h = gb_bert_encode(net, &t->bert, &g->in, 0, NULL);
    gb_tensor cls = gb_rows_gather(net, h, &g->cls);
    losses[1] =
        gb_bert_mlm_loss(net, &t->bert, gb_rows_gather(net, h, &g->masked), g->labels, g->weights);
    net->vectors = cls;
    losses[2] = shape->texts ? GB_NO_TENSOR : contrast(net, g, cls);
    losses[0] = shape->texts ? losses[1] : gb_add(net->tape, losses[1], losses[2]);
}

static void compare(void *self, gb_net *net, gb_tensor vectors, void *graph_,
                    gb_tensor losses[GB_MAX_LOSSES])
{
    (void)self;
    declare_pairs(net, graph_);
    losses[0] = losses[2] = contrast(net, graph_, vectors);
}

static bool fill_masked(const trial *t, gb_exec *exec, const graph *g, gb_status *status)
{
    uint32_t *labels = gb_exec_input(exec, g->labels, status);
    float *weights = labels ? gb_exec_input(exec, g->weights, status) : NULL;
    if (!weights)
        return false;
    for (uint32_t i = 0; i < g->masked.count; i++) {
        bool used = i < t->picked_count;
        labels[i] = used ? t->labels[t->picked_first + i] : GB_NO_ROW;
        weights[(size_t)i * 4] = used ? 1.0f / (float)t->masked_count : 0;
    }
    return true;
}

static bool fill_compare(void *self, gb_exec *exec, const void *graph_, gb_status *status)
{
    (void)self;
    const graph *g = graph_;
    uint32_t *sibling = gb_exec_input(exec, g->sibling, status);
    float *weights = sibling ? gb_exec_input(exec, g->pair_weights, status) : NULL;
    uint32_t *itself = weights ? gb_exec_input(exec, g->itself, status) : NULL;
    for (uint32_t i = 0; itself && i < TRIAL_TEXTS; i++) {
        sibling[i] = i ^ 1;
        weights[(size_t)i * 4] = 1.0f / TRIAL_TEXTS;
        itself[i] = 1u << i;
    }
    return itself != NULL;
}

static bool fill(void *self, gb_exec *exec, const void *graph_, uint32_t step, gb_status *status)
{
    trial *t = self;
    const graph *g = graph_;
    const gb_packed *texts = t->in_part ? &t->part : &t->packed;
    return gb_packed_fill(exec, &g->in, texts, &t->config, SEED, step, status) &&
           gb_rows_fill(exec, &g->masked, t->picked, t->picked_count, status) &&
           gb_rows_fill(exec, &g->cls, texts->starts, texts->count, status) &&
           fill_masked(t, exec, g, status) && (t->in_part || fill_compare(t, exec, g, status));
}

bool trial_make(trial *t, uint32_t steps, gb_status *status)
{
    *t = (trial){.config = GB_BERT_BASE, .kill_at = UINT32_MAX};
    gb_bert_config *c = &t->config;
    c->vocab_size = VOCABULARY;
    c->hidden_size = 36;
    c->layers = 2;
    c->heads = 3;
    c->intermediate_size = 76;
    c->max_positions = LONGEST;
    c->initializer_range = .1;
    c->hidden_dropout = c->attention_dropout = .1;
    t->task = (gb_task){.self = t,
                        .loss_names = {"total", "masked LM", "contrast"},
                        .graph_bytes = sizeof(graph),
                        .sample = sample,
                        .build = build,
                        .fill = fill,
                        .cut = {.count = count,
                                .select = take_part,
                                .vectors = 1,
                                .compare = compare,
                                .fill_compare = fill_compare}};
    if (!(t->params = gb_params_create(status)) ||
        !gb_bert_declare(t->params, c, true, &t->bert, status))
        return false;
    gb_params_freeze(t->params);
    t->train = (gb_train_params){.params = t->params,
                                 .config = &t->config,
                                 .schedule = {GB_SCHEDULE_LINEAR, 2e-3f, 0, steps / 10, steps},
                                 .adamw = {.9f, .999f, 1e-8f, .01f},
                                 .largest_norm = 1,
                                 .longest = LONGEST,
                                 .label = "trial"};
    t->masked = gb_alloc(MOST_ROWS, sizeof *t->masked, status);
    t->labels = t->masked ? gb_alloc(MOST_ROWS, sizeof *t->labels, status) : NULL;
    t->picked = t->labels ? gb_alloc(MOST_ROWS, sizeof *t->picked, status) : NULL;
    t->values = t->picked ? gb_alloc(gb_params_floats(t->params), sizeof *t->values, status) : NULL;
    if (t->values)
        gb_params_init(t->params, SEED, t->values);
    return t->values != NULL;
}

void trial_free(trial *t)
{
    gb_packed_free(&t->packed);
    gb_packed_free(&t->part);
    gb_bert_free(&t->bert);
    gb_params_destroy(t->params);
    free(t->masked);
    free(t->labels);
    free(t->picked);
    free(t->values);
    *t = (trial){0};
}

bool trial_pass_make(trial_pass *pass, trial *t, uint32_t step, bool all, gb_status *status)
{
    gb_shape shape = {0};
    gb_tensor losses[GB_MAX_LOSSES];
    *pass = (trial_pass){0};
    if (!t->task.sample(t->task.self, step, &shape, status) ||
        !(pass->tape = gb_tape_create(t->params, "trial", status)) ||
        !(pass->graph = gb_alloc(1, t->task.graph_bytes, status)))
        return false;
    gb_net net = {.tape = pass->tape,
                  .dropout = (float)t->config.hidden_dropout,
                  .attention_dropout = (float)t->config.attention_dropout,
                  .eps = (float)t->config.layer_norm_eps,
                  .longest = t->train.longest};
    t->task.build(t->task.self, &net, &shape, pass->graph, losses);
    pass->loss = losses[0];
    gb_tape_output(pass->tape, losses[0]);
    if (!gb_tape_ok(pass->tape, status) || !gb_backward(pass->tape, losses[0], status))
        return false;
    for (gb_tensor i = 0; all && i < (gb_tensor)gb_tape_tensor_count(pass->tape); i++) {
        const gb_tensor_info *info = gb_tape_tensor(pass->tape, i);
        if (info->role == GB_ROLE_TEMP && info->producer >= 0 && !info->is_constant)
            gb_tape_output(pass->tape, i);
    }
    return gb_tape_ok(pass->tape, status);
}

void trial_pass_free(trial_pass *pass)
{
    gb_tape_destroy(pass->tape);
    free(pass->graph);
    *pass = (trial_pass){0};
}
