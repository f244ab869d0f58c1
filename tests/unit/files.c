/* Base module: lines of files, files and folders that are written whole, hashes. */
#include "gabbro/base.h"
#include "gabbro/os.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* A fresh folder for one test; also the base of every path below. */
static char folder[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/gabbro-files-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void drop_folder(void)
{
    cr_expect(gb_remove_tree(folder, NULL));
    cr_expect_not(gb_dir_exists(folder));
}

static const char *in_folder(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_gzip(const char *path, const char *bytes, size_t length, size_t keep)
{
    gzFile file = gzopen(path, "wb");
    cr_assert_eq(gzwrite(file, bytes, (unsigned)length), (int)length);
    gzclose(file);
    if (keep)
        cr_assert_eq(truncate(path, (off_t)keep), 0);
}

static void expect_lines(const char *path, const char *const *want, const size_t *lengths,
                         size_t count)
{
    gb_status status = {0};
    gb_lines *lines = gb_lines_open(path, &status);
    cr_assert_not_null(lines, "%s", status.what);
    char *line;
    size_t length;
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(gb_lines_next(lines, &line, &length, &status), 1);
        cr_expect_eq(gb_lines_number(lines), i + 1);
        cr_assert_eq(length, lengths[i], "line %zu: %zu bytes", i + 1, length);
        cr_expect_arr_eq(line, want[i], length);
        cr_expect_eq(line[length], '\0');
    }
    cr_expect_eq(gb_lines_next(lines, &line, &length, &status), 0);
    cr_expect_eq(gb_lines_next(lines, &line, &length, &status), 0, "the end stays the end");
    gb_lines_close(lines);
}

/* Of bytes as they are, and packed. */
static void expect_lines_of(const char *bytes, size_t length, const char *const *want,
                            const size_t *lengths, size_t count)
{
    cr_assert(gb_write_file(in_folder("plain"), bytes, length, NULL));
    expect_lines(in_folder("plain"), want, lengths, count);
    write_gzip(in_folder("packed"), bytes, length, 0);
    expect_lines(in_folder("packed"), want, lengths, count);
}

TestSuite(lines, .init = make_folder, .fini = drop_folder);
TestSuite(files, .init = make_folder, .fini = drop_folder);

/* ---- lines ---- */

Test(lines, plain_and_gzip_read_alike)
{
    static const char bytes[] = "one\ntwo\r\n\nwith\0zero\r\r\nlast";
    static const char *const want[] = {"one", "two", "", "with\0zero\r", "last"};
    static const size_t lengths[] = {3, 3, 0, 10, 4};
    expect_lines_of(bytes, sizeof bytes - 1, want, lengths, 5);
    cr_assert(gb_write_file(in_folder("empty"), "", 0, NULL));
    expect_lines(in_folder("empty"), NULL, NULL, 0);
    cr_assert(gb_write_file(in_folder("plain"), "a\n", 2, NULL));
    expect_lines(in_folder("plain"), (const char *const[]){"a"}, (const size_t[]){1}, 1);
}

/* As editors on Windows write them. Elsewhere than at the beginning the bytes are text. */
Test(lines, a_byte_order_mark_is_no_text)
{
    static const char bytes[] = "\xef\xbb\xbfone\r\n\xef\xbb\xbftwo\n";
    static const char *const want[] = {"one", "\xef\xbb\xbftwo"};
    static const size_t lengths[] = {3, 6};
    expect_lines_of(bytes, sizeof bytes - 1, want, lengths, 2);
    cr_assert(gb_write_file(in_folder("marked"), "\xef\xbb\xbf", 3, NULL));
    expect_lines(in_folder("marked"), NULL, NULL, 0);
    cr_assert(gb_write_file(in_folder("marked"), "\xef\xbb\xbf\n", 4, NULL));
    expect_lines(in_folder("marked"), (const char *const[]){""}, (const size_t[]){0}, 1);
    cr_assert(gb_write_file(in_folder("part"), "\xef\xbb", 2, NULL));
    expect_lines(in_folder("part"), (const char *const[]){"\xef\xbb"}, (const size_t[]){2}, 1);
}

/* Else a question at a terminal would have no answer before the last one. */
Test(lines, of_a_pipe_are_there_as_they_come)
{
    int ends[2];
    char *line = NULL;
    size_t length = 0;
    gb_status status = {0};
    alarm(20); /* who waits for more gets none */
    cr_assert(pipe(ends) == 0 && dup2(ends[0], 0) == 0);
    gb_lines *lines = gb_lines_open("-", &status);
    cr_assert_not_null(lines, "%s", status.what);
    cr_assert_eq(write(ends[1], "(one\n", 5), 5);
    cr_assert_eq(gb_lines_next(lines, &line, &length, &status), 1, "%s", status.what);
    cr_expect_str_eq(line, "(one");
    cr_assert_eq(write(ends[1], "two", 3), 3);
    close(ends[1]);
    cr_assert_eq(gb_lines_next(lines, &line, &length, &status), 1, "%s", status.what);
    cr_expect_str_eq(line, "two");
    cr_expect_eq(gb_lines_next(lines, &line, &length, &status), 0);
    gb_lines_close(lines);
}

/* Several members one behind another, as of files that were joined, and zeros behind them. */
Test(lines, members_of_gzip_follow_each_other)
{
    static const char *const want[] = {"one", "two"};
    static const size_t lengths[] = {3, 3};
    size_t first, second;
    write_gzip(in_folder("first"), "one\n", 4, 0);
    write_gzip(in_folder("second"), "two\n", 4, 0);
    char *a = gb_read_file(in_folder("first"), &first, NULL);
    char *b = gb_read_file(in_folder("second"), &second, NULL);
    char *both = gb_alloc(first + second + 4, 1, NULL);
    memcpy(both, a, first);
    memcpy(both + first, b, second);
    cr_assert(gb_write_file(in_folder("joined"), both, first + second, NULL));
    expect_lines(in_folder("joined"), want, lengths, 2);
    cr_assert(gb_write_file(in_folder("joined"), both, first + second + 4, NULL));
    expect_lines(in_folder("joined"), want, lengths, 2);
    free(both);
    free(b);
    free(a);
}

Test(lines, very_long_lines_work)
{
    const size_t size = 3000000;
    char *bytes = malloc(2 * size + 2);
    memset(bytes, 'x', size);
    bytes[size] = '\n';
    memset(bytes + size + 1, 'y', size);
    bytes[2 * size + 1] = '\n';
    const char *const want[] = {bytes, bytes + size + 1};
    const size_t lengths[] = {size, size};
    cr_assert(gb_write_file(in_folder("long"), bytes, 2 * size + 2, NULL));
    expect_lines(in_folder("long"), want, lengths, 2);
    write_gzip(in_folder("long.gz"), bytes, 2 * size + 2, 0);
    expect_lines(in_folder("long.gz"), want, lengths, 2);
    free(bytes);
}

/* Reads to the end or the first failure; returns what the last call gave. */
static int read_through(const char *path, gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    cr_assert_not_null(lines);
    char *line;
    size_t length;
    int got;
    while ((got = gb_lines_next(lines, &line, &length, status)) == 1) {
    }
    gb_lines_close(lines);
    return got;
}

Test(lines, cut_or_damaged_gzip_is_an_error)
{
    char bytes[20000];
    gb_rng rng = gb_rng_make(1, GB_RNG_TEST, 0, 0);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i % 100 == 99 ? '\n' : (char)('a' + gb_rng_below(&rng, 26));
    for (size_t keep = 4; keep < 10000; keep += 2499) {
        gb_status status = {0};
        write_gzip(in_folder("cut.gz"), bytes, sizeof bytes, keep);
        cr_expect_eq(read_through(in_folder("cut.gz"), &status), -1, "cut at %zu", keep);
        cr_expect_eq(status.code, GB_DATA);
        cr_expect_not_null(strstr(status.what, "cut off"), "%s", status.what);
        cr_expect_not_null(strstr(status.where, "/cut.gz"), "%s", status.where);
    }
    write_gzip(in_folder("bad.gz"), bytes, sizeof bytes, 0);
    size_t length;
    char *packed = gb_read_file(in_folder("bad.gz"), &length, NULL);
    packed[length - 6] ^= 1; /* in the check sum */
    cr_assert(gb_write_file(in_folder("bad.gz"), packed, length, NULL));
    free(packed);
    gb_status status = {0};
    cr_expect_eq(read_through(in_folder("bad.gz"), &status), -1);
    cr_expect_not_null(strstr(status.what, "damaged"), "%s", status.what);
}

Test(lines, failures_name_file_and_line)
{
    cr_assert(gb_write_file(in_folder("rows"), "a\nb\nc\n", 6, NULL));
    gb_lines *lines = gb_lines_open(in_folder("rows"), NULL);
    char *line;
    size_t length;
    gb_lines_next(lines, &line, &length, NULL);
    gb_lines_next(lines, &line, &length, NULL);
    gb_status status = {0};
    cr_expect_not(gb_lines_fail(lines, &status, "write a number", "'%s' is no number", line));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.what, "'b' is no number");
    cr_expect_str_eq(status.where, in_folder("rows:2"));
    cr_expect_str_eq(status.hint, "write a number");
    gb_lines_close(lines);
    cr_expect_null(gb_lines_open(in_folder("absent"), &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_null(gb_lines_open(folder, &status));
    cr_expect_not_null(strstr(status.what, "folder"));
}

/* ---- files ---- */

static size_t count_entries(void)
{
    size_t count = 0;
    DIR *dir = opendir(folder);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2; /* . and .. */
}

Test(files, output_appears_whole_or_not_at_all)
{
    const char *path = in_folder("out");
    cr_assert(gb_write_file(path, "old", 3, NULL));
    gb_out *out = gb_out_open(path, NULL), *twin = gb_out_open(path, NULL);
    fputs("new content", gb_out_stream(out));
    fflush(gb_out_stream(out));
    size_t length;
    char *text = gb_read_file(path, &length, NULL);
    cr_expect_str_eq(text, "old", "the draft is not visible");
    free(text);
    gb_out_abandon(twin);
    cr_assert(gb_out_commit(out, NULL));
    text = gb_read_file(path, &length, NULL);
    cr_expect_str_eq(text, "new content");
    cr_expect_eq(length, 11);
    free(text);
    cr_expect_eq(count_entries(), 1, "no draft is left");
    gb_out_abandon(NULL);
}

Test(files, output_through_a_link_keeps_the_link)
{
    char *target = gb_path_join(NULL, folder, "target"), *link = gb_path_join(NULL, folder, "link");
    cr_assert(gb_write_file(target, "1", 1, NULL));
    cr_assert_eq(symlink("target", link), 0);
    cr_assert(gb_write_file(link, "22", 2, NULL));
    struct stat info;
    cr_expect_eq(lstat(link, &info), 0);
    cr_expect(S_ISLNK(info.st_mode));
    cr_expect_eq(stat(target, &info), 0);
    cr_expect_eq(info.st_size, 2);
    free(target);
    free(link);
}

Test(files, a_folder_behind_a_link_is_replaced_where_it_lies)
{
    cr_assert(gb_make_dirs(in_folder("disk/big"), NULL));
    cr_assert(gb_write_file(in_folder("disk/big/old"), "1", 1, NULL));
    cr_assert_eq(symlink("disk/big", in_folder("link")), 0);
    char *link = strdup(in_folder("link")), *draft = gb_draft_folder(link, NULL);
    cr_assert(draft && strstr(draft, "/disk/."), "beside the folder: %s", draft);
    gb_status status = {0};
    cr_expect(gb_draft_end(draft, true, link, &status), "%s", status.what);
    struct stat info;
    cr_expect(lstat(link, &info) == 0 && S_ISLNK(info.st_mode));
    cr_expect(gb_dir_exists(in_folder("disk/big")) && !gb_file_exists(in_folder("disk/big/old")));
    free(link);
}

Test(files, a_file_keeps_its_permissions)
{
    struct stat info;
    cr_assert(gb_write_file(in_folder("own"), "1", 1, NULL));
    cr_assert_eq(chmod(in_folder("own"), 0600), 0);
    cr_assert(gb_write_file(in_folder("own"), "22", 2, NULL));
    cr_expect(stat(in_folder("own"), &info) == 0 && info.st_size == 2);
    cr_expect_eq(info.st_mode & 07777, 0600);
    if (geteuid() == 0)
        cr_skip_test("skipped: root may write everything");
    cr_assert_eq(chmod(in_folder("own"), 0400), 0);
    cr_expect_not(gb_write_file(in_folder("own"), "333", 3, NULL));
    cr_expect_eq(count_entries(), 1, "no draft is left");
}

Test(files, unwritable_places_are_data_errors)
{
    gb_status status = {0};
    cr_expect_null(gb_out_open(in_folder("no/such/folder/file"), &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.where, in_folder("no/such/folder/file"));
    status = (gb_status){0};
    cr_expect_null(gb_out_open(folder, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_assert(gb_write_file(in_folder("file"), "", 0, NULL));
    cr_expect_not(gb_make_dirs(in_folder("file/below"), &status));
    cr_expect_eq(status.code, GB_DATA);
}

Test(files, full_device_is_reported)
{
    gb_status status = {0};
    char bytes[100000] = {0};
    for (size_t length = 10; length <= sizeof bytes; length *= 100) {
        cr_expect_not(gb_write_file("/dev/full", bytes, length, &status), "%zu bytes", length);
        cr_expect_eq(status.code, GB_DATA);
        cr_expect_not_null(strstr(status.hint, "free space"), "%s", status.hint);
    }
    cr_expect(access("/dev/full", W_OK) == 0, "a device is never replaced");
}

/* How many bytes are still in the stream's buffer decides whether a later write fails, too. */
Test(files, a_failed_write_is_not_forgotten_by_going_back)
{
    const struct rlimit most = {40000, 40000};
    char row[1024] = {0};
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &most), 0);
    for (int rows = 50; rows < 60; rows++) {
        gb_status status = {0};
        gb_out *out = gb_out_open(in_folder("out"), &status);
        fwrite(row, 1, 128, gb_out_stream(out));
        for (int i = 0; i < rows; i++)
            fwrite(row, 1, sizeof row, gb_out_stream(out));
        cr_expect_not(gb_out_rewind(out, &status), "%d rows", rows);
        cr_expect_eq(status.code, GB_DATA);
        cr_expect_not_null(strstr(status.hint, "the size of files"), "%s", status.hint);
        gb_out_abandon(out);
    }
    cr_expect_eq(count_entries(), 0, "no draft is left");
}

Test(files, full_disk_leaves_the_old_file)
{
    if (mount("gabbro-test", folder, "tmpfs", 0, "size=64k") != 0)
        cr_skip_test("skipped: may not mount a small file system here");
    gb_status status = {0};
    char *bytes = calloc(1, 200000);
    cr_expect(gb_write_file(in_folder("out"), "old", 3, &status), "%s", status.what);
    cr_expect_not(gb_write_file(in_folder("out"), bytes, 200000, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_not_null(strstr(status.hint, "free space"), "%s", status.hint);
    cr_expect_eq(count_entries(), 1, "the draft is gone");
    char *text = gb_read_file(in_folder("out"), NULL, NULL);
    cr_expect_str_eq(text, "old");
    free(text);
    free(bytes);
    cr_expect_eq(umount(folder), 0);
}

/* Copied in parts, a file may be larger than the memory. */
Test(files, a_copy_takes_no_memory_of_the_files_size)
{
    const off_t bytes = 32 << 20;
    char one[GB_HASH_SIZE], two[GB_HASH_SIZE];
    char *from = gb_path_join(NULL, folder, "from"), *to = gb_path_join(NULL, folder, "to");
    gb_status status = {0};
    cr_assert(gb_write_file(from, "text", 4, NULL));
    cr_assert_eq(truncate(from, bytes), 0);
    uint64_t before = gb_os_peak_bytes();
    cr_assert(gb_copy_file(from, to, &status), "%s", status.what);
    cr_expect_lt(gb_os_peak_bytes() - before, bytes / 2);
    cr_assert(gb_hash_file(from, one, NULL) && gb_hash_file(to, two, NULL));
    cr_expect_str_eq(one, two);
    cr_expect_not(gb_copy_file(in_folder("absent"), to, &status));
    cr_expect_not(gb_copy_file(folder, to, &status), "a folder is no file");
    cr_expect_eq(status.code, GB_DATA);
    cr_assert(gb_hash_file(to, two, NULL));
    cr_expect_str_eq(one, two, "the former copy stays");
    free(from), free(to);
}

/* Whichever call fails, that for a name among them: no folder looks shorter than it is. */
Test(files, a_folder_is_read_whole_or_not)
{
    char whole[GB_HASH_SIZE], hex[GB_HASH_SIZE];
    cr_assert(gb_make_dirs(in_folder("in/sub"), NULL));
    cr_assert(gb_write_file(in_folder("in/sub/a"), "1", 1, NULL));
    cr_assert(gb_write_file(in_folder("in/.b"), "2", 1, NULL));
    cr_assert(gb_hash_tree(in_folder("in"), whole, NULL));
    bool through = false;
    for (uint64_t at = 1; !through && at < 500; at++) {
        gb_status status = {0};
        gb_entries entries;
        gb_fault_arm(at);
        bool listed = gb_entries_all(in_folder("in"), &entries, &status);
        bool hashed = listed && gb_hash_tree(in_folder("in"), hex, &status);
        through = gb_fault_left() > 0;
        gb_fault_arm(0);
        cr_expect(!listed || entries.count == 2, "call %llu", (unsigned long long)at);
        cr_expect(!hashed || !strcmp(hex, whole), "call %llu", (unsigned long long)at);
        cr_expect_eq(hashed, status.code == GB_OK, "call %llu", (unsigned long long)at);
        if (listed)
            gb_entries_free(&entries);
    }
    cr_expect(through);
}

Test(files, folders_are_made_and_removed)
{
    gb_status status = {0};
    cr_expect(gb_make_dirs(in_folder("a/b//c/"), &status), "%s", status.what);
    cr_expect(gb_make_dirs(in_folder("a/b/c"), &status), "again is fine");
    cr_expect(gb_dir_exists(in_folder("a/b/c")));
    cr_assert(gb_write_file(in_folder("kept"), "x", 1, NULL));
    cr_assert_eq(symlink("../../kept", in_folder("a/b/link")), 0);
    cr_expect(gb_remove_tree(in_folder("a"), &status));
    cr_expect_not(gb_dir_exists(in_folder("a")));
    cr_expect(gb_file_exists(in_folder("kept")), "links are not followed");
    cr_expect(gb_remove_tree(in_folder("a"), &status), "absence is fine");
}

Test(files, file_that_tells_no_size_is_read_whole)
{
    size_t length;
    char *text = gb_read_file("/proc/self/status", &length, NULL);
    cr_assert_not_null(text);
    cr_expect_gt(length, 100);
    cr_expect_eq(strlen(text), length);
    free(text);
    gb_status status = {0};
    cr_expect_null(gb_read_file(in_folder("absent"), &length, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_null(gb_read_file(folder, &length, &status));
}

Test(files, hashes)
{
    /* FIPS 180-2's examples. */
    const char *abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    char one[GB_HASH_SIZE], two[GB_HASH_SIZE], want[2 * GB_HASH_SIZE + 64];
    gb_hash_bytes("abc", 3, one);
    cr_expect_str_eq(one, abc);
    gb_hash_bytes(NULL, 0, one);
    cr_expect_str_eq(one, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    cr_assert(gb_make_dirs(in_folder("sub"), NULL));
    cr_assert(gb_write_file(in_folder("z"), "abc", 3, NULL));
    cr_assert(gb_write_file(in_folder("sub/y"), "", 0, NULL));
    gb_status status = {0};
    cr_assert(gb_hash_file(in_folder("z"), two, &status));
    cr_expect_str_eq(two, abc);
    cr_assert(gb_hash_tree(folder, two, &status), "%s", status.what);
    /* By definition: sorted "path NUL hash". */
    int length = snprintf(want, sizeof want, "sub/y%c%sz%c%s", 0, one, 0, abc);
    gb_hash_bytes(want, (size_t)length, one);
    cr_expect_str_eq(two, one);
    cr_assert(gb_write_file(in_folder("x"), "abc", 3, NULL));
    cr_assert_eq(unlink(in_folder("z")), 0);
    cr_assert(gb_hash_tree(folder, two, &status));
    cr_expect_str_neq(two, one, "a name counts");
    cr_assert_eq(symlink(".", in_folder("loop")), 0);
    cr_expect_not(gb_hash_tree(folder, two, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_not(gb_hash_file(in_folder("absent"), two, &status));
}

/* The next name is taken, as by a process of the same number on another machine. */
Test(files, a_draft_is_nobody_elses)
{
    char *first = gb_draft_folder(in_folder("place"), NULL), beside[600];
    cr_assert_not_null(first);
    char *number = strrchr(first, '-');
    snprintf(beside, sizeof beside, "%.*s-%lu.draft", (int)(number - first), first,
             strtoul(number + 1, NULL, 10) + 1);
    cr_assert(gb_make_dirs(beside, NULL));
    char *second = gb_draft_folder(in_folder("place"), NULL);
    cr_assert_not_null(second);
    cr_expect(gb_dir_exists(second));
    cr_expect_str_neq(second, beside);
    cr_expect_str_neq(second, first);
    free(first), free(second);
}

/* Whichever call fails: done and the new folder is there, or failed and the former still is. */
Test(files, a_folder_is_placed_or_not)
{
    uint32_t failed = 0, done = 0;
    for (uint64_t at = 1; at < 200; at++) {
        gb_status status = {0};
        cr_assert(gb_make_dirs(in_folder("draft"), NULL) && gb_make_dirs(in_folder("place"), NULL));
        cr_assert(gb_write_file(in_folder("draft/text"), "new", 3, NULL) &&
                  gb_write_file(in_folder("place/text"), "former", 6, NULL));
        char *draft = gb_strdup(in_folder("draft"), NULL),
             *place = gb_strdup(in_folder("place"), NULL);
        gb_fault_arm(at);
        bool ok = gb_replace_folder(draft, place, &status);
        bool through = gb_fault_left() > 0; /* no call failed */
        gb_fault_arm(0);
        size_t length;
        char *text = gb_read_file(in_folder("place/text"), &length, NULL);
        cr_assert_not_null(text, "call %llu", (unsigned long long)at);
        cr_expect_eq(ok, !strncmp(text, "new", 3), "call %llu: %s", (unsigned long long)at, text);
        cr_expect_eq(ok, status.code == GB_OK);
        failed += !ok;
        done += ok;
        free(text), free(draft), free(place);
        cr_assert(gb_remove_tree(in_folder("place"), NULL));
        gb_remove_tree(in_folder("draft"), NULL);
        gb_remove_tree(in_folder("draft.old"), NULL);
        if (through)
            break;
    }
    cr_expect(done > 2, "%u done", done); /* also where the former was hard to remove */
    (void)failed;
}
