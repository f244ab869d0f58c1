/* Two runs query by query: which queries each of them won, by kinds of queries, and their passages
 * side by side. */
#include <gabbro/eval.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SIDE_COLUMNS = 56, TEXT_COLUMNS = 90 }; /* characters of a passage, and of a query's text */

/* A query that both runs were measured on. */
typedef struct diff_query {
    uint32_t query; /* row */
    double a, b;    /* values of both runs */
    uint32_t text;  /* row of the collection, or GB_MAP_NONE */
} diff_query;

/* Queries of one kind, summed. */
typedef struct diff_group {
    size_t count, won, lost; /* queries, and those where A is above and below B */
    double a, b;             /* sums of the values */
} diff_group;

/* What is being compared. */
typedef struct differ {
    const gb_diff_params *params; /* runs, judgements, names, collection */
    gb_run_names stored;          /* names of the collection, if there is one */
    diff_query *queries;          /* [count] */
    size_t count;                 /* queries */
    FILE *out;                    /* where to print */
} differ;

/* ---- texts ---- */

/* Print at most `columns` characters of a text on one line; returns how many. */
static int print_cut(const char *text, size_t length, int columns, FILE *out)
{
    int printed = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if ((byte & 0xc0) != 0x80 && printed++ == columns)
            return columns;
        fputc(byte < ' ' || byte == 0x7f ? ' ' : byte, out);
    }
    return printed;
}

/* Row of an id in the collection, or GB_MAP_NONE. */
static bool stored_row(gb_names *stored, const gb_names *names, uint32_t row, uint32_t *found,
                       gb_status *status)
{
    size_t length;
    *found = GB_MAP_NONE;
    if (!stored || row == GB_NO_PASSAGE)
        return true;
    const char *id = gb_names_get(names, row, &length);
    return gb_names_row(stored, id, length, found, status);
}

static uint32_t count_words(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    uint32_t words = 0;
    for (size_t i = 0; i < length; i++)
        words += bytes[i] > ' ' && (i == 0 || bytes[i - 1] <= ' ');
    return words;
}

/* ---- kinds of queries ---- */

static const uint32_t most_words[] = {2, 4, 6, 8, 12};
static const char *const lengths[] = {"1 to 2 words", "3 to 4 words",  "5 to 6 words",
                                      "7 to 8 words", "9 to 12 words", "13 words and more"};
static const char *const openings[] = {"what", "how",   "who",       "when", "where",
                                       "why",  "which", "yes or no", "other"};
enum { LENGTHS = 6, OPENINGS = 9, YES_OR_NO = 7, OTHER = 8 };

static int length_of(const char *text, size_t length)
{
    uint32_t words = count_words(text, length);
    int group = 0;
    while (group < LENGTHS - 1 && words > most_words[group])
        group++;
    return group;
}

/* What the first word asks for. */
static int opening_of(const char *text, size_t length)
{
    static const char *const verbs[] = {"is",   "are",  "was",   "were", "do",     "does",
                                        "did",  "can",  "could", "will", "should", "has",
                                        "have", "must", "would", NULL};
    size_t letters = 0;
    while (letters < length && (text[letters] | 32) >= 'a' && (text[letters] | 32) <= 'z')
        letters++;
    for (int i = 0; i < YES_OR_NO; i++)
        if (strlen(openings[i]) == letters && !strncasecmp(text, openings[i], letters))
            return i;
    for (int i = 0; verbs[i]; i++)
        if (strlen(verbs[i]) == letters && !strncasecmp(text, verbs[i], letters))
            return YES_OR_NO;
    return OTHER;
}

static void add_to(diff_group *group, const diff_query *query)
{
    group->count++;
    group->won += query->a > query->b;
    group->lost += query->a < query->b;
    group->a += query->a;
    group->b += query->b;
}

static void print_group(const char *name, const diff_group *group, FILE *out)
{
    double n = (double)group->count;
    if (group->count)
        fprintf(out, "%-20s %8zu %8zu %8zu %8zu   %.4f   %.4f  %+.4f\n", name, group->count,
                group->won, group->lost, group->count - group->won - group->lost, group->a / n,
                group->b / n, (group->a - group->b) / n);
}

/* All queries, and those of each kind. */
static void print_groups(const differ *d)
{
    diff_group all = {0}, by_length[LENGTHS] = {{0}}, by_opening[OPENINGS] = {{0}};
    size_t with_text = 0;
    for (size_t i = 0; i < d->count; i++) {
        const diff_query *query = &d->queries[i];
        add_to(&all, query);
        if (query->text == GB_MAP_NONE)
            continue;
        size_t length;
        const char *text = gb_collection_query(d->params->collection, query->text, &length);
        add_to(&by_length[length_of(text, length)], query);
        add_to(&by_opening[opening_of(text, length)], query);
        with_text++;
    }
    fprintf(d->out, "%-20s %8s %8s %8s %8s   %6s   %6s  %7s\n", "# queries", "count", "A won",
            "A lost", "equal", "A", "B", "A - B");
    print_group("all", &all, d->out);
    if (!with_text)
        return;
    fputs("# by length\n", d->out);
    for (int i = 0; i < LENGTHS; i++)
        print_group(lengths[i], &by_length[i], d->out);
    fputs("# by first word\n", d->out);
    for (int i = 0; i < OPENINGS; i++)
        print_group(openings[i], &by_opening[i], d->out);
}

/* ---- single queries ---- */

/* A passage of a side: its grade, its id, as much of its text as fits; padded to the column's end.
 */
static bool print_passage(differ *d, const gb_ranked *hit, bool pad, gb_status *status)
{
    const gb_diff_params *p = d->params;
    size_t length;
    uint32_t row;
    int used = 0;
    if (hit && !stored_row(d->stored.passages, p->names->passages, hit->passage, &row, status))
        return false;
    if (hit && hit->passage != GB_NO_PASSAGE) {
        const char *id = gb_names_get(p->names->passages, hit->passage, &length);
        used = hit->grade == GB_UNJUDGED ? fprintf(d->out, " - ")
                                         : fprintf(d->out, "%2d ", hit->grade);
        used += print_cut(id, length, SIDE_COLUMNS - used, d->out);
        if (row != GB_MAP_NONE && used + 2 < SIDE_COLUMNS) {
            gb_text text = {0};
            gb_collection_passage(p->collection, row, &text);
            used += fprintf(d->out, "  ");
            used += print_cut(text.data ? text.data : "", text.length, SIDE_COLUMNS - used, d->out);
            gb_text_free(&text);
        }
    }
    if (pad)
        fprintf(d->out, "%*s | ", SIDE_COLUMNS - used, "");
    return true;
}

/* The first passages of both runs for a query, line by line. */
static bool print_sides(differ *d, const diff_query *query, gb_status *status)
{
    const gb_diff_params *p = d->params;
    gb_ranked *sides[2] = {NULL, NULL};
    uint32_t counts[2] = {0, 0};
    bool ok = true;
    for (int i = 0; ok && i < 2; i++)
        ok = gb_evaluate_list(i ? p->b.run : p->a.run, query->query, p->qrels, p->names, p->how,
                              &sides[i], &counts[i], status);
    for (uint32_t rank = 0; ok && rank < p->passages && (rank < counts[0] || rank < counts[1]);
         rank++) {
        fprintf(d->out, "%4u ", rank + 1);
        ok = print_passage(d, rank < counts[0] ? &sides[0][rank] : NULL, true, status) &&
             print_passage(d, rank < counts[1] ? &sides[1][rank] : NULL, false, status);
        fputc('\n', d->out);
    }
    free(sides[0]);
    free(sides[1]);
    return ok;
}

static bool print_query(differ *d, const diff_query *query, gb_status *status)
{
    size_t length;
    const char *id = gb_names_get(d->params->names->queries, query->query, &length);
    fprintf(d->out, "%.*s\tA %.4f\tB %.4f\t%+.4f", (int)length, id, query->a, query->b,
            query->a - query->b);
    if (query->text != GB_MAP_NONE) {
        const char *text = gb_collection_query(d->params->collection, query->text, &length);
        fputc('\t', d->out);
        print_cut(text, length, TEXT_COLUMNS, d->out);
    }
    fputc('\n', d->out);
    return print_sides(d, query, status);
}

static int by_gain(const void *x, const void *y, void *names)
{
    const diff_query *a = x, *b = y;
    double gain_a = a->a - a->b, gain_b = b->a - b->b;
    if (gain_a != gain_b)
        return gain_a > gain_b ? -1 : 1;
    return gb_names_compare(names, a->query, b->query);
}

/* The queries that one run won by most; queries are sorted by falling gain of A. */
static bool print_won(differ *d, bool by_a, gb_status *status)
{
    uint32_t most = d->params->queries, shown = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < d->count && (!most || shown < most); i++) {
        const diff_query *query = &d->queries[by_a ? i : d->count - 1 - i];
        if (query->a == query->b || (query->a > query->b) != by_a)
            break;
        if (!shown++)
            fprintf(d->out, "# %s won%s; grade, passage of A | of B\n", by_a ? "A" : "B",
                    most ? " by most" : "");
        ok = print_query(d, query, status);
    }
    return ok;
}

static bool fill_queries(differ *d, gb_status *status)
{
    const gb_diff_params *p = d->params;
    const gb_evaluation *a = p->a.evaluation, *b = p->b.evaluation;
    d->count = a->query_count;
    d->queries = gb_alloc(d->count, sizeof *d->queries, status);
    bool ok = d->queries;
    for (size_t i = 0; ok && i < d->count; i++) {
        diff_query *query = &d->queries[i];
        *query = (diff_query){a->queries[i], a->values[i], b->values[i], GB_MAP_NONE};
        ok = stored_row(d->stored.queries, p->names->queries, query->query, &query->text, status);
    }
    if (ok)
        gb_sort(d->queries, d->count, sizeof *d->queries, by_gain, p->names->queries);
    return ok;
}

bool gb_evaluation_diff(const gb_diff_params *params, FILE *out, gb_status *status)
{
    differ d = {.params = params, .out = out};
    char label[GB_METRIC_LABEL];
    const gb_evaluation *a = params->a.evaluation;
    gb_metric_label(&a->metrics[0], a->params.level, label);
    bool ok = (!params->collection || gb_run_names_of(params->collection, &d.stored, status)) &&
              fill_queries(&d, status);
    if (ok) {
        fprintf(out, "# %s; A %s, B %s\n", label, params->a.name, params->b.name);
        print_groups(&d);
        ok = print_won(&d, true, status) && print_won(&d, false, status);
    }
    gb_run_names_free(&d.stored);
    free(d.queries);
    return ok;
}
