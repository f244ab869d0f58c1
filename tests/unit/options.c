/* What command lines mean, and the help that is made from the same tables. */
#include <gabbro/options.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const shapes[] = {"linear", "cosine", "constant", NULL};

/* A small command's variables with their defaults, and its options. */
typedef struct variables {
    const char *file, *store;     /* texts */
    gb_words runs;                /* a list */
    uint32_t steps, queue, shape; /* a number, an open one, a choice */
    uint64_t seed;                /* a large number */
    double rate, warmup;          /* a real number and a ratio */
    bool quiet;                   /* a flag */
} variables;
static variables v = {
    .steps = 1000, .queue = GB_OPEN, .shape = 1, .seed = 42, .rate = 1e-4, .warmup = .1};

static const gb_option options[] = {
    {"file", GB_OPTION_TEXT, &v.file, GB_OPTION_REQUIRED | GB_OPTION_INPUT, "FILE", "read"},
    {"run", GB_OPTION_LIST, &v.runs, GB_OPTION_INPUT, "RUN", "may be repeated"},
    {"steps", GB_OPTION_U32, &v.steps, 0, NULL, "of the training", .letter = 'n', .min = 1},
    {"queue", GB_OPTION_U32, &v.queue, 0, NULL, "open until it is said"},
    {"schedule", GB_OPTION_CHOICE, &v.shape, 0, NULL, "of the rate", shapes},
    {"seed", GB_OPTION_U64, &v.seed, 0, NULL, "of everything drawn"},
    {"learning-rate", GB_OPTION_REAL, &v.rate, 0, NULL, "peak"},
    {"warmup", GB_OPTION_RATIO, &v.warmup, 0, NULL, "share of the steps"},
    {0}};
static const gb_option more[] = {
    {"store", GB_OPTION_TEXT, GB_FIELD(variables, store), GB_OPTION_NO_KEY, "DIR", "where"},
    {"quiet", GB_OPTION_FLAG, GB_FIELD(variables, quiet), GB_OPTION_NO_KEY, NULL, "less",
     .letter = 'q'},
    {"silent", GB_OPTION_FLAG, GB_FIELD(variables, quiet), GB_OPTION_HIDDEN, NULL, "another name"},
    {0}};
static const gb_option_table tables[] = {{NULL, options, NULL}, {"Where", more, &v}, {0}};

static const gb_command command = {.name = "tell",
                                   .summary = "tell a-b",
                                   .operands = "[WORD...]",
                                   .operands_max = 2,
                                   .description = "One line that is filled\nwith the next.\n\n"
                                                  "  as it is\n.dot"};

/* Reads words that a NULL ends; what follows from them is in v. */
static gb_parsed read_words(gb_words *operands, gb_status *status, const char *const *words)
{
    char *argv[20] = {(char *)"tell"};
    int argc = 1;
    for (; *words; words++)
        argv[argc++] = (char *)*words;
    return gb_command_parse(&command, tables, argc, argv, operands, status);
}
#define READ(...) read_words(&operands, &status, (const char *const[]){__VA_ARGS__, NULL})

Test(options, every_kind_of_value)
{
    gb_words operands = {0};
    gb_status status = {0};
    cr_assert_eq(READ("--file", "a", "one", "--run", "x", "--steps=7", "--run=y", "--schedule",
                      "constant", "--seed", "9223372036854775807", "--learning-rate", "2e-5",
                      "--warmup", "1", "-q", "--", "--two"),
                 GB_PARSED_RUN, "%s", status.what);
    cr_expect_str_eq(v.file, "a");
    cr_expect_eq(v.runs.count, 2);
    cr_expect_str_eq(v.runs.items[1], "y");
    cr_expect_eq(v.steps, 7);
    cr_expect_eq(v.shape, 2);
    cr_expect_eq(v.seed, INT64_MAX);
    cr_expect_eq(v.rate, 2e-5);
    cr_expect_eq(v.warmup, 1);
    cr_expect(v.quiet);
    cr_expect_eq(operands.count, 2);
    cr_expect_str_eq(operands.items[0], "one");
    cr_expect_str_eq(operands.items[1], "--two");
    cr_expect_eq(v.queue, GB_OPEN);
}

Test(options, one_name_in_several_tables_sets_each)
{
    variables a = {0}, b = {0};
    gb_status status = {0};
    const gb_option_table both[] = {{"a", more, &a}, {"b", more, &b}, {0}};
    char *argv[] = {(char *)"tell", (char *)"--store", (char *)"there", (char *)"--quiet", NULL};
    cr_assert_eq(gb_command_parse(&command, both, 4, argv, NULL, &status), GB_PARSED_RUN);
    cr_expect_str_eq(a.store, "there");
    cr_expect_str_eq(b.store, "there");
    cr_expect(a.quiet && b.quiet);
    cr_expect_not(gb_option_set(both, "steps", "7", &status));
    cr_expect_eq(status.code, GB_USAGE);
}

Test(options, letters_may_be_joined_with_each_other_and_a_value)
{
    gb_words operands = {0};
    gb_status status = {0};
    cr_assert_eq(READ("--file", "-", "-qn5", "-"), GB_PARSED_RUN, "%s", status.what);
    cr_expect(v.quiet);
    cr_expect_eq(v.steps, 5);
    cr_expect_str_eq(v.file, "-");
    cr_expect_str_eq(operands.items[0], "-");
    cr_expect_eq(READ("--file", "a", "-n", "6"), GB_PARSED_RUN);
    cr_expect_eq(v.steps, 6);
}

/* Says what it should, with usage's code. */
static void refused(const char *what, const char *hint, const char *const *words)
{
    gb_words operands = {0};
    gb_status status = {0};
    cr_expect_eq(read_words(&operands, &status, words), GB_PARSED_BAD, "%s", what);
    cr_expect_eq(status.code, GB_USAGE);
    cr_expect_str_eq(status.what, what);
    cr_expect_str_eq(status.hint, hint);
}
#define REFUSED(what, hint, ...) refused(what, hint, (const char *const[]){__VA_ARGS__, NULL})

Test(options, mistakes_say_what_is_wrong_and_what_was_meant)
{
    REFUSED("tell: --file is needed", "usage: gabbro tell [WORD...] --file FILE [options]",
            "--steps", "1");
    REFUSED("tell: no option --stpes", "did you mean --steps? See --help", "--file", "a",
            "--stpes");
    REFUSED("tell: no option --learning_rate=1", "did you mean --learning-rate? See --help",
            "--learning_rate=1");
    REFUSED("tell: no option --zebra", "see --help", "--zebra");
    REFUSED("tell: no option --silen", "see --help", "--silen");
    REFUSED("tell: no option -x", "see --help", "-x");
    REFUSED("tell: --steps needs a value", "see --help", "--steps");
    REFUSED("tell: -n needs a value", "see --help", "-qn");
    REFUSED("tell: --file has no value: --steps follows", "is a variable empty?", "--file",
            "--steps", "1");
    REFUSED("tell: no value is taken by --quiet", "see --help", "--quiet=1");
    REFUSED("tell: \"c\" is one word too many",
            "usage: gabbro tell [WORD...] --file FILE [options]", "a", "b", "c");
    REFUSED("--steps: \"0\" is no whole number from 1 to 4294967295", "see --help", "--steps", "0");
    REFUSED("--warmup: \"1.5\" is no number from 0 to 1", "see --help", "--warmup", "1.5");
    REFUSED("--schedule \"square\" is none of: linear, cosine, constant", "", "--schedule",
            "square");
}

Test(options, operands_that_are_missing_or_none)
{
    gb_command other = {.name = "judge",
                        .operands = "QRELS RUN",
                        .operands_min = 2,
                        .operands_max = 2,
                        .needs = "two files, QRELS and RUN"};
    const gb_option none[] = {{0}};
    const gb_option_table of_none[] = {{NULL, none}, {0}};
    gb_words operands = {0};
    gb_status status = {0};
    char *argv[] = {(char *)"judge", (char *)"a", NULL};
    cr_expect_eq(gb_command_parse(&other, of_none, 2, argv, &operands, &status), GB_PARSED_BAD);
    cr_expect_str_eq(status.what, "judge needs two files, QRELS and RUN");
    cr_expect_str_eq(status.hint, "usage: gabbro judge QRELS RUN");
    /* They come before the options that must be given: what the command is about. */
    operands.count = 0;
    cr_expect_eq(gb_command_parse(&other, tables, 2, argv, &operands, &status), GB_PARSED_BAD);
    cr_expect_str_eq(status.what, "judge needs two files, QRELS and RUN");
    cr_expect_eq(gb_command_parse(&(gb_command){.name = "none"}, of_none, 2, argv, NULL, &status),
                 GB_PARSED_BAD);
    cr_expect_str_eq(status.what, "none: \"a\" belongs to no option");
    cr_expect_str_eq(status.hint, "usage: gabbro none");
}

Test(options, one_that_has_no_effect_without_another)
{
    bool fast = false, quick = false, run = false;
    uint32_t laps = 3;
    const gb_option own[] = {
        {"fast", GB_OPTION_FLAG, &fast, 0, NULL, "of a run", .letter = 'f', .with = "run"},
        {"quick", GB_OPTION_FLAG, &quick, 0, NULL, "of either", .with = "fast|run"},
        {"laps", GB_OPTION_U32, &laps, 0, NULL, "of a run", .with = "run"},
        {"run", GB_OPTION_FLAG, &run, 0, NULL, "do it", .letter = 'r'},
        {0}};
    const gb_option_table of_own[] = {{NULL, own}, {0}};
    static const struct {
        const char *words[2], *what, *hint;
    } cases[] = {{{"--fast", "--run"}, "", ""},
                 {{"-rf", "--quick"}, "", ""},
                 {{"--quick", "--run"}, "", ""},
                 {{"--laps", "3"}, "", ""}, /* as it is */
                 {{"--laps", "4"},
                  "tell: --laps has no effect without --run",
                  "give --run, too, or leave it out"},
                 {{"-f", "-f"},
                  "tell: --fast has no effect without --run",
                  "give --run, too, or leave it out"},
                 {{"--quick", "--quick"},
                  "tell: --quick has no effect without --fast or --run",
                  "give --fast or --run, too, or leave it out"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gb_status status = {0};
        char *argv[] = {(char *)"tell", (char *)cases[i].words[0], (char *)cases[i].words[1], NULL};
        fast = quick = run = false;
        laps = 3;
        cr_expect_eq(gb_command_parse(&command, of_own, 3, argv, NULL, &status),
                     *cases[i].what ? GB_PARSED_BAD : GB_PARSED_RUN);
        cr_expect_eq(status.code, *cases[i].what ? GB_USAGE : GB_OK);
        cr_expect_str_eq(status.what, cases[i].what);
        cr_expect_str_eq(status.hint, cases[i].hint);
    }
}

Test(options, values_as_json)
{
    gb_status status = {0};
    v.runs = (gb_words){{"x", "y"}, 2};
    json_t *all = json_object();
    for (const gb_option *o = options; o->name; o++)
        cr_assert_eq(json_object_set_new(all, o->name, gb_option_value(o, &status)), 0);
    json_t *wanted = json_pack("{s:n, s:[ss], s:i, s:n, s:s, s:i, s:f, s:f}", "file", "run", "x",
                               "y", "steps", 1000, "queue", "schedule", "cosine", "seed", 42,
                               "learning-rate", 1e-4, "warmup", .1);
    cr_expect(json_equal(all, wanted));
    v.file = "\xff";
    cr_expect_null(gb_option_value(options, &status));
    cr_expect_eq(status.code, GB_USAGE);
    json_decref(all);
    json_decref(wanted);
}

Test(options, numbers_below_zero_where_an_option_has_them)
{
    double bound = GB_OPEN_REAL;
    gb_status status = {0};
    const gb_option own[] = {
        {"bound", GB_OPTION_REAL, &bound, 0, NULL, "of scores", .min = -10, .max = 10}, {0}};
    const gb_option_table of_own[] = {{NULL, own}, {0}};
    json_t *open = gb_option_value(own, &status);
    cr_expect(json_is_null(open));
    cr_assert(gb_option_set(of_own, "bound", "-1", &status), "%s", status.what);
    json_t *value = gb_option_value(own, &status);
    cr_expect_eq(json_real_value(value), -1);
    cr_expect_not(gb_option_set(of_own, "bound", "-11", &status));
    cr_expect_str_eq(status.what, "--bound: \"-11\" is no number from -10 to 10");
    cr_expect_not(gb_option_set(of_own, "bound", "-inf", &status), "it would be open");
    json_decref(open);
    json_decref(value);
}

/* ---- help ---- */

/* What is printed meanwhile; the caller frees it. */
static char *printed(gb_parsed *parsed, const char *const *words)
{
    gb_words operands = {0};
    gb_status status = {0};
    char path[] = "/tmp/gabbro-options-XXXXXX", *text;
    int kept = (fflush(stdout), dup(STDOUT_FILENO)), file = mkstemp(path);
    cr_assert(kept >= 0 && file >= 0);
    dup2(file, STDOUT_FILENO);
    *parsed = read_words(&operands, &status, words);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(file);
    text = gb_read_file(path, NULL, &status);
    unlink(path);
    cr_assert_not_null(text);
    cr_expect_eq(v.steps, 1000, "help changes nothing");
    return text;
}
#define PRINTED(...) printed(&parsed, (const char *const[]){__VA_ARGS__, NULL})

Test(options, help_shows_defaults_whatever_was_given)
{
    gb_parsed parsed;
    char *text = PRINTED("--steps", "5", "--zebra", "--help");
    cr_expect_eq(parsed, GB_PARSED_HELP);
    cr_expect_str_eq(
        text, "usage: gabbro tell [WORD...] --file FILE [options]\n"
              "\n"
              "One line that is filled with the next.\n"
              "\n"
              "  as it is\n"
              ".dot\n"
              "\n"
              "Options:\n"
              "  --file FILE               read (required)\n"
              "  --run RUN                 may be repeated\n"
              "  -n, --steps N             of the training (default 1000)\n"
              "  --queue N                 open until it is said\n"
              "  --schedule WORD           of the rate; one of linear, cosine, constant\n"
              "                            (default cosine)\n"
              "  --seed N                  of everything drawn (default 42)\n"
              "  --learning-rate X         peak (default 0.0001)\n"
              "  --warmup X                share of the steps (default 0.1)\n"
              "\n"
              "Where:\n"
              "  --store DIR               where\n"
              "  -q, --quiet               less\n"
              "  -h, --help                print this help; --help --json gives it as JSON;\n"
              "                            gabbro --help has the options of every command\n");
    free(text);
    text = PRINTED("--run", "--help");
    cr_expect_eq(parsed, GB_PARSED_BAD, "--help is the value of --run here");
    free(text);
}

Test(options, help_as_json)
{
    gb_parsed parsed;
    char *text = PRINTED("--help", "--json");
    json_t *json = json_loads(text, 0, NULL);
    cr_assert_not_null(json);
    cr_expect_str_eq(json_string_value(json_object_get(json, "usage")),
                     "gabbro tell [WORD...] --file FILE [options]");
    json_t *all = json_object_get(json, "options"), *steps = json_array_get(all, 2);
    cr_expect_eq(json_array_size(all), 10, "hidden ones are left out");
    cr_expect_str_eq(json_string_value(json_object_get(steps, "kind")), "integer");
    cr_expect_eq(json_integer_value(json_object_get(steps, "default")), 1000);
    json_t *shape = json_array_get(all, 4);
    cr_expect_eq(json_array_size(json_object_get(shape, "words")), 3);
    cr_expect_str_eq(json_string_value(json_object_get(shape, "default")), "cosine");
    cr_expect(json_is_null(json_object_get(json_array_get(all, 3), "default")));
    cr_expect_str_eq(json_string_value(json_object_get(json_array_get(all, 9), "heading")),
                     "Where");
    json_decref(json);
    free(text);
}

Test(options, help_as_manual_page)
{
    gb_parsed parsed;
    char *text = PRINTED("-h", "--man");
    cr_expect(strstr(text, ".TH \"GABBRO-TELL\" 1"));
    cr_expect(strstr(text, "\ngabbro\\-tell \\- tell a\\-b\n"));
    cr_expect(strstr(text, "\n.PP\nOne line that is filled\nwith the next.\n.PP\n.nf\n  as it is\n"
                           ".fi\n\\&.dot\n"));
    cr_expect(strstr(text, "\n.TP\n\\fB\\-n\\fR, \\fB\\-\\-steps\\fR \\fIN\\fR\nof the training"));
    cr_expect_not(strstr(text, "silent"));
    free(text);
}

Test(options, completion_knows_words_and_options)
{
    gb_parsed parsed;
    char *text = PRINTED("--help", "--completion");
    cr_expect(strstr(text, "'tell:--schedule') words='linear cosine constant' ;;\n"));
    cr_expect(strstr(text, "'tell:'*) words='--help --file --run --steps"));
    cr_expect_not(strstr(text, "'tell:--quiet')"), "a flag has no value");
    cr_expect_not(strstr(text, "silent"));
    free(text);
}

/* ---- sets of commands ---- */

static char *ran; /* name of the command that ran, and its first word */
static int run_first(const gb_call *call)
{
    ran = gb_format(NULL, "%s %s", call->argv[0], call->argc > 1 ? call->argv[1] : "");
    return 3;
}
static const gb_command fetch = {.name = "data fetch", .summary = "fetch", .run = run_first};
static const gb_command show = {.name = "data show", .summary = "show", .run = run_first};
static const gb_command train = {.name = "train", .summary = "train", .run = run_first};
static const gb_command_group groups[] = {
    {"Data", GB_COMMANDS(&fetch, &show)}, {"Training", GB_COMMANDS(&train)}, {0}};
static const gb_option common[] = {{0}};
static const gb_command_set set = {"gabbro", "1.0", "A kit", groups, common, "Notes."};

static int run_set(const char *a, const char *b)
{
    char *argv[] = {(char *)"gabbro", (char *)a, (char *)b, NULL};
    return gb_command_set_run(&set, &(gb_call){.argc = b ? 3 : 2, .argv = argv});
}

Test(options, commands_of_one_word_and_of_two)
{
    cr_expect_eq(run_set("train", "--x"), 3);
    cr_assert_str_eq(ran, "train --x");
    cr_expect_eq(run_set("data", "show"), 3);
    cr_assert_str_eq(ran, "show ");
    cr_expect_eq(run_set("data", "x"), GB_USAGE);
    cr_expect_eq(run_set("tran", NULL), GB_USAGE);
    cr_expect_eq(run_set("data", "--help"), GB_OK);
    cr_expect_eq(run_set("--help", "--man"), GB_OK);
}
