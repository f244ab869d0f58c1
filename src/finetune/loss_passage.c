/* The passage-centred loss of PAIR (Ren et al., 2021) beside the query-centred one: a positive
 * should be more like its query than like other passages,
 *   L = (1 - w) L_q + w L_p,   L_p = -log (exp s(p+, q) / sum over x of exp s(p+, x)),
 * x the queries of the batch and the passages that are no positives. */
#include "private.h"

#include <stdlib.h>

typedef struct settings {
    double weight; /* of the passage-centred part */
} settings;

static const settings defaults = {.weight = .1};

#define FIELD(member) GB_FIELD(settings, member)
static const gb_option options[] = {{"passage-weight", GB_OPTION_RATIO, FIELD(weight), 0, NULL,
                                     "share of the loss that compares passages with passages"},
                                    {0}};
#undef FIELD

typedef struct inputs {
    const gb_training_batch *batch;            /* sizes */
    gb_selection positives, queries, passages; /* rows of the positives; places of both kinds */
    gb_tensor labels, weights, exclude;        /* [Q, 1] each, [Q, words] */
} inputs;

/* Column of the loss that has a text: queries, then passages. */
static bool fill_rows(const inputs *in, gb_executable *exec, gb_status *status)
{
    const gb_training_batch *b = in->batch;
    uint32_t passages = b->queries * b->per_query;
    uint32_t *rows = gb_alloc(passages, sizeof *rows, status);
    if (!rows)
        return false;
    for (uint32_t q = 0; q < b->queries; q++)
        rows[q] = q * b->per_query;
    bool ok = gb_selection_fill(exec, &in->positives, rows, b->queries, 0, status);
    for (uint32_t p = 0; p < passages; p++)
        rows[p] = p;
    ok = ok && gb_selection_fill(exec, &in->queries, rows, b->queries, 0, status) &&
         gb_selection_fill(exec, &in->passages, rows, passages, b->queries, status);
    free(rows);
    return ok;
}

/* Positives are compared with no positive, themselves among them. */
static void fill_exclude(const gb_training_batch *b, uint32_t q, uint32_t *bits, uint32_t words)
{
    for (uint32_t w = 0; w < words; w++)
        bits[w] = 0;
    for (uint32_t p = 0; p < b->queries * b->per_query; p++)
        if (p % b->per_query == 0 || finetune_excluded(b, q, p))
            bits[(b->queries + p) / 32] |= 1u << (b->queries + p) % 32;
}

static bool fill(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const inputs *in = record;
    const gb_training_batch *b = in->batch;
    uint32_t words = (b->queries * (1 + b->per_query) + 31) / 32;
    uint32_t *labels = gb_executable_input(exec, in->labels, status);
    float *weights = labels ? gb_executable_input(exec, in->weights, status) : NULL;
    uint32_t *exclude = weights ? gb_executable_input(exec, in->exclude, status) : NULL;
    for (uint32_t q = 0; exclude && q < b->queries; q++) {
        labels[q] = q;
        weights[(size_t)q * 4] = 1.0f / (float)b->queries;
        fill_exclude(b, q, exclude + (size_t)q * words, words);
    }
    return exclude && fill_rows(in, exec, status);
}

static gb_tensor passage_loss(gb_builder *builder, const gb_batch_scores *scores)
{
    gb_tape *tape = builder->tape;
    const gb_training_batch *b = scores->batch;
    uint32_t passages = b->queries * b->per_query, all = b->queries + passages;
    inputs in = {.batch = b,
                 .positives = gb_selection_declare(builder, b->queries, passages),
                 .queries = gb_selection_declare(builder, all, b->queries),
                 .passages = gb_selection_declare(builder, all, passages),
                 .labels = gb_tape_input(tape, "targets", GB_U32, b->queries, 1),
                 .weights = gb_tape_input(tape, "query weights", GB_F32, b->queries, 1),
                 .exclude = gb_tape_input(tape, "exclude", GB_U32, b->queries, (all + 31) / 32)};
    gb_tape_fill_by(tape, fill, &in, sizeof in);
    gb_tensor anchors = gb_selection_gather(builder, scores->passages, &in.positives);
    gb_tensor texts = gb_add(tape, gb_selection_gather(builder, scores->queries, &in.queries),
                             gb_selection_gather(builder, scores->passages, &in.passages));
    gb_tensor of_passages = gb_matmul(tape, GB_NT, anchors, texts);
    if (scores->temperature != 1)
        of_passages = gb_scale(tape, of_passages, 1 / scores->temperature);
    return gb_softmax_loss(tape, of_passages, in.labels, in.weights, in.exclude);
}

static gb_tensor build(const gb_finetune_params *params, const void *own, gb_builder *builder,
                       const gb_batch_scores *scores)
{
    (void)params;
    double weight = ((const settings *)own)->weight;
    gb_tensor q = finetune_infonce(builder, scores), p = passage_loss(builder, scores);
    return gb_add(builder->tape, gb_scale(builder->tape, q, (float)(1 - weight)),
                  gb_scale(builder->tape, p, (float)weight));
}

const gb_loss loss_passage = {.name = "passage-centred",
                              .label = "centred",
                              .help = "queries against passages and passages against both (PAIR)",
                              .needs = GB_LOSS_SINGLE,
                              .options = options,
                              .defaults = &defaults,
                              .own_bytes = sizeof defaults,
                              .build = build};
