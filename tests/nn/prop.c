/* Language models of passages and the word sets drawn from them. */
#include "naive.h"

#include "../../src/pretrain/prop.h"

#include <math.h>

enum { DRAWS = 20000 };

/* A word of a passage as a key: its ids. */
static bool same_word(const text_ids *a, uint32_t start, uint32_t length, const text_ids *b,
                      uint32_t other, uint32_t other_length)
{
    return length == other_length &&
           !memcmp(a->ids + start, b->ids + other, length * sizeof *a->ids);
}

/* How often a word stands in a passage; *words counts all content words of it. */
static uint32_t frequency(const tiny *t, uint32_t passage, const text_ids *of, uint32_t start,
                          uint32_t length, uint32_t *words)
{
    gb_pretrain_data data = tiny_data(t);
    text_ids text = pretrain_cut_text(pretrain_passage_ids(&data, passage), TINY_LONGEST);
    uint32_t starts[TINY_LONGEST + 1], found = 0;
    uint32_t count = gb_word_starts(t->vocab, text.ids, (uint32_t)text.length, starts);
    *words = 0;
    for (uint32_t i = 0; i < count; i++) {
        *words += gb_is_content_word(t->vocab, text.ids, starts[i], starts[i + 1]);
        found += same_word(of, start, length, &text, starts[i], starts[i + 1] - starts[i]);
    }
    return found;
}

/* (tf + mu df / sum of df) / (|d| + mu), by counting everything again. */
Test(prop, likelihoods)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_pretrain_data data = tiny_data(&t);
    prop_words words;
    MUST(pretrain_prop_words_make(&words, gb_is_content_word, &data, TINY_LONGEST, &status));
    uint32_t all = 0, pairs = 0, own, length = 0;
    for (uint32_t p = 0; p < t.collection->passages; p++) {
        text_ids none = {0};
        frequency(&t, p, &none, 0, 0, &own);
        all += own;
    }
    for (uint32_t w = 0; w < words.count; w++)
        pairs += words.words[w].passages;
    double mu = (double)all / t.collection->passages;
    prop_language language;
    gb_rng rng = gb_rng_make(1, GB_RNG_TEST, 0, 0);
    text_ids text = pretrain_cut_text(pretrain_passage_ids(&data, 3), TINY_LONGEST);
    MUST(pretrain_prop_language_of(&words, &data, text, &rng, &language, &status));
    cr_expect_eq(language.count, words.count); /* fewer than 500: all of them */
    double sum = 0;
    uint32_t in_text = 0;
    for (uint32_t i = 0; i < language.count; i++) {
        prop_word word = words.words[language.words[i]];
        text_ids at = pretrain_passage_ids(&data, word.passage);
        uint32_t tf = frequency(&t, 3, &at, word.start, word.length, &length), df = 0;
        for (uint32_t p = 0; p < t.collection->passages; p++)
            df += frequency(&t, p, &at, word.start, word.length, &own) > 0;
        cr_expect_eq(word.passages, df);
        cr_expect_float_eq(language.probability[i], (tf + mu * df / pairs) / (length + mu), 1e-12);
        cr_expect_float_eq(language.worth[i], log(language.probability[i]), 1e-12);
        sum += language.probability[i];
        in_text += tf;
    }
    cr_expect_eq(in_text, length);
    cr_expect_float_eq(sum, 1, 1e-9);
    pretrain_prop_words_free(&words);
    tiny_free(&t);
    scratch_leave(&s);
}

Test(prop, sets)
{
    prop_language language = {.probability = {.5, .25, .125, .125}, .count = 4};
    for (int i = 0; i < 4; i++)
        language.worth[i] = i + .5;
    gb_rng rng = gb_rng_make(2, GB_RNG_TEST, 0, 0);
    uint32_t first[4] = {0}, second_of_first = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint32_t places[4], seen = 0;
        double score = pretrain_prop_draw_set(&language, 1 + i % 4, &rng, places), wanted = 0;
        for (int k = 0; k < 1 + i % 4; k++) {
            seen |= 1u << places[k];
            wanted += places[k] + .5;
        }
        cr_expect_eq(__builtin_popcount(seen), 1 + i % 4, "a word twice");
        cr_expect_float_eq(score, wanted, 1e-12);
        first[places[0]]++;
        second_of_first += i % 4 && places[0] == 0 && places[1] == 1;
    }
    for (int w = 0; w < 4; w++)
        cr_expect_float_eq(first[w], DRAWS * language.probability[w], .02 * DRAWS);
    cr_expect_float_eq(second_of_first, .75 * DRAWS * .5 * .5, .02 * DRAWS); /* of what is left */
}

/* A Poisson law of mean 3 without 0 has mean 3 / (1 - exp(-3)). */
Test(prop, sizes)
{
    gb_rng rng = gb_rng_make(3, GB_RNG_TEST, 0, 0);
    double sum = 0;
    uint32_t ones = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint32_t size = pretrain_prop_set_size(&rng);
        cr_assert(size > 0);
        sum += size;
        ones += size == 1;
    }
    cr_expect_float_eq(sum / DRAWS, 3 / (1 - exp(-3)), .05);
    cr_expect_float_eq((double)ones / DRAWS, 3 * exp(-3) / (1 - exp(-3)), .01);
}

/* Attention of [CLS] in the last layer to each token of a text, mean over the heads. */
static void naive_attention(const model *m, const uint32_t *ids, uint32_t length, double *attention)
{
    uint32_t h = m->config.hidden_size, heads = m->config.heads, width = h / heads, ld;
    naive before = {0}, last = naive_encode(m, ids, length, m->config.layers - 1, &before);
    const float *weight = model_values(m, &ld, "bert.encoder.layer.1.attention.self.qkv.weight");
    const float *bias = model_values(m, NULL, "bert.encoder.layer.1.attention.self.qkv.bias");
    memset(attention, 0, length * sizeof *attention);
    for (uint32_t head = 0; head < heads; head++) {
        double e[TINY_LONGEST], sum = 0;
        for (uint32_t j = 0; j < length; j++) {
            double score = 0;
            for (uint32_t d = head * width; d < (head + 1) * width; d++) {
                double q = bias[d], k = bias[h + d];
                for (uint32_t i = 0; i < h; i++) {
                    q += (double)weight[(size_t)d * ld + i] * before.x[i];
                    k += (double)weight[(size_t)(h + d) * ld + i] * before.x[(size_t)j * h + i];
                }
                score += q * k / sqrt(width);
            }
            sum += e[j] = exp(score);
        }
        for (uint32_t j = 0; j < length; j++)
            attention[j] += e[j] / sum / heads;
    }
    free(before.x);
    free(last.x);
}

/* Saturated attention to the first pieces of a passage's words, normalised: by counting again. */
static void check_shards(const tiny *t, const model *m, const prop_attention *a, uint32_t passage)
{
    gb_pretrain_data data = tiny_data(t);
    gb_special_ids specials = gb_vocab_specials(t->vocab);
    text_ids text = pretrain_cut_text(pretrain_passage_ids(&data, passage), TINY_LONGEST);
    uint32_t ids[TINY_LONGEST], starts[TINY_LONGEST + 1], length = (uint32_t)text.length;
    double attention[TINY_LONGEST], v[TINY_LONGEST] = {0}, sum = 0;
    ids[0] = specials.cls;
    memcpy(ids + 1, text.ids, length * sizeof *ids);
    ids[length + 1] = specials.sep;
    naive_attention(m, ids, length + 2, attention);
    uint32_t count = gb_word_starts(t->vocab, text.ids, length, starts), different = 0;
    uint32_t first[TINY_LONGEST];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = 0;
        while (at < different &&
               !same_word(&text, starts[i], starts[i + 1] - starts[i], &text, starts[first[at]],
                          starts[first[at] + 1] - starts[first[at]]))
            at++;
        if (at == different)
            first[different++] = i;
        v[at] += attention[1 + starts[i]];
    }
    for (uint32_t i = 0; i < different; i++)
        sum += v[i] /= v[i] + .01;
    cr_assert_eq(a->first[passage + 1] - a->first[passage], different);
    for (uint32_t i = 0; i < different; i++)
        cr_expect_float_eq(a->weights[a->first[passage] + i], v[i] / sum, 1e-6);
}

Test(prop, attention)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_pretrain_data data = tiny_data(&t);
    gb_bert_config config = tiny_config(&t, 16, 32, 0);
    model m;
    model_make(&m, &t, &config, NULL, NULL);
    prop_words words;
    prop_attention a = {0};
    prop_language language;
    gb_device *device = tiny_device(GB_USER_TRAIN);
    MUST(pretrain_prop_words_make(&words, pretrain_prop_is_alphabetic, &data, TINY_LONGEST,
                                  &status));
    MUST(pretrain_prop_attention_measure(&a, &words, &data, &m.bert, TINY_LONGEST, device, m.params,
                                         m.values, &status));
    double total = 0;
    uint32_t with = 0;
    for (uint32_t p = 0; p < t.collection->passages; p++) {
        check_shards(&t, &m, &a, p);
        MUST(pretrain_prop_attention_language(&a, &words, &data, p, TINY_LONGEST, &language,
                                              &status));
        double sum = 0;
        for (uint32_t i = 0; i < language.count; i++) {
            double share = a.weights[a.first[p] + i];
            cr_expect_float_eq(language.worth[i], -share * log2(a.background[language.words[i]]),
                               1e-9);
            cr_expect_float_eq(language.probability[i] / language.probability[0],
                               exp(language.worth[i] - language.worth[0]), 1e-9);
            sum += language.probability[i];
        }
        with += language.count > 0;
        cr_expect(language.count == 0 || fabs(sum - 1) < 1e-9);
    }
    cr_expect(with > 0 && with < t.collection->passages, "some have fewer than ten words");
    for (uint32_t w = 0; w < words.count; w++)
        total += a.background[w];
    cr_expect_float_eq(total, 1, 1e-6);
    pretrain_prop_attention_free(&a);
    pretrain_prop_words_free(&words);
    tiny_device_close(device);
    model_free(&m);
    tiny_free(&t);
    scratch_leave(&s);
}
