/* Measures by hand, forms and ties, names of ir-measures. */
#include "retrieve_help.h"

#include <math.h>

TestSuite(measures, .init = help_setup, .fini = help_teardown);

/* ---- one query by hand ---- */

#define U GB_UNJUDGED
/* Ranks 1..6 and all judgements: grades 3 2 1 1 0 0, of which a 1 and a 0 were not retrieved. */
static const int32_t grades[] = {2, U, 0, 1, U, 3};
static const int32_t ideal[] = {3, 2, 1, 1, 0, 0};

static double value_of(const gb_judged *query, const char *name)
{
    gb_metrics metrics = {0};
    gb_status status = {0};
    cr_assert(gb_metrics_add(&metrics, name, &status), "%s", status.what);
    cr_assert_eq(metrics.count, 1);
    double value = metrics.items[0].measure->value(query, metrics.items[0].parameter);
    free(metrics.items);
    return value;
}

static const struct {
    const char *name; /* metric */
    double one;       /* value with relevance level 1 */
    double two;       /* with level 2 */
} by_hand[] = {
    {"num_q", 1, 1},
    {"num_ret", 6, 6},
    {"num_rel", 4, 2},
    {"num_rel_ret", 3, 2},
    {"map", (1 + 2. / 4 + 3. / 6) / 4, (1 + 2. / 6) / 2},
    {"map_cut.5", (1 + 2. / 4) / 4, 1. / 2},
    {"Rprec", 2. / 4, 1. / 2},
    {"bpref", (1 + 0.5 + 0.5) / 4, (1 + 0) / 2.}, /* level 2: both others judged lie above rank 6 */
    {"recip_rank", 1, 1},
    {"P.5", 2. / 5, 1. / 5},
    {"P.10", 3. / 10, 2. / 10},
    {"recall.5", 2. / 4, 1. / 2},
    {"recall.1000", 3. / 4, 1},
    {"ndcg", 0.673909256565113, 0.673909256565113},
    {"ndcg_cut.3", 0.42000399150792816, 0.42000399150792816},
    {"success.1", 1, 1},
    {"MRR@10", 1, 1},
    {"Hit@1", 1, 1},
    {"Judged@3", 2. / 3, 2. / 3},
    {"Judged@10", 4. / 6, 4. / 6},
    {"iprec_at_recall.0", 1, 1},
    {"iprec_at_recall.0.1", 1, 1},    /* 0.4 relevant passages round to none */
    {"iprec_at_recall.0.5", 0.5, 1},  /* 2 of 4: best of 2/4, 2/5, 3/6; 1 of 2: 1 */
    {"iprec_at_recall.1", 0, 2. / 6}, /* the fourth is not retrieved */
};

Test(measures, by_hand)
{
    gb_judged one = {grades, 6, ideal, 6, 4, 1}, two = {grades, 6, ideal, 6, 2, 2};
    for (size_t i = 0; i < sizeof by_hand / sizeof by_hand[0]; i++) {
        double first = value_of(&one, by_hand[i].name), second = value_of(&two, by_hand[i].name);
        cr_expect(fabs(first - by_hand[i].one) < 1e-12, "%s: %.17g", by_hand[i].name, first);
        cr_expect(fabs(second - by_hand[i].two) < 1e-12, "%s level 2: %.17g", by_hand[i].name,
                  second);
    }
}

/* ---- what a random order has in expectation ---- */

static double chance_of(gb_judged query, const char *name, uint64_t passages)
{
    gb_metrics metrics = {0};
    cr_assert(gb_metrics_add(&metrics, name, NULL));
    query.grades = NULL;
    query.retrieved = (uint32_t)passages;
    double value = metrics.items[0].measure->chance(&query, metrics.items[0].parameter, passages);
    free(metrics.items);
    return value;
}

Test(measures, chance_by_hand)
{
    const gb_judged one = {.ideal = ideal, .judged = 1, .relevant = 1, .level = 1};
    const gb_judged two = {.ideal = ideal, .judged = 2, .relevant = 2, .level = 1}; /* 3, 2 */
    const gb_judged none = {.ideal = ideal + 4, .judged = 2, .level = 1};
    const double n = 8841823; /* MS MARCO's passages */
    const struct {
        const gb_judged *query; /* judgements */
        const char *name;       /* metric */
        uint64_t passages;      /* N */
        double value;           /* expected */
    } cases[] = {
        {&one, "MRR@10", 4, (1 + 1. / 2 + 1. / 3 + 1. / 4) / 4}, /* each rank as likely */
        {&one, "MRR@2", 4, (1 + 1. / 2) / 4},
        {&one, "Hit@3", 4, 3. / 4},
        {&one, "Hit@1000", 4, 1},
        {&one, "recall.3", 4, 3. / 4},
        {&one, "recall.1000", 4, 1},
        {&two, "Hit@1", 4, 1. / 2},
        {&two, "success.1", 4, 1. / 2},
        {&two, "Hit@2", 4, 5. / 6}, /* one of six pairs has neither */
        {&two, "Hit@3", 4, 1},
        {&two, "MRR@10", 4, 1. / 2 + 1. / 3 / 2 + 1. / 6 / 3},
        {&two, "recall.2", 4, 1. / 2},
        {&two, "MRR@10", 2, 1},                                    /* all passages are relevant */
        {&two, "Hit@10", 8841823, (20 * n - 110) / (n * (n - 1))}, /* nothing cancels */
        {&one, "ndcg_cut.1", 4, 1. / 4},
        {&two, "ndcg_cut.1", 5, 5. / 5 / 3},
        {&two, "ndcg_cut.2", 5, 5. / 5 * (1 + 1 / log2(3)) / (3 + 2 / log2(3))},
        {&two, "ndcg", 2, 5. / 2 * (1 + 1 / log2(3)) / (3 + 2 / log2(3))},
        {&none, "MRR@10", 4, 0},
        {&none, "Hit@10", 4, 0},
        {&none, "recall.10", 4, 0},
        {&none, "ndcg_cut.10", 4, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = chance_of(*cases[i].query, cases[i].name, cases[i].passages);
        cr_expect(fabs(value - cases[i].value) <= 1e-12 * cases[i].value, "%s of %llu: %.17g",
                  cases[i].name, (unsigned long long)cases[i].passages, value);
    }
}

/* Against shuffles: 40,000 of them put the mean within 5 of its standard errors. */
Test(measures, chance_is_the_mean_of_random_orders)
{
    static const char *const names[] = {"MRR@10", "Hit@3", "recall.5", "ndcg_cut.10", "ndcg"};
    enum { PASSAGES = 30, ROUNDS = 40000, NAMES = sizeof names / sizeof *names };
    for (int32_t level = 1; level <= 2; level++) {
        double sums[NAMES] = {0}, squares[NAMES] = {0};
        gb_judged query = {
            .ideal = ideal, .judged = 6, .relevant = level == 1 ? 4 : 2, .level = level};
        for (uint32_t round = 0; round < ROUNDS; round++) {
            gb_rng rng = gb_rng_make(42, GB_RNG_TEST, round, (uint32_t)level);
            uint32_t order[PASSAGES];
            int32_t drawn[PASSAGES];
            gb_rng_order(&rng, order, PASSAGES);
            for (uint32_t i = 0; i < PASSAGES; i++)
                drawn[i] = order[i] < 6 ? ideal[order[i]] : U;
            query.grades = drawn;
            query.retrieved = PASSAGES;
            for (size_t m = 0; m < NAMES; m++) {
                double value = value_of(&query, names[m]);
                sums[m] += value;
                squares[m] += value * value;
            }
        }
        for (size_t m = 0; m < NAMES; m++) {
            double mean = sums[m] / ROUNDS, chance = chance_of(query, names[m], PASSAGES);
            double error = sqrt((squares[m] / ROUNDS - mean * mean) / ROUNDS);
            cr_expect(fabs(mean - chance) < 5 * error, "%s level %d: %.6f, shuffles %.6f +- %.6f",
                      names[m], (int)level, chance, mean, error);
        }
    }
}

Test(measures, first_relevant_beyond_the_cut)
{
    gb_judged query = {grades, 6, ideal, 6, 1, 3}; /* only grade 3 is relevant: rank 6 */
    cr_expect_float_eq(value_of(&query, "recip_rank"), 1. / 6, 1e-15);
    cr_expect_float_eq(value_of(&query, "MRR@6"), 1. / 6, 1e-15);
    cr_expect_eq(value_of(&query, "MRR@5"), 0);
    cr_expect_eq(value_of(&query, "Hit@5"), 0);
    cr_expect_eq(value_of(&query, "Hit@6"), 1);
}

Test(measures, nothing_retrieved_or_nothing_relevant)
{
    gb_judged empty = {grades, 0, ideal, 6, 4, 1}, hopeless = {grades, 2, ideal + 4, 2, 0, 1};
    static const int32_t zeros[] = {0, U};
    hopeless.grades = zeros;
    const gb_measure *measure;
    for (size_t i = 0; (measure = gb_measure_at(i)); i++) {
        double parameter = measure->kind == GB_PARAMETER_CUT ? 10 : 0;
        bool counts = measure->integer; /* counts and Judged are not about relevance */
        if (!counts)
            cr_expect_eq(measure->value(&empty, parameter), 0, "%s", measure->name);
        if (!counts && strcmp(measure->name, "Judged") != 0)
            cr_expect_eq(measure->value(&hopeless, parameter), 0, "%s", measure->name);
    }
}

Test(measures, names)
{
    static const char *const good[][2] = {
        {"ndcg_cut.10", "ndcg_cut_10"},
        {"ndcg_cut_10", "ndcg_cut_10"},
        {"P_5", "P_5"},
        {"MRR@10", "MRR@10"},
        {"Hit.50", "Hit@50"},
        {"num_rel", "num_rel"},
        {"recall_1000", "recall_1000"},
        {"map", "map"},
        {"ndcg", "ndcg"},
        {"iprec_at_recall..5", "iprec_at_recall_0.50"},
    };
    static const char *const bad[] = {
        "",          "nDGC", "map.3", "P.0", "P.1.5", "P.-1", "P.5,", "P.x", "iprec_at_recall.1.1",
        "ndcg_cutx", "MRR@"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        gb_metrics metrics = {0};
        char name[GB_METRIC_NAME];
        cr_assert(gb_metrics_add(&metrics, good[i][0], NULL), "%s", good[i][0]);
        gb_metric_name(&metrics.items[0], name);
        cr_expect_str_eq(name, good[i][1]);
        free(metrics.items);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        gb_metrics metrics = {0};
        gb_status status = {0};
        cr_expect_not(gb_metrics_add(&metrics, bad[i], &status), "%s", bad[i]);
        cr_expect_eq(status.code, GB_USAGE);
        free(metrics.items);
    }
}

/* ---- forms and ties ---- */

/* Judgements and a run as text, evaluated. */
typedef struct scene {
    gb_run_names names;       /* ids */
    gb_run run;               /* of the text */
    gb_qrels qrels;           /* of the text */
    gb_evaluation evaluation; /* of the last evaluate() */
} scene;

static scene open_scene(const char *qrels, const char *run, gb_run_format format)
{
    scene s = {0};
    gb_status status = {0};
    cr_assert(gb_run_names_create(&s.names, &status));
    cr_assert(gb_qrels_read(help_write("qrels", qrels), &s.names, &s.qrels, &status), "%s",
              status.what);
    cr_assert(gb_run_read(help_write("run", run), format, &s.names, &s.run, NULL, &status), "%s",
              status.what);
    return s;
}

static double evaluate(scene *s, gb_eval_params params, const char *metric)
{
    gb_metrics metrics = {0};
    gb_status status = {0};
    gb_evaluation_free(&s->evaluation);
    cr_assert(gb_metrics_add(&metrics, metric, &status), "%s", status.what);
    params.metrics = &metrics;
    cr_assert(gb_evaluate(&s->run, &s->qrels, &s->names, &params, &s->evaluation, &status), "%s",
              status.what);
    free(metrics.items);
    return s->evaluation.totals[0];
}

static void close_scene(scene *s)
{
    gb_evaluation_free(&s->evaluation);
    gb_run_free(&s->run);
    free(s->qrels.rows);
    gb_run_names_free(&s->names);
}

/* Four passages with one score; "9" is relevant. Bytewise descending: 9, 30, 200, 10. */
Test(measures, ties)
{
    scene s = open_scene("q 0 9 1\n",
                         "q Q0 200 1 5 t\nq Q0 10 2 5.0 t\nq Q0 9 3 5e0 t\nq Q0 30 4 5 t\n"
                         "q Q0 0 5 4 t\n",
                         GB_RUN_TREC);
    static const struct {
        gb_ties ties;      /* order */
        double reciprocal; /* of the relevant passage */
    } orders[] = {{GB_TIES_TREC, 1},
                  {GB_TIES_ASCENDING, 1. / 4},
                  {GB_TIES_INPUT, 1. / 3},
                  {GB_TIES_BEST, 1},
                  {GB_TIES_WORST, 1. / 4}};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        gb_eval_params params = GB_EVAL_TREC;
        params.ties = orders[i].ties;
        cr_expect_eq(evaluate(&s, params, "recip_rank"), orders[i].reciprocal, "order %zu", i);
        cr_expect_eq(s.evaluation.tied_queries, 1);
    }
    close_scene(&s);
}

/* The order of the file is of no consequence, but where it is asked for. */
Test(measures, ties_in_every_order_of_the_file)
{
    static const char *const ids[] = {"10", "200", "30", "9"};
    for (int order = 0; order < 24; order++) {
        int left[] = {0, 1, 2, 3}, place = 0, code = order;
        gb_text run = {0};
        for (int i = 0; i < 4; i++) { /* the order-th permutation */
            int pick = code % (4 - i);
            code /= 4 - i;
            gb_text_printf(&run, "q Q0 %s %d 5 t\n", ids[left[pick]], i + 1);
            if (left[pick] == 3)
                place = i + 1;
            for (int k = pick; k < 3; k++)
                left[k] = left[k + 1];
        }
        scene s = open_scene("q 0 9 1\n", run.data, GB_RUN_TREC);
        const double wanted[] = {1, 1. / 4, 1. / place, 1, 1. / 4};
        for (int ties = GB_TIES_TREC; ties <= GB_TIES_WORST; ties++) {
            gb_eval_params params = GB_EVAL_TREC;
            params.ties = (gb_ties)ties;
            cr_expect_eq(evaluate(&s, params, "recip_rank"), wanted[ties], "order %d, ties %d",
                         order, ties);
        }
        close_scene(&s);
        gb_text_free(&run);
    }
}

/* Scores that only double precision tells apart: trec_eval before 10.0 saw a tie. */
Test(measures, single_and_double_scores)
{
    const char *qrels = help_write("qrels", "q 0 b 1\n");
    const char *run = help_write("run", "q Q0 a 1 0.1000000001 t\nq Q0 b 2 0.1 t\n");
    int code;
    for (int single = 0; single < 2; single++) {
        char *output =
            help_capture((const char *const[]){"eval", "-mrecip_rank", single ? "--float" : "-n",
                                               "-q", qrels, run, NULL},
                         &code);
        cr_expect_eq(code, 0);
        cr_expect(strstr(output, single ? "\tq\t1.0000\n" : "\tq\t0.5000\n"), "%s", output);
        free(output);
    }
}

Test(measures, ties_deep_in_the_list_are_not_reported)
{
    gb_text run = {0};
    for (int i = 0; i < 12; i++)
        gb_text_printf(&run, "q Q0 d%d 0 %d t\n", i, i < 10 ? 100 - i : 1);
    scene s = open_scene("q 0 d1 1\n", run.data, GB_RUN_TREC); /* ranks 11 and 12 are equal */
    cr_expect_eq(evaluate(&s, GB_EVAL_TREC, "recip_rank"), 0.5);
    cr_expect_eq(s.evaluation.tied_queries, 0);
    close_scene(&s);
    gb_text_free(&run);
}

/* q1 and q2 are answered at ranks 1 and 2, q3 is not in the run, q4 has no judgements. */
static const char form_qrels[] = "q1 0 a 1\nq2 0 b 1\nq2 0 x 0\nq3 0 c 1\n";
static const char form_run[] = "q1 Q0 a 1 9 t\nq2 Q0 x 1 9 t\nq2 Q0 b 2 8 t\nq4 Q0 a 1 9 t\n";

Test(measures, who_is_averaged)
{
    scene s = open_scene(form_qrels, form_run, GB_RUN_TREC);
    cr_expect_float_eq(evaluate(&s, GB_EVAL_TREC, "recip_rank"), 1.5 / 2, 1e-15);
    cr_expect_eq(s.evaluation.query_count, 2);
    cr_expect_eq(s.evaluation.judged_queries, 3);
    cr_expect_eq(s.evaluation.missing_queries, 1);
    cr_expect_eq(s.evaluation.ignored_queries, 1);
    gb_eval_params complete = GB_EVAL_TREC;
    complete.complete = true;
    cr_expect_float_eq(evaluate(&s, complete, "recip_rank"), 1.5 / 3, 1e-15);
    cr_expect_eq(s.evaluation.values[2], 0);
    cr_expect_float_eq(evaluate(&s, GB_EVAL_MSMARCO, "MRR@10"), 1.5 / 3, 1e-15);
    cr_expect_float_eq(evaluate(&s, GB_EVAL_BEIR, "map"), 1.5 / 2, 1e-15);
    /* Geometric mean: exp((ln 1 + ln 0.5 + ln 1e-5) / 3). */
    cr_expect_float_eq(evaluate(&s, complete, "gm_map"), cbrt(0.5e-5), 1e-12);
    close_scene(&s);
}

Test(measures, beir_drops_the_query_itself)
{
    scene s = open_scene("q1 0 b 1\n", "q1 Q0 q1 1 9 t\nq1 Q0 b 2 8 t\n", GB_RUN_TREC);
    cr_expect_eq(evaluate(&s, GB_EVAL_TREC, "recip_rank"), 0.5);
    cr_expect_eq(evaluate(&s, GB_EVAL_BEIR, "recip_rank"), 1);
    cr_expect_eq(s.evaluation.identical, 1);
    close_scene(&s);
}

Test(measures, no_negative_is_the_query_itself)
{
    scene s = open_scene("q1 0 b 1\n",
                         "q1 Q0 q1 1 9 t\nq1 Q0 b 2 8 t\nq1 Q0 q2 3 7 t\nq2 Q0 b 1 9 t\n"
                         "q2 Q0 q1 2 8 t\nq2 Q0 q2 3 7 t\nq2 Q0 c 4 6 t\n",
                         GB_RUN_TREC);
    gb_run_drop_identical(&s.run, &s.names, 2);
    static const char *const kept[2][2] = {{"b", "q2"}, {"b", "q1"}};
    for (size_t i = 0; i < 2; i++) {
        const gb_run_list *list = &s.run.lists[i];
        cr_assert_eq(list->count, 2);
        for (size_t h = 0; h < 2; h++) {
            size_t length;
            const gb_hit *hit = &s.run.hits[list->first + h];
            const char *id = gb_names_get(s.names.passages, hit->passage, &length);
            cr_expect_eq(length, strlen(kept[i][h]));
            cr_expect_eq(memcmp(id, kept[i][h], length), 0);
        }
    }
    gb_run_drop_identical(&s.run, &s.names, 1);
    cr_expect_eq(s.run.lists[1].count, 1);
    close_scene(&s);
}

Test(measures, depth_and_judged_only)
{
    scene s = open_scene("q 0 a 0\nq 0 c 1\nq 0 d -1\n",
                         "q Q0 a 1 9 t\nq Q0 b 2 8 t\nq Q0 d 3 7 t\nq Q0 c 4 6 t\n", GB_RUN_TREC);
    gb_eval_params params = GB_EVAL_TREC;
    cr_expect_eq(evaluate(&s, params, "recip_rank"), 1. / 4);
    params.judged_only = true; /* d is in the pool but was not judged: -1 */
    cr_expect_eq(evaluate(&s, params, "recip_rank"), 1. / 2);
    params.judged_only = false;
    params.depth = 3;
    cr_expect_eq(evaluate(&s, params, "recip_rank"), 0);
    cr_expect_eq(evaluate(&s, params, "num_ret"), 3);
    close_scene(&s);
}

Test(measures, ms_marco_ranks_come_from_the_file)
{
    /* Rank 1 of q is empty, so the passage stays at rank 3. */
    scene s = open_scene("q\t0\t7\t1\n", "q\t7\t3\nq\t5\t2\n", GB_RUN_MSMARCO);
    cr_expect_eq(evaluate(&s, GB_EVAL_MSMARCO, "MRR@10"), 1. / 3);
    cr_expect_eq(evaluate(&s, GB_EVAL_MSMARCO, "Hit@2"), 0);
    close_scene(&s);
}

Test(measures, strangers_are_an_error)
{
    scene s = open_scene("q1 0 a 1\n", "q2 Q0 a 1 9 t\n", GB_RUN_TREC);
    gb_metrics metrics = {0};
    gb_evaluation evaluation;
    gb_status status = {0};
    gb_eval_params params = GB_EVAL_MSMARCO;
    cr_assert(gb_metrics_add(&metrics, "map", NULL));
    params.metrics = &metrics;
    cr_expect_not(gb_evaluate(&s.run, &s.qrels, &s.names, &params, &evaluation, &status));
    cr_expect_eq(status.code, GB_DATA);
    free(metrics.items);
    close_scene(&s);
}

Test(measures, a_score_that_is_no_number_is_an_error)
{
    scene s = open_scene("q 0 a 1\n", "q Q0 a 1 9 t\nq Q0 b 1 8 t\n", GB_RUN_TREC);
    gb_metrics metrics = {0};
    gb_evaluation evaluation;
    gb_status status = {0};
    gb_eval_params params = GB_EVAL_TREC;
    s.run.hits[1].score = NAN;
    params.metrics = &metrics;
    cr_expect_not(gb_evaluate(&s.run, &s.qrels, &s.names, &params, &evaluation, &status));
    cr_expect_eq(status.code, GB_DATA);
    close_scene(&s);
}

/* The level is part of the name where it changes the value. */
Test(measures, labels)
{
    gb_metrics metrics = {0};
    char label[GB_METRIC_LABEL];
    cr_assert(gb_metrics_add(&metrics, "recall.1000", NULL));
    cr_assert(gb_metrics_add(&metrics, "ndcg_cut.10", NULL));
    gb_metric_label(&metrics.items[0], 1, label);
    cr_expect_str_eq(label, "recall_1000");
    gb_metric_label(&metrics.items[0], 2, label);
    cr_expect_str_eq(label, "recall(rel=2)_1000");
    gb_metric_label(&metrics.items[1], 2, label);
    cr_expect_str_eq(label, "ndcg_cut_10");
    free(metrics.items);
}

/* Over the judged queries, those that are not in the run too, and no deeper than the lists. */
Test(measures, chance_is_averaged_as_values_are)
{
    scene s = open_scene(form_qrels, form_run, GB_RUN_TREC);
    gb_eval_params params = GB_EVAL_MSMARCO;
    evaluate(&s, params, "MRR@10");
    cr_expect(isnan(gb_evaluation_chance(&s.evaluation, "MRR@10")), "the collection is not known");
    params.passages = 4;
    evaluate(&s, params, "MRR@10");
    cr_expect_float_eq(gb_evaluation_chance(&s.evaluation, "MRR@10"),
                       (1 + 1. / 2 + 1. / 3 + 1. / 4) / 4, 1e-15);
    cr_expect(isnan(gb_evaluation_chance(&s.evaluation, "Hit@1")), "not measured");
    params.depth = 2;
    evaluate(&s, params, "MRR@10");
    cr_expect_float_eq(gb_evaluation_chance(&s.evaluation, "MRR@10"), (1 + 1. / 2) / 4, 1e-15);
    params.level = 2; /* nothing is relevant */
    evaluate(&s, params, "MRR@10");
    cr_expect_eq(gb_evaluation_chance(&s.evaluation, "MRR@10"), 0);
    evaluate(&s, params, "map");
    cr_expect(isnan(gb_evaluation_chance(&s.evaluation, "map")), "no formula is known here");
    close_scene(&s);
}

/* The file that the report reads names the level, too. */
Test(measures, values_are_written_with_their_level)
{
    scene s = open_scene(form_qrels, form_run, GB_RUN_TREC);
    gb_eval_params params = GB_EVAL_TREC;
    params.level = 2;
    evaluate(&s, params, "MRR@10");
    gb_status status = {0};
    cr_assert(gb_evaluation_write(&s.evaluation, s.names.queries, help_path("values"), &status),
              "%s", status.what);
    char *text = gb_read_file(help_path("values"), NULL, NULL);
    cr_expect_eq(strncmp(text, "query\tMRR(rel=2)@10\n", 20), 0, "%s", text);
    free(text);
    close_scene(&s);
}

Test(measures, values_are_written)
{
    scene s = open_scene(form_qrels, form_run, GB_RUN_TREC);
    evaluate(&s, GB_EVAL_TREC, "recip_rank");
    gb_status status = {0};
    cr_assert(gb_evaluation_write(&s.evaluation, s.names.queries, help_path("values"), &status),
              "%s", status.what);
    char *text = gb_read_file(help_path("values"), NULL, NULL);
    cr_expect_str_eq(text, "query\trecip_rank\nq1\t1\nq2\t0.5\n");
    free(text);
    close_scene(&s);
}

/* ---- ir-measures ---- */

Test(measures, names_of_ir_measures)
{
    static const struct {
        const char *given, *name; /* as ir-measures has it; as it is printed */
    } good[] = {{"nDCG@10", "ndcg_cut_10"},
                {"nDCG", "ndcg"},
                {"RR@10", "MRR@10"},
                {"RR", "recip_rank"},
                {"AP", "map"},
                {"AP(rel=2)", "map(rel=2)"},
                {"AP@100", "map_cut_100"},
                {"P(rel=2)@5", "P(rel=2)_5"},
                {"R@1000", "recall_1000"},
                {"Success@1", "success_1"},
                {"IPrec@0.1", "iprec_at_recall_0.10"},
                {"Rprec", "Rprec"},
                {"Bpref", "bpref"},
                {"Judged@10", "Judged@10"}};
    static const struct {
        const char *given, *what;
    } bad[] = {{"nDCG(rel=2)@10", "takes all grades"},
               {"P(rel=0)@5", "unknown measure"},
               {"P(rel=2", "unknown measure"},
               {"R", "unknown measure"},
               {"RR@0", "wrong parameter"},
               {"Foo@10", "unknown measure"}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        gb_metrics metrics = {0};
        gb_status status = {0};
        char name[GB_METRIC_NAME];
        cr_assert(gb_metrics_add(&metrics, good[i].given, &status), "%s", status.what);
        cr_assert(gb_metrics_add(&metrics, good[i].given, &status));
        cr_assert_eq(metrics.count, 1);
        gb_metric_name(&metrics.items[0], name);
        cr_expect_str_eq(name, good[i].name);
        free(metrics.items);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gb_metrics metrics = {0};
        gb_status status = {0};
        cr_expect_not(gb_metrics_add(&metrics, bad[i].given, &status), "%s", bad[i].given);
        cr_expect(strstr(status.what, bad[i].what), "%s: %s", bad[i].given, status.what);
        free(metrics.items);
    }
}

/* A level of its own gives what -l gives for all. */
Test(measures, level_of_one_measure)
{
    const char *judged = help_write("qrels", "q 0 a 2\nq 0 b 1\nq 0 c 2\n");
    const char *ranked = help_write("run", "q Q0 b 1 3 x\nq Q0 a 2 2 x\nq Q0 d 3 1 x\n");
    gb_run_names names;
    gb_run run = {0};
    gb_qrels qrels = {0};
    gb_metrics both = {0}, plain = {0};
    cr_assert(gb_run_names_create(&names, NULL) &&
              gb_run_read(ranked, GB_RUN_TREC, &names, &run, NULL, NULL) &&
              gb_qrels_read(judged, &names, &qrels, NULL));
    cr_assert(gb_metrics_add(&both, "P@2", NULL) && gb_metrics_add(&both, "P(rel=2)@2", NULL) &&
              gb_metrics_add(&both, "AP(rel=2)", NULL) && gb_metrics_add(&plain, "map", NULL));
    gb_eval_params how = GB_EVAL_TREC;
    gb_evaluation own = {0}, level = {0};
    how.metrics = &both;
    cr_assert(gb_evaluate(&run, &qrels, &names, &how, &own, NULL));
    how.metrics = &plain;
    how.level = 2;
    cr_assert(gb_evaluate(&run, &qrels, &names, &how, &level, NULL));
    cr_expect_eq(gb_evaluation_total(&own, "P_2"), 1);
    cr_expect_eq(gb_evaluation_total(&own, "P(rel=2)_2"), .5);
    cr_expect_eq(gb_evaluation_total(&own, "map(rel=2)"), .25);
    cr_expect_eq(gb_evaluation_total(&level, "map"), .25);
    gb_evaluation_free(&own);
    gb_evaluation_free(&level);
    free(both.items);
    free(plain.items);
    free(qrels.rows);
    gb_run_free(&run);
    gb_run_names_free(&names);
}
