/* Run files: TREC, MS MARCO and score lists, read and written; dpr.c reads those in JSON. */
#include <gabbro/eval.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dpr.h"
#include "fields.h"

#define MAX_RANK 10000 /* of an MS MARCO run; its script holds 1000 */

/* One line of a run. */
typedef struct entry {
    uint32_t query;   /* row */
    uint32_t passage; /* row */
    double score;     /* score, or -rank where ranks decide */
    uint64_t line;    /* 1-based line of the file */
} entry;

/* A file being read. */
typedef struct reader {
    const char *path;     /* file */
    gb_run_format format; /* settled after the first line, but for `columns` */
    bool columns;         /* three columns of no given format: read as scores until all are known */
    bool whole;           /* and all third columns so far are whole numbers */
    const gb_run_names *names; /* ids */
    entry *entries;            /* lines in file order */
    size_t count;              /* lines */
    size_t capacity;           /* lines allocated */
    char *tag;                 /* of the last line */
    gb_run *run;               /* of JSON, whose lists come one by one */
} reader;

/* `what` is followed by the id. */
static bool fail_at(const reader *r, uint64_t line, const char *hint, const char *what,
                    const eval_field *id, gb_status *status)
{
    char where[300];
    snprintf(where, sizeof where, "%.250s:%llu", r->path, (unsigned long long)line);
    return gb_fail(status, GB_DATA, where, hint, "%s \"%.*s\"", what,
                   (int)(id->length < 80 ? id->length : 80), id->text);
}

static eval_field id_of(const gb_names *names, uint32_t row)
{
    eval_field id;
    id.text = (char *)gb_names_get(names, row, &id.length);
    return id;
}

static bool parse_value(const reader *r, const gb_lines *lines, const eval_field *fields,
                        double *value, gb_status *status)
{
    bool trec = r->format == GB_RUN_TREC || r->format == GB_RUN_RANKED;
    const char *text = fields[r->format == GB_RUN_TREC ? 4 : trec ? 3 : 2].text;
    if (r->format == GB_RUN_TREC || r->format == GB_RUN_SCORES) {
        if (!eval_parse_score(text, value))
            return gb_lines_fail(lines, status, NULL, "score \"%.40s\" is not a number", text);
        return true;
    }
    bool msmarco = r->format == GB_RUN_MSMARCO; /* its ranks are places of a list */
    int64_t rank, least = msmarco ? 1 : 0, most = msmarco ? MAX_RANK : INT64_MAX;
    if (!eval_parse_int(text, &rank) || rank < least || rank > most)
        return gb_lines_fail(lines, status, "ranks count from 1; give --format for another layout",
                             "rank \"%.40s\" is not an integer from %lld to %lld", text,
                             (long long)least, (long long)most);
    *value = (double)-rank; /* negated as an integer: no minus zero */
    return true;
}

static bool parse_line(reader *r, const gb_lines *lines, const eval_field *fields, size_t count,
                       gb_status *status)
{
    if (r->format == GB_RUN_AUTO) {
        r->columns = r->whole = count < 5;
        r->format = r->columns ? GB_RUN_SCORES : GB_RUN_TREC;
    }
    bool trec = r->format == GB_RUN_TREC || r->format == GB_RUN_RANKED;
    if (trec ? count < 6 : count != 3)
        return gb_lines_fail(lines, status,
                             trec ? "lines are \"qid Q0 docno rank score tag\""
                                  : "lines are \"qid pid rank\" or \"qid pid score\"",
                             "%zu fields instead of %d", count, trec ? 6 : 3);
    const eval_field *passage = &fields[trec ? 2 : 1];
    entry e = {.line = gb_lines_number(lines)};
    int64_t whole;
    r->whole = r->whole && eval_parse_int(fields[2].text, &whole);
    if (!parse_value(r, lines, fields, &e.score, status) ||
        !gb_names_row(r->names->queries, fields[0].text, fields[0].length, &e.query, status) ||
        !gb_names_row(r->names->passages, passage->text, passage->length, &e.passage, status))
        return false;
    if (e.query == GB_MAP_NONE)
        return fail_at(r, e.line, "run and collection must belong together", "unknown query",
                       &fields[0], status);
    if (e.passage == GB_MAP_NONE)
        return fail_at(r, e.line, "run and collection must belong together", "unknown passage",
                       passage, status);
    if (trec && (!r->tag || strcmp(r->tag, fields[5].text) != 0)) {
        free(r->tag);
        r->tag = gb_strdup(fields[5].text, status);
        if (!r->tag)
            return false;
    }
    if (!gb_grow(&r->entries, &r->capacity, r->count + 1, sizeof(entry), status))
        return false;
    r->entries[r->count++] = e;
    return true;
}

/* A list of DPR's JSON; where it has no scores, the order decides. */
static bool take_list(void *ctx, const gb_lines *lines, uint32_t query, const dpr_hit *hits,
                      uint32_t count, gb_status *status)
{
    reader *r = ctx;
    gb_hit *list = gb_alloc(count, sizeof *list, status);
    bool ok = list != NULL;
    for (uint32_t i = 0; ok && i < count; i++) {
        if (isnan(hits[i].score) != isnan(hits[0].score))
            ok = gb_lines_fail(lines, status, NULL, "some passages of a query have no score");
        list[i] =
            (gb_hit){hits[i].passage, isnan(hits[i].score) ? -(double)(i + 1) : hits[i].score};
    }
    ok = ok && gb_run_add(r->run, query, list, count, status);
    r->count += count;
    free(list);
    return ok;
}

static bool is_json(const reader *r, const char *line, size_t length)
{
    return r->format == GB_RUN_DPR || r->format == GB_RUN_PYSERINI ||
           (r->format == GB_RUN_AUTO && eval_dpr_begins(line, length));
}

static bool read_entries(reader *r, gb_status *status)
{
    gb_lines *lines = gb_lines_open(r->path, status);
    if (!lines)
        return false;
    char *line;
    size_t length;
    int got;
    bool ok = true;
    while (ok && (got = gb_lines_next(lines, &line, &length, status)) == 1) {
        if (!r->count && is_json(r, line, length)) {
            r->format = GB_RUN_DPR;
            const eval_dpr_params how = {r->names, GB_ANSWERS_GIVEN, take_list, r};
            ok = eval_dpr_read(lines, line, length, &how, status);
            got = 0;
            break;
        }
        eval_field fields[EVAL_MAX_FIELDS];
        size_t count = eval_split_fields(line, length, fields);
        if (count)
            ok = parse_line(r, lines, fields, count, status);
    }
    gb_lines_close(lines);
    ok = ok && got == 0;
    if (ok && r->count == 0)
        return gb_fail(status, GB_DATA, r->path, NULL, "no ranked passages in the file");
    return ok;
}

static int by_passage_line(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->passage != y->passage)
        return x->passage < y->passage ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static int by_score_line(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static int by_line(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return (x->line > y->line) - (x->line < y->line);
}

/* The list of one query from its lines: no passage twice, in the order that the format asks for. */
static bool add_list(const reader *r, entry *list, size_t count, gb_hit *hits, gb_run *run,
                     gb_status *status)
{
    qsort(list, count, sizeof *list, by_passage_line);
    for (size_t i = 1; i < count; i++)
        if (list[i].passage == list[i - 1].passage) {
            eval_field id = id_of(r->names->passages, list[i].passage);
            return fail_at(r, list[i].line, "a passage has one rank a query",
                           "listed twice for its query: passage", &id, status);
        }
    bool ranked = r->format == GB_RUN_RANKED || r->format == GB_RUN_MSMARCO;
    qsort(list, count, sizeof *list, ranked ? by_score_line : by_line);
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (r->format == GB_RUN_MSMARCO) {
            if (i && list[i].score == list[i - 1].score) {
                eval_field id = id_of(r->names->queries, list[i].query);
                return fail_at(r, list[i].line, "a rank has one passage",
                               "rank given twice for query", &id, status);
            }
            while (n + 1 < -list[i].score) { /* ranks without a passage */
                hits[n] = (gb_hit){GB_NO_PASSAGE, -(double)(n + 1)};
                n++;
            }
        }
        hits[n++] = (gb_hit){list[i].passage, list[i].score};
    }
    return gb_run_add(run, list[0].query, hits, n, status);
}

/* Do the numbers of a list count from 1 to its length? `seen`, [lines], has the list's number where
 * one was met. */
static bool counts_from_one(const entry *list, size_t count, size_t *seen, size_t number)
{
    for (size_t i = 0; i < count; i++) {
        double rank = list[i].score;
        if (rank < 1 || rank > (double)count || seen[(size_t)rank - 1] == number)
            return false;
        seen[(size_t)rank - 1] = number;
    }
    return true;
}

/* Are three columns ranks or scores? Ranks where every list of the file counts from 1 without gaps
 * and repetitions. ends[i]: where list i ends in entries. */
static bool settle_columns(reader *r, entry *entries, const size_t *ends, size_t lists,
                           gb_status *status)
{
    size_t *seen = gb_alloc(r->count, sizeof *seen, status);
    bool ranks = seen && r->whole;
    for (size_t i = 0; ranks && i < lists; i++) {
        size_t first = i ? ends[i - 1] : 0;
        ranks = counts_from_one(entries + first, ends[i] - first, seen, i + 1);
    }
    for (size_t i = 0; ranks && i < r->count; i++)
        entries[i].score = -entries[i].score;
    if (ranks)
        r->format = GB_RUN_MSMARCO;
    if (seen)
        gb_log(GB_LOG_INFO, "%s: the third column is read as %s (--format decides)", r->path,
               ranks ? "ranks: it counts from 1 for every query"
                     : "scores: it does not count from 1 for every query");
    bool ok = seen != NULL;
    free(seen);
    return ok;
}

/* Group the lines by query, queries in the order of their first lines. */
static bool group(reader *r, gb_run *run, gb_status *status)
{
    uint32_t rows = gb_names_count(r->names->queries), lists = 0;
    uint32_t *list_of = gb_alloc(rows, sizeof *list_of, status); /* list number + 1, or 0 */
    size_t *starts = gb_alloc((size_t)rows + 1, sizeof *starts, status);
    entry *sorted = gb_alloc(r->count, sizeof *sorted, status);
    gb_hit *hits = NULL;
    bool ok = list_of && starts && sorted;
    for (size_t i = 0; ok && i < r->count; i++) {
        uint32_t query = r->entries[i].query;
        if (!list_of[query])
            list_of[query] = ++lists;
        starts[list_of[query]]++; /* sizes, one place ahead */
    }
    size_t largest = MAX_RANK;
    for (uint32_t i = 0; ok && i < lists; i++) {
        largest = starts[i + 1] > largest ? starts[i + 1] : largest;
        starts[i + 1] += starts[i];
    }
    for (size_t i = 0; ok && i < r->count; i++)
        sorted[starts[list_of[r->entries[i].query] - 1]++] = r->entries[i];
    /* starts[i] is now the end of list i */
    ok = ok && (!r->columns || settle_columns(r, sorted, starts, lists, status)) &&
         (hits = gb_alloc(largest, sizeof *hits, status));
    for (uint32_t i = 0; ok && i < lists; i++) {
        size_t first = i ? starts[i - 1] : 0;
        ok = add_list(r, sorted + first, starts[i] - first, hits, run, status);
    }
    free(list_of);
    free(starts);
    free(sorted);
    free(hits);
    return ok;
}

bool gb_run_read(const char *path, gb_run_format format, const gb_run_names *names, gb_run *run,
                 char **tag, gb_status *status)
{
    gb_run fresh = {0};
    reader r = {.path = path, .format = format, .names = names, .run = &fresh};
    bool ok = read_entries(&r, status) && (r.format == GB_RUN_DPR || group(&r, &fresh, status));
    if (ok && tag && !r.tag)
        ok = (r.tag = gb_strdup("", status));
    free(r.entries);
    if (!ok) {
        free(r.tag);
        gb_run_free(&fresh);
        return false;
    }
    *run = fresh;
    if (tag)
        *tag = r.tag;
    else
        free(r.tag);
    return true;
}

bool gb_run_read_artifact(const char *artifact, const gb_run_names *names, gb_run *run,
                          gb_status *status)
{
    char *path = gb_path_join(status, artifact, "run.trec");
    bool ok = path && gb_run_read(path, GB_RUN_TREC, names, run, NULL, status);
    free(path);
    return ok;
}

/* Few digits when they say it all, 17 always do. */
void gb_run_print_score(double score, char text[40])
{
    for (int digits = 9; digits <= 17; digits += digits == 9 ? 6 : 1) {
        snprintf(text, 40, "%.*g", digits, score);
        if (strtod(text, NULL) == score)
            break;
    }
}

bool gb_run_write(const gb_run *run, const gb_run_names *names, const gb_run_style *style,
                  const char *path, gb_status *status)
{
    gb_run_format format = style->format;
    const char *tag = style->tag ? style->tag : "gabbro";
    gb_out *file = gb_out_open(path, status);
    if (!file)
        return false;
    FILE *out = gb_out_stream(file);
    if (style->header)
        fputs(style->header, out);
    for (size_t i = 0; i < run->list_count; i++) {
        const gb_run_list *list = &run->lists[i];
        size_t query_length, passage_length;
        char score[40];
        const char *query = gb_names_get(names->queries, list->query, &query_length);
        uint32_t count = style->depth && style->depth < list->count ? style->depth : list->count;
        for (uint32_t rank = 1; rank <= count; rank++) {
            const gb_hit *hit = &run->hits[list->first + rank - 1];
            if (hit->passage == GB_NO_PASSAGE)
                continue;
            const char *passage = gb_names_get(names->passages, hit->passage, &passage_length);
            fwrite(query, 1, query_length, out);
            fputs(format == GB_RUN_MSMARCO || format == GB_RUN_SCORES ? "\t" : " Q0 ", out);
            fwrite(passage, 1, passage_length, out);
            if (format == GB_RUN_MSMARCO) {
                fprintf(out, "\t%u\n", rank);
                continue;
            }
            if (format == GB_RUN_SCORES)
                fputc('\t', out);
            else
                fprintf(out, " %u ", rank);
            gb_run_print_score(hit->score, score);
            fputs(score, out);
            if (format == GB_RUN_SCORES)
                fputc('\n', out);
            else
                fprintf(out, " %s\n", tag);
        }
    }
    return gb_out_commit(file, status);
}
