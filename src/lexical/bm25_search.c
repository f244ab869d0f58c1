/* BM25: searching a finished index, term at a time, with one or many threads. */
#include "bm25.h"
#include <gabbro/os.h>

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

gb_bm25_searcher *gb_bm25_searcher_create(const gb_bm25 *index, gb_status *status)
{
    if (!index->finished) {
        gb_fail(status, GB_INTERNAL, NULL, NULL, "the index is not finished");
        return NULL;
    }
    gb_bm25_searcher *searcher = gb_alloc(1, sizeof *searcher, status);
    if (!searcher)
        return NULL;
    searcher->index = index;
    searcher->state = index->params.source.open(index->params.source.config, status);
    searcher->feedback = gb_alloc(index->params.rm3.passages, sizeof *searcher->feedback, status);
    if (!searcher->state || !searcher->feedback ||
        !lexical_scores_make(&searcher->scores, index->text_count, status)) {
        gb_bm25_searcher_destroy(searcher);
        return NULL;
    }
    return searcher;
}

void gb_bm25_searcher_destroy(gb_bm25_searcher *searcher)
{
    if (!searcher)
        return;
    if (searcher->state)
        searcher->index->params.source.close(searcher->state);
    lexical_scores_free(&searcher->scores);
    free(searcher->terms);
    free(searcher->feedback);
    free(searcher->passage);
    free(searcher->model);
    free(searcher);
}

static bool collect_term(void *ctx, const char *bytes, size_t length)
{
    gb_bm25_searcher *searcher = ctx;
    uint32_t term = gb_map_get(searcher->index->terms, bytes, length);
    searcher->length++;
    if (term == GB_MAP_NONE)
        return true;
    for (size_t i = 0; i < searcher->term_count; i++)
        if (searcher->terms[i].term == term) {
            searcher->terms[i].weight++;
            return true;
        }
    if (!gb_grow(&searcher->terms, &searcher->term_capacity, searcher->term_count + 1,
                 sizeof *searcher->terms, searcher->status)) {
        searcher->failed = true;
        return false;
    }
    searcher->terms[searcher->term_count++] = (bm25_query_term){term, 1};
    return true;
}

static void score_term(gb_bm25_searcher *searcher, bm25_query_term query)
{
    const gb_bm25 *index = searcher->index;
    size_t first = index->starts[query.term], end = index->starts[query.term + 1];
    double df = (double)(end - first);
    float idf = (float)log(1 + (index->filled_texts - df + 0.5) / (df + 0.5));
    float weight = query.weight * idf;
    for (size_t i = first; i < end; i++) {
        uint32_t text = index->texts[i];
        float inverse = index->inverse[index->lengths[text]];
        /* tf / (tf + K) as 1 - 1 / (1 + tf / K), in float as Lucene has it. */
        float gain = weight - weight / (1.0f + (float)index->counts[i] * inverse);
        if (!(gain > 0)) /* rounded away: as if the term were absent */
            continue;
        lexical_gain(&searcher->scores, text, gain);
    }
}

/* The best k texts for the terms of the query. */
static uint32_t search_terms(gb_bm25_searcher *searcher, uint32_t k, gb_hit *hits)
{
    for (size_t i = 0; i < searcher->term_count; i++)
        score_term(searcher, searcher->terms[i]);
    return lexical_best(&searcher->scores, 0, hits, 0, k);
}

bool gb_bm25_search(gb_bm25_searcher *searcher, const char *query, size_t length, gb_hit *hits,
                    uint32_t *count, gb_status *status)
{
    const gb_term_source *source = &searcher->index->params.source;
    searcher->term_count = 0;
    searcher->length = 0;
    searcher->failed = false;
    searcher->status = status;
    if (!source->terms(searcher->state, query, length, collect_term, searcher, status) ||
        searcher->failed)
        return false;
    if (searcher->index->params.rm3.passages) {
        uint32_t found =
            search_terms(searcher, searcher->index->params.rm3.passages, searcher->feedback);
        if (!lexical_bm25_feedback(searcher, found, status))
            return false;
    }
    *count = search_terms(searcher, *count, hits);
    return true;
}

/* ---- many queries ---- */

/* Work shared by the threads: each takes the next query and fills its slot. */
typedef struct batch {
    const gb_bm25 *index;      /* searched */
    const uint32_t *queries;   /* [count] rows */
    size_t count;              /* queries */
    const gb_bm25_queries *of; /* their texts */
    uint32_t k;                /* depth */
    gb_hit *hits;              /* [count, k] */
    uint32_t *found;           /* [count] */
    atomic_size_t next;        /* query to take */
    atomic_bool failed;        /* stop */
    gb_progress *progress;     /* of all queries, shown by the first worker, or NULL */
    size_t before;             /* queries of earlier batches */
} batch;

typedef struct worker {
    batch *work;      /* shared */
    gb_status status; /* own */
    bool ok;          /* finished without failure */
    bool first;       /* it shows how far all are */
} worker;

static void *work(void *argument)
{
    worker *own = argument;
    batch *b = own->work;
    gb_bm25_searcher *searcher = gb_bm25_searcher_create(b->index, &own->status);
    own->ok = searcher != NULL;
    while (own->ok && !atomic_load(&b->failed)) {
        size_t i = atomic_fetch_add(&b->next, 1), length;
        if (i >= b->count)
            break;
        const char *text = b->of->text(b->of->ctx, b->queries[i], &length);
        own->ok = gb_not_interrupted(NULL, &own->status);
        b->found[i] = b->k;
        own->ok = own->ok && gb_bm25_search(searcher, text, length, b->hits + i * b->k,
                                            &b->found[i], &own->status);
        if (own->first && b->progress)
            gb_progress_update(b->progress, b->before + i, NULL);
    }
    if (!own->ok)
        atomic_store(&b->failed, true);
    gb_bm25_searcher_destroy(searcher);
    return NULL;
}

/* Run the workers. */
static bool run_workers(batch *b, uint32_t threads, gb_status *status)
{
    worker *workers = gb_alloc(threads, sizeof *workers, status);
    if (!workers)
        return false;
    for (uint32_t i = 0; i < threads; i++)
        workers[i].work = b;
    workers[0].first = true;
    gb_run_parts(work, workers, sizeof *workers, threads);
    const worker *culprit = NULL;
    for (uint32_t i = 0; i < threads && !culprit; i++)
        if (!workers[i].ok)
            culprit = &workers[i];
    bool ok = !culprit;
    if (culprit && status)
        *status = culprit->status;
    free(workers);
    return ok;
}

#define BATCH 4096 /* queries whose hits are held before they go to the run */

bool gb_bm25_run(const gb_bm25 *index, const gb_bm25_queries *queries, gb_run *run,
                 gb_status *status)
{
    uint32_t threads = queries->threads, k = queries->depth;
    if (threads == 0)
        threads = gb_os_processors();
    if (k > index->text_count)
        k = index->text_count;
    size_t size = queries->count < BATCH ? queries->count : BATCH;
    gb_hit *hits = gb_alloc(size * k, sizeof *hits, status);
    uint32_t *found = gb_alloc(size, sizeof *found, status);
    bool ok = hits && found, shown = queries->count > BATCH;
    gb_progress progress;
    if (shown)
        gb_progress_begin(&progress, "bm25 search", "queries", queries->count, 0);
    for (size_t first = 0; ok && first < queries->count; first += BATCH) {
        size_t n = queries->count - first < BATCH ? queries->count - first : BATCH;
        batch b = {.index = index,
                   .queries = queries->rows + first,
                   .count = n,
                   .of = queries,
                   .k = k,
                   .hits = hits,
                   .found = found,
                   .progress = shown ? &progress : NULL,
                   .before = first};
        ok = run_workers(&b, n < threads ? (uint32_t)n : threads, status);
        for (size_t i = 0; ok && i < n; i++)
            ok = gb_run_add(run, b.queries[i], hits + i * k, found[i], status);
    }
    if (ok && shown)
        gb_progress_end(&progress, queries->count, NULL);
    free(hits);
    free(found);
    return ok;
}
