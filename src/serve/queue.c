/* The queue of the HTTP server: one thread takes what waits, as many texts as make a good batch,
 * and computes them together. */
#include "http.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_TEXTS 128 /* of jobs that are computed together, unless one has more */
#define LEAVE_S     5.0 /* seconds that what runs and waits may take at the end */

struct serve_queue {
    const serve_site *site;       /* that is served */
    void (*done)(serve_job *job); /* is called with each answer */
    pthread_t thread;             /* that computes */
    bool started;                 /* it runs */
    pthread_mutex_t lock;         /* of the following */
    pthread_cond_t changed;       /* there is a job, or an end */
    serve_job *first, *last;      /* waiting */
    uint32_t count;               /* waiting */
    double end_s;                 /* when to stop answering; 0: it goes on */
    bool healthy;                 /* the last computation went well */
};

/* ---- computing ---- */

/* Jobs that are computed together, and their texts. */
typedef struct batch {
    serve_job *jobs[BATCH_TEXTS]; /* in their order */
    uint32_t count;               /* jobs */
    const char **texts;           /* of those of one kind */
    float *vectors;               /* of these */
    uint32_t *tokens;             /* of these, before they are cut */
    uint32_t text_count;          /* all of them */
} batch;

static void set_healthy(serve_queue *q, bool healthy)
{
    pthread_mutex_lock(&q->lock);
    q->healthy = healthy;
    pthread_mutex_unlock(&q->lock);
}

/* The end came before its answer. */
static void ends_first(serve_job *job)
{
    serve_fail(job, SERVE_LATE, "the server ends");
}

static void failed(serve_queue *q, serve_job *job, const gabbro_status *status)
{
    if (status->code == GABBRO_INTERRUPTED) {
        ends_first(job);
        return;
    }
    set_healthy(q, false);
    gb_log(GB_LOG_WARN, "a request failed: %s%s%s", status->where, *status->where ? ": " : "",
           status->what);
    serve_fail(job, SERVE_FAILED, "Backend error: %.300s", status->what);
}

/* Texts that are longer than the model reads are refused where the API says so. */
static bool fits(const serve_site *site, serve_job *job)
{
    for (uint32_t i = 0; !job->cut && i < job->count; i++)
        if (job->tokens[i] > site->max_tokens)
            return serve_fail(job, SERVE_TOO_LONG,
                              "%s`%s` must have less than %u tokens. Given: %u",
                              job->api == SERVE_TEI ? "Input validation error: " : "", job->member,
                              site->max_tokens, job->tokens[i]);
    return true;
}

static bool count_tokens(serve_queue *q, serve_job *job)
{
    gabbro_status said = {0};
    job->tokens = gb_alloc(job->count, sizeof *job->tokens, NULL);
    if (!job->tokens)
        return serve_fail(job, SERVE_FAILED, "out of memory");
    if (job->queries ? !gabbro_count_pair_tokens(q->site->model, job->queries, job->texts,
                                                 job->count, job->tokens, &said)
                     : !gabbro_count_tokens(q->site->model, job->kind, job->texts, job->count,
                                            job->tokens, &said)) {
        if (said.code == GABBRO_USAGE) /* such as a text of no kind for a model of two towers */
            return serve_fail(job, SERVE_BAD_VALUE, "%.200s (%.100s)", said.what, said.hint);
        failed(q, job, &said);
        return false;
    }
    return fits(q->site, job);
}

static bool all_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

/* Vectors of its texts, which are of that kind. */
static bool wants(const serve_job *job, gabbro_kind kind)
{
    return job->kind == kind && !job->status && !job->queries;
}

/* The vectors of all jobs of a kind that have no answer yet. */
static void encode_kind(serve_queue *q, batch *b, gabbro_kind kind)
{
    gabbro_status said = {0};
    size_t width = q->site->width, texts = 0, at = 0;
    for (uint32_t j = 0; j < b->count; j++)
        for (uint32_t i = 0; wants(b->jobs[j], kind) && i < b->jobs[j]->count; i++)
            b->texts[texts++] = b->jobs[j]->texts[i];
    bool ok = !texts || gabbro_encode(q->site->model, kind, b->texts, texts, b->vectors, &said);
    for (uint32_t j = 0; j < b->count; j++) {
        serve_job *job = b->jobs[j];
        if (!wants(job, kind))
            continue;
        size_t floats = job->count * width;
        const float *own = b->vectors + at * width;
        at += job->count;
        if (!ok)
            failed(q, job, &said);
        else if (!all_finite(own, floats))
            serve_fail(job, SERVE_FAILED, "Backend error: a vector is not finite");
        else if ((job->vectors = gb_alloc(floats, sizeof *own, NULL)))
            memcpy(job->vectors, own, floats * sizeof *own);
        else
            serve_fail(job, SERVE_FAILED, "out of memory");
    }
}

static void score(serve_queue *q, serve_job *job)
{
    gabbro_status said = {0};
    job->vectors = gb_alloc(job->count, sizeof *job->vectors, NULL);
    if (!job->vectors)
        serve_fail(job, SERVE_FAILED, "out of memory");
    else if (!gabbro_score(q->site->model, job->queries, job->texts, job->count, job->vectors,
                           &said))
        failed(q, job, &said);
    else if (!all_finite(job->vectors, job->count))
        serve_fail(job, SERVE_FAILED, "Backend error: a score is not finite");
}

static void search(serve_queue *q, serve_job *job)
{
    gabbro_status said = {0};
    job->hits = gb_alloc((size_t)job->count * job->k, sizeof *job->hits, NULL);
    if (!job->hits)
        serve_fail(job, SERVE_FAILED, "out of memory");
    else if (!gabbro_search(q->site->index, job->vectors, job->count, q->site->width, job->k,
                            job->hits, &said))
        failed(q, job, &said);
}

static void compute(serve_queue *q, batch *b)
{
    double now = gb_now_s();
    uint32_t texts = 0;
    for (uint32_t j = 0; j < b->count; j++) {
        serve_job *job = b->jobs[j];
        if (now - job->since_s > q->site->how->seconds)
            serve_fail(job, SERVE_LATE, "the request waited longer than %u s",
                       q->site->how->seconds);
        else if (count_tokens(q, job) && !job->queries)
            texts += job->count;
    }
    b->texts = gb_alloc(texts, sizeof *b->texts, NULL);
    b->vectors = gb_alloc((size_t)texts * q->site->width, sizeof *b->vectors, NULL);
    for (gabbro_kind kind = GABBRO_PASSAGE; b->texts && b->vectors && kind <= GABBRO_PLAIN; kind++)
        encode_kind(q, b, kind);
    for (uint32_t j = 0; j < b->count; j++) {
        serve_job *job = b->jobs[j];
        if (!job->status && job->queries)
            score(q, job);
        if (!job->status && !job->vectors)
            serve_fail(job, SERVE_FAILED, "out of memory");
        if (!job->status && job->k)
            search(q, job);
        if (!job->status) {
            set_healthy(q, true);
            job->write(job, q->site);
        }
        q->done(job);
    }
    free(b->texts);
    free(b->vectors);
}

/* ---- the thread ---- */

static void take(serve_queue *q, batch *b)
{
    while (q->first && b->count < BATCH_TEXTS &&
           (!b->count || b->text_count + q->first->count <= BATCH_TEXTS)) {
        serve_job *job = q->first;
        q->first = job->next;
        q->count--;
        b->text_count += job->count;
        b->jobs[b->count++] = job;
    }
}

static void refuse(serve_queue *q, const batch *b)
{
    for (uint32_t j = 0; j < b->count; j++) {
        ends_first(b->jobs[j]);
        q->done(b->jobs[j]);
    }
}

/* The time to answer is over. */
static bool is_over(void *self)
{
    serve_queue *q = self;
    pthread_mutex_lock(&q->lock);
    bool over = q->end_s && gb_now_s() > q->end_s;
    pthread_mutex_unlock(&q->lock);
    return over;
}

static void *work(void *self)
{
    serve_queue *q = self;
    gb_stop_when(is_over, q); /* a signal leaves time to answer what was taken */
    for (;;) {
        batch b = {.count = 0};
        pthread_mutex_lock(&q->lock);
        while (!q->first && !q->end_s)
            pthread_cond_wait(&q->changed, &q->lock);
        take(q, &b);
        pthread_mutex_unlock(&q->lock);
        if (!b.count)
            return NULL; /* the end, and nothing waits */
        if (is_over(q))
            refuse(q, &b);
        else
            compute(q, &b);
    }
}

serve_queue *serve_queue_create(const serve_site *site, void (*done)(serve_job *job),
                                gb_status *status)
{
    serve_queue *q = gb_alloc(1, sizeof *q, status);
    if (!q)
        return NULL;
    q->site = site;
    q->done = done;
    q->healthy = true;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
    q->started = !pthread_create(&q->thread, NULL, work, q);
    if (q->started)
        return q;
    gb_fail(status, GB_MEMORY, NULL, NULL, "cannot start a thread");
    serve_queue_destroy(q);
    return NULL;
}

bool serve_queue_add(serve_queue *q, serve_job *job, void (*begin)(serve_job *job))
{
    pthread_mutex_lock(&q->lock);
    bool ends = q->end_s > 0, room = !ends && q->count < q->site->how->queue;
    if (room) {
        begin(job);
        job->next = NULL;
        if (q->first)
            q->last->next = job;
        else
            q->first = job;
        q->last = job;
        q->count++;
        pthread_cond_signal(&q->changed);
    }
    pthread_mutex_unlock(&q->lock);
    if (ends)
        ends_first(job);
    else if (!room)
        serve_fail(job, SERVE_OVERLOADED, "Model is overloaded");
    return room;
}

bool serve_queue_healthy(serve_queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool healthy = q->healthy;
    pthread_mutex_unlock(&q->lock);
    return healthy;
}

void serve_queue_end(serve_queue *q)
{
    if (!q)
        return;
    pthread_mutex_lock(&q->lock);
    q->end_s = gb_now_s() + LEAVE_S;
    pthread_cond_signal(&q->changed);
    pthread_mutex_unlock(&q->lock);
    if (q->started)
        pthread_join(q->thread, NULL);
    q->started = false;
}

void serve_queue_destroy(serve_queue *q)
{
    if (!q)
        return;
    serve_queue_end(q);
    pthread_cond_destroy(&q->changed);
    pthread_mutex_destroy(&q->lock);
    free(q);
}
