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

typedef struct word {
    uint32_t start, end; /* columns [start, end) */
} word;

typedef struct enhanced {
    gb_query_block block; /* the layer */
    uint32_t *bits;       /* [rows of the batch][words]: columns that a row sees */
    uint32_t *hidden;     /* [MOST_MASKS][words]: columns that a mask hides */
    bool *drawn;          /* [MOST_MASKS]: masks of this sequence drawn so far */
    word *groups;         /* words of a sequence that may be masked, in any order */
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
    if (d->params.max_length > UINT16_MAX) {
        gb_fail(status, GB_USAGE, NULL, "tokenize with fewer tokens a passage",
                "enhanced decoding takes sequences of up to %u tokens", UINT16_MAX);
        return NULL;
    }
    enhanced *e = gb_alloc(1, sizeof *e, status);
    if (!e)
        return NULL;
    pretrain_decoder_prefix(0, prefix);
    e->words = (d->params.max_length + 31) / 32;
    e->hidden = gb_alloc((size_t)MOST_MASKS * e->words, sizeof *e->hidden, status);
    e->drawn = gb_alloc(MOST_MASKS, sizeof *e->drawn, status);
    if (e->hidden && e->drawn &&
        gb_query_block_declare(model, prefix, &d->bert->config, &e->block, status))
        return e;
    destroy_layer(e);
    return NULL;
}

/* ---- masks ---- */

/* Small random numbers, two from each output of the stream: masks take very many. */
typedef struct halves {
    gb_rng rng;     /* stream */
    uint32_t spare; /* half of an output behind a one, or 0 */
} halves;

/* Uniform in [0, bound), bound below 2^16 (Lemire, 2019: a product's high part, unbiased by drawing
 * again). */
static uint32_t below(halves *h, uint32_t bound)
{
    for (;;) {
        uint32_t half = h->spare & 0xffff;
        if (h->spare) {
            h->spare = 0;
        } else {
            uint32_t both = gb_rng_u32(&h->rng);
            half = both & 0xffff;
            h->spare = both >> 16 | 0x10000;
        }
        uint32_t product = half * bound;
        if ((product & 0xffff) >= bound || (product & 0xffff) >= 0x10000 % bound)
            return product >> 16;
    }
}

/* A sequence being masked. */
typedef struct sequence {
    const uint32_t *ids; /* with specials */
    uint32_t length;     /* tokens, specials included */
    uint32_t groups;     /* words that may be masked */
    uint32_t budget;     /* tokens to mask */
} sequence;

static bool find_words(enhanced *e, const gb_vocab *vocab, sequence *s, gb_status *status)
{
    if (!gb_grow(&e->groups, &e->groups_capacity, s->length, sizeof *e->groups, status))
        return false;
    uint32_t last = s->length - 1;
    for (uint32_t start = 1, end; start < last; start = end) {
        end = start + 1;
        while (end < last && gb_vocab_is_continuation(vocab, s->ids[end]))
            end++;
        if (!gb_vocab_is_special(vocab, s->ids[start]))
            e->groups[s->groups++] = (word){start, end};
    }
    return true;
}

/* Whole words in random order until the budget is used; a word that does not fit is skipped. */
static void draw_mask(enhanced *e, const sequence *s, uint32_t *hidden, halves *draws)
{
    word *groups = e->groups;
    memset(hidden, 0, e->words * sizeof *hidden);
    for (uint32_t g = 0, chosen = 0; g < s->groups && chosen < s->budget; g++) {
        uint32_t other = g + below(draws, s->groups - g);
        word taken = groups[other];
        groups[other] = groups[g];
        groups[g] = taken;
        if (chosen + (taken.end - taken.start) > s->budget)
            continue;
        chosen += taken.end - taken.start;
        for (uint32_t column = taken.start; column < taken.end; column++)
            hidden[column / 32] |= 1u << (column % 32);
    }
}

/* Row i of the sequence sees what the mask leaves, and not itself. */
static void write_row(const enhanced *e, const sequence *s, const uint32_t *hidden, uint32_t i,
                      uint32_t *bits)
{
    for (uint32_t w = 0; w < e->words; w++) {
        uint32_t left = s->length > 32 * w ? s->length - 32 * w : 0;
        bits[w] = ~hidden[w] & (left >= 32 ? UINT32_MAX : (1u << left) - 1);
    }
    bits[i / 32] &= ~(1u << (i % 32));
}

/* Bits of the rows of the last sequence of the batch. Only masks that a row takes are drawn. */
static bool draw_rows(decoding *d, gb_rng rng, gb_status *status)
{
    enhanced *e = d->own;
    const gb_batch *texts = &d->contexts.all;
    uint32_t first = texts->starts[texts->count - 1];
    sequence s = {.ids = texts->ids + first, .length = texts->rows - first};
    double share = rint(s.length * d->how.decoder_mask_ratio); /* specials count, as released */
    s.budget = share < 1 ? 1 : share > MOST_MASKED ? MOST_MASKED : (uint32_t)share;
    size_t words = (size_t)texts->rows * e->words;
    if (!find_words(e, d->data.vocab, &s, status) ||
        !gb_grow(&e->bits, &e->bits_capacity, words, sizeof *e->bits, status))
        return false;
    halves draws = {.rng = rng};
    uint32_t masks = s.length < MOST_MASKS ? s.length : MOST_MASKS;
    memset(e->drawn, 0, masks * sizeof *e->drawn);
    for (uint32_t i = 0; i < s.length; i++) {
        uint32_t m = below(&draws, masks);
        uint32_t *hidden = e->hidden + (size_t)m * e->words;
        if (!e->drawn[m])
            draw_mask(e, &s, hidden, &draws);
        e->drawn[m] = true;
        write_row(e, &s, hidden, i, e->bits + (size_t)(first + i) * e->words);
    }
    return true;
}

static bool add_text(decoding *d, text_ids text, uint32_t step, uint32_t i, gb_status *status)
{
    gb_rng rng = gb_rng_make(d->params.seed, GB_RNG_MASK, step, 2 * i + 1);
    return pretrain_decoder_add_plain(d, text, step, i, status) && draw_rows(d, rng, status);
}

static bool find_targets(decoding *d, gb_status *status)
{
    return pretrain_labelled_rows_all(&d->contexts.labelled, &d->contexts.all, status);
}

/* ---- the layer ---- */

/* Which columns a row of the batch sees. */
typedef struct visible_columns {
    const decoding *d; /* for whom */
    gb_tensor bits;    /* u32 [rows, words] */
    uint32_t rows;     /* of the program */
} visible_columns;

static bool fill_bits(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const visible_columns *columns = record;
    const enhanced *e = columns->d->own;
    const gb_batch *texts = &columns->d->contexts.now;
    uint32_t *bits = gb_executable_input(exec, columns->bits, status);
    if (!bits)
        return false;
    size_t used = (size_t)texts->rows * e->words, all = (size_t)columns->rows * e->words;
    memcpy(bits, e->bits + (size_t)texts->row0 * e->words, used * sizeof *bits);
    memset(bits + used, 0, (all - used) * sizeof *bits); /* the padding sees nothing */
    return true;
}

static gb_tensor apply(const decoding *d, const decoder_net *dn, gb_tensor cls)
{
    const enhanced *e = d->own;
    const gb_batch_inputs *in = &dn->texts;
    gb_tape *tape = dn->builder->tape;
    gb_broadcast_inputs spread =
        gb_broadcast_declare(dn->builder, in->rows, in->count, &d->contexts.now);
    const visible_columns columns = {
        d, gb_tape_input(tape, "visible columns", GB_U32, in->rows, e->words), in->rows};
    gb_tape_fill_by(tape, fill_bits, &columns, sizeof columns);
    gb_tensor states = pretrain_decoder_inputs(d, dn, cls);
    gb_tensor positions = gb_lookup_rows(tape, gb_tape_param(tape, d->bert->position),
                                         in->positions, in->by_position, GB_NO_TENSOR);
    gb_tensor queries = gb_broadcast(dn->builder, cls, &spread, positions);
    return gb_query_block_apply(dn->builder, &e->block, in, queries, states, columns.bits);
}

static const decoder_kind decoder_enhanced = {1,        create_layer, destroy_layer,
                                              add_text, find_targets, apply};

/* As released. */
static const decoding_settings defaults = {
    .mask_ratio = .15, .decoder_mask_ratio = .5, .layers = 1};
static const gb_option options[] = {
    OPTION_MASK_RATIO(decoding_settings, mask_ratio),
    {"decoder-mask-ratio", GB_OPTION_RATIO, GB_FIELD(decoding_settings, decoder_mask_ratio), 0,
     NULL, "share of the other tokens that are hidden from each position"},
    {0}};

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    gb_pretrain_params own = *params;
    own.context = GB_CONTEXT_SELF;
    return pretrain_decoding_create(&own, data, bert, model, &decoder_enhanced, task, status);
}

const gb_objective objective_enhanced = {
    .name = "enhanced",
    .help = "every token decoded from [CLS] and a sample of its own (RetroMAE)",
    .options = options,
    .defaults = &defaults,
    .own_bytes = sizeof defaults,
    .create = create,
    .destroy = pretrain_decoding_destroy};
