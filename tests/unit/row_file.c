/* Memory-mapped tables. */
#include <gabbro/rows.h>
#include "scratch.h"

static void write_table(const char *path, uint32_t element_bytes)
{
    static const uint32_t ids[] = {7, 8, 9};
    gb_row_writer *writer = gb_row_writer_open(path, element_bytes, NULL);
    cr_assert_not_null(writer);
    cr_assert(gb_row_writer_add(writer, ids, 12 / element_bytes, NULL));
    cr_assert(gb_row_writer_add(writer, NULL, 0, NULL));
    cr_assert(gb_row_writer_add(writer, ids + 1, 4 / element_bytes, NULL));
    cr_assert(gb_row_writer_commit(writer, NULL));
}

Test(table, gives_back_rows_of_any_length)
{
    scratch s = scratch_enter();
    const char *path = "a.gbt";
    write_table(path, 4);
    gb_row_file *file = gb_row_file_open(path, 4, NULL);
    cr_assert_not_null(file);
    cr_assert_eq(gb_row_file_count(file), 3);
    static const size_t lengths[] = {3, 0, 1};
    static const uint32_t firsts[] = {7, 0, 8};
    for (uint64_t i = 0; i < 3; i++) {
        size_t length;
        const uint32_t *row = gb_row_file_row(file, i, &length);
        cr_assert_eq(length, lengths[i]);
        if (length)
            cr_expect_eq(row[0], firsts[i]);
    }
    gb_row_file_close(file);
    gb_row_file_close(NULL);
    scratch_leave(&s);
}

Test(table, keeps_the_bytes_of_many_rows)
{
    scratch s = scratch_enter();
    const char *path = "b.gbt";
    gb_row_writer *writer = gb_row_writer_open(path, 1, NULL);
    for (uint32_t i = 0; i < 20000; i++) {
        char row[32];
        int length = snprintf(row, sizeof row, "row %u", i * 7919u);
        cr_assert(gb_row_writer_add(writer, row, (size_t)length, NULL));
    }
    cr_assert(gb_row_writer_commit(writer, NULL));
    gb_row_file *file = gb_row_file_open(path, 1, NULL);
    for (uint32_t i = 0; i < 20000; i += 17) {
        char row[32];
        size_t length;
        const char *got = gb_row_file_row(file, i, &length);
        cr_assert_eq((size_t)snprintf(row, sizeof row, "row %u", i * 7919u), length);
        cr_assert_eq(memcmp(got, row, length), 0);
    }
    gb_row_file_close(file);
    scratch_leave(&s);
}

Test(table, empty_table_is_a_table)
{
    scratch s = scratch_enter();
    const char *path = "e.gbt";
    cr_assert(gb_row_writer_commit(gb_row_writer_open(path, 1, NULL), NULL));
    gb_row_file *file = gb_row_file_open(path, 1, NULL);
    cr_assert_not_null(file);
    cr_expect_eq(gb_row_file_count(file), 0);
    gb_row_file_close(file);
    scratch_leave(&s);
}

Test(table, abandoned_writer_leaves_nothing)
{
    scratch s = scratch_enter();
    const char *path = "x.gbt";
    gb_row_writer *writer = gb_row_writer_open(path, 1, NULL);
    cr_assert(gb_row_writer_add(writer, "abc", 3, NULL));
    gb_row_writer_abandon(writer);
    gb_row_writer_abandon(NULL);
    cr_expect_not(gb_file_exists(path));
    cr_assert_eq(chdir("/"), 0); /* Windows removes no folder that somebody is in */
    cr_expect_eq(rmdir(s.path), 0, "the folder is not empty");
}

/* Open must refuse the file with a message that names it. */
static void refuse(const char *path, uint32_t element_bytes, const char *why)
{
    gb_status status = {0};
    cr_expect_null(gb_row_file_open(path, element_bytes, &status), "%s", why);
    cr_expect_eq(status.code, GB_DATA, "%s", why);
    cr_expect_not_null(strstr(status.where, path), "%s: %s", why, status.where);
    cr_expect_neq(status.what[0], '\0');
}

Test(table, every_cut_is_refused)
{
    scratch s = scratch_enter();
    const char *path = "a.gbt", *cut = "cut.gbt";
    write_table(path, 4);
    size_t length;
    char *bytes = gb_read_file(path, &length, NULL);
    for (size_t i = 0; i < length; i++) {
        cr_assert(gb_write_file(cut, bytes, i, NULL));
        refuse(cut, 4, "cut");
    }
    free(bytes);
    refuse(path, 1, "another element size");
    refuse("absent.gbt", 4, "absent");
    refuse(s.path, 4, "a folder");
    scratch_leave(&s);
}

Test(table, wrong_headers_and_offsets_are_refused)
{
    scratch s = scratch_enter();
    const char *path = "a.gbt", *bad = "bad.gbt";
    write_table(path, 4);
    size_t length;
    char *bytes = gb_read_file(path, &length, NULL);
    /* magic, version, element size, count, and the offsets of rows 0, 1, 2 and the end */
    static const size_t places[] = {0, 8, 12, 16, 23, 24, 32, 40, 48};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        bytes[places[i]] ^= 0x41;
        cr_assert(gb_write_file(bad, bytes, length, NULL));
        refuse(bad, 4, "changed byte");
        bytes[places[i]] ^= 0x41;
    }
    uint64_t huge = UINT64_MAX / 8;
    memcpy(bytes + 16, &huge, sizeof huge);
    cr_assert(gb_write_file(bad, bytes, length, NULL));
    refuse(bad, 4, "huge count");
    free(bytes);
    scratch_leave(&s);
}

Test(table, unwritable_place_is_an_error)
{
    gb_status status = {0};
    cr_expect_null(gb_row_writer_open("/no/such/folder/a.gbt", 1, &status));
    cr_expect_eq(status.code, GB_DATA);
}
