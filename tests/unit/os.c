/* Files, locks and processes of the operating system. */
#include "gabbro/base.h"
#include "gabbro/os.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *folder; /* of the running test */

static char *at(const char *name)
{
    return gb_path_join(NULL, folder, name);
}

static void begin(void)
{
    gb_config config = {0};
    folder = gb_temporary_folder(&config, "os", NULL);
    cr_assert(folder);
}

static void end(void)
{
    gb_temporary_remove(folder);
}

TestSuite(os, .init = begin, .fini = end);

static void write_text(const char *path, const char *text)
{
    cr_assert(gb_write_file(path, text, strlen(text), NULL));
}

static void expect_text(const char *path, const char *right)
{
    char *text = gb_read_file(path, NULL, NULL);
    cr_expect(text && !strcmp(text, right), "%s", text ? text : "none");
    free(text);
}

Test(os, a_place_in_a_file_is_read_and_written)
{
    char *path = at("file"), got[4] = "";
    int file = gb_os_open(path, O_RDWR | O_CREAT | O_EXCL);
    cr_assert(file >= 0 && gb_os_open(path, O_RDWR | O_CREAT | O_EXCL) < 0 && errno == EEXIST);
    cr_expect_eq(gb_os_write_at(file, "xyz", 3, 5000000000), 3);
    cr_expect_eq(gb_os_read_at(file, got, 3, 5000000000), 3);
    cr_expect_str_eq(got, "xyz");
    cr_expect_eq(gb_os_read_at(file, got, 3, 5000000003), 0);
    cr_expect(gb_os_sync(file) == 0 && gb_os_sync_path(path) == 0 && gb_os_sync_path(folder) == 0);
    const char *map = gb_os_map(file, 100);
    cr_assert(map && map[99] == 0);
    gb_os_unmap(map, 100);
    close(file);
    free(path);
}

Test(os, a_nameless_file_leaves_no_name)
{
    char *path = at("file");
    int file = gb_os_open_nameless(path);
    cr_expect(file >= 0 && write(file, "a", 1) == 1);
#ifdef _WIN32 /* which has a name for it until it is closed */
    close(file);
#endif
    gb_entries entries;
    cr_expect(gb_entries_read(folder, "*", &entries, NULL) && entries.count == 0);
    gb_entries_free(&entries);
#ifndef _WIN32
    close(file);
#endif
    free(path);
}

Test(os, names_are_moved_and_exchanged)
{
    char *a = at("a"), *b = at("b");
    write_text(a, "first");
    write_text(b, "second");
    if (gb_os_exchange(a, b) == 0) {
        expect_text(a, "second");
        expect_text(b, "first");
        cr_expect_eq(gb_os_exchange(a, b), 0);
    }
    cr_expect_eq(gb_os_rename(a, b), 0);
    expect_text(b, "first");
    cr_expect(!gb_file_exists(a) && gb_os_rename(a, b) < 0 && errno == ENOENT);
    cr_expect(gb_os_link(b, a) == 0 && gb_os_link(b, a) < 0 && errno == EEXIST);
    expect_text(a, "first");
    cr_expect(gb_os_remove(a) == 0 && gb_file_exists(b) && gb_os_remove(folder) < 0);
    char *whole = gb_os_real_path(b);
    cr_expect(whole && gb_os_is_absolute(whole) && !gb_os_is_absolute("b") && !gb_os_real_path(a));
    free(whole);
    free(a);
    free(b);
}

Test(os, a_lock_has_one_holder)
{
    char *path = at("lock");
    int first = gb_os_open(path, O_RDWR | O_CREAT), second = gb_os_open(path, O_RDWR | O_CREAT);
    cr_assert(first >= 0 && second >= 0);
    cr_expect(gb_os_lock(first) == 0 && gb_os_lock(second) < 0 && errno == EWOULDBLOCK);
    close(first);
    cr_expect(gb_os_lock(second) == 0 && gb_os_is_at(second, path));
    gb_os_remove(path);
    bool named = gb_file_exists(path);
#ifndef _WIN32 /* where Wine keeps the name while somebody has the file open */
    cr_assert_not(named);
#endif
    if (!named) {
        cr_expect(!gb_os_is_at(second, path));
        first = gb_os_open(path, O_RDWR | O_CREAT);
        cr_expect(gb_os_is_at(first, path) && !gb_os_is_at(second, path));
        close(first);
    }
    close(second);
    cr_expect(gb_os_remove(path) == 0 || errno == ENOENT);
    free(path);
}

/* Starts a program of POSIX; Windows has none. */
static void start(const gb_os_command *command, gb_os_process *process)
{
    bool started = gb_os_start(command, process) == 0;
    if (!started && errno == ENOENT)
        cr_skip_test("skipped: there is no %s here", command->program);
    cr_assert(started);
}

Test(os, a_process_gets_words_environment_and_pipes)
{
    static const char script[] =
        "printf '%s,%s,%s,%s' \"$1\" \"$OWN\" \"$HOME\" \"$(env | grep -c ^OWN=)\"; "
        "exit 7"; /* of two of a name the later holds */
    const char *words[] = {"sh", "-c", script, "sh", "a \"b\\", NULL};
    const char *environment[] = {"OWN=newer", "OWN=new", "HOME=elsewhere", NULL};
    int ends[2], code = -1;
    gb_os_process process;
    cr_assert(gb_os_set_variable("OWN", "old") == 0 && gb_os_pipe(ends) == 0);
    const gb_os_command command = {"sh", words, environment, ends[1], -1};
    start(&command, &process);
    close(ends[1]);
    char got[100] = "";
    size_t length = 0;
    for (int64_t more; (more = gb_os_read_now(ends[0], got + length, 50)) != 0;) {
        cr_assert(more > 0 || errno == EAGAIN);
        length += more > 0 ? (size_t)more : 0;
        gb_os_wait(ends, 1, 100);
    }
    close(ends[0]);
    cr_expect_str_eq(got, "a \"b\\,new,elsewhere,1");
    cr_expect(gb_os_ended(&process, true, &code) && code == 7);
}

Test(os, a_program_that_is_not_there_is_no_process)
{
    const char *words[] = {"no-such-program", NULL};
    const gb_os_command command = {words[0], words, NULL, -1, -1};
    gb_os_process process;
    cr_expect(gb_os_start(&command, &process) < 0 && errno == ENOENT && process.id == 0);
}

#ifndef _WIN32 /* which has neither */
Test(os, the_end_of_a_process_is_seen_where_a_parent_ignored_such_ends)
{
    const char *words[] = {"true", NULL};
    const gb_os_command command = {words[0], words, NULL, -1, -1};
    gb_os_process process;
    int code = -1;
    signal(SIGCHLD, SIG_IGN);
    start(&command, &process);
    cr_expect(gb_os_ended(&process, true, &code) && code == 0);
}

Test(os, a_process_apart_has_a_group_of_its_own_and_no_input)
{
    const char *words[] = {"sh", "-c", "! read line && [ $(cut -d ' ' -f 5 /proc/$$/stat) = $$ ]",
                           NULL};
    const gb_os_command command = {words[0], words, NULL, -1, -1, .apart = true};
    gb_os_process process;
    int input[2], code = -1;
    cr_assert(gb_os_pipe(input) == 0 && write(input[1], "typed\n", 6) == 6 &&
              dup2(input[0], STDIN_FILENO) == STDIN_FILENO);
    start(&command, &process);
    cr_expect(gb_os_ended(&process, true, &code) && code == 0);
}
#endif

Test(os, a_process_is_stopped_and_killed)
{
    const char *words[] = {"sleep", "60", NULL};
    const gb_os_command command = {words[0], words, NULL, -1, -1};
    gb_os_process process;
    int code = 0;
    start(&command, &process);
    cr_expect(!gb_os_ended(&process, false, &code));
    gb_os_stop(&process);
    cr_expect(gb_os_ended(&process, true, &code) && code == 128 + SIGTERM);
    cr_assert_eq(gb_os_start(&command, &process), 0);
    gb_os_kill(&process);
    cr_expect(gb_os_ended(&process, true, &code) && code == GB_OS_KILLED);
}

Test(os, the_machine_is_known)
{
    gb_os_facts facts;
    char program[4096];
    uint64_t bytes = 0;
    gb_os_facts_read(&facts);
    cr_expect(*facts.system && *facts.release && *facts.architecture && *facts.processor);
    cr_expect(gb_os_program(program, sizeof program) && gb_file_exists(program));
    cr_expect(gb_os_processors() >= 1 && gb_os_peak_bytes() > 1 << 20);
    cr_expect(gb_os_room(folder, &bytes) == 0 && bytes > 0);
    cr_expect(gb_os_function("no-such-library", "f") == NULL);
}
