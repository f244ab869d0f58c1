/* Run files: TREC, MS MARCO and score lists, read and written; dpr.c reads those in JSON. */
#include <gabbro/eval.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dpr.h"
#include "fields.h"

#define MAX_RANK 10000 /* of an MS MARCO run; its script holds 1000 */

const char *const gb_run_words[] = {"auto", "trec", "msmarco", "scores", "dpr", NULL};
const char gb_run_words_help[] = "layout of RUN; auto takes a third column of three for ranks "
                                 "where it counts from 1 or rises for every query, else for scores";
const gb_run_format gb_run_word_formats[] = {GB_RUN_AUTO, GB_RUN_TREC, GB_RUN_MSMARCO,
                                             GB_RUN_SCORES, GB_RUN_DPR};

/* One line of a list. */
typedef struct entry {
    uint32_t passage; /* row */
    double score;     /* score, or -rank where ranks decide */
    uint64_t line;    /* 1-based line of the file */
} entry;

/* Lines of one query that follow each other. A run may have hundreds of millions of lines, so that
 * no more is kept of each than its hit. */
typedef struct piece {
    uint32_t query;      /* row */
    size_t first, count; /* its hits, in file order */
    uint64_t line;       /* of the first */
} piece;

/* A file being read. */
typedef struct reader {
    const char *path;     /* file */
    gb_run_format format; /* settled after the first line, but for `columns` */
    bool columns;         /* three columns of no given format: read as scores until all are known */
    bool whole;           /* and all third columns so far are whole numbers */
    const gb_run_names *names; /* ids */
    gb_hit *hits;              /* passages and scores in file order */
    size_t count;              /* lines */
    size_t capacity;           /* lines allocated */
    piece *pieces;             /* the same lines by queries */
    size_t piece_count;        /* pieces */
    size_t piece_capacity;     /* pieces allocated */
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

static bool add_line(reader *r, uint32_t query, gb_hit hit, uint64_t line, gb_status *status)
{
    piece *last = r->piece_count ? &r->pieces[r->piece_count - 1] : NULL;
    if (!gb_grow(&r->hits, &r->capacity, r->count + 1, sizeof *r->hits, status))
        return false;
    if (!last || last->query != query || last->line + last->count != line) {
        if (!gb_grow(&r->pieces, &r->piece_capacity, r->piece_count + 1, sizeof *r->pieces, status))
            return false;
        last = &r->pieces[r->piece_count++];
        *last = (piece){.query = query, .first = r->count, .line = line};
    }
    last->count++;
    r->hits[r->count++] = hit;
    return true;
}

static bool parse_line(reader *r, const gb_lines *lines, const eval_field *fields, size_t count,
                       gb_status *status)
{
    if (r->format == GB_RUN_AUTO) {
        r->columns = r->whole = count < 5;
        r->format = r->columns ? GB_RUN_SCORES : GB_RUN_TREC;
    }
    if (r->format == GB_RUN_RANKED && !r->count && count == 3)
        r->format = GB_RUN_MSMARCO;
    bool trec = r->format == GB_RUN_TREC || r->format == GB_RUN_RANKED;
    if (trec ? count < 6 : count != 3)
        return gb_lines_fail(lines, status,
                             trec ? "lines are \"qid Q0 docno rank score tag\""
                                  : "lines are \"qid pid rank\" or \"qid pid score\"",
                             "%zu fields instead of %d", count, trec ? 6 : 3);
    const eval_field *passage = &fields[trec ? 2 : 1];
    uint64_t line = gb_lines_number(lines);
    uint32_t query;
    gb_hit hit;
    int64_t whole;
    r->whole = r->whole && eval_parse_int(fields[2].text, &whole);
    if (!parse_value(r, lines, fields, &hit.score, status) ||
        !gb_names_row(r->names->queries, fields[0].text, fields[0].length, &query, status) ||
        !gb_names_row(r->names->passages, passage->text, passage->length, &hit.passage, status))
        return false;
    if (query == GB_MAP_NONE)
        return fail_at(r, line, "run and collection must belong together", "unknown query",
                       &fields[0], status);
    if (hit.passage == GB_MAP_NONE)
        return fail_at(r, line, "run and collection must belong together", "unknown passage",
                       passage, status);
    if (trec && (!r->tag || strcmp(r->tag, fields[5].text) != 0)) {
        free(r->tag);
        r->tag = gb_strdup(fields[5].text, status);
        if (!r->tag)
            return false;
    }
    return add_line(r, query, hit, line, status);
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
           ((r->format == GB_RUN_AUTO || r->format == GB_RUN_RANKED) &&
            eval_dpr_begins(line, length));
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
static bool add_list(const reader *r, uint32_t query, entry *list, size_t count, gb_hit *hits,
                     gb_run *run, gb_status *status)
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
                eval_field id = id_of(r->names->queries, query);
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
    return gb_run_add(run, query, hits, n, status);
}

/* Do the numbers of a list, as ranks do, rise from line to line? */
static bool rises(const entry *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].score < 1 || list[i].score > MAX_RANK ||
            (i && list[i].score <= list[i - 1].score))
            return false;
    return true;
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

/* The pieces of the file by queries, these in the order of their first lines. */
typedef struct grouping {
    uint32_t lists;   /* queries */
    size_t *ends;     /* [lists] behind the last piece of each in `pieces` */
    uint32_t *pieces; /* [all pieces] numbers of pieces */
    size_t longest;   /* lines of a query */
    entry *list;      /* [longest] those of the query at hand */
    size_t count;     /* of them */
} grouping;

static bool group_pieces(const reader *r, grouping *g, gb_status *status)
{
    uint32_t rows = gb_names_count(r->names->queries);
    uint32_t *list_of = gb_alloc(rows, sizeof *list_of, status); /* list number + 1, or 0 */
    size_t *lines = gb_alloc(rows, sizeof *lines, status);       /* of each list */
    g->ends = gb_alloc((size_t)rows + 1, sizeof *g->ends, status);
    g->pieces = gb_alloc(r->piece_count, sizeof *g->pieces, status);
    bool ok = list_of && lines && g->ends && g->pieces;
    for (size_t p = 0; ok && p < r->piece_count; p++) {
        uint32_t *list = &list_of[r->pieces[p].query];
        if (!*list)
            *list = ++g->lists;
        g->ends[*list]++; /* sizes, one place ahead */
        lines[*list - 1] += r->pieces[p].count;
        g->longest = lines[*list - 1] > g->longest ? lines[*list - 1] : g->longest;
    }
    for (uint32_t i = 0; ok && i < g->lists; i++)
        g->ends[i + 1] += g->ends[i];
    for (size_t p = 0; ok && p < r->piece_count; p++)
        g->pieces[g->ends[list_of[r->pieces[p].query] - 1]++] = (uint32_t)p;
    free(list_of);
    free(lines);
    return ok && (g->list = gb_alloc(g->longest, sizeof *g->list, status));
}

static void grouping_free(grouping *g)
{
    free(g->ends);
    free(g->pieces);
    free(g->list);
}

/* The lines of a list into g->list. Returns its query. */
static uint32_t gather(const reader *r, const gb_hit *hits, grouping *g, uint32_t number)
{
    size_t at = number ? g->ends[number - 1] : 0;
    uint32_t query = r->pieces[g->pieces[at]].query;
    bool negated = r->columns && r->format == GB_RUN_MSMARCO; /* ranks that were read as scores */
    g->count = 0;
    for (; at < g->ends[number]; at++) {
        const piece *p = &r->pieces[g->pieces[at]];
        for (size_t i = 0; i < p->count; i++) {
            gb_hit hit = hits[p->first + i];
            g->list[g->count++] =
                (entry){hit.passage, negated ? -hit.score : hit.score, p->line + i};
        }
    }
    return query;
}

/* Are three columns ranks or scores? Ranks where every list of the file counts from 1 without gaps
 * and repetitions, in any order, or where all lists rise: scores would fall. */
static bool settle_columns(reader *r, grouping *g, gb_status *status)
{
    size_t *seen = gb_alloc(g->longest, sizeof *seen, status);
    bool counted = seen && r->whole, risen = counted && g->longest > 1;
    for (uint32_t i = 0; (counted || risen) && i < g->lists; i++) {
        gather(r, r->hits, g, i);
        counted = counted && counts_from_one(g->list, g->count, seen, (size_t)i + 1);
        risen = risen && rises(g->list, g->count);
    }
    bool ranks = counted || risen;
    if (ranks)
        r->format = GB_RUN_MSMARCO;
    if (seen)
        gb_log(GB_LOG_INFO,
               "%s: the third column is read as %s (gabbro convert-run --from decides, and "
               "--format of gabbro eval)",
               r->path,
               counted ? "ranks: it counts from 1 for every query"
               : risen ? "ranks: it rises for every query"
                       : "scores: it neither counts from 1 nor rises for every query");
    bool ok = seen != NULL;
    free(seen);
    return ok;
}

/* Whether the lists can take the places of their lines: none grows, and no query comes again later.
 */
static bool fits_in_place(const reader *r, const grouping *g)
{
    for (size_t i = 0; i < r->piece_count; i++)
        if (g->pieces[i] != i)
            return false;
    return r->format != GB_RUN_MSMARCO;
}

/* The lists of the file. Where they can, they overwrite the lines, so that these are in memory
 * once: a list is gathered before it is written. */
static bool group(reader *r, gb_run *run, gb_status *status)
{
    grouping g = {0};
    bool ok = group_pieces(r, &g, status) && (!r->columns || settle_columns(r, &g, status));
    const gb_hit *lines = r->hits;
    gb_hit *hits =
        ok ? gb_alloc(g.longest > MAX_RANK ? g.longest : MAX_RANK, sizeof *hits, status) : NULL;
    ok = hits != NULL;
    if (ok && fits_in_place(r, &g)) {
        run->hits = r->hits;
        run->hit_capacity = r->capacity;
        r->hits = NULL;
    }
    for (uint32_t i = 0; ok && i < g.lists; i++) {
        uint32_t query = gather(r, lines, &g, i);
        ok = add_list(r, query, g.list, g.count, hits, run, status);
    }
    grouping_free(&g);
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
    free(r.hits);
    free(r.pieces);
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
    bool ok =
        path &&
        gb_file_needed(artifact, "run.trec",
                       "give the folder that gabbro search, mine or bm25-run printed", status) &&
        gb_run_read(path, GB_RUN_TREC, names, run, NULL, status);
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

bool gb_run_tag_check(const char *tag, gb_status *status)
{
    return !tag || (*tag && !strpbrk(tag, " \t\r\n\f\v")) ||
           gb_fail(status, GB_USAGE, NULL, NULL, "--tag needs one word");
}

bool gb_run_write(const gb_run *run, const gb_run_names *names, const gb_run_style *style,
                  const char *path, gb_status *status)
{
    gb_run_format format = style->format;
    const char *tag = style->tag ? style->tag : "gabbro";
    gb_out *file = gb_run_tag_check(style->tag, status) ? gb_out_open(path, status) : NULL;
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
            if (format == GB_RUN_SCORES) /* "2" could be read as a rank */
                fputs(strspn(score, "-0123456789") == strlen(score) ? ".0\n" : "\n", out);
            else
                fprintf(out, " %s\n", tag);
        }
    }
    return gb_out_commit(file, status);
}
