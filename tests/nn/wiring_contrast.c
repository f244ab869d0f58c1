/* The wiring of objectives that compare vectors of texts, against plain C that shares nothing with
 * the tape. */
#include "seen.h"

#include <math.h>

/* ---- Bag-of-Word prediction ---- */

/* The batch's ids with the masked ones restored. */
static uint32_t *unmasked(const pass *p, const seen_batch *b)
{
    gb_tensor list = pass_input(p, "selected rows", 0);
    const uint32_t *rows = gb_reference_u(p->reference, list);
    const uint32_t *labels = gb_reference_u(p->reference, pass_input(p, "labels", 0));
    uint32_t *ids = calloc(b->starts[b->count] + 1, sizeof *ids);
    memcpy(ids, b->ids, b->starts[b->count] * sizeof *ids);
    for (uint32_t i = 0; i < gb_tape_tensor(p->tape, list)->cols; i++)
        if (rows[i] != GB_NO_ROW)
            ids[rows[i]] = labels[i];
    return ids;
}

/* -log softmax(E h)[label]. */
static double bare_loss(const model *m, const double *h, uint32_t label)
{
    uint32_t ld;
    const float *word = model_values(m, &ld, "bert.embeddings.word_embeddings.weight");
    double sum = 0, target = 0;
    for (uint32_t v = 0; v < m->config.vocab_size; v++) {
        double dot = 0;
        for (uint32_t i = 0; i < m->config.hidden_size; i++)
            dot += (double)word[(size_t)v * ld + i] * h[i];
        sum += exp(dot);
        target = v == label ? dot : target;
    }
    return log(sum) - target;
}

/* Mean over texts of the mean loss of its different tokens, without specials. */
static double bag_loss(const tiny *t, const model *m, const pass *p, const seen_batch *b,
                       const naive *states, bool full)
{
    uint32_t *ids = unmasked(p, b);
    double loss = 0;
    for (uint32_t s = 0; s < b->count; s++) {
        double sum = 0;
        uint32_t different = 0;
        for (uint32_t r = b->starts[s]; r < b->starts[s + 1]; r++) {
            bool seen = gb_vocab_is_special(t->vocab, ids[r]);
            for (uint32_t e = b->starts[s]; e < r; e++)
                seen |= ids[e] == ids[r];
            if (seen)
                continue;
            different++;
            sum +=
                full ? naive_token_loss(m, states[s].x, ids[r]) : bare_loss(m, states[s].x, ids[r]);
        }
        loss += sum / different / b->count;
    }
    free(ids);
    return loss;
}

static void bow_case(const tiny *t, gb_device *device, uint32_t head, uint32_t step)
{
    gb_bert_config config = tiny_config(t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    settings.bow_head = head;
    model m;
    model_make(&m, t, &config, "bow", &settings);
    pass p = compare_pass_make(&m, device, step, 0);
    seen_batch b = batch_of(&p, 0, settings.common.batch);
    naive states[MOST];
    encode_batch(&m, &b, states, 0, NULL);
    double mlm = mean_token_loss(&m, &p, &b, states, 0);
    double bag = bag_loss(t, &m, &p, &b, states, head == TINY_FULL);
    double weight = step == 0 ? 1 : step == 8 ? .1 : .1 + .9 * .5 * (1 + cos(M_PI * step / 8));
    expect_loss(p.loss[1], mlm, "masked LM");
    expect_loss(p.loss[2], bag, "bag of words");
    expect_loss(p.loss[0], mlm + weight * bag, "total");
    free_batch(states, b.count);
    compare_pass_free(&p);
    model_free(&m);
}

/* ---- COSTA ---- */

/* tanh(W x + b) or W x + b of the text, or itself. */
static void project(const model *m, gb_projector_kind kind, const double *x, double *z)
{
    uint32_t h = m->config.hidden_size, ld = 0;
    bool any = kind != GB_PROJECTOR_NONE;
    const float *weight = any ? model_values(m, &ld, "projector.weight") : NULL;
    const float *bias = any ? model_values(m, NULL, "projector.bias") : NULL;
    for (uint32_t i = 0; i < h; i++) {
        double sum = any ? bias[i] : x[i];
        for (uint32_t j = 0; any && j < h; j++)
            sum += (double)weight[(size_t)i * ld + j] * x[j];
        z[i] = kind == GB_PROJECTOR_NONLINEAR ? tanh(sum) : sum;
    }
}

/* Vectors of the texts, then of their spans; without one where `there` is false. */
typedef struct group_vectors {
    double *z;         /* [count][hidden] */
    bool *there;       /* [count] */
    uint32_t count;    /* texts and spans */
    uint32_t per_text; /* spans of a text */
    uint32_t texts, h; /* texts; hidden size */
} group_vectors;

static group_vectors vectors_of(const model *m, const pass *p, const tiny_params *settings,
                                const seen_batch *b, const naive *states)
{
    gb_tensor list = pass_input(p, "lists of rows", 0);
    const uint32_t *starts = gb_reference_u(p->reference, list);
    const uint32_t *order = gb_reference_u(p->reference, pass_input(p, "combined rows", 0));
    group_vectors g = {.count = gb_tape_tensor(p->tape, list)->cols - 1,
                       .texts = b->count,
                       .h = m->config.hidden_size};
    g.z = calloc((size_t)g.count * g.h, sizeof *g.z);
    g.there = calloc(g.count, sizeof *g.there);
    g.per_text = g.count / g.texts - 1;
    for (uint32_t v = 0; v < g.count; v++) {
        uint32_t text = v < g.texts ? v : (v - g.texts) / g.per_text;
        double *z = g.z + (size_t)v * g.h;
        uint32_t length = starts[v + 1] - starts[v];
        g.there[v] = v < g.texts || length > 0;
        if (v < g.texts)
            project(m, settings->projector, states[v].x, z);
        for (uint32_t k = starts[v]; v >= g.texts && k < starts[v + 1]; k++) {
            cr_assert(order[k] > b->starts[text] && order[k] + 1 < b->starts[text + 1],
                      "a span leaves its text");
            for (uint32_t i = 0; i < g.h; i++)
                z[i] += states[text].x[(size_t)(order[k] - b->starts[text]) * g.h + i] / length;
        }
    }
    return g;
}

static double similarity(const group_vectors *g, uint32_t i, uint32_t j, double temperature)
{
    double dot = 0;
    for (uint32_t d = 0; d < g->h; d++)
        dot += g->z[(size_t)i * g->h + d] * g->z[(size_t)j * g->h + d];
    return dot / temperature;
}

/* Equation 8 as it stands, but the mean over texts. */
static double group_loss(const group_vectors *g, double temperature)
{
    double loss = 0;
    for (uint32_t i = 0; i < g->texts; i++) {
        double sum = 0, own = 0;
        uint32_t positives = 0;
        for (uint32_t j = 0; j < g->count; j++)
            sum += g->there[j] && j != i ? exp(similarity(g, i, j, temperature)) : 0;
        for (uint32_t j = g->texts + i * g->per_text; j < g->texts + (i + 1) * g->per_text; j++)
            if (g->there[j]) {
                own += log(exp(similarity(g, i, j, temperature)) / sum);
                positives++;
            }
        loss -= positives ? own / positives / g->texts : 0;
    }
    return loss;
}

static void costa_case(const tiny *t, gb_device *device, gb_projector_kind projector,
                       const char *granularities)
{
    gb_bert_config config = tiny_config(t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    settings.projector = projector;
    settings.granularities = granularities;
    model m;
    model_make(&m, t, &config, "costa", &settings);
    pass p = compare_pass_make(&m, device, 1, 0);
    seen_batch b = batch_of(&p, 0, settings.common.batch);
    naive states[MOST];
    encode_batch(&m, &b, states, 0, NULL);
    group_vectors g = vectors_of(&m, &p, &settings, &b, states);
    double mlm = mean_token_loss(&m, &p, &b, states, 0);
    double groups = group_loss(&g, settings.temperature);
    expect_loss(p.loss[1], mlm, "masked LM");
    expect_loss(p.loss[2], groups, "group-wise contrastive loss");
    expect_loss(p.loss[0], mlm + settings.contrast_weight * groups, "total");
    free(g.z);
    free(g.there);
    free_batch(states, b.count);
    compare_pass_free(&p);
    model_free(&m);
}

/* ---- pairs ---- */

static double dot(const double *a, const double *b, uint32_t h, double temperature)
{
    double sum = 0;
    for (uint32_t d = 0; d < h; d++)
        sum += a[d] * b[d];
    return sum / temperature;
}

/* The sentences are the first half of the batch, what is left of their passages the second. */
static void ict_case(const tiny *t, gb_device *device)
{
    gb_bert_config config = tiny_config(t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    model m;
    model_make(&m, t, &config, "ict", &settings);
    pass p = compare_pass_make(&m, device, 1, 0);
    seen_batch b = batch_of(&p, 0, 2 * settings.common.batch);
    naive states[MOST];
    encode_batch(&m, &b, states, 0, NULL);
    double pairs = 0, mlm = mean_token_loss(&m, &p, &b, states, 0);
    for (uint32_t i = 0; i < settings.common.batch; i++) {
        double sum = 0;
        for (uint32_t j = 0; j < settings.common.batch; j++)
            sum += exp(
                dot(states[i].x, states[settings.common.batch + j].x, 16, settings.temperature));
        pairs += log(sum) -
                 dot(states[i].x, states[settings.common.batch + i].x, 16, settings.temperature);
    }
    pairs /= settings.common.batch;
    expect_loss(p.loss[1], mlm, "masked LM");
    expect_loss(p.loss[2], pairs, "pairs");
    expect_loss(p.loss[0], mlm + pairs, "total");
    free_batch(states, b.count);
    compare_pass_free(&p);
    model_free(&m);
}

/* Passages, then a likelier and a less likely set of words for each. */
static void prop_case(const tiny *t, gb_device *device)
{
    gb_bert_config config = tiny_config(t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    model m;
    model_make(&m, t, &config, "prop", &settings);
    pass p = compare_pass_make(&m, device, 1, 0);
    seen_batch b = batch_of(&p, 0, 3 * settings.common.batch);
    naive states[3 * MOST];
    encode_batch(&m, &b, states, 0, NULL);
    double hinge = 0, mlm = mean_token_loss(&m, &p, &b, states, 0);
    for (uint32_t i = 0; i < settings.common.batch; i++) {
        double s[2], sum = 0;
        for (uint32_t k = 0; k < 2; k++) {
            s[k] = exp(dot(states[i].x, states[settings.common.batch + 2 * i + k].x, 16,
                           settings.temperature));
            sum += s[k];
        }
        hinge += fmax(0, 1 - s[0] / sum + s[1] / sum) / settings.common.batch;
    }
    expect_loss(p.loss[1], mlm, "masked LM");
    expect_loss(p.loss[2], hinge, "preference");
    expect_loss(p.loss[0], mlm + hinge, "total");
    free_batch(states, b.count);
    compare_pass_free(&p);
    model_free(&m);
}

/* The encoder of keys: m * its own values + (1 - m) * the encoder's. */
static float *follow(const model *m, double momentum)
{
    float *values = calloc(gb_params_floats(m->params), sizeof *values);
    memcpy(values, m->values, gb_params_floats(m->params) * sizeof *values);
    for (uint32_t i = 0; i < gb_params_count(m->params); i++) {
        const gb_param *param = gb_params_at(m->params, i);
        uint32_t ld, rows = param->rows;
        if (strncmp(param->name, "bert.", 5))
            continue;
        const float *own = model_values(m, &ld, "momentum.%s", param->name);
        for (size_t k = 0; k < (size_t)rows * ld; k++)
            values[param->offset + k] =
                (float)(momentum * own[k] + (1 - momentum) * m->values[param->offset + k]);
    }
    return values;
}

/* Vector of a text. */
static void pool(const naive *states, bool mean, double *z)
{
    for (uint32_t d = 0; d < states->hidden; d++) {
        z[d] = mean ? 0 : states->x[d];
        for (uint32_t r = 0; mean && r < states->length; r++)
            z[d] += states->x[(size_t)r * states->hidden + d] / states->length;
    }
}

static void contriever_case(const tiny *t, gb_device *device, uint32_t step, bool mean)
{
    enum { H = 16 };
    gb_bert_config config = tiny_config(t, H, 32, 0);
    tiny_params settings = tiny_settings();
    settings.mean_pooling = mean;
    settings.temperature = 4; /* losses that are not next to nothing */
    model m;
    model_make(&m, t, &config, "contriever", &settings);
    pass p = compare_pass_make(&m, device, step, 0);
    seen_batch queries = batch_of(&p, 0, settings.common.batch),
               keys = batch_of(&p, 1, settings.common.batch);
    model slow = m;
    slow.values = follow(&m, step ? settings.momentum : 0);
    naive q[MOST], k[MOST];
    encode_batch(&m, &queries, q, 0, NULL);
    encode_batch(&slow, &keys, k, 0, NULL);
    uint32_t ld, ring = settings.queue + settings.common.batch;
    const float *queue = model_values(&m, &ld, "contriever.queue");
    double loss = 0;
    for (uint32_t i = 0; i < settings.common.batch; i++) {
        double z[H], key[H], sum = 0;
        pool(&q[i], mean, z);
        pool(&k[i], mean, key);
        for (uint32_t r = 0; r < ring; r++) {
            double old[H];
            /* The oldest `batch` places of the ring hold the keys of this step. */
            if ((r + ring - step * settings.common.batch % ring) % ring < settings.common.batch)
                continue;
            for (uint32_t d = 0; d < H; d++)
                old[d] = queue[(size_t)r * ld + d];
            sum += exp(dot(z, old, H, settings.temperature));
        }
        double own = dot(z, key, H, settings.temperature);
        loss += (log(sum + exp(own)) - own) / settings.common.batch;
    }
    expect_loss(p.loss[0], loss, "contrastive");
    free(slow.values);
    free_batch(q, queries.count);
    free_batch(k, keys.count);
    compare_pass_free(&p);
    model_free(&m);
}

Test(wiring_contrast, pairs)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    ict_case(&t, device);
    prop_case(&t, device);
    contriever_case(&t, device, 0, false);
    contriever_case(&t, device, 2, false);
    contriever_case(&t, device, 5, true);
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}

Test(wiring_contrast, bags_and_spans)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    bow_case(&t, device, TINY_FULL, 0);
    bow_case(&t, device, TINY_FULL, 8);
    bow_case(&t, device, TINY_PROJECTION, 3);
    costa_case(&t, device, GB_PROJECTOR_NONLINEAR, "word,phrase,sentence,paragraph");
    costa_case(&t, device, GB_PROJECTOR_LINEAR, "word,sentence");
    costa_case(&t, device, GB_PROJECTOR_NONE, "phrase");
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
}
