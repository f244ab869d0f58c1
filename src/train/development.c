/* A development split that is measured while a model is trained: the curve, the best model, and
 * whether to go on. All that is kept on the way lies in the artifact's resume folder. */
#include "development.h"
#include <gabbro/os.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CURVE_FILE "development.tsv"
/* Without --dev-every there are so many looks. */
#define LOOKS 10
/* Of training queries, where nobody says how many are held out. */
enum { TENTH = 10, MOST_HELD_OUT = 500 };
/* Streams of GB_RNG_SPLIT; data slice has 2. */
enum { DRAW_QUERIES = 3, DRAW_PASSAGES = 4 };

const gb_dev_settings gb_dev_defaults = {.measure = "MRR@10"};

#define FIELD(member) GB_FIELD(gb_dev_settings, member)
const gb_option gb_dev_options[] = {
    {"dev", GB_OPTION_TEXT, FIELD(split), 0, "SPLIT",
     "measure the model on this split on the way, and keep the best one; train: on training "
     "queries that are held out; auto: dev, but train if no test can be measured beside it"},
    {"dev-every", GB_OPTION_U32, FIELD(every), 0, NULL,
     "steps from one measurement to the next; 0: a tenth of the training"},
    {"dev-queries", GB_OPTION_U32, FIELD(queries), 0, NULL,
     "queries of the split, a seeded subset; 0: all, but of training queries a tenth, 500 at "
     "most"},
    {"dev-measure", GB_OPTION_TEXT, FIELD(measure), 0, "MEASURE",
     "what is measured, by the names of gabbro eval"},
    {"patience", GB_OPTION_U32, FIELD(patience), 0, NULL,
     "end the training after so many measurements in a row that are no better; 0: do not"},
    {"dev-drop-identical", GB_OPTION_FLAG, FIELD(drop_identical), 0, NULL,
     "a passage whose id is the query's does not count, as in ArguAna and Quora"},
    {"keep-last", GB_OPTION_FLAG, FIELD(keep_last), 0, NULL,
     "keep the model of the last step, not the best one"},
    {0}};
const gb_option train_dev_passage_options[] = {{"dev-passages", GB_OPTION_U32, FIELD(passages), 0,
                                                NULL,
                                                "passages that are ranked: those judged relevant "
                                                "and so many others, drawn by the seed; 0: all "
                                                "of the collection"},
                                               {0}};
const gb_option train_dev_run_options[] = {
    {"dev-run", GB_OPTION_TEXT, FIELD(run), GB_OPTION_INPUT, "RUN",
     "artifact of a run over these queries, whose first passages (--depth) are ranked"},
    {0}};
#undef FIELD

bool gb_dev_check(const gb_dev_settings *settings, gb_status *status)
{
    const gb_dev_settings *d = &gb_dev_defaults;
    bool plain = settings->every == d->every && settings->queries == d->queries &&
                 settings->patience == d->patience && settings->passages == d->passages &&
                 !strcmp(settings->measure, d->measure) && !settings->run && !settings->keep_last &&
                 !settings->drop_identical;
    gb_metrics metric = {0};
    if (!settings->split)
        return plain || gb_fail(status, GB_USAGE, NULL, "give --dev SPLIT, too",
                                "--dev-every, --patience and their like belong to a --dev");
    bool ok = gb_metrics_add(&metric, settings->measure, status) &&
              (metric.count == 1 || gb_fail(status, GB_USAGE, "--dev-measure", "e.g. MRR@10",
                                            "\"%.60s\" is not one measure", settings->measure)) &&
              gb_metrics_are_means(&metric, status);
    if (ok && metric.items[0].parameter > TRAIN_DEV_DEPTH)
        ok = gb_fail(status, GB_USAGE, "--dev-measure", "gabbro evaluate --depth measures more",
                     "the development queries have the first %d passages, not %g", TRAIN_DEV_DEPTH,
                     metric.items[0].parameter);
    free(metric.items);
    return ok;
}

/* ---- which queries ---- */

/* Keeps the marked ones of the split's queries. */
static void keep_queries(train_dev *d, const bool *kept)
{
    gb_split *s = &d->split;
    uint32_t count = 0, at = 0;
    size_t rows = 0;
    for (uint32_t q = 0; q < s->count; q++) {
        while (at < s->qrels.count && s->qrels.rows[at].query < s->queries[q])
            at++;
        for (; at < s->qrels.count && s->qrels.rows[at].query == s->queries[q]; at++)
            if (kept[q])
                s->qrels.rows[rows++] = s->qrels.rows[at];
        if (kept[q])
            s->queries[count++] = s->queries[q];
    }
    s->count = count;
    s->qrels.count = rows;
}

/* A seeded subset of the split, of those that can be chosen (NULL: all). */
static bool draw_queries(train_dev *d, const bool *eligible, uint32_t wanted, gb_status *status)
{
    uint32_t count = d->split.count, taken = 0;
    uint32_t *order = gb_alloc(count + 1, sizeof *order, status);
    bool *kept = gb_alloc(count + 1, sizeof *kept, status);
    gb_rng rng = gb_rng_make(d->how.seed, GB_RNG_SPLIT, DRAW_QUERIES, 0);
    if (order && kept) {
        gb_rng_order(&rng, order, count);
        for (uint32_t i = 0; i < count; i++)
            if ((!wanted || taken < wanted) && (!eligible || eligible[order[i]])) {
                kept[order[i]] = true;
                taken++;
            }
        keep_queries(d, kept);
    }
    bool ok = order && kept;
    free(order);
    free(kept);
    return ok;
}

static int by_number(const void *a_, const void *b_)
{
    uint32_t a = *(const uint32_t *)a_, b = *(const uint32_t *)b_;
    return (a > b) - (a < b);
}

static bool has(const train_dev *d, uint32_t query)
{
    return bsearch(&query, d->split.queries, d->split.count, sizeof query, by_number) != NULL;
}

/* Takes the split's queries out of what is trained on. */
static void drop_from(const train_dev *d, gb_training_set *set)
{
    uint32_t count = 0;
    set->without_negatives = 0;
    for (uint32_t i = 0; i < set->count; i++)
        if (!has(d, set->queries[i].query)) {
            set->queries[count++] = set->queries[i];
            set->without_negatives += !set->queries[i].negative_count;
        }
    set->count = count;
}

/* Training queries are held out of those that are trained on. */
static bool hold_out(train_dev *d, gb_training_set *set, gb_status *status)
{
    bool *eligible = gb_alloc(d->split.count + 1, sizeof *eligible, status);
    for (uint32_t i = 0; eligible && i < set->count; i++) {
        const uint32_t *found = bsearch(&set->queries[i].query, d->split.queries, d->split.count,
                                        sizeof *found, by_number);
        if (found)
            eligible[found - d->split.queries] = true;
    }
    uint32_t wanted = d->how.settings->queries;
    if (!wanted)
        wanted =
            set->count / TENTH < MOST_HELD_OUT ? (set->count + TENTH - 1) / TENTH : MOST_HELD_OUT;
    bool ok = eligible && draw_queries(d, eligible, wanted, status);
    free(eligible);
    if (ok)
        drop_from(d, set);
    return ok && (set->count ||
                  gb_fail(status, GB_DATA, d->how.collection->path, "hold out fewer: --dev-queries",
                          "no training query is left beside those held out"));
}

/* The name of the split, NULL after an error. A split that chooses a model is none to report
 * results on: where no test can be measured beside dev, queries of train are held out. */
static const char *name_split(const train_dev *d, gb_status *status)
{
    const char *split = d->how.settings->split;
    if (strcmp(split, "auto") != 0)
        return split;
    if (!gb_collection_has_split(d->how.collection, "dev") ||
        !gb_collection_has_split(d->how.collection, "test"))
        return "train";
    gb_splits splits; /* those that hold no training queries */
    bool dev = false, test = false, ok = gb_splits_open(d->how.collection, &splits, status);
    for (size_t i = 0; ok && i < splits.count; i++) {
        dev = dev || !strcmp(splits.items[i].name, "dev");
        test = test || !strcmp(splits.items[i].name, "test");
    }
    if (ok)
        gb_splits_free(&splits);
    return !ok ? NULL : dev && test ? "dev" : "train";
}

static bool choose_queries(train_dev *d, gb_training_set *set, gb_status *status)
{
    bool held_out = !strcmp(d->name, "train");
    if (!gb_collection_has_split(d->how.collection, d->name))
        return gb_fail(status, GB_USAGE, "--dev", "name one of these, train or auto",
                       "the collection has no split \"%.60s\" (there are: %.200s)", d->name,
                       d->how.collection->splits);
    if (!gb_split_open(d->how.collection, d->name, &d->split, status) ||
        !(held_out ? hold_out(d, set, status)
                   : draw_queries(d, NULL, d->how.settings->queries, status)))
        return false;
    return (d->split.count && d->split.qrels.count) ||
           gb_fail(status, GB_DATA, d->how.collection->path, "take another --dev",
                   "no query of the split \"%.60s\" has judgements", d->name);
}

/* ---- which passages ---- */

/* Those judged relevant, and others drawn by the seed; all where that would be all. */
static bool choose_passages(train_dev *d, gb_status *status)
{
    uint32_t total = d->how.collection->passages, others = d->how.settings->passages, rest = 0;
    if (!others)
        return true;
    bool *kept = gb_alloc(total, sizeof *kept, status);
    uint32_t *left = gb_alloc(total, sizeof *left, status);
    d->passages = gb_alloc(total, sizeof *d->passages, status);
    bool ok = kept && left && d->passages;
    for (size_t i = 0; ok && i < d->split.qrels.count; i++)
        if (d->split.qrels.rows[i].grade > 0)
            kept[d->split.qrels.rows[i].passage] = true;
    for (uint32_t p = 0; ok && p < total; p++)
        if (!kept[p])
            left[rest++] = p;
    if (ok) {
        gb_rng rng = gb_rng_make(d->how.seed, GB_RNG_SPLIT, DRAW_PASSAGES, 0);
        gb_rng_shuffle(&rng, left, rest);
    }
    for (uint32_t i = 0; ok && i < rest && i < others; i++)
        kept[left[i]] = true;
    for (uint32_t p = 0; ok && p < total; p++)
        if (kept[p])
            d->passages[d->passage_count++] = p;
    free(kept);
    free(left);
    return ok;
}

/* ---- opening ---- */

train_dev *train_dev_open(const train_dev_params *params, gb_training_set *set, gb_status *status)
{
    train_dev *d = gb_alloc(1, sizeof *d, status);
    if (!d)
        return NULL;
    d->how = *params;
    d->name = name_split(d, status);
    if (!d->name || !gb_metrics_add(&d->metric, params->settings->measure, status) ||
        !choose_queries(d, set, status) || !choose_passages(d, status) ||
        (params->settings->run && !train_dev_read_run(d, status))) {
        train_dev_close(d);
        return NULL;
    }
    gb_log(GB_LOG_INFO, "development: %u queries of %s%s, %u passages, %s", d->split.count, d->name,
           strcmp(d->name, "train") ? "" : ", which are not trained on",
           d->passage_count ? d->passage_count : params->collection->passages,
           params->settings->measure);
    return d;
}

void train_dev_close(train_dev *d)
{
    if (!d)
        return;
    gb_split_free(&d->split);
    gb_run_free(&d->candidates);
    free(d->metric.items);
    free(d->passages);
    free(d->points);
    free(d->folder);
    free(d);
}

static bool look(void *self, uint32_t steps, const float *values, bool *stop, gb_status *status);

void train_dev_begin(train_dev *d, gb_train_params *train)
{
    uint32_t steps = train->schedule.steps, every = d->how.settings->every;
    d->steps = steps;
    train->check_every = every ? every : (steps + LOOKS - 1) / LOOKS;
    train->check = look;
    train->check_self = d;
}

/* ---- the curve ---- */

static bool add_point(train_dev *d, uint32_t step, double value, gb_status *status)
{
    if (!gb_grow(&d->points, &d->point_capacity, d->point_count + 1, sizeof *d->points, status))
        return false;
    d->points[d->point_count++] = (train_dev_point){step, value};
    return true;
}

static bool read_curve(train_dev *d, gb_status *status)
{
    char *path = gb_path_join(status, d->folder, CURVE_FILE), *line;
    gb_lines *lines = path && gb_file_exists(path) ? gb_lines_open(path, status) : NULL;
    bool ok = path && (lines || !gb_file_exists(path));
    size_t length;
    int got = 0;
    while (ok && lines && (got = gb_lines_next_text(lines, &line, &length, status)) == 1) {
        uint32_t step;
        double value;
        if (gb_lines_number(lines) == 1)
            continue;
        ok = sscanf(line, "%u\t%lf", &step, &value) == 2
                 ? add_point(d, step, value, status)
                 : gb_lines_fail(lines, status, "remove the unfinished artifact (gabbro store gc)",
                                 "no step and value");
    }
    gb_lines_close(lines);
    free(path);
    return ok && got == 0;
}

static bool write_curve(const train_dev *d, const char *folder, gb_status *status)
{
    char *path = gb_path_join(status, folder, CURVE_FILE);
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    free(path);
    if (!out)
        return false;
    fprintf(gb_out_stream(out), "step\t%s\n", d->how.settings->measure);
    for (size_t i = 0; i < d->point_count; i++)
        fprintf(gb_out_stream(out), "%u\t%.17g\n", d->points[i].step, d->points[i].value);
    return gb_out_commit(out, status);
}

/* The first of the best points up to a step; NULL: there is none. *behind: points after it. */
static const train_dev_point *best_up_to(const train_dev *d, uint32_t step, uint32_t *behind)
{
    const train_dev_point *best = NULL;
    *behind = 0;
    for (size_t i = 0; i < d->point_count && d->points[i].step <= step; i++) {
        ++*behind;
        if (!best || d->points[i].value > best->value) {
            best = &d->points[i];
            *behind = 0;
        }
    }
    return best;
}

/* ---- a look ---- */

static char *model_at(const train_dev *d, uint32_t step, gb_status *status)
{
    return gb_format(status, "%s/model-%u", d->folder, step);
}

static bool remove_model(const train_dev *d, uint32_t step, gb_status *status)
{
    char *path = model_at(d, step, status);
    bool ok = path && gb_remove_tree(path, status);
    free(path);
    return ok;
}

/* What an earlier process left, and the texts that are ranked. */
static bool begin(train_dev *d, gb_status *status)
{
    if (d->folder)
        return true;
    d->folder = gb_maker_resume_file(d->how.maker, "development", status);
    return d->folder && gb_make_dirs(d->folder, status) && read_curve(d, status) &&
           (!d->passage_count || train_dev_write_texts(d, status));
}

static bool measure(train_dev *d, const gb_run *run, double *value, gb_status *status)
{
    gb_eval_params how = GB_EVAL_MSMARCO;
    gb_evaluation evaluation = {0};
    gb_run_names names = {0};
    how.metrics = &d->metric;
    how.drop_identical = d->how.settings->drop_identical;
    bool ok = (!how.drop_identical || gb_run_names_of(d->how.collection, &names, status)) &&
              gb_evaluate(run, &d->split.qrels, &names, &how, &evaluation, status);
    gb_run_names_free(&names);
    if (ok)
        *value = evaluation.totals[0];
    gb_evaluation_free(&evaluation);
    return ok;
}

/* Measures the model of this step into the curve; of the models the best one stays. */
static bool measure_step(train_dev *d, uint32_t step, gb_status *status)
{
    uint32_t behind;
    const train_dev_point *before = best_up_to(d, step, &behind);
    uint32_t best = before ? before->step : 0;
    double value, start_s = gb_now_s();
    gb_run run = {0};
    char *model = model_at(d, step, status);
    bool ok = model && d->how.save(d->how.self, model, status) &&
              d->how.rank(d->how.self, d, model, &run, status) &&
              measure(d, &run, &value, status) && add_point(d, step, value, status) &&
              write_curve(d, d->folder, status);
    gb_run_free(&run);
    free(model);
    if (!ok)
        return false;
    const train_dev_point *now = best_up_to(d, step, &behind);
    gb_log(GB_LOG_INFO, "step %u of %u: %s %.4f, best %.4f at step %u (%.1f s)", step, d->steps,
           d->how.settings->measure, value, now->value, now->step, gb_now_s() - start_s);
    if (now->step != step)
        return remove_model(d, step, status);
    return !best || remove_model(d, best, status);
}

static bool known(const train_dev *d, uint32_t step)
{
    for (size_t i = 0; i < d->point_count; i++)
        if (d->points[i].step == step)
            return true;
    return false;
}

static bool look(void *self, uint32_t steps, const float *values, bool *stop, gb_status *status)
{
    train_dev *d = self;
    uint32_t patience = d->how.settings->patience, behind;
    (void)values; /* whoever saves has them */
    if (!begin(d, status) || (!known(d, steps) && !measure_step(d, steps, status)))
        return false;
    const train_dev_point *best = best_up_to(d, steps, &behind);
    *stop = patience && behind >= patience && steps < d->steps;
    if (*stop)
        gb_log(GB_LOG_INFO, "the training ends after step %u: %u times nothing better than step %u",
               steps, behind, best->step);
    return true;
}

/* ---- the end ---- */

static void note(const train_dev *d, const train_dev_point *best, uint32_t steps)
{
    const gb_dev_settings *o = d->how.settings;
    uint32_t passages = d->passage_count ? d->passage_count : d->how.collection->passages;
    json_t *facts = json_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:b}", "split", d->name, "measure",
                              o->measure, "queries", (json_int_t)d->split.count, "best_step",
                              (json_int_t)best->step, "best", best->value, "last",
                              d->points[d->point_count - 1].value, "ended_early", steps < d->steps);
    if (facts && !o->run)
        json_object_set_new(facts, "passages", json_integer(passages));
    json_object_set_new(d->how.maker->facts, "development", facts);
}

/* A process that was killed may have moved it already. */
static bool keep(const char *from, const char *to, gb_status *status)
{
    if (!gb_dir_exists(from) && gb_dir_exists(to))
        return true;
    return gb_os_rename(from, to) == 0 ||
           gb_fail(status, GB_DATA, from, "remove the unfinished artifact (gabbro store gc)",
                   "cannot be moved: %s", strerror(errno));
}

bool train_dev_finish(train_dev *d, uint32_t steps, bool *kept, gb_status *status)
{
    uint32_t behind;
    const train_dev_point *best = best_up_to(d, steps, &behind);
    *kept = false;
    if (!best) /* no step was made */
        return true;
    note(d, best, steps);
    if (!write_curve(d, gb_maker_folder(d->how.maker), status))
        return false;
    if (d->how.settings->keep_last)
        return true;
    char *from = model_at(d, best->step, status),
         *to = from ? gb_maker_file(d->how.maker, "model", status) : NULL;
    bool ok = from && to && keep(from, to, status);
    *kept = ok;
    free(from);
    free(to);
    return ok;
}
