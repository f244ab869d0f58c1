/* Shared by the tests of eval and retrieve: temporary files, output of commands, the test data. */
#ifndef GABBRO_TESTS_RETRIEVE_HELP_H
#define GABBRO_TESTS_RETRIEVE_HELP_H

#include <gabbro/eval.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char help_dir[] = "/tmp/gabbro-retrieve-XXXXXX"; /* of the running test */

static inline void help_setup(void)
{
    gb_log_set_level(GB_LOG_ERROR);
    cr_assert(mkdtemp(help_dir));
}

static inline void help_teardown(void)
{
    gb_remove_tree(help_dir, NULL);
}

/* Path of a file in the test's folder; valid until the fourth next call. */
static inline const char *help_path(const char *name)
{
    static char paths[4][300];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, 300, "%s/%s", help_dir, name);
    return path;
}

static inline const char *help_write(const char *name, const char *text)
{
    gb_status status = {0};
    const char *path = help_path(name);
    cr_assert(gb_write_file(path, text, strlen(text), &status), "%s", status.what);
    return path;
}

/* Path below GABBRO_TEST_DATA; skips the test when that is unset or lacks the file. Caller frees.
 */
static inline char *help_data(const char *name)
{
    const char *root = getenv("GABBRO_TEST_DATA");
    if (!root || !*root)
        cr_skip_test("skipped: GABBRO_TEST_DATA is not set");
    char *path = gb_path_join(NULL, root, name);
    if (!gb_file_exists(path) && !gb_dir_exists(path))
        cr_skip_test("skipped: GABBRO_TEST_DATA has no %s", name);
    return path;
}

/* Run a command of the program with its output in a file; argv ends with NULL. Caller frees the
 * output. */
static inline char *help_capture(const char *const *argv, int *code)
{
    char *words[32] = {(char *)GABBRO_PROGRAM}, captured[300];
    int state;
    snprintf(captured, sizeof captured, "%s/stdout", help_dir);
    for (int i = 0; argv[i]; i++)
        words[i + 1] = (char *)argv[i];
    pid_t child = fork();
    if (child == 0) {
        if (freopen(captured, "w", stdout))
            execv(words[0], words);
        _exit(99);
    }
    cr_assert(child > 0 && waitpid(child, &state, 0) == child);
    *code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    char *output = gb_read_file(captured, NULL, NULL);
    cr_assert(output);
    return output;
}

#endif
