/* What trec_eval and the MS MARCO script print of an evaluation. */
#include <gabbro/eval.h>
#include <gabbro/stats.h>

#include <stdlib.h>
#include <string.h>

/* Without the line's end. */
static void print_value(const gb_metric *metric, const char *query, size_t length, double value,
                        FILE *out)
{
    char name[GB_METRIC_NAME];
    gb_metric_name(metric, name);
    fprintf(out, "%-22s\t%.*s\t%*.*f", name, (int)length, query, metric->measure->integer ? 0 : 6,
            metric->measure->integer ? 0 : 4, value);
}

static int by_query_id(const void *a, const void *b, void *context)
{
    return gb_names_compare(context, *(const uint32_t *)a, *(const uint32_t *)b);
}

/* All queries, in the byte order of their ids as trec_eval prints them. */
static bool print_queries(const gb_evaluation *evaluation, const gb_names *names, FILE *out,
                          gb_status *status)
{
    size_t count = evaluation->query_count;
    uint32_t *rows = gb_alloc(count, sizeof *rows, status);
    uint32_t *column = gb_alloc(gb_names_count(names), sizeof *column, status);
    for (size_t i = 0; rows && column && i < count; i++) {
        rows[i] = evaluation->queries[i];
        column[rows[i]] = (uint32_t)i;
    }
    if (rows && column)
        gb_sort(rows, count, sizeof *rows, by_query_id, (void *)names);
    for (size_t i = 0; rows && column && i < count; i++) {
        size_t length;
        const char *id = gb_names_get(names, rows[i], &length);
        for (size_t m = 0; m < evaluation->metric_count; m++)
            if (!evaluation->metrics[m].measure->summary_only) {
                print_value(&evaluation->metrics[m], id, length,
                            evaluation->values[m * count + column[rows[i]]], out);
                fputc('\n', out);
            }
    }
    bool ok = rows && column;
    free(rows);
    free(column);
    return ok;
}

/* The value over all queries, with its interval if that is asked for and it is their mean. */
static bool print_total(const gb_evaluation *evaluation, size_t m, const gb_print_params *params,
                        FILE *out, gb_status *status)
{
    const gb_metric *metric = &evaluation->metrics[m];
    const gb_resampling draws = {GB_EVAL_RESAMPLES, params->seed};
    gb_interval interval;
    print_value(metric, "all", 3, evaluation->totals[m], out);
    if (params->interval && !metric->measure->integer && !metric->measure->summary_only) {
        if (!gb_bootstrap(evaluation->values + m * evaluation->query_count, evaluation->query_count,
                          &draws, .95, &interval, status))
            return false;
        fprintf(out, "\t%.4f\t%.4f", interval.low, interval.high);
    }
    fputc('\n', out);
    return true;
}

bool gb_evaluation_print(const gb_evaluation *evaluation, const gb_names *queries,
                         const gb_print_params *params, FILE *out, gb_status *status)
{
    if (params->per_query && !print_queries(evaluation, queries, out, status))
        return false;
    if (params->no_summary)
        return true;
    if (params->run_name)
        fprintf(out, "%-22s\tall\t%s\n", "runid", params->run_name);
    bool ok = true;
    for (size_t m = 0; ok && m < evaluation->metric_count; m++)
        ok = print_total(evaluation, m, params, out, status);
    return ok;
}

/* A double as Python prints it: the fewest digits that read back the same, always with a point. */
static void print_python(double value, FILE *out)
{
    char text[40];
    gb_format_double(value, text);
    fprintf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

void gb_evaluation_print_msmarco(const gb_evaluation *evaluation, size_t ranked, FILE *out)
{
    fprintf(out, "#####################\nMRR @10: ");
    print_python(gb_evaluation_total(evaluation, "MRR@10"), out);
    fprintf(out, "\nQueriesRanked: %zu\n#####################\n", ranked);
}
