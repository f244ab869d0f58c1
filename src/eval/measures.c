/* The registry of measures and the names of metrics. A new measure: one file in measures/ and one
 * line here. */
#include <gabbro/eval.h>

#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "measures/measures.h"

#define CUTS "5,10,15,20,30,100,200,500,1000"

/* In trec_eval's order of printing; the names that trec_eval does not have come last. */
static const gb_measure measures[] = {
    {"num_q", eval_num_q, .all_grades = true, .total = GB_TOTAL_SUM, .integer = true,
     .summary_only = true, .official = true, .help = "queries evaluated"},
    {"num_ret", eval_num_ret, .all_grades = true, .total = GB_TOTAL_SUM, .integer = true,
     .official = true, .help = "passages retrieved"},
    {"num_rel", eval_num_rel, .total = GB_TOTAL_SUM, .integer = true, .official = true,
     .help = "relevant passages"},
    {"num_rel_ret", eval_num_rel_ret, .total = GB_TOTAL_SUM, .integer = true, .official = true,
     .help = "relevant passages retrieved"},
    {"map", eval_map, .official = true, .help = "mean average precision"},
    {"gm_map", eval_map, .total = GB_TOTAL_GEOMETRIC, .summary_only = true, .official = true,
     .help = "geometric mean of average precision"},
    {"Rprec", eval_rprec, .official = true, .help = "precision at R, R = relevant passages"},
    {"bpref", eval_bpref, .official = true, .help = "binary preference"},
    {"recip_rank", eval_recip_rank, .official = true,
     .help = "reciprocal rank of the first relevant passage, whole list"},
    {"iprec_at_recall", eval_iprec_at_recall, NULL, GB_PARAMETER_RECALL,
     "0,.1,.2,.3,.4,.5,.6,.7,.8,.9,1", '_', .official = true,
     .help = "interpolated precision at a level of recall"},
    {"P", eval_p, NULL, GB_PARAMETER_CUT, CUTS, '_', .official = true, .help = "precision at k"},
    {"recall", eval_recall, eval_chance_recall, GB_PARAMETER_CUT, CUTS, '_',
     .help = "share of the relevant passages in the top k (not Hit@k)"},
    {"ndcg", eval_ndcg, eval_chance_ndcg, .all_grades = true,
     .help = "nDCG of the whole list, gain = grade"},
    {"ndcg_cut", eval_ndcg_cut, eval_chance_ndcg_cut, GB_PARAMETER_CUT, CUTS, '_',
     .all_grades = true, .help = "nDCG at k"},
    {"map_cut", eval_map_cut, NULL, GB_PARAMETER_CUT, CUTS, '_', .help = "average precision at k"},
    {"success", eval_hit, eval_chance_hit, GB_PARAMETER_CUT, "1,5,10", '_',
     .help = "share of queries with a relevant passage in the top k"},
    {"MRR", eval_mrr, eval_chance_mrr, GB_PARAMETER_CUT, "10", '@',
     .help = "MS MARCO's reciprocal rank at k"},
    {"Hit", eval_hit, eval_chance_hit, GB_PARAMETER_CUT, "1,50,1000", '@',
     .help = "as success; the R@k of MS MARCO papers"},
    {"Judged", eval_judged, NULL, GB_PARAMETER_CUT, "10", '@', .all_grades = true,
     .help = "share of the top k with a judgement"},
};

#define MEASURES (sizeof measures / sizeof measures[0])

/* The names that ir-measures has for them: of a whole list, and with a cut-off. */
static const struct {
    const char *name;  /* in ir-measures */
    const char *whole; /* here, without "@k"; NULL: it needs a cut-off */
    const char *cut;   /* here, with "@k"; NULL: it takes none */
} ir_measures[] = {
    {"nDCG", "ndcg", "ndcg_cut"},
    {"RR", "recip_rank", "MRR"},
    {"AP", "map", "map_cut"},
    {"MAP", "map", "map_cut"},
    {"R", NULL, "recall"},
    {"Recall", NULL, "recall"},
    {"P", NULL, "P"},
    {"Success", NULL, "success"},
    {"Rprec", "Rprec", NULL},
    {"Bpref", "bpref", NULL},
    {"IPrec", NULL, "iprec_at_recall"},
    {"Judged", NULL, "Judged"},
    {"NumQ", "num_q", NULL},
    {"NumRet", "num_ret", NULL},
    {"NumRel", "num_rel", NULL},
};

const gb_measure *gb_measure_at(size_t index)
{
    return index < MEASURES ? &measures[index] : NULL;
}

/* Insert in registry order, then by parameter. */
static bool add_metric(gb_metrics *metrics, gb_metric metric, gb_status *status)
{
    size_t place = 0;
    while (place < metrics->count) {
        const gb_metric *other = &metrics->items[place];
        bool same = other->measure == metric.measure;
        if (same && other->parameter == metric.parameter && other->level == metric.level)
            return true;
        if (other->measure > metric.measure || (same && other->parameter > metric.parameter) ||
            (same && other->parameter == metric.parameter && other->level > metric.level))
            break;
        place++;
    }
    if (!gb_grow(&metrics->items, &metrics->capacity, metrics->count + 1, sizeof metric, status))
        return false;
    memmove(metrics->items + place + 1, metrics->items + place,
            (metrics->count - place) * sizeof metric);
    metrics->items[place] = metric;
    metrics->count++;
    return true;
}

/* All parameters of a comma-separated list. */
static bool add_parameters(gb_metrics *metrics, const gb_measure *measure, const char *list,
                           int32_t level, gb_status *status)
{
    while (true) {
        char text[32];
        size_t length = strcspn(list, ",");
        double value = 0;
        snprintf(text, sizeof text, "%.*s", (int)(length < 31 ? length : 31), list);
        bool good = eval_parse_score(text, &value);
        if (measure->kind == GB_PARAMETER_CUT)
            good = good && value >= 1 && value <= UINT32_MAX && value == (double)(uint32_t)value;
        else
            good = good && value >= 0 && value <= 1;
        if (!good)
            return gb_fail(status, GB_USAGE, NULL,
                           measure->kind == GB_PARAMETER_CUT ? "a rank is an integer from 1"
                                                             : "a level of recall lies in 0 to 1",
                           "wrong parameter \"%s\" of measure %s", text, measure->name);
        if (!add_metric(metrics, (gb_metric){measure, value, level}, status))
            return false;
        if (!list[length])
            return true;
        list += length + 1;
    }
}

static bool add_measure(gb_metrics *metrics, const gb_measure *measure, const char *parameters,
                        int32_t level, gb_status *status)
{
    if (level && measure->all_grades)
        return gb_fail(status, GB_USAGE, NULL, "leave (rel=...) out", "measure %s takes all grades",
                       measure->name);
    if (measure->kind != GB_PARAMETER_NONE)
        return add_parameters(metrics, measure, parameters ? parameters : measure->parameters,
                              level, status);
    if (parameters)
        return gb_fail(status, GB_USAGE, NULL, NULL, "measure %s has no parameter", measure->name);
    return add_metric(metrics, (gb_metric){.measure = measure, .level = level}, status);
}

static const gb_measure *measure_named(const char *name)
{
    for (size_t i = 0; i < MEASURES; i++)
        if (!strcmp(measures[i].name, name))
            return &measures[i];
    return NULL;
}

/* NAME, NAME@K or NAME(rel=N)@K as ir-measures writes them. *taken: it was such a name. */
static bool add_ir_measure(gb_metrics *metrics, const char *text, bool *taken, gb_status *status)
{
    size_t length = strcspn(text, "(@");
    const char *behind = text + length;
    int level = 0, read = 0;
    *taken = false;
    if (*behind == '(') {
        if (sscanf(behind, "(rel=%9d)%n", &level, &read) != 1 || !read || level < 1)
            return true;
        behind += read;
    }
    if (*behind && *behind != '@')
        return true;
    for (size_t i = 0; i < sizeof ir_measures / sizeof *ir_measures; i++) {
        const char *name = *behind ? ir_measures[i].cut : ir_measures[i].whole;
        if (strlen(ir_measures[i].name) != length || strncmp(ir_measures[i].name, text, length) ||
            !name)
            continue;
        *taken = true;
        return add_measure(metrics, measure_named(name), *behind ? behind + 1 : NULL, level,
                           status);
    }
    return true;
}

bool gb_metrics_add(gb_metrics *metrics, const char *text, gb_status *status)
{
    bool all = strcmp(text, "all") == 0, official = strcmp(text, "official") == 0;
    for (size_t i = 0; i < MEASURES && (all || official); i++)
        if ((all || measures[i].official) && !add_measure(metrics, &measures[i], NULL, 0, status))
            return false;
    if (all || official)
        return true;
    bool taken;
    bool ok = add_ir_measure(metrics, text, &taken, status);
    if (taken)
        return ok;
    for (size_t i = 0; i < MEASURES; i++) {
        size_t length = strlen(measures[i].name);
        if (strncmp(text, measures[i].name, length) != 0)
            continue;
        if (text[length] == '\0')
            return add_measure(metrics, &measures[i], NULL, 0, status);
        bool digit =
            text[length + 1] == '.' || (text[length + 1] >= '0' && text[length + 1] <= '9');
        if (text[length] == '.' || text[length] == '@' || (text[length] == '_' && digit))
            return add_measure(metrics, &measures[i], text + length + 1, 0, status);
    }
    return gb_fail(status, GB_USAGE, NULL, "gabbro eval --help lists the measures",
                   "unknown measure \"%.60s\"", text);
}

bool gb_metrics_are_means(const gb_metrics *metrics, gb_status *status)
{
    for (size_t i = 0; i < metrics->count; i++)
        if (metrics->items[i].measure->total != GB_TOTAL_MEAN)
            return gb_fail(status, GB_USAGE, NULL, "take a measure such as map",
                           "%s is no mean over queries", metrics->items[i].measure->name);
    return true;
}

void gb_metric_name(const gb_metric *metric, char name[GB_METRIC_NAME])
{
    const gb_measure *measure = metric->measure;
    char level[20] = "";
    if (metric->level)
        snprintf(level, sizeof level, "(rel=%d)", (int)metric->level);
    if (measure->kind == GB_PARAMETER_NONE)
        snprintf(name, GB_METRIC_NAME, "%s%s", measure->name, level);
    else if (measure->kind == GB_PARAMETER_CUT)
        snprintf(name, GB_METRIC_NAME, "%s%s%c%u", measure->name, level, measure->separator,
                 (unsigned)metric->parameter);
    else
        snprintf(name, GB_METRIC_NAME, "%s%s%c%.2f", measure->name, level, measure->separator,
                 metric->parameter);
}

void gb_metric_label(const gb_metric *metric, int32_t level, char label[GB_METRIC_LABEL])
{
    char name[GB_METRIC_NAME];
    int length = (int)strlen(metric->measure->name);
    gb_metric_name(metric, name);
    if (level == 1 || metric->level || metric->measure->all_grades)
        snprintf(label, GB_METRIC_LABEL, "%s", name);
    else
        snprintf(label, GB_METRIC_LABEL, "%.*s(rel=%d)%s", length, name, (int)level, name + length);
}
