/* Words, spans and sentences of texts that are ids already. */
#include "common.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

uint32_t gb_word_starts(const gb_vocab *vocab, const uint32_t *ids, uint32_t length,
                        uint32_t *starts)
{
    uint32_t words = 0;
    for (uint32_t i = 0; i < length; i++)
        if (i == 0 || !gb_vocab_is_continuation(vocab, ids[i]))
            starts[words++] = i;
    starts[words] = length;
    return words;
}

void gb_word_text(const gb_vocab *vocab, const uint32_t *ids, uint32_t start, uint32_t end,
                  gb_text *text)
{
    for (uint32_t i = start; i < end; i++) {
        const char *piece = gb_vocab_token(vocab, ids[i]);
        if (piece && gb_vocab_is_continuation(vocab, ids[i]))
            piece += 2; /* "##" */
        if (piece)
            gb_text_append(text, piece, strlen(piece));
    }
}

bool gb_word_weights_declare(gb_params *params, const gb_bert_config *config, uint32_t *weight,
                             uint32_t *bias, gb_status *status)
{
    *weight = gb_params_add_matrix(params, "term_weight.weight", 1, config->hidden_size,
                                   (float)config->initializer_range, status);
    if (*weight != UINT32_MAX)
        *bias = gb_params_add_vector(params, "term_weight.bias", 1, GB_INIT_ZEROS, status);
    return *weight != UINT32_MAX && *bias != UINT32_MAX;
}

/* ---- spans ---- */

/* Beta(4, 2) is the law of the second largest of five uniform numbers. */
static double beta_4_2(gb_rng *rng)
{
    double first = -1, second = -1;
    for (int i = 0; i < 5; i++) {
        double u = gb_rng_uniform(rng);
        if (u > first) {
            second = first;
            first = u;
        } else if (u > second) {
            second = u;
        }
    }
    return second;
}

bool gb_is_content_word(const gb_vocab *vocab, const uint32_t *ids, uint32_t start, uint32_t end)
{
    char word[128];
    size_t length = 0;
    bool letters = false;
    for (uint32_t i = start; i < end; i++) {
        const char *piece = gb_vocab_token(vocab, ids[i]);
        if (!piece || gb_vocab_is_special(vocab, ids[i]))
            return false;
        if (i > start || gb_vocab_is_continuation(vocab, ids[i]))
            piece += 2; /* "##" */
        for (; *piece && length < sizeof word; piece++) {
            word[length++] = *piece;
            letters |= isalnum((unsigned char)*piece) || (unsigned char)*piece >= 0x80;
        }
    }
    return letters && !gb_is_stop_word(word, length);
}

static uint32_t sample_words(const gb_vocab *vocab, const uint32_t *ids, const uint32_t *starts,
                             uint32_t words, uint32_t count, gb_rng *rng, gb_id_range *spans)
{
    uint32_t content = 0;
    for (uint32_t w = 0; w < words; w++)
        content += gb_is_content_word(vocab, ids, starts[w], starts[w + 1]);
    if (!content)
        return 0;
    for (uint32_t s = 0; s < count; s++) {
        uint32_t left = gb_rng_below(rng, content), w = 0;
        while (!gb_is_content_word(vocab, ids, starts[w], starts[w + 1]) || left--)
            w++;
        spans[s] = (gb_id_range){starts[w], starts[w + 1]};
    }
    return count;
}

uint32_t gb_sample_spans(const gb_vocab *vocab, gb_granularity granularity, const uint32_t *ids,
                         const uint32_t *starts, uint32_t words, uint32_t count, gb_rng *rng,
                         gb_id_range *spans)
{
    if (!words)
        return 0;
    if (granularity == GB_SPAN_WORD)
        return sample_words(vocab, ids, starts, words, count, rng, spans);
    uint32_t least = granularity == GB_SPAN_PHRASE ? 4 : granularity == GB_SPAN_SENTENCE ? 16 : 64;
    uint32_t most = granularity == GB_SPAN_PARAGRAPH ? 128 : 4 * least;
    for (uint32_t s = 0; s < count; s++) {
        uint32_t length = least + (uint32_t)floor(beta_4_2(rng) * (most - least) + .5);
        if (length > words)
            length = words;
        uint32_t first = gb_rng_below(rng, words - length + 1);
        spans[s] = (gb_id_range){starts[first], starts[first + length]};
    }
    return count;
}

/* ---- sentences ---- */

static bool is_one_of(const gb_vocab *vocab, uint32_t id, const char *characters)
{
    const char *token = gb_vocab_token(vocab, id);
    return token && *token && !token[1] && strchr(characters, *token);
}

uint32_t gb_id_sentences(const gb_vocab *vocab, const uint32_t *ids, uint32_t length,
                         gb_id_range *sentences)
{
    uint32_t count = 0, start = 0;
    for (uint32_t i = 0; i < length; i++) {
        bool last = i + 1 == length;
        if (!last && !is_one_of(vocab, ids[i], ".!?"))
            continue;
        while (!last && i + 1 < length && is_one_of(vocab, ids[i + 1], ".!?\"')]"))
            i++;
        sentences[count++] = (gb_id_range){start, i + 1};
        start = i + 1;
    }
    return count;
}
