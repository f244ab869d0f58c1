/* gabbro eval: its forms and errors, and NIST's own vectors of trec_eval. */
#include "../parity/trust.h"
#include "retrieve_help.h"

#include <math.h>

TestSuite(eval_command, .init = help_setup, .fini = help_teardown);

Test(eval_command, ms_marco_block)
{
    /* (1/3 + 1/2 + 0) / 3 judged queries, as Python prints the double. */
    const char *qrels = help_write("qrels", "1\t0\t10\t1\n2\t0\t20\t1\n3\t0\t30\t1\n");
    const char *run =
        help_write("run", "1\t10\t3\n1\t11\t1\n1\t12\t2\n2\t20\t2\n2\t21\t1\n9\t1\t1\n");
    const char *argv[] = {"eval", "--msmarco", qrels, run, NULL};
    int code;
    char *output = help_capture(argv, &code);
    static const char block[] = "#####################\nMRR @10: 0.27777777777777773\n"
                                "QueriesRanked: 3\n#####################\n";
    cr_expect_eq(code, 0);
    cr_expect_str_eq(output, block);
    trust_note("gabbro eval --msmarco: blocks that differ", "MS MARCO's script, by hand",
               strcmp(output, block) != 0, 0);
    free(output);
}

Test(eval_command, compare_command)
{
    const char *qrels = help_write("qrels", "1 0 a 1\n2 0 a 1\n3 0 a 1\n");
    const char *good =
        help_write("good", "1 Q0 a 1 9 g\n2 Q0 a 1 9 g\n3 Q0 b 1 9 g\n3 Q0 a 2 8 g\n");
    const char *weak =
        help_write("weak", "1 Q0 b 1 9 w\n1 Q0 a 2 8 w\n2 Q0 a 1 9 w\n3 Q0 b 1 9 w\n");
    const char *argv[] = {"eval", "-m", "recip_rank", "--compare", weak, qrels, good, NULL};
    int code;
    char *output = help_capture(argv, &code);
    cr_expect_eq(code, 0);
    /* Differences 0.5, 0, 0.5: t = 2, p = 0.1835; signs: 4 of 8 patterns reach the sum. */
    cr_expect(strstr(output, "recip_rank\t0.8333\t0.5000\t+0.3333\t"), "%s", output);
    cr_expect(strstr(output, "\t0.1835\t0.1835\t0.5\n"), "%s", output);
    free(output);
    /* Counts and gm_map are no means over queries, whose tests these are. */
    const char *few[] = {"eval", "-m",        "num_ret", "-m",  "gm_map", "-m",
                         "map",  "--compare", weak,      qrels, good,     NULL};
    output = help_capture(few, &code);
    cr_expect_eq(code, 0);
    cr_expect(strstr(output, "Holm over 1 measures"), "%s", output);
    cr_expect(strstr(output, "\nmap\t") && !strstr(output, "gm_map") && !strstr(output, "num_ret"),
              "%s", output);
    free(output);
    const char *none[] = {"eval", "-m", "gm_map", "--compare", weak, qrels, good, NULL};
    free(help_capture(none, &code));
    cr_expect_eq(code, GB_USAGE);
}

Test(eval_command, command_line_errors)
{
    const char *qrels = help_write("qrels", "1 0 a 1\n"),
               *run = help_write("run", "1 Q0 a 1 9 g\n");
    const char *const lines[][7] = {
        {"eval", NULL},
        {"eval", qrels, NULL},
        {"eval", "--bogus", qrels, run, NULL},
        {"eval", "-m", "nDGC@10", qrels, run, NULL},
        {"eval", "-l", "x", qrels, run, NULL},
        {"eval", "--ties", "random", qrels, run, NULL},
    };
    int code;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        free(help_capture(lines[i], &code));
        cr_expect_eq(code, GB_USAGE, "line %zu gave %d", i, code);
    }
    free(help_capture((const char *const[]){"eval", qrels, "/nowhere", NULL}, &code));
    cr_expect_eq(code, GB_DATA);
    char *output = help_capture((const char *const[]){"eval", "--help", NULL}, &code);
    cr_expect_eq(code, 0);
    const gb_measure *measure;
    for (size_t i = 0; (measure = gb_measure_at(i)); i++) {
        char line[200];
        snprintf(line, sizeof line, "  %-16s %-32s %s\n", measure->name,
                 measure->parameters ? measure->parameters : "", measure->help);
        cr_expect(strstr(output, line), "the help lacks %s", line);
    }
    free(output);
}

/* ---- NIST's vectors ---- */

/* Measures of ours that trec_eval does not have. */
static bool ours(const char *line)
{
    return strncmp(line, "MRR@", 4) == 0 || strncmp(line, "Hit@", 4) == 0 ||
           strncmp(line, "Judged@", 7) == 0;
}

/* Every line of `output` that trec_eval could print must stand in the file of expected lines, in
 * the same order. Returns the number of lines compared. */
static size_t compare_lines(char *output, const char *expected, size_t *missing)
{
    size_t compared = 0;
    char *save = NULL;
    const char *at = expected; /* behind the last line found */
    for (char *line = strtok_r(output, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (ours(line))
            continue;
        char *wanted = gb_format(NULL, "%s\n", line);
        const char *found = strstr(at, wanted);
        while (found && found > expected && found[-1] != '\n')
            found = strstr(found + 1, wanted);
        cr_expect(found, "not in trec_eval's output, or not here: %s", line);
        at = found ? found + strlen(wanted) : at;
        *missing += !found;
        free(wanted);
        compared++;
    }
    return compared;
}

Test(eval_command, trec_eval_default_output)
{
    char *qrels = help_data("trec_eval-vectors/qrels.test");
    char *run = help_data("trec_eval-vectors/results.test");
    char *path = help_data("trec_eval-vectors/out.test"), *wanted = gb_read_file(path, NULL, NULL);
    int code;
    char *output = help_capture((const char *const[]){"eval", qrels, run, NULL}, &code);
    cr_expect_eq(code, 0);
    cr_expect_str_eq(output, wanted);
    free(output), free(wanted), free(path), free(run), free(qrels);
}

static const struct {
    const char *arguments[16]; /* of the command */
    const char *qrels;         /* judgements */
    const char *run;           /* run */
    const char *expected;      /* trec_eval's output */
    size_t lines;              /* lines that both have */
} vectors[] = {
    {{"-m", "all"}, "qrels.test", "results.test", "out.test.a", 61},
    {{"-m", "all", "-q"}, "qrels.test", "results.test", "out.test.aq", 235},
    {{"-m", "all", "-q"}, "qrels.test.with-comments", "results.test", "out.test.aq", 235},
    {{"-m", "all", "-q", "-c"}, "qrels.test", "results.trunc", "out.test.aqc", 235},
    {{"-m", "all", "-q", "-c", "-M100"}, "qrels.test", "results.trunc", "out.test.aqcM", 235},
    {{"-m", "all", "-q", "-l2"}, "qrels.rel_level", "results.test", "out.test.aql", 235},
    {{"--measure=all", "--query_eval_wanted", "--level_for_rel", "2"},
     "qrels.rel_level",
     "results.test",
     "out.test.aql",
     235},
    {{"-q", "-miprec_at_recall..10,.20,.25,.75,.50", "-mP.5,7,3", "-mrecall.20,2000",
      "-mndcg_cut.10,20,23", "-msuccess.2,5,20"},
     "qrels.test",
     "results.test",
     "out.test.meas_params",
     64},
};

Test(eval_command, trec_eval_vectors)
{
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        char *folder = help_data("trec_eval-vectors");
        char *qrels = gb_path_join(NULL, folder, vectors[i].qrels);
        char *run = gb_path_join(NULL, folder, vectors[i].run);
        char *path = gb_path_join(NULL, folder, vectors[i].expected);
        char *expected = gb_read_file(path, NULL, NULL);
        cr_assert(expected);
        const char *argv[20] = {"eval"};
        int argc = 1, code;
        for (size_t j = 0; vectors[i].arguments[j]; j++)
            argv[argc++] = vectors[i].arguments[j];
        argv[argc++] = qrels;
        argv[argc] = run;
        char *output = help_capture(argv, &code);
        cr_expect_eq(code, 0);
        size_t missing = 0, lines = compare_lines(output, expected, &missing);
        cr_expect_eq(lines, vectors[i].lines, "%s: %zu lines", vectors[i].expected, lines);
        char against[80];
        snprintf(against, sizeof against, "trec_eval's %s, %zu values to 4 digits",
                 vectors[i].expected, lines);
        trust("gabbro eval", against, missing, 0);
        free(output), free(expected), free(path), free(run), free(qrels), free(folder);
    }
}

/* Published figures of trec_eval 9 (float scores) for two real runs. */
Test(eval_command, trec_dl_2019)
{
    static const char *const runs[][2] = {{"trec-dl/run.bm25.dl19.top100.txt", "0.5058"},
                                          {"trec-dl/run.tasb.dl19.top100.txt", "0.7210"}};
    char *qrels = help_data("trec-dl/qrels.dl19-passage.txt");
    for (int i = 0; i < 2; i++) {
        char *run = help_data(runs[i][0]), wanted[60];
        int code;
        char *output = help_capture(
            (const char *const[]){"eval", "-c", "-mndcg_cut.10", "--float", qrels, run, NULL},
            &code);
        snprintf(wanted, sizeof wanted, "%-22s\tall\t%s\n", "ndcg_cut_10", runs[i][1]);
        cr_expect_str_eq(output, wanted);
        trust_note(
            "gabbro eval, TREC DL 2019, nDCG@10 to 4 digits", "published figures of trec_eval 9",
            fabs(strtod(output + strcspn(output, "\t") + 5, NULL) - strtod(runs[i][1], NULL)), 0);
        free(output), free(run);
    }
    free(qrels);
}
