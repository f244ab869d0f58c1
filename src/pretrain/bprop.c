/* B-PROP's representative words: what the [CLS] of an encoder attends to in each passage. */
#include "prop.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SATURATION     .01  /* v / (v + this), as released */
#define FEWEST_WORDS   10   /* of a passage that sets are drawn from, as released */
#define BATCH_ROWS     2048 /* tokens of a batch */
#define BATCH_PASSAGES 128  /* passages of a batch */

/* ---- words ---- */

bool pretrain_prop_is_alphabetic(const gb_vocab *vocab, const uint32_t *ids, uint32_t start,
                                 uint32_t end)
{
    for (uint32_t i = start; i < end; i++) {
        const char *piece = gb_vocab_token(vocab, ids[i]);
        if (!piece || gb_vocab_is_special(vocab, ids[i]))
            return false;
        piece += gb_vocab_is_continuation(vocab, ids[i]) ? 2 : 0; /* "##" */
        for (; *piece; piece++)
            if (!isalpha((unsigned char)*piece) && (unsigned char)*piece < 0x80)
                return false;
    }
    return true;
}

/* The words of a passage in the order they first stand; with `attention` [tokens], their worth is
 * the attention to the first pieces of all their occurrences. */
static bool list_words(prop_words *w, const gb_pretrain_data *data, text_ids text,
                       const double *attention, prop_language *language, gb_status *status)
{
    uint32_t count;
    language->count = 0;
    if (!pretrain_prop_split(w, data, text, &count, status))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t start = w->starts[i], length = w->starts[i + 1] - start, before = language->count;
        uint32_t word = pretrain_prop_number_of(w, text.ids + start, length);
        uint32_t at =
            word == GB_MAP_NONE ? UINT32_MAX : pretrain_prop_meet(w, language, word, true);
        if (at == UINT32_MAX)
            continue;
        if (language->count > before)
            language->worth[at] = 0;
        language->worth[at] += attention ? attention[start] : 0;
    }
    return true;
}

/* Shares of the attention that the words of a passage get, behind those of the passages before. */
static bool add_passage(prop_attention *a, prop_words *w, const gb_pretrain_data *data,
                        uint32_t passage, uint32_t max_length, const double *attention,
                        gb_status *status)
{
    prop_language language;
    uint64_t first = a->first[passage];
    double sum = 0;
    if (!list_words(w, data, pretrain_cut_text(pretrain_passage_ids(data, passage), max_length),
                    attention, &language, status) ||
        !gb_grow(&a->weights, &a->weight_capacity, first + language.count + 1, sizeof *a->weights,
                 status))
        return false;
    for (uint32_t i = 0; i < language.count; i++)
        sum += language.worth[i] /= language.worth[i] + SATURATION;
    for (uint32_t i = 0; i < language.count; i++) {
        double share = sum > 0 ? language.worth[i] / sum : 0;
        a->weights[first + i] = (float)share;
        a->background[language.words[i]] += share;
    }
    a->first[passage + 1] = first + language.count;
    return true;
}

/* ---- the pass over the collection ---- */

typedef struct pass {
    const gb_bert *bert; /* model */
    uint32_t max_length; /* tokens of a passage */
    gb_executable *exec; /* up to queries and keys of the last layer */
    uint32_t max_rows;   /* of a batch */
    gb_tensor qkv;       /* [rows, 3H] */
    gb_batch batch;      /* batch being filled */
    uint32_t first;      /* passage of its first sequence */
    double *attention;   /* [longest] of one passage */
    double *scores;      /* [longest] of one head */
} pass;

static bool build(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    pass *p = self;
    const gb_bert_config *config = &p->bert->config;
    const gb_block *last = &p->bert->blocks[config->layers - 1];
    gb_builder builder = gb_builder_forward(tape, config, p->max_length);
    p->max_rows = BATCH_ROWS > p->max_length ? BATCH_ROWS : gb_bucket_rows(p->max_length);
    gb_tensor before;
    gb_batch_inputs in =
        gb_batch_declare(&builder, config, p->max_rows, BATCH_PASSAGES, &p->batch, 0);
    gb_bert_encode(&builder, p->bert, &in, config->layers - 1, &before);
    p->qkv = gb_linear(tape, before, gb_tape_param(tape, last->qkv_weight),
                       gb_tape_param(tape, last->qkv_bias), false, GB_NO_TENSOR);
    gb_tape_output(tape, p->qkv);
    return true;
}

/* Mean over the heads of the attention of row 0 to all rows of a sequence. */
static void attend(pass *p, const float *qkv, uint32_t ld, uint32_t length)
{
    uint32_t hidden = p->bert->config.hidden_size, heads = p->bert->config.heads;
    uint32_t width = hidden / heads;
    memset(p->attention, 0, sizeof *p->attention * length);
    for (uint32_t h = 0; h < heads; h++) {
        double top = -INFINITY, sum = 0;
        for (uint32_t j = 0; j < length; j++) {
            const float *q = qkv + h * width, *k = qkv + (size_t)j * ld + hidden + h * width;
            double dot = 0;
            for (uint32_t d = 0; d < width; d++)
                dot += (double)q[d] * k[d];
            p->scores[j] = dot / sqrt(width);
            top = fmax(top, p->scores[j]);
        }
        for (uint32_t j = 0; j < length; j++)
            sum += p->scores[j] = exp(p->scores[j] - top);
        for (uint32_t j = 0; j < length; j++)
            p->attention[j] += p->scores[j] / sum / heads;
    }
}

/* Run the batch. */
static bool flush(pass *p, prop_attention *a, prop_words *w, const gb_pretrain_data *data,
                  gb_status *status)
{
    gb_batch *batch = &p->batch;
    uint32_t count = batch->count, ld = gb_tape_tensor(gb_executable_tape(p->exec), p->qkv)->ld;
    uint64_t ticket;
    if (!gb_executable_submit(p->exec, 0, &ticket, status))
        return false;
    const float *qkv = gb_executable_output(p->exec, ticket, p->qkv, status);
    for (uint32_t s = 0; qkv && s < count; s++) {
        attend(p, qkv + (size_t)batch->starts[s] * ld, ld, batch->starts[s + 1] - batch->starts[s]);
        if (!add_passage(a, w, data, p->first + s, p->max_length, p->attention + 1, status))
            return false; /* + 1: behind [CLS] */
    }
    p->first += count;
    gb_batch_reset(batch);
    return qkv != NULL;
}

/* Attention that looks at all tokens equally, for counting alone. */
static bool assume(pass *p, prop_attention *a, prop_words *w, const gb_pretrain_data *data,
                   gb_status *status)
{
    bool ok = true;
    for (uint32_t t = 0; t < p->max_length; t++)
        p->attention[t] = 1;
    for (uint32_t i = 0; ok && i < data->collection->passages; i++)
        ok = gb_not_interrupted("bprop", status) &&
             add_passage(a, w, data, i, p->max_length, p->attention, status);
    return ok;
}

static bool run(pass *p, prop_attention *a, prop_words *w, const gb_pretrain_data *data,
                gb_status *status)
{
    gb_special_ids specials = gb_vocab_specials(data->vocab);
    uint32_t passages = data->collection->passages;
    gb_progress progress;
    gb_progress_begin(&progress, "attention of [CLS]", "passages", passages, 0);
    for (uint32_t i = 0; i < passages; i++) {
        text_ids text = pretrain_cut_text(pretrain_passage_ids(data, i), p->max_length);
        if ((p->batch.rows + text.length + 2 > p->max_rows || p->batch.count == BATCH_PASSAGES) &&
            !flush(p, a, w, data, status))
            return false;
        if (gb_interrupted())
            return gb_fail(status, GB_INTERRUPTED, "bprop", "run the same command again",
                           "stopped");
        if (!gb_batch_add(&p->batch, &specials, text.ids, NULL, text.length, p->max_length, status))
            return false;
        gb_progress_update(&progress, i, NULL);
    }
    if (p->batch.count && !flush(p, a, w, data, status))
        return false;
    gb_progress_end(&progress, passages, NULL);
    return true;
}

bool pretrain_prop_attention_measure(prop_attention *a, prop_words *w, const gb_pretrain_data *data,
                                     const gb_bert *bert, uint32_t max_length, gb_device *device,
                                     const gb_params *params, const float *values,
                                     gb_status *status)
{
    pass p = {.bert = bert, .max_length = max_length};
    double sum = 0;
    pretrain_prop_attention_free(a);
    a->first = gb_alloc((size_t)data->collection->passages + 1, sizeof *a->first, status);
    a->background = gb_alloc(w->count, sizeof *a->background, status);
    p.attention = gb_alloc(max_length, sizeof *p.attention, status);
    p.scores = gb_alloc(max_length, sizeof *p.scores, status);
    const gb_executable_params program = {.name = "attention of [CLS]",
                                          .device = device,
                                          .params = params,
                                          .values = values,
                                          .build = build,
                                          .self = &p};
    bool ok = a->first && a->background && p.attention && p.scores;
    if (ok && !device)
        ok = assume(&p, a, w, data, status);
    else if (ok)
        ok = (p.exec = gb_executable_build(&program, status)) && run(&p, a, w, data, status);
    for (uint32_t i = 0; ok && i < w->count; i++)
        sum += a->background[i];
    for (uint32_t i = 0; ok && i < w->count && sum > 0; i++)
        a->background[i] /= sum;
    gb_executable_destroy(p.exec);
    gb_batch_free(&p.batch);
    free(p.attention);
    free(p.scores);
    return ok;
}

void pretrain_prop_attention_free(prop_attention *a)
{
    free(a->weights);
    free(a->first);
    free(a->background);
    *a = (prop_attention){0};
}

/* ---- one passage ---- */

bool pretrain_prop_attention_language(const prop_attention *a, prop_words *w,
                                      const gb_pretrain_data *data, uint32_t passage,
                                      uint32_t max_length, prop_language *language,
                                      gb_status *status)
{
    if (!a->first)
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "the attention was not measured");
    if (!list_words(w, data, pretrain_cut_text(pretrain_passage_ids(data, passage), max_length),
                    NULL, language, status))
        return false;
    uint32_t occurrences = 0;
    for (uint32_t i = 0; i < language->count; i++)
        occurrences += language->frequency[i];
    if (occurrences < FEWEST_WORDS)
        language->count = 0;
    double sum = 0;
    for (uint32_t i = 0; i < language->count; i++) {
        double share = a->weights[a->first[passage] + i];
        double background = fmax(a->background[language->words[i]], 1e-300);
        language->worth[i] = -share * log2(background);
        sum += language->probability[i] = exp(language->worth[i]);
    }
    for (uint32_t i = 0; i < language->count; i++)
        language->probability[i] /= sum;
    return true;
}
