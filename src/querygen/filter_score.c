/* Generated queries by the score of a cross-encoder (Doc2Query--, Gospodinov et al., ECIR 2023). */
#include "private.h"

#include <gabbro/retrieve.h>
#include <gabbro/os.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 256 }; /* pairs that are scored, and then kept on disk, at a time */

/* Scoring all queries that are left. */
typedef struct scoring {
    const querygen_filter *filter; /* queries */
    gb_text_scorer *scorer;        /* of pairs */
    float *scores;                 /* [count], 0 of those that are dropped already */
    FILE *kept;                    /* scores of a chunk after the other, for a killed command */
    gb_text text;                  /* of a chunk: queries and passages, each ended by a NUL */
    size_t starts[2 * CHUNK];      /* in the text */
    uint32_t rows[CHUNK], count;   /* queries of the chunk */
} scoring;

/* ---- chunks ---- */

static bool run_chunk(scoring *s, uint32_t first, gb_status *status)
{
    const char *queries[CHUNK], *passages[CHUNK];
    float scores[CHUNK];
    if (s->text.failed)
        return gb_fail_memory(status, "scoring queries");
    for (uint32_t i = 0; i < s->count; i++) {
        queries[i] = s->text.data + s->starts[2 * i];
        passages[i] = s->text.data + s->starts[2 * i + 1];
    }
    if (s->count && !gb_text_scorer_run(s->scorer, queries, passages, s->count, scores, status))
        return false;
    for (uint32_t i = 0; i < s->count; i++)
        s->scores[s->rows[i]] = scores[i];
    uint32_t left = s->filter->counts.before - first;
    size_t bytes = sizeof *s->scores * (left < CHUNK ? left : CHUNK);
    s->count = 0;
    s->text.length = 0;
    return (fwrite(s->scores + first, bytes, 1, s->kept) == 1 && fflush(s->kept) == 0) ||
           gb_fail(status, GB_DATA, "scores", "is the disk full?", "cannot keep scores");
}

static void add_pair(scoring *s, uint32_t query, const char *text, size_t length)
{
    s->rows[s->count] = query;
    s->starts[2 * s->count] = s->text.length;
    gb_text_append(&s->text, text, length);
    gb_text_append(&s->text, "", 1);
    s->starts[2 * s->count + 1] = s->text.length;
    gb_collection_passage(s->filter->collection, s->filter->passages[query], &s->text);
    gb_text_append(&s->text, "", 1);
    s->count++;
}

/* Scores from query `done` on, which begins a chunk. */
static bool run_all(scoring *s, uint32_t done, gb_status *status)
{
    const querygen_filter *f = s->filter;
    uint32_t query = 0;
    gb_progress progress;
    gb_progress_begin(&progress, "score queries", "queries", f->counts.before, done);
    for (uint32_t p = 0; p < f->collection->passages; p++) {
        size_t length;
        const char *row = gb_row_file_row(f->collection->generated, p, &length);
        for (size_t at = 0; at < length;) {
            size_t size = querygen_line_length(row, length, at);
            if (query >= done && !f->drop[query])
                add_pair(s, query, row + at, size);
            at += size + 1;
            query++;
            if (query <= done || (query % CHUNK && query < f->counts.before))
                continue;
            if (!run_chunk(s, (query - 1) / CHUNK * CHUNK, status))
                return false;
            gb_progress_update(&progress, query, NULL);
            if (gb_interrupted())
                return gb_fail(status, GB_INTERRUPTED, "filter-queries",
                               "run the same command to resume", "stopped after %u queries", query);
        }
    }
    gb_progress_end(&progress, query, NULL);
    return true;
}

/* Opens what an earlier command kept, behind its last whole chunk; *done: queries scored. */
static bool resume(scoring *s, const char *path, uint32_t *done, gb_status *status)
{
    uint32_t count = s->filter->counts.before;
    s->kept = gb_os_fopen(path, "a+b");
    *done = s->kept ? (uint32_t)fread(s->scores, sizeof *s->scores, count, s->kept) : 0;
    if (*done < count)
        *done -= *done % CHUNK;
    return (s->kept && ftruncate(fileno(s->kept), (off_t)(*done * sizeof *s->scores)) == 0 &&
            fseek(s->kept, 0, SEEK_END) == 0) ||
           gb_fail(status, GB_DATA, path, "check the store's permissions", "cannot keep scores");
}

/* ---- which are kept ---- */

typedef struct scored_query {
    float score;    /* logit */
    uint32_t query; /* row */
} scored_query;

/* Falling; of equal scores the earlier query first. */
static int by_score(const void *a_, const void *b_)
{
    const scored_query *a = a_, *b = b_;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return (a->query > b->query) - (a->query < b->query);
}

static bool drop_low(querygen_filter *f, const gb_filter_params *params, const float *scores,
                     gb_status *status)
{
    uint32_t left = 0;
    scored_query *order = gb_alloc(f->counts.before, sizeof *order, status);
    for (uint32_t q = 0; order && q < f->counts.before; q++)
        if (!f->drop[q])
            order[left++] = (scored_query){scores[q], q};
    if (!order)
        return false;
    if (left)
        qsort(order, left, sizeof *order, by_score);
    uint32_t most = (uint32_t)ceil(params->keep_share * left);
    for (uint32_t i = 0; i < left; i++)
        if (i >= most || 1 / (1 + exp(-order[i].score)) < params->min_score) {
            f->drop[order[i].query] = true;
            f->counts.low++;
        }
    free(order);
    return true;
}

bool querygen_filter_by_score(querygen_filter *f, const gb_filter_params *params, gb_maker *maker,
                              gb_status *status)
{
    scoring s = {.filter = f};
    uint32_t done;
    char *path = gb_maker_resume_file(maker, "scores", status);
    const gb_text_encoder_params how = {.config = maker->config,
                                        .model = params->cross,
                                        .open = path ? gb_maker_device(maker, status) : NULL};
    bool ok = how.open && (s.scorer = gb_text_scorer_open(&how, status)) &&
              (s.scores = gb_alloc(f->counts.before, sizeof *s.scores, status)) &&
              resume(&s, path, &done, status) && run_all(&s, done, status) &&
              drop_low(f, params, s.scores, status);
    if (s.kept)
        fclose(s.kept);
    gb_text_scorer_close(s.scorer);
    gb_text_free(&s.text);
    free(s.scores);
    free(path);
    return ok;
}
