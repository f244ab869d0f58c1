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

/* Which tokens j a token i looks at. */
typedef struct sight {
    bool back;            /* those before it, and itself */
    uint32_t window;      /* and of them the last ones, and token 0; 0: all */
    const uint32_t *bits; /* or bit j of row i, rows of `words` words; NULL: see above */
    uint32_t words;       /* of a row */
} sight;

static bool sees(const sight *how, uint32_t i, uint32_t j)
{
    if (how->bits)
        return how->bits[(size_t)i * how->words + j / 32] >> (j % 32) & 1;
    return !how->back || (j <= i && (!how->window || j == 0 || i - j < how->window));
}

/* What token i takes from the others in one head: q, k and v lie side by side in qkv. */
static void attend(const double *qkv, uint32_t length, uint32_t hidden, uint32_t first,
                   uint32_t width, const sight *how, uint32_t i, double *out)
{
    double *weight = zeros(length), sum = 0;
    for (uint32_t j = 0; j < length; j++) {
        const double *q = qkv + (size_t)i * 3 * hidden + first;
        const double *k = qkv + (size_t)j * 3 * hidden + hidden + first;
        double score = 0;
        for (uint32_t d = 0; d < width; d++)
            score += q[d] * k[d] / sqrt(width);
        weight[j] = sees(how, i, j) ? exp(score) : 0;
        sum += weight[j];
    }
    for (uint32_t j = 0; j < length && sum > 0; j++) {
        const double *v = qkv + (size_t)j * 3 * hidden + 2 * hidden + first;
        for (uint32_t d = 0; d < width; d++)
            out[first + d] += weight[j] / sum * v[d];
    }
    free(weight);
}

/* x + W attention + b, from q, k and v of all tokens. */
static void add_attended(const model *m, const char *prefix, const double *qkv, naive *n,
                         const sight *how)
{
    uint32_t h = n->hidden, width = h / m->config.heads;
    char name[100];
    double *all = zeros(h), *out = zeros(h);
    snprintf(name, sizeof name, "%s.attention.output.dense", prefix);
    for (uint32_t t = 0; t < n->length; t++) {
        memset(all, 0, h * sizeof *all);
        for (uint32_t head = 0; head < m->config.heads; head++)
            attend(qkv, n->length, h, head * width, width, how, t, all);
        dense(m, name, h, h, all, out);
        for (uint32_t i = 0; i < h; i++)
            n->x[(size_t)t * h + i] += out[i];
    }
    free(all);
    free(out);
}

/* x + W attention(y) + b. */
static void add_attention(const model *m, const char *prefix, const double *y, naive *n,
                          const sight *how)
{
    uint32_t h = n->hidden;
    char name[100];
    double *qkv = zeros((size_t)n->length * 3 * h);
    snprintf(name, sizeof name, "%s.attention.self.qkv", prefix);
    for (uint32_t t = 0; t < n->length; t++)
        dense(m, name, 3 * h, h, y + (size_t)t * h, qkv + (size_t)t * 3 * h);
    add_attended(m, prefix, qkv, n, how);
    free(qkv);
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

/* LN(x + FFN(x)) */
static void close_layer(const model *m, const char *prefix, naive *n)
{
    char name[100];
    naive in = copy(n);
    add_feed_forward(m, prefix, in.x, n);
    snprintf(name, sizeof name, "%s.output.LayerNorm", prefix);
    naive_norm(m, name, n);
    free(in.x);
}

/* LN(x + Attention(x)) */
static void open_layer(const model *m, const char *prefix, naive *n, const sight *how)
{
    char name[100];
    naive in = copy(n);
    add_attention(m, prefix, in.x, n, how);
    snprintf(name, sizeof name, "%s.attention.output.LayerNorm", prefix);
    naive_norm(m, name, n);
    free(in.x);
}

void naive_layer(const model *m, const char *prefix, naive *n)
{
    open_layer(m, prefix, n, &(sight){.back = false});
    close_layer(m, prefix, n);
}

void naive_causal_layer(const model *m, const char *prefix, naive *n, uint32_t window)
{
    char name[100];
    naive in = copy(n);
    snprintf(name, sizeof name, "%s.attention.output.LayerNorm", prefix);
    naive_norm(m, name, &in);
    add_attention(m, prefix, in.x, n, &(sight){.back = true, .window = window});
    free(in.x);
    in = copy(n);
    snprintf(name, sizeof name, "%s.output.LayerNorm", prefix);
    naive_norm(m, name, &in);
    add_feed_forward(m, prefix, in.x, n);
    free(in.x);
}

void naive_query_layer(const model *m, const char *prefix, naive *n, const naive *states,
                       const uint32_t *bits, uint32_t words)
{
    uint32_t h = n->hidden;
    char query[100], kv[100], name[100];
    double *qkv = zeros((size_t)n->length * 3 * h);
    snprintf(query, sizeof query, "%s.attention.self.query", prefix);
    snprintf(kv, sizeof kv, "%s.attention.self.kv", prefix);
    for (uint32_t t = 0; t < n->length; t++) {
        dense(m, query, h, h, n->x + (size_t)t * h, qkv + (size_t)t * 3 * h);
        dense(m, kv, 2 * h, h, states->x + (size_t)t * h, qkv + (size_t)t * 3 * h + h);
    }
    add_attended(m, prefix, qkv, n, &(sight){.bits = bits, .words = words});
    snprintf(name, sizeof name, "%s.attention.output.LayerNorm", prefix);
    naive_norm(m, name, n);
    close_layer(m, prefix, n);
    free(qkv);
}

void naive_memory_layer(const model *m, const char *prefix, naive *n, const double *memory,
                        uint32_t window)
{
    uint32_t h = n->hidden;
    char name[100];
    double *value = zeros(h), *out = zeros(h);
    open_layer(m, prefix, n, &(sight){.back = true, .window = window});
    snprintf(name, sizeof name, "%s.crossattention.self.value", prefix);
    dense(m, name, h, h, memory, value);
    snprintf(name, sizeof name, "%s.crossattention.output.dense", prefix);
    dense(m, name, h, h, value, out);
    for (uint32_t t = 0; t < n->length; t++)
        for (uint32_t i = 0; i < h; i++)
            n->x[(size_t)t * h + i] += out[i];
    snprintf(name, sizeof name, "%s.crossattention.output.LayerNorm", prefix);
    naive_norm(m, name, n);
    close_layer(m, prefix, n);
    free(value);
    free(out);
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

void naive_head(const model *m, const double *state, double *logits)
{
    uint32_t h = m->config.hidden_size, v = m->config.vocab_size, ld;
    double *t = zeros(h);
    dense(m, "cls.predictions.transform.dense", h, h, state, t);
    for (uint32_t i = 0; i < h; i++)
        t[i] = gelu(t[i]);
    norm_vector(m, "cls.predictions.transform.LayerNorm", h, t);
    const float *word = model_values(m, &ld, "bert.embeddings.word_embeddings.weight");
    const float *bias = model_values(m, NULL, "cls.predictions.bias");
    for (uint32_t token = 0; token < v; token++) {
        logits[token] = bias[token];
        for (uint32_t i = 0; i < h; i++)
            logits[token] += (double)word[(size_t)token * ld + i] * t[i];
    }
    free(t);
}

double naive_token_loss(const model *m, const double *state, uint32_t label)
{
    double *logits = zeros(m->config.vocab_size), sum = 0;
    naive_head(m, state, logits);
    for (uint32_t token = 0; token < m->config.vocab_size; token++)
        sum += exp(logits[token]);
    double loss = log(sum) - logits[label];
    free(logits);
    return loss;
}
