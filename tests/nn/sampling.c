/* What later objectives draw: pairs of every context, a choice of passages, the rows' masks of
 * enhanced decoding; and that the draws behind recorded results stay what they are. */
#include "tiny.h"

#include "pretrain/common.h"

#include <math.h>

/* ---- pairs ---- */

static bool same_text(text_ids a, text_ids b)
{
    return a.length == b.length && !memcmp(a.ids, b.ids, a.length * sizeof *a.ids);
}

/* Number of the passage a text is. */
static uint32_t passage_of(const gb_pretrain_data *data, text_ids text)
{
    for (uint32_t p = 0; p < data->collection->passages; p++)
        if (pretrain_passage_ids(data, p).ids == text.ids)
            return p;
    return GB_MAP_NONE;
}

static bool is_query_of(const gb_pretrain_data *data, uint32_t passage, text_ids text)
{
    uint32_t sep = gb_vocab_specials(data->vocab).sep;
    text_ids query;
    for (uint32_t q = 0;
         gb_tokens_generated(data->tokens, sep, passage, q, &query.ids, &query.length); q++)
        if (same_text(text, query))
            return true;
    return false;
}

#define STEPS 100

/* Kinds of the pairs of a mixed context: how many steps have queries alone, spans alone, both. */
typedef struct kinds {
    uint32_t queries, spans, both; /* steps */
} kinds;

static kinds mixed_kinds(const tiny *t, gb_context context)
{
    gb_status status = {0};
    gb_pretrain_data data = tiny_data(t);
    tiny_params settings = tiny_settings();
    settings.common.context = context;
    pair_source source;
    kinds k = {0};
    MUST(pretrain_pair_source_make(&source, &data, &settings.common, true, &status));
    cr_expect_not(source.by_document, "mixed pairs visit passages");
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t queries = 0, spans = 0;
        for (uint32_t i = 0; i < settings.common.batch; i++) {
            text_ids pair[2];
            pretrain_pair_source_at(&source, &data, &settings.common, step, i, pair);
            uint32_t passage = passage_of(&data, pair[0]), other = passage_of(&data, pair[1]);
            cr_assert_neq(passage, GB_MAP_NONE);
            uint32_t document = t->collection->document[passage];
            if (other == passage) { /* the only one of its document */
                cr_expect_eq(source.documents.first[document + 1], passage + 1);
            } else if (other != GB_MAP_NONE) {
                cr_expect_eq(t->collection->document[other], document);
                spans++;
            } else {
                cr_expect(is_query_of(&data, passage, pair[1]));
                queries++;
            }
        }
        k.queries += queries && !spans;
        k.spans += spans && !queries;
        k.both += queries && spans;
    }
    pretrain_pair_source_free(&source);
    return k;
}

Test(sampling, mixed_contexts)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    kinds k = mixed_kinds(&t, GB_CONTEXT_MIXED_STEP);
    cr_expect_eq(k.both, 0, "%u steps have both kinds", k.both);
    cr_expect(k.queries > STEPS / 4 && k.spans > STEPS / 4, "%u and %u steps", k.queries, k.spans);
    k = mixed_kinds(&t, GB_CONTEXT_MIXED_EXAMPLE);
    cr_expect_gt(k.both, STEPS / 2, "only %u steps have both kinds", k.both);
    tiny_free(&t);
    scratch_leave(&s);
}

Test(sampling, self_context)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_pretrain_data data = tiny_data(&t);
    tiny_params settings = tiny_settings();
    settings.common.context = GB_CONTEXT_SELF;
    pair_source source;
    MUST(pretrain_pair_source_make(&source, &data, &settings.common, true, &status));
    for (uint32_t i = 0; i < 20; i++) {
        text_ids pair[2];
        pretrain_pair_source_at(&source, &data, &settings.common, 3, i, pair);
        cr_expect_neq(passage_of(&data, pair[0]), GB_MAP_NONE);
        cr_expect(pair[1].ids == pair[0].ids && pair[1].length == pair[0].length);
    }
    pretrain_pair_source_free(&source);
    tiny_free(&t);
    scratch_leave(&s);
}

/* A larger number keeps the passages of a smaller one; none is without queries. */
Test(sampling, some_passages)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_pretrain_data data = tiny_data(&t);
    tiny_params settings = tiny_settings();
    uint32_t sep = gb_vocab_specials(t.vocab).sep, with_queries = 0, all = t.collection->passages;
    bool kept[32] = {false};
    for (uint32_t p = 0; p < all; p++)
        with_queries += gb_tokens_generated_count(&t.tokens, sep, p) > 0;
    for (uint32_t number = 1; number <= all + 3; number++) {
        row_order order;
        bool now[32] = {false};
        settings.common.passages = number;
        MUST(pretrain_row_order_passages(&order, &data, &settings.common, &status));
        cr_assert_eq(order.epochs.count, number < with_queries ? number : with_queries);
        for (uint32_t i = 0; i < order.epochs.count; i++) {
            uint32_t p = pretrain_row_order_at(&order, i);
            cr_expect_not(now[p], "passage %u twice", p);
            cr_expect(gb_tokens_generated_count(&t.tokens, sep, p) > 0);
            now[p] = true;
        }
        for (uint32_t p = 0; p < all; p++)
            cr_expect(now[p] || !kept[p], "passage %u is in %u but not in more", p, number - 1);
        memcpy(kept, now, sizeof kept);
        pretrain_row_order_free(&order);
    }
    /* Documents are not passages. */
    pair_source source;
    settings.common.context = GB_CONTEXT_SPAN;
    cr_expect_not(pretrain_pair_source_make(&source, &data, &settings.common, true, &status));
    cr_expect_eq(status.code, GB_USAGE);
    tiny_free(&t);
    scratch_leave(&s);
}

/* ---- what decoders are given ---- */

/* A batch as the device got it. */
typedef struct batch {
    const uint32_t *ids;    /* of the rows */
    const uint32_t *starts; /* first row of each sequence */
} batch;

static batch batch_of(const pass *p, uint32_t n)
{
    return (batch){gb_reference_u(p->reference, pass_input(p, "ids", n)),
                   gb_reference_u(p->reference, pass_input(p, "sequences", n)) +
                       GB_SEQUENCES_HEADER};
}

/* Label of a row in the n-th list of selected rows; GB_NO_ROW if it has none. */
static uint32_t label_of(const pass *p, uint32_t n, uint32_t row)
{
    gb_tensor list = pass_input(p, "selected rows", n);
    const uint32_t *rows = gb_reference_u(p->reference, list);
    for (uint32_t i = 0; i < gb_tape_tensor(p->tape, list)->cols; i++)
        if (rows[i] == row)
            return gb_reference_u(p->reference, pass_input(p, "labels", 0))[i];
    return GB_NO_ROW;
}

/* The decoder's text is the encoder's, once masks are undone; returns how many tokens have a label
 * in both. */
static uint32_t expect_own_text(const pass *p, uint32_t count, uint32_t *encoder, uint32_t *decoder)
{
    batch a = batch_of(p, 0), b = batch_of(p, 1);
    uint32_t both = 0;
    for (uint32_t s = 0; s < count; s++) {
        uint32_t length = a.starts[s + 1] - a.starts[s];
        cr_assert_eq(b.starts[s + 1] - b.starts[s], length);
        for (uint32_t i = 0; i < length; i++) {
            uint32_t row_a = a.starts[s] + i, row_b = b.starts[s] + i;
            uint32_t label_a = label_of(p, 2, row_a), label_b = label_of(p, 3, row_b);
            cr_expect_eq(label_a != GB_NO_ROW ? label_a : a.ids[row_a],
                         label_b != GB_NO_ROW ? label_b : b.ids[row_b]);
            *encoder += label_a != GB_NO_ROW;
            *decoder += label_b != GB_NO_ROW;
            both += label_a != GB_NO_ROW && label_b != GB_NO_ROW;
        }
    }
    return both;
}

Test(sampling, autoencoding_masks_anew)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    gb_bert_config config = tiny_config(&t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    settings.common.batch = 13;
    model m;
    model_make(&m, &t, &config, "autoencoding", &settings);
    pass p = compare_pass_make(&m, device, 1, 0);
    uint32_t encoder = 0, decoder = 0;
    uint32_t both = expect_own_text(&p, settings.common.batch, &encoder, &decoder);
    cr_expect_gt(decoder, encoder, "the decoder has no more masks than the encoder");
    cr_expect(both > 0 && both < encoder, "%u of %u masks are the decoder's too", both, encoder);
    compare_pass_free(&p);
    model_free(&m);
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}

/* The passage itself, every next token a target, also [SEP], and the first one from row 0. */
static void expect_next_tokens(const tiny *t, gb_device *device, const char *objective)
{
    gb_bert_config config = tiny_config(t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    gb_pretrain_data data = tiny_data(t);
    model m;
    model_make(&m, t, &config, objective, &settings);
    pass p = compare_pass_make(&m, device, 1, 0);
    batch b = batch_of(&p, 1);
    for (uint32_t s = 0; s < settings.common.batch; s++) {
        uint32_t length = b.starts[s + 1] - b.starts[s] - 2, passage = 0;
        const uint32_t *ids = b.ids + b.starts[s] + 1;
        while (passage < t->collection->passages) {
            text_ids text = pretrain_passage_ids(&data, passage);
            text.length = text.length < TINY_LONGEST - 2 ? text.length : TINY_LONGEST - 2;
            if (same_text(text, (text_ids){ids, length}))
                break;
            passage++;
        }
        cr_expect_lt(passage, t->collection->passages, "%s: no passage", objective);
        for (uint32_t r = b.starts[s]; r + 1 < b.starts[s + 1]; r++)
            cr_expect_eq(label_of(&p, 3, r), b.ids[r + 1], "%s: row %u", objective, r);
        cr_expect_eq(label_of(&p, 3, b.starts[s + 1] - 1), GB_NO_ROW);
    }
    compare_pass_free(&p);
    model_free(&m);
}

Test(sampling, next_tokens_of_the_passage)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    expect_next_tokens(&t, device, "autoregression");
    expect_next_tokens(&t, device, "seed");
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}

/* ---- masks of enhanced decoding ---- */

static bool hides(const uint32_t *bits, uint32_t column)
{
    return !(bits[column / 32] >> (column % 32) & 1);
}

/* Bits of one sequence: no row sees itself, all see [CLS] and [SEP], nobody sees behind the end;
 * the rest are whole words, about half of the tokens. Adds up tokens hidden and shown. */
static void expect_row_masks(const gb_vocab *vocab, const uint32_t *ids, uint32_t length,
                             const uint32_t *bits, uint32_t words, double sums[2])
{
    for (uint32_t i = 0; i < length; i++) {
        const uint32_t *row = bits + (size_t)i * words;
        uint32_t hidden = 0;
        cr_expect(hides(row, i), "row %u sees itself", i);
        for (uint32_t j = 0; j < words * 32; j++) {
            bool outer = j == 0 || j == length - 1;
            if (j >= length)
                cr_expect(hides(row, j), "row %u sees column %u of %u", i, j, length);
            else if (outer && j != i)
                cr_expect_not(hides(row, j), "row %u does not see column %u", i, j);
            else if (!outer && j != i)
                hidden += hides(row, j);
            bool inside = j >= 2 && j + 1 < length && gb_vocab_is_continuation(vocab, ids[j]);
            if (inside && j != i && j - 1 != i)
                cr_expect_eq(hides(row, j), hides(row, j - 1), "row %u, a word apart at %u", i, j);
        }
        cr_expect_leq(hidden, rint(length * .5), "row %u of %u: %u hidden", i, length, hidden);
        sums[0] += hidden;
        sums[1] += length;
    }
}

/* Rows do not all have one mask. */
static uint32_t different_rows(const uint32_t *bits, uint32_t length, uint32_t words)
{
    uint32_t different = 0;
    for (uint32_t i = 0; i + 1 < length; i++)
        for (uint32_t w = 0; w < words; w++) {
            uint32_t own =
                (w == i / 32 ? 1u << i % 32 : 0) | (w == (i + 1) / 32 ? 1u << (i + 1) % 32 : 0);
            if ((bits[(size_t)i * words + w] | own) != (bits[(size_t)(i + 1) * words + w] | own)) {
                different++;
                break;
            }
        }
    return different;
}

static void enhanced_case(const tiny *t, gb_device *device, uint32_t max_length)
{
    gb_bert_config config = tiny_config(t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    settings.common.batch = 13;
    settings.decoder_mask_ratio = .5;
    settings.common.max_length = max_length;
    config.max_positions = max_length;
    model m;
    model_make(&m, t, &config, "enhanced", &settings);
    pass p = compare_pass_make(&m, device, 1, 0);
    gb_tensor input = pass_input(&p, "visible columns", 0);
    const uint32_t *bits = gb_reference_u(p.reference, input);
    const gb_tensor_info *info = gb_tape_tensor(p.tape, input);
    cr_assert_eq(info->cols, (max_length + 31) / 32);
    batch b = batch_of(&p, 1);
    double sums[2] = {0};
    uint32_t different = 0;
    for (uint32_t s = 0; s < settings.common.batch; s++) {
        uint32_t first = b.starts[s], length = b.starts[s + 1] - first;
        const uint32_t *own = bits + (size_t)first * info->cols;
        expect_row_masks(t->vocab, b.ids + first, length, own, info->cols, sums);
        different += different_rows(own, length, info->cols);
        for (uint32_t i = 0; i < length; i++) /* unmasked, all but [CLS] and [SEP] scored */
            cr_expect_eq(label_of(&p, 3, first + i),
                         i == 0 || i == length - 1 ? GB_NO_ROW : b.ids[first + i]);
    }
    cr_expect(sums[0] > .3 * sums[1], "%g of %g tokens are hidden", sums[0], sums[1]);
    cr_expect_gt(different, b.starts[settings.common.batch] / 2, "%u rows differ from the next",
                 different);
    for (uint32_t r = b.starts[settings.common.batch]; r < info->rows; r++)
        for (uint32_t w = 0; w < info->cols; w++)
            cr_expect_eq(bits[(size_t)r * info->cols + w], 0, "the padding sees something");
    compare_pass_free(&p);
    model_free(&m);
}

Test(sampling, masks_of_rows)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    enhanced_case(&t, device, TINY_LONGEST);
    enhanced_case(&t, device, 40); /* two words of bits */
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}

/* ---- draws of recorded results ---- */

/* Hash of everything that an objective puts on the device for a step. */
static void batch_hash(const tiny *t, gb_device *device, const char *objective, gb_context context,
                       uint32_t decoder, char hash[GB_HASH_SIZE])
{
    gb_bert_config config = tiny_config(t, 16, 32, .1);
    tiny_params settings = tiny_settings();
    settings.common.context = context;
    settings.decoder = decoder;
    model m;
    model_make(&m, t, &config, objective, &settings);
    pass p = compare_pass_make(&m, device, 4, 0);
    gb_text all = {0};
    for (gb_tensor tensor = 0; tensor < (gb_tensor)gb_tape_tensor_count(p.tape); tensor++) {
        const gb_tensor_info *info = gb_tape_tensor(p.tape, tensor);
        if (info->role != GB_ROLE_INPUT || strstr(info->name, "rows read"))
            continue; /* which rows are read follows from the others */
        gb_text_printf(&all, "%s", info->name);
        for (size_t i = 0; i < (size_t)info->rows * info->ld; i++)
            if (info->type == GB_U32)
                gb_text_printf(&all, " %u", gb_reference_u(p.reference, tensor)[i]);
            else
                gb_text_printf(&all, " %.9g", gb_reference_f(p.reference, tensor)[i]);
    }
    cr_assert(!all.failed);
    gb_hash_bytes(all.data, all.length, hash);
    gb_text_free(&all);
    compare_pass_free(&p);
    model_free(&m);
}

/* A change here asks for recording all results again. */
Test(sampling, recorded_draws_stay)
{
    static const struct {
        const char *objective;
        gb_context context;
        uint32_t decoder;
        const char *hash; /* its first digits */
    } cases[] = {
        {"mlm", GB_CONTEXT_NONE, TINY_CAUSAL, "13397aafdf2cb752"},
        {"cocondenser", GB_CONTEXT_SPAN, TINY_CAUSAL, "5047620b57719a1d"},
        {"cocondenser", GB_CONTEXT_QUERY, TINY_CAUSAL, "63e4fbb0b6d40d32"},
        {"cotmae", GB_CONTEXT_SPAN, TINY_CAUSAL, "21953bb56131b603"},
        {"cotmae", GB_CONTEXT_QUERY, TINY_CAUSAL, "2e136d60188a73cf"},
        {"cotmae", GB_CONTEXT_QUERY, TINY_MASKED, "9635e3ef678ecc95"},
    };
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char hash[GB_HASH_SIZE];
        batch_hash(&t, device, cases[i].objective, cases[i].context, cases[i].decoder, hash);
        hash[16] = 0;
        cr_expect_str_eq(hash, cases[i].hash, "%s, context %d: %s", cases[i].objective,
                         cases[i].context, hash);
    }
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}
