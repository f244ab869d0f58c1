/* Archives as sources of collections: what is unpacked, what is left out, what is refused. */
#include "data/import.h"
#include "scratch.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <zlib.h>

typedef struct member {
    const char *name; /* of the file */
    const char *body; /* of a file */
    const char *link; /* where a link leads, NULL: no link */
    mode_t type;      /* 0: AE_IFREG */
    int64_t hole;     /* bytes in front of the body that are not written */
} member;

/* An archive as libarchive writes it; members up to one without a name. */
static void write_archive(const char *path, int format, const member *members)
{
    struct archive *a = archive_write_new();
    archive_write_set_format(a, format);
    if (format == ARCHIVE_FORMAT_ZIP)
        archive_write_zip_set_compression_store(a);
    if (strstr(path, ".gz"))
        archive_write_add_filter_gzip(a);
    cr_assert_eq(archive_write_open_filename(a, path), ARCHIVE_OK);
    for (const member *m = members; m->name; m++) {
        size_t length = m->body ? strlen(m->body) : 0;
        struct archive_entry *entry = archive_entry_new();
        archive_entry_set_pathname(entry, m->name);
        archive_entry_set_perm(entry, 0644);
        archive_entry_set_filetype(entry, m->type ? m->type : AE_IFREG);
        archive_entry_set_size(entry, m->hole + (int64_t)length);
        if (m->hole)
            archive_entry_sparse_add_entry(entry, m->hole, (int64_t)length);
        if (m->type == AE_IFLNK)
            archive_entry_set_symlink(entry, m->link);
        else if (m->link)
            archive_entry_set_hardlink(entry, m->link);
        cr_assert_eq(archive_write_header(a, entry), ARCHIVE_OK, "%s: %s", m->name,
                     archive_error_string(a));
        for (int64_t i = 0; i < m->hole; i++)
            archive_write_data(a, "", 1);
        if (length)
            archive_write_data(a, m->body, length);
        archive_entry_free(entry);
    }
    cr_assert_eq(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
}

static void expect_unpacked(const char *path)
{
    gb_status status = {0};
    cr_assert(gb_remove_tree("to", NULL));
    cr_assert(data_import_unarchive(path, "to", &status), "%s: %s", status.where, status.what);
}

static void expect_refused(const char *path, const char *what)
{
    gb_status status = {0};
    cr_assert(gb_remove_tree("to", NULL));
    cr_expect_not(data_import_unarchive(path, "to", &status), "%s", what);
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.where, path);
    cr_expect_not_null(strstr(status.what, what), "\"%s\" does not say \"%s\"", status.what, what);
    cr_expect(status.hint[0], "no hint with \"%s\"", status.what);
}

static void expect_file(const char *path, const char *text)
{
    char *got = gb_read_file(path, NULL, NULL);
    cr_assert_not_null(got, "no %s", path);
    cr_expect_str_eq(got, text, "%s: \"%s\"", path, got);
    free(got);
}

Test(archives, long_names_and_foreign_letters)
{
    scratch s = scratch_enter();
    char name[300] = "", path[310];
    for (int i = 0; i < 20; i++)
        strcat(name, "gabbro-elbe/");
    strcat(name, "collection.tsv");
    snprintf(path, sizeof path, "to/%s", name);
    const member members[] = {{.name = name, .body = "0\tThe Elbe.\n"}, {.name = NULL}};
    write_archive("gnu.tar", ARCHIVE_FORMAT_TAR_GNUTAR, members);
    expect_unpacked("gnu.tar");
    expect_file(path, "0\tThe Elbe.\n");
    write_archive("pax.tar.gz", ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE, members);
    expect_unpacked("pax.tar.gz");
    expect_file(path, "0\tThe Elbe.\n");
    if (setlocale(LC_CTYPE, "C.UTF-8")) { /* of the writer; this kit stays in the locale C */
        const member foreign[] = {{.name = "fl\xc3\xbcsse.tsv", .body = "x"}, {.name = NULL}};
        write_archive("utf8.tar", ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE, foreign);
        write_archive("utf8.zip", ARCHIVE_FORMAT_ZIP, foreign);
        setlocale(LC_CTYPE, "C");
        gb_log_set_level(GB_LOG_ERROR);
        expect_unpacked("utf8.tar");
        expect_file("to/fl\xc3\xbcsse.tsv", "x");
        expect_unpacked("utf8.zip");
        expect_file("to/fl\xc3\xbcsse.tsv", "x");
    }
    scratch_leave(&s);
}

static bool always(void *self)
{
    (void)self;
    return true;
}

/* They may be large. */
Test(archives, are_shown_and_can_be_stopped)
{
    scratch s = scratch_enter();
    static const char *const names[] = {"a.zip", "a.tar.gz"};
    const member members[] = {{.name = "corpus.jsonl", .body = "{}\n{}\n"}, {.name = NULL}};
    for (size_t i = 0; i < 2; i++) {
        gb_status status = {0};
        write_archive(names[i], i ? ARCHIVE_FORMAT_TAR_GNUTAR : ARCHIVE_FORMAT_ZIP, members);
        cr_assert(freopen("said", "w", stderr) != NULL);
        gb_say_set_form(GB_SAY_JSON);
        expect_unpacked(names[i]);
        gb_say_set_form(GB_SAY_TEXT);
        fflush(stderr);
        char *said = gb_read_file("said", NULL, NULL);
        cr_expect(said && strstr(said, "\"label\": \"unpack\""), "%s: %s", names[i], said);
        free(said);
        cr_assert(gb_remove_tree("to", NULL));
        gb_stop_when(always, NULL);
        cr_expect_not(data_import_unarchive(names[i], "to", &status), "%s", names[i]);
        gb_stop_when(NULL, NULL);
        cr_expect_eq(status.code, GB_INTERRUPTED, "%s: %s", names[i], status.what);
    }
    scratch_leave(&s);
}

Test(archives, zip)
{
    scratch s = scratch_enter();
    const member members[] = {{.name = "scifact/corpus.jsonl", .body = "{}\n{}\n"},
                              {.name = "__MACOSX/scifact/._corpus.jsonl", .body = "x"},
                              {.name = "scifact/qrels/test.tsv", .body = "q\td\t1\n"},
                              {.name = NULL}};
    write_archive("scifact.zip", ARCHIVE_FORMAT_ZIP, members);
    expect_unpacked("scifact.zip");
    expect_file("to/scifact/corpus.jsonl", "{}\n{}\n");
    expect_file("to/scifact/qrels/test.tsv", "q\td\t1\n");
    cr_expect_not(gb_file_exists("to/__MACOSX/scifact/._corpus.jsonl"));
    size_t size;
    char *bytes = gb_read_file("scifact.zip", &size, NULL);
    cr_assert_not_null(bytes);
    gb_status status = {0};
    cr_assert(gb_write_file("cut.zip", bytes, size / 2, &status), "%s", status.what);
    expect_refused("cut.zip", "archive");
    char *body = memmem(bytes, size, "q\td", 3);
    cr_assert_not_null(body, "so short a file is stored, or this test needs another damage");
    *body = 'r';
    cr_assert(gb_write_file("bad.zip", bytes, size, &status));
    expect_refused("bad.zip", "CRC");
    free(bytes);
    write_archive("out.zip", ARCHIVE_FORMAT_ZIP,
                  (const member[]){{.name = "../outside", .body = "x"}, {.name = NULL}});
    expect_refused("out.zip", "outside of its folder");
    scratch_leave(&s);
}

Test(archives, links_and_devices_are_left_out)
{
    scratch s = scratch_enter();
    scratch_write("outside/known", "as it was");
    write_archive("links.tar", ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE,
                  (const member[]){{.name = "x", .type = AE_IFLNK, .link = "../outside"},
                                   {.name = "x/known", .body = "written"},
                                   {.name = "hard", .link = "../outside/known"},
                                   {.name = "pipe", .type = AE_IFIFO},
                                   {.name = "device", .type = AE_IFCHR},
                                   {.name = "../folder", .type = AE_IFDIR},
                                   {.name = "twice", .body = "first"},
                                   {.name = "./twice", .body = "second"},
                                   {.name = NULL}});
    expect_unpacked("links.tar");
    expect_file("outside/known", "as it was");
    expect_file("to/x/known", "written");
    expect_file("to/twice", "second"); /* as tar does */
    static const char *const others[] = {"to/hard", "to/pipe", "to/device", "folder"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_expect_neq(access(others[i], F_OK), 0, "%s", others[i]);
    scratch_leave(&s);
}

Test(archives, nothing_is_written_outside)
{
    static const char *const names[] = {"../out", "/tmp/out", "a/../../out", "a/..", "./../out"};
    scratch s = scratch_enter();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        write_archive("up.tar", ARCHIVE_FORMAT_TAR_USTAR,
                      (const member[]){{.name = names[i], .body = "x"}, {.name = NULL}});
        expect_refused("up.tar", "outside of its folder");
        cr_expect_neq(access("out", F_OK), 0, "%s", names[i]);
    }
    write_archive("holes.tar", ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE,
                  (const member[]){{.name = "a", .body = "x", .hole = 4096}, {.name = NULL}});
    expect_refused("holes.tar", "holes");
    scratch_leave(&s);
}

static void write_damaged(const char *path, const char *bytes, size_t length, size_t flipped)
{
    char *copy = gb_alloc(length + 1, 1, NULL);
    memcpy(copy, bytes, length);
    if (flipped < length)
        copy[flipped] ^= 1;
    cr_assert(gb_write_file(path, copy, length, NULL));
    free(copy);
}

Test(archives, damage_is_found)
{
    static const size_t cuts[] = {1, 511, 513, 1023, 1024 + 200, 1024 + 512 + 3, 1024 + 512 + 20};
    const member members[] = {{.name = "a", .body = "0\tThe Elbe.\n"},
                              {.name = "b", .body = "1\tBasalt\n"},
                              {.name = NULL}};
    scratch s = scratch_enter();
    write_archive("whole.tar", ARCHIVE_FORMAT_TAR_USTAR, members);
    write_archive("whole.tar.gz", ARCHIVE_FORMAT_TAR_USTAR, members);
    size_t length, packed;
    char *plain = gb_read_file("whole.tar", &length, NULL);
    char *gzip = gb_read_file("whole.tar.gz", &packed, NULL);
    expect_unpacked("whole.tar");
    expect_unpacked("whole.tar.gz");
    expect_file("to/b", "1\tBasalt\n");
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        write_damaged("cut.tar", plain, cuts[i], cuts[i]);
        expect_refused("cut.tar", "cut off");
    }
    write_damaged("damaged.tar", plain, length, 1024); /* the second name */
    expect_refused("damaged.tar", "damaged");
    write_damaged("empty.tar", plain, 0, 0);
    expect_refused("empty.tar", "empty");
    write_damaged("end.tar", plain + length - 1024, 1024, 1024);
    expect_refused("end.tar", "empty");
    for (size_t i = 1; i <= 12; i++) {
        write_damaged("cut.tar.gz", gzip, packed - i, packed);
        expect_refused("cut.tar.gz", "cut off");
    }
    write_damaged("sum.tar.gz", gzip, packed, packed - 8);
    expect_refused("sum.tar.gz", "damaged");
    write_damaged("size.tar.gz", gzip, packed, packed - 4);
    expect_refused("size.tar.gz", "damaged");
    free(plain);
    free(gzip);
    scratch_leave(&s);
}

/* The sum of gzip data lies behind the zeros that fill an archive up: it is compared although the
 * last member and the end mark were read long before. */
Test(archives, the_sum_behind_the_filling_is_compared)
{
    scratch s = scratch_enter();
    size_t length, packed;
    write_archive("short.tar", ARCHIVE_FORMAT_TAR_USTAR,
                  (const member[]){{.name = "a", .body = "x"}, {.name = NULL}});
    char *plain = gb_read_file("short.tar", &length, NULL);
    gzFile out = gzopen("filled.tar.gz", "wb");
    gzwrite(out, plain, (unsigned)length);
    for (int i = 0; i < 2000; i++)
        gzwrite(out, plain + length - 512, 512);
    cr_assert_eq(gzclose(out), Z_OK);
    expect_unpacked("filled.tar.gz");
    char *gzip = gb_read_file("filled.tar.gz", &packed, NULL);
    write_damaged("sum.tar.gz", gzip, packed, packed - 8);
    expect_refused("sum.tar.gz", "damaged");
    free(gzip);
    free(plain);
    scratch_leave(&s);
}

Test(archives, every_failure_is_reported)
{
    scratch s = scratch_enter();
    write_archive("two.tar.gz", ARCHIVE_FORMAT_TAR_USTAR,
                  (const member[]){
                      {.name = "m/a", .body = "x"}, {.name = "m/b", .body = "y"}, {.name = NULL}});
    bool armed = true;
    int n = 0, failed = 0;
    while (armed && n++ < 1000) {
        gb_status status = {0};
        cr_assert(gb_remove_tree("to", NULL));
        gb_fault_arm((uint64_t)n);
        bool ok = data_import_unarchive("two.tar.gz", "to", &status);
        gb_fault_kind seen = gb_fault_seen();
        armed = gb_fault_left() == 0;
        gb_fault_arm(0);
        if (ok) { /* a folder that is there need not be made */
            expect_file("to/m/a", "x");
            expect_file("to/m/b", "y");
        } else {
            cr_expect_eq(status.code, seen == GB_FAULT_MEMORY ? GB_MEMORY : GB_DATA, "operation %d",
                         n);
        }
        failed += !ok;
    }
    cr_expect(!armed && failed > 20, "%d of %d operations", failed, n);
    scratch_leave(&s);
}
