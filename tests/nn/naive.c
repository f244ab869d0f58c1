#include "naive.h"

#include <math.h>

static double *zeros(size_t count)
{
    double *x = calloc(count, sizeof *x);
    cr_assert_not_null(x);
    return x;
}

/* y = W x + b for one vector; `name` without ".weight" and ".bias". */
static void dense(const model *m, const char *name, uint32_t outputs, uint32_t inputs,
                  const double *x, double *y)
{
    uint32_t ld;
    const float *weight = model_values(m, &ld, "%s.weight", name);
    const float *bias = model_values(m, NULL, "%s.bias", name);
    for (uint32_t o = 0; o < outputs; o++) {
        y[o] = bias[o];
        for (uint32_t i = 0; i < inputs; i++)
            y[o] += (double)weight[(size_t)o * ld + i] * x[i];
    }
}

static void norm_vector(const model *m, const char *name, uint32_t size, double *x)
{
    const float *gamma = model_values(m, NULL, "%s.weight", name);
    const float *beta = model_values(m, NULL, "%s.bias", name);
    double mean = 0, variance = 0;
    for (uint32_t i = 0; i < size; i++)
        mean += x[i] / size;
    for (uint32_t i = 0; i < size; i++)
        variance += (x[i] - mean) * (x[i] - mean) / size;
    for (uint32_t i = 0; i < size; i++)
        x[i] = (x[i] - mean) / sqrt(variance + m->config.layer_norm_eps) * gamma[i] + beta[i];
}

static double gelu(double x)
{
    return x * .5 * (1 + erf(x / sqrt(2)));
}

void naive_norm(const model *m, const char *name, naive *n)
{
    for (uint32_t t = 0; t < n->length; t++)
        norm_vector(m, name, n->hidden, n->x + (size_t)t * n->hidden);
}

naive naive_embed(const model *m, const uint32_t *ids, uint32_t length)
{
    uint32_t h = m->config.hidden_size, ld;
    naive n = {zeros((size_t)length * h), length, h};
    const float *word = model_values(m, &ld, "bert.embeddings.word_embeddings.weight");
    const float *position = model_values(m, NULL, "bert.embeddings.position_embeddings.weight");
    const float *type = model_values(m, NULL, "bert.embeddings.token_type_embeddings.weight");
    for (uint32_t t = 0; t < length; t++)
        for (uint32_t i = 0; i < h; i++)
            n.x[(size_t)t * h + i] = (double)word[(size_t)ids[t] * ld + i] +
                                     (double)position[(size_t)t * ld + i] + (double)type[i];
    naive_norm(m, "bert.embeddings.LayerNorm", &n);
    return n;
}

typedef enum seeing { SEES_ALL, SEES_BACK, SEES_WINDOW } seeing;

static bool sees(seeing how, uint32_t window, uint32_t i, uint32_t j)
{
    return how == SEES_ALL || (how == SEES_BACK && j <= i) ||
           (how == SEES_WINDOW && (j == 0 || (j <= i && i - j < window)));
}

/* What token i takes from the others in one head: q, k and v lie side by side in qkv. */
static void attend(const double *qkv, uint32_t length, uint32_t hidden, uint32_t first,
                   uint32_t width, seeing how, uint32_t window, uint32_t i, double *out)
{
    double *weight = zeros(length), sum = 0;
    for (uint32_t j = 0; j < length; j++) {
        const double *q = qkv + (size_t)i * 3 * hidden + first;
        const double *k = qkv + (size_t)j * 3 * hidden + hidden + first;
        double score = 0;
        for (uint32_t d = 0; d < width; d++)
            score += q[d] * k[d] / sqrt(width);
        weight[j] = sees(how, window, i, j) ? exp(score) : 0;
        sum += weight[j];
    }
    for (uint32_t j = 0; j < length; j++) {
        const double *v = qkv + (size_t)j * 3 * hidden + 2 * hidden + first;
        for (uint32_t d = 0; d < width; d++)
            out[first + d] += weight[j] / sum * v[d];
    }
    free(weight);
}

/* x + W attention(y) + b. */
static void add_attention(const model *m, const char *prefix, const double *y, naive *n, seeing how,
                          uint32_t window)
{
    uint32_t h = n->hidden, width = h / m->config.heads;
    char name[100];
    double *qkv = zeros((size_t)n->length * 3 * h), *all = zeros(h), *out = zeros(h);
    snprintf(name, sizeof name, "%s.attention.self.qkv", prefix);
    for (uint32_t t = 0; t < n->length; t++)
        dense(m, name, 3 * h, h, y + (size_t)t * h, qkv + (size_t)t * 3 * h);
    snprintf(name, sizeof name, "%s.attention.output.dense", prefix);
    for (uint32_t t = 0; t < n->length; t++) {
        memset(all, 0, h * sizeof *all);
        for (uint32_t head = 0; head < m->config.heads; head++)
            attend(qkv, n->length, h, head * width, width, how, window, t, all);
        dense(m, name, h, h, all, out);
        for (uint32_t i = 0; i < h; i++)
            n->x[(size_t)t * h + i] += out[i];
    }
    free(qkv);
    free(all);
    free(out);
}

/* x + W2 gelu(W1 y + b1) + b2. */
static void add_feed_forward(const model *m, const char *prefix, const double *y, naive *n)
{
    uint32_t h = n->hidden, f = m->config.intermediate_size;
    char up[100], down[100];
    double *inner = zeros(f), *out = zeros(h);
    snprintf(up, sizeof up, "%s.intermediate.dense", prefix);
    snprintf(down, sizeof down, "%s.output.dense", prefix);
    for (uint32_t t = 0; t < n->length; t++) {
        dense(m, up, f, h, y + (size_t)t * h, inner);
        for (uint32_t i = 0; i < f; i++)
            inner[i] = gelu(inner[i]);
        dense(m, down, h, f, inner, out);
        for (uint32_t i = 0; i < h; i++)
            n->x[(size_t)t * h + i] += out[i];
    }
    free(inner);
    free(out);
}

static naive copy(const naive *n)
{
    naive c = {zeros((size_t)n->length * n->hidden), n->length, n->hidden};
    memcpy(c.x, n->x, (size_t)n->length * n->hidden * sizeof *c.x);
    return c;
}

void naive_layer(const model *m, const char *prefix, naive *n)
{
    char name[100];
    naive in = copy(n);
    add_attention(m, prefix, in.x, n, SEES_ALL, 0);
    snprintf(name, sizeof name, "%s.attention.output.LayerNorm", prefix);
    naive_norm(m, name, n);
    free(in.x);
    in = copy(n);
    add_feed_forward(m, prefix, in.x, n);
    snprintf(name, sizeof name, "%s.output.LayerNorm", prefix);
    naive_norm(m, name, n);
    free(in.x);
}

void naive_causal_layer(const model *m, const char *prefix, naive *n, uint32_t window)
{
    char name[100];
    naive in = copy(n);
    snprintf(name, sizeof name, "%s.attention.output.LayerNorm", prefix);
    naive_norm(m, name, &in);
    add_attention(m, prefix, in.x, n, window ? SEES_WINDOW : SEES_BACK, window);
    free(in.x);
    in = copy(n);
    snprintf(name, sizeof name, "%s.output.LayerNorm", prefix);
    naive_norm(m, name, &in);
    add_feed_forward(m, prefix, in.x, n);
    free(in.x);
}

naive naive_encode(const model *m, const uint32_t *ids, uint32_t length, uint32_t middle_layer,
                   naive *middle)
{
    naive n = naive_embed(m, ids, length);
    for (uint32_t l = 0; l < m->config.layers; l++) {
        char prefix[64];
        if (middle && l == middle_layer)
            *middle = copy(&n);
        snprintf(prefix, sizeof prefix, "bert.encoder.layer.%u", l);
        naive_layer(m, prefix, &n);
    }
    return n;
}

double naive_token_loss(const model *m, const double *state, uint32_t label)
{
    uint32_t h = m->config.hidden_size, v = m->config.vocab_size, ld;
    double *t = zeros(h), sum = 0, target = 0;
    dense(m, "cls.predictions.transform.dense", h, h, state, t);
    for (uint32_t i = 0; i < h; i++)
        t[i] = gelu(t[i]);
    norm_vector(m, "cls.predictions.transform.LayerNorm", h, t);
    const float *word = model_values(m, &ld, "bert.embeddings.word_embeddings.weight");
    const float *bias = model_values(m, NULL, "cls.predictions.bias");
    for (uint32_t token = 0; token < v; token++) {
        double logit = bias[token];
        for (uint32_t i = 0; i < h; i++)
            logit += (double)word[(size_t)token * ld + i] * t[i];
        sum += exp(logit);
        target = token == label ? logit : target;
    }
    free(t);
    return log(sum) - target;
}
