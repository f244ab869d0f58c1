/* Batches of queries of one topic, as in TAS-B (Hofstaetter et al., "Efficiently teaching an
 * effective dense retriever with balanced topic aware sampling", 2021): topics are clusters of the
 * queries' vectors. */
#include "private.h"

#include <gabbro/os.h>

#include <float.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 20 /* of Lloyd's algorithm at most */

/* ---- clusters ---- */

enum { MAX_THREADS = 64, LEAST_SHARE = 64 };

/* The nearest centre by Euclidean distance, of equal ones the first. */
static uint32_t nearest(const float *vector, const double *centres, uint32_t clusters,
                        uint32_t width)
{
    uint32_t best = 0;
    double least = DBL_MAX;
    for (uint32_t c = 0; c < clusters; c++) {
        double sum = 0;
        for (uint32_t d = 0; d < width; d++) {
            double difference = vector[d] - centres[(size_t)c * width + d];
            sum += difference * difference;
        }
        if (sum < least) {
            least = sum;
            best = c;
        }
    }
    return best;
}

/* Vectors whose centres one thread finds. */
typedef struct share {
    const gb_vectors *vectors; /* all */
    const double *centres;     /* [clusters, width] */
    uint32_t clusters;         /* centres */
    uint32_t first, end;       /* rows of the vectors */
    uint32_t *labels;      /* [all rows] the nearest centre, by Euclidean distance, of equal ones
                              the first */
    bool moved;            /* a label changed */
    gb_progress *progress; /* of the first share alone: it speaks for all */
    uint64_t done, times;  /* vectors of earlier rounds; shares */
} share;

static void *label_share(void *argument)
{
    share *s = argument;
    uint32_t width = s->vectors->width;
    for (uint32_t v = s->first; v < s->end && !gb_interrupted(); v++) {
        uint32_t label =
            nearest(s->vectors->values + (size_t)v * width, s->centres, s->clusters, width);
        s->moved |= label != s->labels[v];
        s->labels[v] = label;
        if (s->progress)
            gb_progress_update(s->progress, s->done + (v - s->first) * s->times, NULL);
    }
    return NULL;
}

/* A round: all labels, by as many threads as there are processors. Returns whether one changed. */
static bool label_all(const share *all, uint32_t rows, gb_progress *progress, uint64_t done)
{
    share shares[MAX_THREADS];
    uint32_t most = rows / LEAST_SHARE + 1, threads = gb_os_processors();
    bool moved = false;
    threads = threads < most ? threads : most;
    threads = threads < MAX_THREADS ? threads : MAX_THREADS;
    for (uint32_t t = 0; t < threads; t++) {
        shares[t] = *all;
        shares[t].first = (uint32_t)((uint64_t)rows * t / threads);
        shares[t].end = (uint32_t)((uint64_t)rows * (t + 1) / threads);
    }
    shares[0].progress = progress;
    shares[0].done = done;
    shares[0].times = threads;
    gb_run_parts(label_share, shares, sizeof *shares, threads);
    for (uint32_t t = 0; t < threads; t++)
        moved |= shares[t].moved;
    return moved;
}

/* Centres become the means of their vectors; those without any stay. */
static void move_centres(const gb_vectors *vectors, const uint32_t *labels, double *centres,
                         uint32_t *sizes, uint32_t clusters)
{
    uint32_t width = vectors->width;
    memset(sizes, 0, sizeof *sizes * clusters);
    for (uint32_t v = 0; v < vectors->rows; v++)
        if (!sizes[labels[v]]++)
            memset(centres + (size_t)labels[v] * width, 0, sizeof *centres * width);
    for (uint32_t v = 0; v < vectors->rows; v++)
        for (uint32_t d = 0; d < width; d++)
            centres[(size_t)labels[v] * width + d] +=
                vectors->values[(size_t)v * width + d] / (double)sizes[labels[v]];
}

bool gb_cluster_vectors(const gb_vectors *vectors, uint32_t clusters, uint64_t seed,
                        uint32_t *labels, gb_status *status)
{
    uint32_t width = vectors->width;
    clusters = clusters < vectors->rows ? clusters : vectors->rows;
    double *centres = gb_alloc((size_t)clusters * width, sizeof *centres, status);
    uint32_t *sizes = centres ? gb_alloc(vectors->rows, sizeof *sizes, status) : NULL;
    bool moved = sizes;
    if (sizes) {
        gb_rng rng = gb_rng_make(seed, GB_RNG_SPLIT, 1, 0);
        gb_rng_order(&rng, sizes, vectors->rows);
        for (size_t i = 0; i < (size_t)clusters * width; i++)
            centres[i] = vectors->values[(size_t)sizes[i / width] * width + i % width];
    }
    for (uint32_t v = 0; sizes && v < vectors->rows; v++)
        labels[v] = UINT32_MAX;
    const share all = {
        .vectors = vectors, .centres = centres, .clusters = clusters, .labels = labels};
    gb_progress progress;
    uint64_t done = 0;
    gb_progress_begin(&progress, "clusters", "vectors", (uint64_t)ROUNDS * vectors->rows, 0);
    for (int round = 0; moved && round < ROUNDS; round++) {
        moved = label_all(&all, vectors->rows, &progress, done);
        if (gb_interrupted()) /* some vectors may have no label yet */
            break;
        move_centres(vectors, labels, centres, sizes, clusters);
        done += vectors->rows;
    }
    progress.total = done;
    if (sizes)
        gb_progress_end(&progress, done, NULL);
    bool ok = sizes && gb_not_interrupted("--clusters", status);
    free(centres);
    free(sizes);
    return ok;
}

/* ---- the order of an epoch ---- */

/* Queries by topic, those of a topic in the shuffled order of `queries`. */
static void by_topic(const uint32_t *topics, uint32_t count, const uint32_t *queries, uint32_t *to)
{
    uint32_t at = 0;
    for (uint32_t topic = 0; at < count; topic++)
        for (uint32_t i = 0; i < count; i++)
            if (topics[queries[i]] == topic)
                to[at++] = queries[i];
}

/* Of the queries by topic: whole batches of one topic, in a shuffled order; what is left of topics
 * is mixed, `head` queries before them so that batches begin where steps do, and the others behind.
 * Where less is left, a batch is mixed, too. */
static void cut(finetune_topics *t, gb_rng *rng, uint32_t head)
{
    uint32_t batches = 0, left = 0, count = t->count, at = 0, end;
    for (uint32_t first = 0; first < count; first = end) {
        for (end = first; end < count && t->topics[t->sorted[end]] == t->topics[t->sorted[first]];)
            end++;
        for (; end - first >= t->batch; first += t->batch)
            t->starts[batches++] = first;
        for (; first < end; first++)
            t->rest[left++] = t->sorted[first];
    }
    gb_rng_shuffle(rng, t->starts, batches);
    if (left < head && batches) {
        batches--;
        for (uint32_t i = 0; i < t->batch; i++)
            t->rest[left++] = t->sorted[t->starts[batches] + i];
    }
    gb_rng_shuffle(rng, t->rest, left);
    head = head < left ? head : left;
    for (uint32_t i = 0; i < head; i++)
        t->order[at++] = t->rest[i];
    for (uint32_t b = 0; b < batches; b++)
        for (uint32_t i = 0; i < t->batch; i++)
            t->order[at++] = t->sorted[t->starts[b] + i];
    for (uint32_t i = head; i < left; i++)
        t->order[at++] = t->rest[i];
}

uint32_t finetune_topics_at(finetune_topics *t, uint64_t index)
{
    uint64_t epoch = index / t->count;
    if (epoch != t->epoch) {
        gb_rng rng = gb_rng_make(t->seed, GB_RNG_ORDER, (uint32_t)epoch, 2);
        gb_rng_order(&rng, t->order, t->count);
        by_topic(t->topics, t->count, t->order, t->sorted);
        uint64_t begun = epoch * t->count % t->batch;
        cut(t, &rng, begun ? t->batch - (uint32_t)begun : 0);
        t->epoch = epoch;
    }
    return t->order[index % t->count];
}

bool finetune_topics_make(finetune_topics *t, const uint32_t *topics, uint32_t count,
                          uint32_t batch, uint64_t seed, gb_status *status)
{
    *t = (finetune_topics){
        .topics = topics, .count = count, .batch = batch, .seed = seed, .epoch = UINT64_MAX};
    return (t->order = gb_alloc(count, sizeof *t->order, status)) &&
           (t->sorted = gb_alloc(count, sizeof *t->sorted, status)) &&
           (t->rest = gb_alloc(count, sizeof *t->rest, status)) &&
           (t->starts = gb_alloc(count, sizeof *t->starts, status));
}

void finetune_topics_free(finetune_topics *t)
{
    free(t->order);
    free(t->sorted);
    free(t->rest);
    free(t->starts);
}
