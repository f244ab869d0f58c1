/* Enhanced decoding (RetroMAE, Xiao et al., 2022), after the released code: one layer predicts
 * every token of the passage from [CLS] and its own sample of the others. queries  q_i = cls +
 * position_i          keys and values  [cls, Emb(x)_1..n], unmasked The masks are in the attention:
 * row i takes one of at most 256 whole-word masks of the passage at random, and never sees column
 * i. The residual is the query; [CLS] and [SEP] are not scored. */
#include "decoding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MASKS  256 /* different masks of a sequence, as released */
#define MOST_MASKED 512 /* tokens of a mask, as in gb_mask_words */

typedef struct enhanced {
    gb_query_block block; /* the layer */
    uint32_t *bits;       /* [rows of the batch][words]: columns that a row sees */
    uint32_t *hidden;     /* [MOST_MASKS][words]: columns that a mask hides */
    bool *drawn;          /* [MOST_MASKS]: masks of this sequence drawn so far */
    uint32_t *groups;     /* first columns of the words of a sequence, in any order */
    uint32_t words;       /* 32-bit words of a row of bits */
    size_t bits_capacity, groups_capacity; /* allocated */
} enhanced;

static void destroy_layer(void *own)
{
    enhanced *e = own;
    if (!e)
        return;
    free(e->bits);
    free(e->hidden);
    free(e->drawn);
    free(e->groups);
    free(e);
}

static void *create_layer(const decoding *d, gb_params *model, gb_status *status)
{
    char prefix[DECODER_PREFIX];
    enhanced *e = gb_alloc(1, sizeof *e, status);
    if (!e)
        return NULL;
    decoder_prefix(0, prefix);
    e->words = (d->params.longest + 31) / 32;
    e->hidden = gb_alloc((size_t)MOST_MASKS * e->words, sizeof *e->hidden, status);
    e->drawn = gb_alloc(MOST_MASKS, sizeof *e->drawn, status);
    if (e->hidden && e->drawn &&
        gb_query_block_declare(model, prefix, &d->bert->config, &e->block, status))
        return e;
    destroy_layer(e);
    return NULL;
}

/* ---- masks ---- */

/* A sequence being masked. */
typedef struct sequence {
    const gb_vocab *vocab; /* for whole words */
    const uint32_t *ids;   /* with specials */
    uint32_t length;       /* tokens, specials included */
    uint32_t groups;       /* words that may be masked */
    uint32_t budget;       /* tokens to mask */
} sequence;

/* End of the word that starts at `column`. */
static uint32_t word_end(const sequence *s, uint32_t column)
{
    column++;
    while (column + 1 < s->length && gb_vocab_is_continuation(s->vocab, s->ids[column]))
        column++;
    return column;
}

static bool find_words(enhanced *e, sequence *s, gb_status *status)
{
    if (!gb_grow(&e->groups, &e->groups_capacity, s->length, sizeof *e->groups, status))
        return false;
    for (uint32_t c = 1; c + 1 < s->length; c = word_end(s, c))
        if (!gb_vocab_is_special(s->vocab, s->ids[c]))
            e->groups[s->groups++] = c;
    return true;
}

/* Whole words in random order until the budget is used; a word that does not fit is skipped. */
static void draw_mask(enhanced *e, const sequence *s, uint32_t *hidden, gb_rng *rng)
{
    memset(hidden, 0, e->words * sizeof *hidden);
    for (uint32_t g = 0, chosen = 0; g < s->groups && chosen < s->budget; g++) {
        uint32_t other = g + gb_rng_below(rng, s->groups - g), column = e->groups[other];
        e->groups[other] = e->groups[g];
        e->groups[g] = column;
        uint32_t end = word_end(s, column);
        if (chosen + (end - column) > s->budget)
            continue;
        chosen += end - column;
        for (; column < end; column++)
            hidden[column / 32] |= 1u << (column % 32);
    }
}

/* Bits of the rows of the last sequence of the batch. Only masks that a row takes are drawn. */
static bool draw_rows(decoding *d, gb_rng *rng, gb_status *status)
{
    enhanced *e = d->own;
    const gb_packed *texts = &d->contexts;
    uint32_t first = texts->starts[texts->count - 1];
    sequence s = {.vocab = d->data.vocab, .ids = texts->ids + first, .length = texts->rows - first};
    double share = rint(s.length * d->params.decoder_mask_ratio); /* specials count, as released */
    s.budget = share < 1 ? 1 : share > MOST_MASKED ? MOST_MASKED : (uint32_t)share;
    if (!find_words(e, &s, status) ||
        !gb_grow(&e->bits, &e->bits_capacity, (size_t)texts->rows * e->words, sizeof *e->bits,
                 status))
        return false;
    uint32_t masks = s.length < MOST_MASKS ? s.length : MOST_MASKS;
    memset(e->drawn, 0, masks * sizeof *e->drawn);
    for (uint32_t i = 0; i < s.length; i++) {
        uint32_t m = gb_rng_below(rng, masks);
        uint32_t *hidden = e->hidden + (size_t)m * e->words;
        uint32_t *bits = e->bits + (size_t)(first + i) * e->words;
        if (!e->drawn[m])
            draw_mask(e, &s, hidden, rng);
        e->drawn[m] = true;
        for (uint32_t w = 0; w < e->words; w++) {
            uint32_t left = s.length > 32 * w ? s.length - 32 * w : 0;
            bits[w] = ~hidden[w] & (left >= 32 ? UINT32_MAX : (1u << left) - 1);
        }
        bits[i / 32] &= ~(1u << (i % 32));
    }
    return true;
}

static bool add_text(decoding *d, text_ids text, uint32_t step, uint32_t i, gb_status *status)
{
    gb_rng rng = gb_rng_make(d->params.seed, GB_RNG_MASK, step, 2 * i + 1);
    return decoder_add_plain(d, text, step, i, status) && draw_rows(d, &rng, status);
}

static bool find_targets(decoding *d, gb_status *status)
{
    const gb_packed *texts = &d->contexts;
    d->targets.count = 0;
    for (uint32_t s = 0; s < texts->count; s++)
        for (uint32_t r = texts->starts[s] + 1; r + 1 < texts->starts[s + 1]; r++)
            if (!labelled_rows_add(&d->targets, r, texts->ids[r], status))
                return false;
    return true;
}

/* ---- the layer ---- */

static gb_tensor apply(const decoding *d, gb_net *net, decoding_graph *g, gb_tensor cls)
{
    const enhanced *e = d->own;
    const gb_packed_inputs *in = &g->context;
    g->spread = gb_spread_declare(net, in->rows, in->count);
    g->bits = gb_tape_input(net->tape, "visible columns", GB_U32, in->rows, e->words);
    gb_tensor states = decoder_inputs(d, net, g, cls);
    gb_tensor positions = gb_look_up(net->tape, gb_tape_param(net->tape, d->bert->position),
                                     in->positions, in->by_position, GB_NO_TENSOR);
    gb_tensor queries = gb_spread(net, cls, &g->spread, positions);
    return gb_query_block_apply(net, &e->block, in, queries, states, g->bits);
}

static bool fill(const decoding *d, gb_exec *exec, const decoding_graph *g, gb_status *status)
{
    const enhanced *e = d->own;
    uint32_t *bits = gb_exec_input(exec, g->bits, status);
    if (!bits)
        return false;
    size_t used = (size_t)d->contexts.rows * e->words, all = (size_t)g->context.rows * e->words;
    memcpy(bits, e->bits, used * sizeof *bits);
    memset(bits + used, 0, (all - used) * sizeof *bits); /* the padding sees nothing */
    return gb_spread_fill(exec, &g->spread, &d->contexts, status);
}

static const decoder_kind decoder_enhanced = {
    1, create_layer, destroy_layer, add_text, find_targets, apply, fill};

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    gb_pretrain_params own = *params;
    own.context = GB_CONTEXT_SELF;
    return decoding_create(&own, data, bert, model, &decoder_enhanced, task, status);
}

const gb_objective objective_enhanced = {"enhanced", false, create, decoding_destroy};
