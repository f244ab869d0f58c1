/* Words, spans and sentences of ids. */
#include "../unit/scratch.h"

#include <criterion/criterion.h>
#include <gabbro/pretrain.h>
#include <math.h>

enum { PAD, UNK, CLS, SEP, MASK, THE, CAT, SAT, ING, S, DOT, QUOTE, BANG, OF, AF, TER, COUNT };
static const char tokens[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\nsat\n##ing\n##s\n.\n"
                             "\"\n!\nof\naf\n##ter\n";

static gb_vocab *make_vocab(void)
{
    gb_status status = {0};
    scratch_write("vocab.txt", tokens);
    gb_vocab *vocab = gb_vocab_load("vocab.txt", &status);
    cr_assert(vocab, "%s", status.what);
    cr_assert_eq(gb_vocab_size(vocab), COUNT);
    return vocab;
}

Test(spans, words)
{
    scratch s = scratch_enter();
    gb_vocab *vocab = make_vocab();
    const uint32_t ids[] = {ING, CAT, S, S, DOT, SAT}, wanted[] = {0, 1, 4, 5, 6};
    uint32_t starts[7];
    cr_assert_eq(gb_word_starts(vocab, ids, 6, starts), 4);
    cr_expect_arr_eq(starts, wanted, sizeof wanted);
    cr_assert_eq(gb_word_starts(vocab, ids, 0, starts), 0);
    cr_expect_eq(starts[0], 0);
    gb_vocab_destroy(vocab);
    scratch_leave(&s);
}

/* A text of `words` words, every third of two pieces. */
static uint32_t long_text(uint32_t words, uint32_t *ids)
{
    uint32_t length = 0;
    for (uint32_t w = 0; w < words; w++) {
        ids[length++] = w % 2 ? CAT : SAT;
        if (w % 3 == 0)
            ids[length++] = ING;
    }
    return length;
}

/* Lengths in words lie between least and most, two thirds of the way on average: the mean of
 * Beta(4, 2); spans are whole words, and reach every place. */
static void check_lengths(const gb_vocab *vocab, gb_granularity granularity, double least,
                          double most)
{
    enum { WORDS = 300, DRAWS = 4000 };
    uint32_t ids[2 * WORDS], starts[2 * WORDS + 1], length = long_text(WORDS, ids);
    uint32_t words = gb_word_starts(vocab, ids, length, starts);
    cr_assert_eq(words, WORDS);
    gb_rng rng = gb_rng_make(1, GB_RNG_TEST, 0, 0);
    double sum = 0, square = 0;
    uint32_t first = length, last = 0;
    for (int i = 0; i < DRAWS; i++) {
        gb_id_range span;
        cr_assert_eq(gb_sample_spans(vocab, granularity, ids, starts, words, 1, &rng, &span), 1);
        cr_assert(span.start < span.end && span.end <= length);
        cr_expect(ids[span.start] != ING && (span.end == length || ids[span.end] != ING));
        double n = 0;
        for (uint32_t k = span.start; k < span.end; k++)
            n += ids[k] != ING;
        cr_expect(n >= least && n <= most, "a span of %g words", n);
        sum += n;
        square += n * n;
        first = span.start < first ? span.start : first;
        last = span.end > last ? span.end : last;
    }
    double mean = sum / DRAWS, deviation = sqrt(square / DRAWS - mean * mean);
    cr_expect_float_eq(mean, least + (most - least) * 2 / 3, (most - least) * .012);
    cr_expect_float_eq(deviation, (most - least) * sqrt(8. / 252), (most - least) * .012);
    cr_expect_eq(first, 0);
    cr_expect_eq(last, length);
}

Test(spans, lengths)
{
    scratch s = scratch_enter();
    gb_vocab *vocab = make_vocab();
    check_lengths(vocab, GB_SPAN_PHRASE, 4, 16);
    check_lengths(vocab, GB_SPAN_SENTENCE, 16, 64);
    check_lengths(vocab, GB_SPAN_PARAGRAPH, 64, 128);
    gb_vocab_destroy(vocab);
    scratch_leave(&s);
}

Test(spans, short_texts_are_their_longer_spans)
{
    scratch s = scratch_enter();
    gb_vocab *vocab = make_vocab();
    uint32_t ids[20], starts[21], length = long_text(10, ids);
    uint32_t words = gb_word_starts(vocab, ids, length, starts);
    gb_rng rng = gb_rng_make(1, GB_RNG_TEST, 0, 0);
    gb_id_range spans[3];
    cr_assert_eq(gb_sample_spans(vocab, GB_SPAN_PARAGRAPH, ids, starts, words, 3, &rng, spans), 3);
    for (int i = 0; i < 3; i++)
        cr_expect(spans[i].start == 0 && spans[i].end == length);
    cr_expect_eq(gb_sample_spans(vocab, GB_SPAN_PHRASE, ids, starts, 0, 3, &rng, spans), 0);
    gb_vocab_destroy(vocab);
    scratch_leave(&s);
}

Test(spans, words_with_content)
{
    scratch s = scratch_enter();
    gb_vocab *vocab = make_vocab();
    const uint32_t ids[] = {THE, CAT, S, DOT, OF, AF, TER, QUOTE, UNK};
    const gb_id_range wanted[2] = {{1, 3}, {5, 7}}; /* "cats" and "after" */
    uint32_t starts[10], words = gb_word_starts(vocab, ids, 9, starts), met[2] = {0};
    gb_rng rng = gb_rng_make(1, GB_RNG_TEST, 0, 0);
    for (int i = 0; i < 100; i++) {
        gb_id_range span;
        cr_assert_eq(gb_sample_spans(vocab, GB_SPAN_WORD, ids, starts, words, 1, &rng, &span), 1);
        int which = span.start == wanted[1].start;
        cr_expect(span.start == wanted[which].start && span.end == wanted[which].end);
        met[which]++;
    }
    cr_expect(met[0] > 30 && met[1] > 30);
    const uint32_t empty[] = {THE, DOT, UNK, OF};
    gb_id_range span;
    words = gb_word_starts(vocab, empty, 4, starts);
    cr_expect_eq(gb_sample_spans(vocab, GB_SPAN_WORD, empty, starts, words, 1, &rng, &span), 0);
    gb_vocab_destroy(vocab);
    scratch_leave(&s);
}

Test(spans, sentences)
{
    scratch s = scratch_enter();
    gb_vocab *vocab = make_vocab();
    const uint32_t ids[] = {THE, CAT, DOT, QUOTE, SAT, BANG, BANG, CAT, S};
    const gb_id_range wanted[] = {{0, 4}, {4, 7}, {7, 9}};
    gb_id_range found[9];
    cr_assert_eq(gb_id_sentences(vocab, ids, 9, found), 3);
    cr_expect_arr_eq(found, wanted, sizeof wanted);
    cr_expect_eq(gb_id_sentences(vocab, ids, 3, found), 1);
    cr_expect_eq(gb_id_sentences(vocab, ids, 0, found), 0);
    gb_vocab_destroy(vocab);
    scratch_leave(&s);
}
