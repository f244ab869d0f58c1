/* The program around the tests of one file: starts itself once for each.
 *   test_SUBJECT [--filter PATTERN]      SUITE/NAME, with * for any letters
 * The last line counts, as Criterion does. */
#include "gabbro/os.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdarg.h>
#include <unistd.h>

enum { GOOD, BAD, SKIPPED = 77 }; /* exit codes of a test's process */

static cr_test *tests; /* all, in the order of their names */
static bool is_bad;    /* the test that this process runs */

static int order(const cr_test *a, const cr_test *b)
{
    int by_suite = strcmp(a->suite, b->suite);
    return by_suite ? by_suite : strcmp(a->name ? a->name : "", b->name ? b->name : "");
}

void cr_add(cr_test *test)
{
    cr_test **at = &tests;
    while (*at && order(*at, test) < 0)
        at = &(*at)->next;
    test->next = *at;
    *at = test;
}

static const cr_options *suite_of(const cr_test *test)
{
    static const cr_options none;
    for (const cr_test *t = tests; t; t = t->next)
        if (!t->name && !strcmp(t->suite, test->suite))
            return &t->options;
    return &none;
}

void cr_failed(bool fatal, const char *file, int line, const char *what, const char *format, ...)
{
    va_list list;
    is_bad = true;
    printf("[----] %s:%d: Assertion Failed: %s", file, line, what);
    if (*format) {
        printf(": ");
        va_start(list, format);
        vprintf(format, list);
        va_end(list);
    }
    puts("");
    fflush(stdout);
    if (fatal)
        exit(BAD);
}

_Noreturn void cr_skip_test(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("[SKIP] ");
    vprintf(format, list);
    puts("");
    va_end(list);
    exit(SKIPPED);
}

static FILE *said; /* standard error */

void cr_redirect_stderr(void)
{
    said = tmpfile();
    if (!said || dup2(fileno(said), STDERR_FILENO) < 0)
        exit(BAD);
}

bool cr_stderr_is(const char *text)
{
    char got[4096];
    fflush(stderr);
    rewind(said);
    got[fread(got, 1, sizeof got - 1, said)] = '\0';
    return !strcmp(got, text);
}

static bool matches(const char *pattern, const char *text)
{
    if (*pattern == '*')
        return matches(pattern + 1, text) || (*text && matches(pattern, text + 1));
    return *pattern == *text && (!*text || matches(pattern + 1, text + 1));
}

static int run(const cr_test *test)
{
    const cr_options *suite = suite_of(test);
    void (*init)(void) = test->options.init ? test->options.init : suite->init;
    void (*fini)(void) = test->options.fini ? test->options.fini : suite->fini;
    if (init)
        init();
    test->run();
    if (fini)
        fini();
    return is_bad ? BAD : GOOD;
}

/* The code of a process for the test. */
static int run_apart(const char *name)
{
    const char *const words[] = {"test", "--one", name, NULL};
    const gb_os_command command = {.words = words, .output = -1, .errors = -1};
    gb_os_process process;
    int code = -1;
    if (gb_os_start(&command, &process) != 0)
        return code;
    gb_os_ended(&process, true, &code);
    return code;
}

#ifdef _WIN32
char *mkdtemp(char *path)
{
    return mktemp(path) && gb_os_make_folder(path, true) == 0 ? path : NULL;
}
#endif

int main(int argc, char **argv)
{
    bool one = argc == 3 && !strcmp(argv[1], "--one");
    const char *pattern = argc == 3 ? argv[2] : "*";
    unsigned ran = 0, good = 0, bad = 0, skipped = 0;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    for (const cr_test *test = tests; test; test = test->next) {
        char name[200];
        snprintf(name, sizeof name, "%s/%s", test->suite, test->name ? test->name : "");
        if (!test->name || !matches(pattern, name))
            continue;
        if (one)
            return run(test);
        int code = run_apart(name);
        ran += code != SKIPPED;
        good += code == GOOD, bad += code == BAD, skipped += code == SKIPPED;
        if (code != GOOD && code != SKIPPED)
            printf("[FAIL] %s (%d)\n", name, code);
    }
    printf("[====] Synthesis: Tested: %u | Passing: %u | Failing: %u | Crashing: %u \n", ran, good,
           bad, ran - good - bad);
    return good != ran;
}
