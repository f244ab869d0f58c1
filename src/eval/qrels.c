/* Judgements from TREC, MS MARCO and BEIR files, or from what DPR retrieved. */
#include <gabbro/eval.h>

#include <stdlib.h>
#include <string.h>

#include "dpr.h"

/* A judgement with its place, for messages about contradicting lines. */
typedef struct judgement {
    gb_qrel qrel;  /* rows and grade */
    uint64_t line; /* 1-based line of the file */
} judgement;

static int by_query_passage_line(const void *a, const void *b)
{
    const judgement *x = a, *y = b;
    if (x->qrel.query != y->qrel.query)
        return x->qrel.query < y->qrel.query ? -1 : 1;
    if (x->qrel.passage != y->qrel.passage)
        return x->qrel.passage < y->qrel.passage ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* The rows of a judgement's ids. */
static bool find_rows(const gb_lines *lines, const gb_qrel_line *line, const gb_run_names *names,
                      gb_qrel *qrel, gb_status *status)
{
    if (!gb_names_row(names->queries, line->query, strlen(line->query), &qrel->query, status) ||
        !gb_names_row(names->passages, line->passage, strlen(line->passage), &qrel->passage,
                      status))
        return false;
    bool query = qrel->query == GB_MAP_NONE;
    if (query || qrel->passage == GB_MAP_NONE)
        return gb_lines_fail(lines, status, "judgements and collection must belong together",
                             "unknown %s \"%.80s\"", query ? "query" : "passage",
                             query ? line->query : line->passage);
    qrel->grade = line->grade;
    return true;
}

/* Sort, drop repetitions, refuse contradictions. */
static bool finish(judgement *rows, size_t count, const char *path, gb_qrels *qrels,
                   gb_status *status)
{
    if (count == 0)
        return gb_fail(status, GB_DATA, path, NULL, "no judgements in the file");
    qsort(rows, count, sizeof *rows, by_query_passage_line);
    gb_qrel *out = gb_alloc(count, sizeof *out, status);
    if (!out)
        return false;
    size_t kept = 0, repeated = 0;
    for (size_t i = 0; i < count; i++) {
        const gb_qrel *last = kept ? &out[kept - 1] : NULL;
        if (!last || last->query != rows[i].qrel.query || last->passage != rows[i].qrel.passage) {
            out[kept++] = rows[i].qrel;
            continue;
        }
        if (last->grade != rows[i].qrel.grade) {
            char where[300];
            snprintf(where, sizeof where, "%.250s:%llu", path, (unsigned long long)rows[i].line);
            free(out);
            return gb_fail(status, GB_DATA, where, "keep one of the two lines",
                           "judged twice with different grades (first on line %llu)",
                           (unsigned long long)rows[i - 1].line);
        }
        repeated++;
    }
    if (repeated)
        gb_log(GB_LOG_WARN, "%s: %zu repeated judgements counted once", path, repeated);
    *qrels = (gb_qrels){.rows = out, .count = kept};
    return true;
}

/* Judgements being read. */
typedef struct judgements {
    judgement *rows;        /* them */
    size_t count, capacity; /* of them; of rows */
} judgements;

/* Which passages of a question hold an answer. */
static bool take_held(void *ctx, const gb_lines *lines, uint32_t query, const dpr_hit *hits,
                      uint32_t count, gb_status *status)
{
    judgements *j = ctx;
    if (!gb_grow(&j->rows, &j->capacity, j->count + count + 1, sizeof *j->rows, status))
        return false;
    if (!count) { /* for it nothing was found: it stays in the mean */
        j->rows[j->count].qrel = (gb_qrel){query, GB_NO_PASSAGE, 0};
        j->rows[j->count++].line = gb_lines_number(lines);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (hits[i].held < 0)
            return gb_lines_fail(lines, status, "gabbro convert-run --form dpr writes it",
                                 "a passage without \"has_answer\"");
        j->rows[j->count].qrel = (gb_qrel){query, hits[i].passage, hits[i].held};
        j->rows[j->count++].line = gb_lines_number(lines);
    }
    return true;
}

size_t gb_qrels_first(const gb_qrels *qrels, uint32_t query)
{
    size_t low = 0, high = qrels->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (qrels->rows[middle].query < query)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool gb_qrels_read(const char *path, const gb_run_names *names, gb_qrels *qrels, gb_status *status)
{
    return gb_qrels_read_by(GB_ANSWERS_GIVEN, path, names, qrels, status);
}

bool gb_qrels_read_by(gb_answer_rule rule, const char *path, const gb_run_names *names,
                      gb_qrels *qrels, gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    if (!lines)
        return false;
    judgements all = {0};
    gb_qrel_line judged = {0};
    size_t length;
    char *line;
    int got, parsed = 0;
    bool ok = true;
    while (ok && (got = gb_lines_next(lines, &line, &length, status)) == 1) {
        if (!judged.fields && eval_dpr_begins(line, length)) {
            const eval_dpr_params how = {names, rule, take_held, &all};
            ok = eval_dpr_read(lines, line, length, &how, status);
            got = 0;
            break;
        }
        if (rule != GB_ANSWERS_GIVEN) {
            ok = gb_fail(status, GB_USAGE, path, "leave --answers out",
                         "answers are looked for in the JSON of DPR and Pyserini alone");
            break;
        }
        parsed = gb_qrel_parse(lines, line, &judged, status);
        ok = parsed >= 0;
        if (parsed != 1)
            continue;
        ok = gb_grow(&all.rows, &all.capacity, all.count + 1, sizeof *all.rows, status) &&
             find_rows(lines, &judged, names, &all.rows[all.count].qrel, status);
        if (ok)
            all.rows[all.count++].line = gb_lines_number(lines);
    }
    ok = ok && got == 0 && finish(all.rows, all.count, path, qrels, status);
    gb_lines_close(lines);
    free(all.rows);
    return ok;
}
