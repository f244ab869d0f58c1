/* Whole-word masking. */
#include <gabbro/text.h>
#include "scratch.h"

enum { WORD = 5, PIECE = 6, WORDS = 40, PIECES = 40 };

/* [PAD] [UNK] [CLS] [SEP] [MASK], then word0 ##piece0 word1 ##piece1 ... */
static gb_vocab *make_vocab(void)
{
    gb_text text = {0};
    gb_text_printf(&text, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    for (int i = 0; i < WORDS; i++)
        gb_text_printf(&text, "word%d\n##piece%d\n", i, i);
    cr_assert_not(text.failed);
    scratch_write("vocab.txt", text.data);
    gb_text_free(&text);
    gb_vocab *vocab = gb_vocab_load("vocab.txt", NULL);
    cr_assert_not_null(vocab);
    return vocab;
}

static uint32_t word(uint32_t i)
{
    return WORD + 2 * (i % WORDS);
}

static uint32_t piece(uint32_t i)
{
    return PIECE + 2 * (i % PIECES);
}

static size_t masked_count(const int32_t *labels, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += labels[i] != GB_IGNORE;
    return count;
}

/* Number of labels for a text of single-piece words. */
static size_t budget(const gb_vocab *vocab, size_t length, double ratio, bool count_specials)
{
    uint32_t ids[2000], masked[2000];
    int32_t labels[2000];
    for (size_t i = 0; i < length; i++)
        ids[i] = word((uint32_t)i);
    gb_rng rng = gb_rng_make(1, GB_RNG_MASK, 0, 0);
    gb_mask_params params = {.ratio = ratio, .count_specials = count_specials};
    gb_mask_words(vocab, &params, ids, length, &rng, masked, labels);
    return masked_count(labels, length);
}

Test(masking, budget_is_rounded_to_even_and_bounded)
{
    scratch s = scratch_enter();
    gb_vocab *vocab = make_vocab();
    cr_expect_eq(budget(vocab, 10, 0.25, false), 2, "2.5 goes to 2");
    cr_expect_eq(budget(vocab, 14, 0.25, false), 4, "3.5 goes to 4");
    cr_expect_eq(budget(vocab, 8, 0.25, true), 2, "(8 + 2) / 4 goes to 2");
    cr_expect_eq(budget(vocab, 12, 0.25, true), 4, "(12 + 2) / 4 goes to 4");
    cr_expect_eq(budget(vocab, 100, 0.15, false), 15);
    cr_expect_eq(budget(vocab, 2, 0.15, false), 1, "at least one");
    cr_expect_eq(budget(vocab, 2000, 0.5, false), 512, "at most 512");
    cr_expect_eq(budget(vocab, 0, 0.5, false), 0, "nothing to mask");
    gb_vocab_destroy(vocab);
    scratch_leave(&s);
}

Test(masking, words_are_masked_whole_and_never_overshoot)
{
    scratch s = scratch_enter();
    gb_vocab *vocab = make_vocab();
    /* a leading continuation, words of one to four pieces */
    uint32_t ids[64], masked[64];
    int32_t labels[64];
    size_t length = 0;
    ids[length++] = piece(9);
    for (uint32_t w = 0; w < 16; w++) {
        ids[length++] = word(w);
        for (uint32_t p = 0; p < w % 4; p++)
            ids[length++] = piece(w + p);
    }
    size_t limit = (size_t)(0.3 * (double)length + 0.5), below = 0;
    for (uint32_t row = 0; row < 300; row++) {
        gb_rng rng = gb_rng_make(3, GB_RNG_MASK, 0, row);
        gb_mask_params params = {.ratio = 0.3};
        gb_mask_words(vocab, &params, ids, length, &rng, masked, labels);
        size_t count = masked_count(labels, length);
        cr_assert_leq(count, limit);
        cr_assert_gt(count, 0);
        below += count < limit;
        for (size_t i = 0; i < length; i++) {
            cr_assert(labels[i] == GB_IGNORE || labels[i] == (int32_t)ids[i]);
            if (i > 0 && gb_vocab_is_continuation(vocab, ids[i]))
                cr_assert_eq(labels[i] == GB_IGNORE, labels[i - 1] == GB_IGNORE, "a cut word");
            if (labels[i] == GB_IGNORE)
                cr_assert_eq(masked[i], ids[i]);
        }
    }
    /* One-piece words can always fill what is left unless none remains: that is rare. */
    cr_expect_lt(below, 30);
    gb_vocab_destroy(vocab);
    scratch_leave(&s);
}

Test(masking, group_that_overshoots_is_skipped_not_cut)
{
    scratch s = scratch_enter();
    gb_vocab *vocab = make_vocab();
    /* budget 2 of 6: only the word of two pieces can ever be masked, never part of the other */
    uint32_t ids[] = {word(0), piece(0), piece(1), piece(2), word(1), piece(3)}, masked[6];
    int32_t labels[6];
    for (uint32_t row = 0; row < 50; row++) {
        gb_rng rng = gb_rng_make(5, GB_RNG_MASK, 0, row);
        gb_mask_params params = {.ratio = 0.3};
        gb_mask_words(vocab, &params, ids, 6, &rng, masked, labels);
        for (size_t i = 0; i < 6; i++)
            cr_assert_eq(labels[i] != GB_IGNORE, i >= 4);
    }
    gb_vocab_destroy(vocab);
    scratch_leave(&s);
}

Test(masking, eighty_ten_ten)
{
    scratch s = scratch_enter();
    gb_vocab *vocab = make_vocab();
    uint32_t ids[100], masked[100], mask = gb_vocab_specials(vocab).mask;
    uint32_t random[200] = {0}; /* how often each id came as a random one */
    int32_t labels[100];
    for (uint32_t i = 0; i < 100; i++)
        ids[i] = word(i);
    double total = 0, masks = 0, same = 0, others = 0;
    for (uint32_t row = 0; row < 2000; row++) {
        gb_rng rng = gb_rng_make(7, GB_RNG_MASK, 2, row);
        gb_mask_params params = {.ratio = 0.3};
        gb_mask_words(vocab, &params, ids, 100, &rng, masked, labels);
        for (size_t i = 0; i < 100; i++) {
            if (labels[i] == GB_IGNORE)
                continue;
            cr_assert_lt(masked[i], gb_vocab_size(vocab));
            total++;
            masks += masked[i] == mask;
            same += masked[i] == ids[i];
            others += masked[i] != mask && masked[i] != ids[i];
            random[masked[i]] += masked[i] != mask && masked[i] != ids[i];
        }
    }
    /* 60,000 draws: five standard errors are .008; a random id is the old one or [MASK] in 2/85 */
    cr_expect_eq(total, 60000);
    cr_expect_float_eq(masks / total, 0.8 + 0.1 / 85, 0.008);
    cr_expect_float_eq(same / total, 0.1 + 0.1 / 85, 0.006);
    cr_expect_float_eq(others / total, 0.1 - 0.2 / 85, 0.006);
    for (uint32_t id = 0; id < gb_vocab_size(vocab); id++)
        cr_expect(id == mask || random[id] > 20, "id %u is never drawn", id);
    gb_vocab_destroy(vocab);
    scratch_leave(&s);
}

Test(masking, specials_are_never_masked)
{
    scratch s = scratch_enter();
    gb_vocab *vocab = make_vocab();
    gb_special_ids special = gb_vocab_specials(vocab);
    uint32_t ids[] = {special.cls, word(1), special.unk, special.sep, word(2), special.pad},
             masked[6];
    int32_t labels[6];
    for (uint32_t row = 0; row < 50; row++) {
        gb_rng rng = gb_rng_make(9, GB_RNG_MASK, 0, row);
        gb_mask_params params = {.ratio = 1.0, .all_mask = true};
        gb_mask_words(vocab, &params, ids, 6, &rng, masked, labels);
        for (size_t i = 0; i < 6; i++) {
            bool is_word = i == 1 || i == 4;
            cr_assert_eq(labels[i] != GB_IGNORE, is_word);
            cr_assert_eq(masked[i], is_word ? special.mask : ids[i]);
        }
    }
    gb_vocab_destroy(vocab);
    scratch_leave(&s);
}

Test(masking, depends_on_the_key_alone)
{
    scratch s = scratch_enter();
    gb_vocab *vocab = make_vocab();
    uint32_t ids[50], first[50], second[50];
    int32_t first_labels[50], second_labels[50];
    for (uint32_t i = 0; i < 50; i++)
        ids[i] = word(i);
    gb_mask_params params = {.ratio = 0.3};
    gb_rng rng = gb_rng_make(11, GB_RNG_MASK, 4, 5);
    gb_mask_words(vocab, &params, ids, 50, &rng, first, first_labels);
    rng = gb_rng_make(11, GB_RNG_MASK, 4, 5);
    gb_mask_words(vocab, &params, ids, 50, &rng, second, second_labels);
    cr_expect_arr_eq(first, second, sizeof first);
    cr_expect_arr_eq(first_labels, second_labels, sizeof first_labels);
    rng = gb_rng_make(11, GB_RNG_MASK, 4, 6);
    gb_mask_words(vocab, &params, ids, 50, &rng, second, second_labels);
    cr_expect_arr_neq(first_labels, second_labels, sizeof first_labels);
    gb_vocab_destroy(vocab);
    scratch_leave(&s);
}
