/* The queue of the HTTP server: what it says of its health, and how it ends. */
#include "../../src/serve/job.c"
#include "../../src/serve/queue.c"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define MANY BATCH_TEXTS /* texts of a job that is computed alone */

/* ---- in the place of libgabbro: what a computation does is told by the test ---- */

static atomic_bool fails, signals, lasts;
static atomic_uint computed, answered;

static void wait_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static bool computes(gabbro_status *status)
{
    computed++;
    if (signals)
        raise(SIGTERM);
    for (double until = gb_now_s() + 60; lasts && !gb_interrupted() && gb_now_s() < until;)
        wait_a_little();
    *status = (gabbro_status){.code = gb_interrupted() ? GABBRO_INTERRUPTED
                                      : fails          ? GABBRO_DEVICE
                                                       : GABBRO_OK};
    return status->code == GABBRO_OK;
}

bool gabbro_count_tokens(gabbro_model *model, gabbro_kind kind, const char *const *texts,
                         size_t count, uint32_t *tokens, gabbro_status *status)
{
    (void)model, (void)kind, (void)texts, (void)count, (void)tokens, (void)status;
    return true;
}

bool gabbro_count_pair_tokens(gabbro_model *model, const char *const *queries,
                              const char *const *passages, size_t count, uint32_t *tokens,
                              gabbro_status *status)
{
    (void)model, (void)queries, (void)passages, (void)count, (void)tokens, (void)status;
    return true;
}

bool gabbro_encode(gabbro_model *model, gabbro_kind kind, const char *const *texts, size_t count,
                   float *vectors, gabbro_status *status)
{
    (void)model, (void)kind, (void)texts, (void)count, (void)vectors;
    return computes(status);
}

bool gabbro_score(gabbro_model *model, const char *const *queries, const char *const *passages,
                  size_t count, float *scores, gabbro_status *status)
{
    (void)model, (void)queries, (void)passages, (void)count, (void)scores;
    return computes(status);
}

bool gabbro_search(gabbro_index *index, const float *queries, size_t count, uint32_t width,
                   uint32_t k, gabbro_hit *hits, gabbro_status *status)
{
    (void)index, (void)queries, (void)count, (void)width, (void)k, (void)hits;
    return computes(status);
}

/* ---- the queue ---- */

static const gb_serve_params how = {.queue = 8, .seconds = 60};
static const serve_site vectors_site = {.how = &how, .width = 2, .max_tokens = 8},
                        scores_site = {.how = &how, .max_tokens = 8};

static void on_done(serve_job *job)
{
    (void)job;
    answered++;
}

static void on_begin(serve_job *job)
{
    (void)job;
}

static void write_nothing(serve_job *job, const serve_site *site)
{
    (void)site;
    serve_answer(job, json_object());
}

static serve_queue *queue_of(const serve_site *site)
{
    gb_status status = {0};
    serve_queue *q = serve_queue_create(site, on_done, &status);
    cr_assert(q, "%s", status.what);
    return q;
}

/* A job whose texts, and queries if it has pairs, are "". */
static serve_job *job_of(uint32_t texts, bool pairs)
{
    serve_job *job = calloc(1, sizeof *job);
    cr_assert(job);
    *job = (serve_job){.count = texts, .write = write_nothing, .since_s = gb_now_s()};
    cr_assert(job->texts = calloc(texts, sizeof *job->texts));
    cr_assert(!pairs || (job->queries = calloc(texts, sizeof *job->queries)));
    for (uint32_t i = 0; i < texts; i++) {
        job->texts[i] = "";
        if (pairs)
            job->queries[i] = "";
    }
    return job;
}

static serve_job *add(serve_queue *q, uint32_t texts, bool pairs)
{
    serve_job *job = job_of(texts, pairs);
    cr_assert(serve_queue_add(q, job, on_begin));
    return job;
}

/* The status of its answer to a job of one text or pair. */
static unsigned answer_of(serve_queue *q, bool pairs)
{
    unsigned before = answered;
    serve_job *job = add(q, 1, pairs);
    while (answered == before)
        wait_a_little();
    unsigned status = job->status;
    serve_job_free(job);
    return status;
}

static void expect_recovery(const serve_site *site)
{
    serve_queue *q = queue_of(site);
    gb_log_set_level(GB_LOG_ERROR);
    cr_expect(serve_queue_healthy(q));
    fails = true;
    cr_expect_eq(answer_of(q, !site->width), 500);
    cr_expect_not(serve_queue_healthy(q));
    fails = false;
    cr_expect_eq(answer_of(q, !site->width), 200);
    cr_expect(serve_queue_healthy(q));
    serve_queue_destroy(q);
}

Test(serve_queue, vectors_after_a_failure_are_health_again)
{
    expect_recovery(&vectors_site);
}

Test(serve_queue, scores_after_a_failure_are_health_again)
{
    expect_recovery(&scores_site);
}

/* Two jobs, of which the second waits for the first, and a signal while that one is computed.
 * Expects these statuses of their answers. */
static void end_by_signal(const serve_site *site, unsigned first, unsigned second)
{
    gb_install_signals();
    signals = true;
    serve_queue *q = queue_of(site);
    serve_job *jobs[] = {add(q, MANY, !site->width), add(q, MANY, !site->width)};
    while (!computed || !gb_interrupted())
        wait_a_little();
    serve_queue_end(q);
    cr_expect_eq(answered, 2);
    cr_expect_eq(jobs[0]->status, first, "%u", jobs[0]->status);
    cr_expect_eq(jobs[1]->status, second, "%u", jobs[1]->status);
    cr_expect(serve_queue_healthy(q), "an end is no failure");
    for (int i = 0; i < 2; i++)
        serve_job_free(jobs[i]);
    serve_queue_destroy(q);
}

Test(serve_queue, a_signal_leaves_time_for_vectors)
{
    end_by_signal(&vectors_site, 200, 200);
    cr_expect_eq(computed, 2);
}

Test(serve_queue, a_signal_leaves_time_for_scores)
{
    end_by_signal(&scores_site, 200, 200);
}

Test(serve_queue, what_takes_longer_is_late)
{
    lasts = true;
    double begun_s = gb_now_s();
    end_by_signal(&vectors_site, 503, 503);
    cr_expect_eq(computed, 1, "the second is not begun");
    cr_expect_lt(gb_now_s() - begun_s, 4 * LEAVE_S);
}

/* A client learns whether it is worth coming back. */
Test(serve_queue, what_is_not_taken_says_why)
{
    serve_queue *q = queue_of(&scores_site);
    lasts = true;
    serve_job *jobs[9]; /* the first is computed, and eight wait */
    for (uint32_t i = 0; i < 9; i++) {
        jobs[i] = add(q, MANY, true);
        while (!computed)
            wait_a_little();
    }
    serve_job *full = job_of(1, true), *late = job_of(1, true);
    cr_expect_not(serve_queue_add(q, full, on_begin));
    cr_expect_eq(full->status, 429);
    lasts = false;
    serve_queue_end(q);
    cr_expect_not(serve_queue_add(q, late, on_begin));
    cr_expect_eq(late->status, 503);
    for (uint32_t i = 0; i < 9; i++)
        serve_job_free(jobs[i]);
    serve_job_free(full);
    serve_job_free(late);
    serve_queue_destroy(q);
}
