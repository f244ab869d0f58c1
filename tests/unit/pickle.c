/* Files of torch.save: what torch itself wrote, and files that want something else than to be read.
 */
#include "scratch.h"

#include <gabbro/folder.h>

#include <criterion/criterion.h>
#include <zlib.h>

/* ---- what torch wrote (tests/peers/golden_torch.py) ---- */

static void expect_values(const gb_safetensors *tensors, const char *name, const char *dtype,
                          uint64_t rows, uint64_t cols, double first, double step)
{
    gb_status status = {0};
    const gb_stored *stored = gb_safetensors_find(tensors, name);
    float values[16];
    cr_assert(stored, "no %s", name);
    cr_expect_str_eq(stored->dtype, dtype, "%s", name);
    cr_assert(gb_stored_read(stored, rows, cols, values, &status), "%s", status.what);
    for (uint64_t i = 0; i < rows * (cols ? cols : 1); i++)
        cr_expect_eq(values[i], (float)(first + step * (double)i), "%s[%d]", name, (int)i);
}

Test(pickle, reads_what_torch_wrote)
{
    gb_status status = {0};
    gb_safetensors *tensors = gb_safetensors_open(GB_GOLDEN "/torch.bin", &status);
    cr_assert(tensors, "%s: %s", status.where, status.what);
    cr_expect_eq(gb_safetensors_count(tensors), 11);
    expect_values(tensors, "float32", "F32", 3, 2, 0, .25);
    expect_values(tensors, "float16", "F16", 3, 2, 0, .25);
    expect_values(tensors, "bfloat16", "BF16", 3, 2, 0, .25);
    expect_values(tensors, "float64", "F64", 3, 2, 0, .25);
    expect_values(tensors, "vector", "F32", 5, 0, 0, .25);
    expect_values(tensors, "whole", "F32", 12, 0, 0, 1);
    expect_values(tensors, "part", "F32", 2, 3, 4, 1);
    cr_expect_eq(gb_safetensors_find(tensors, "scalar")->rank, 0);
    static const char *const whole[][2] = {{"int64", "I64"}, {"uint8", "U8"}, {"bool", "BOOL"}};
    for (int i = 0; i < 3; i++)
        cr_expect_str_eq(gb_safetensors_find(tensors, whole[i][0])->dtype, whole[i][1]);
    int64_t last;
    memcpy(&last, (const char *)gb_safetensors_find(tensors, "int64")->data + 5 * 8, sizeof last);
    cr_expect_eq(last, 5);
    gb_safetensors_close(tensors);
}

/* ---- files made here ---- */

typedef struct archive {
    unsigned char bytes[1 << 12]; /* the zip */
    size_t length;                /* in use */
    unsigned char index[1 << 10]; /* its directory */
    size_t index_length;          /* in use */
    unsigned count;               /* members */
} archive;

static void put(unsigned char *to, size_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[(*at)++] = i < 8 ? (unsigned char)(value >> (8 * i)) : 0;
}

static void put_bytes(unsigned char *to, size_t *at, const void *bytes, size_t length)
{
    memcpy(to + *at, bytes, length);
    *at += length;
}

static void add(archive *a, const char *name, const void *data, size_t length)
{
    size_t local = a->length, name_length = strlen(name);
    uint32_t crc = (uint32_t)crc32(0, data, (uInt)length);
    put(a->bytes, &a->length, 0x04034b50, 4);
    put(a->bytes, &a->length, 0, 10); /* version, flags, method, time, date */
    put(a->bytes, &a->length, crc, 4);
    put(a->bytes, &a->length, length, 4);
    put(a->bytes, &a->length, length, 4);
    put(a->bytes, &a->length, name_length, 4);
    put_bytes(a->bytes, &a->length, name, name_length);
    put_bytes(a->bytes, &a->length, data, length);
    put(a->index, &a->index_length, 0x02014b50, 4);
    put(a->index, &a->index_length, 0, 12);
    put(a->index, &a->index_length, crc, 4);
    put(a->index, &a->index_length, length, 4);
    put(a->index, &a->index_length, length, 4);
    put(a->index, &a->index_length, name_length, 2);
    put(a->index, &a->index_length, 0, 12);
    put(a->index, &a->index_length, local, 4);
    put_bytes(a->index, &a->index_length, name, name_length);
    a->count++;
}

static void finish(archive *a)
{
    size_t first = a->length;
    put_bytes(a->bytes, &a->length, a->index, a->index_length);
    put(a->bytes, &a->length, 0x06054b50, 4);
    put(a->bytes, &a->length, 0, 4);
    put(a->bytes, &a->length, a->count, 2);
    put(a->bytes, &a->length, a->count, 2);
    put(a->bytes, &a->length, a->index_length, 4);
    put(a->bytes, &a->length, first, 4);
    put(a->bytes, &a->length, 0, 2);
}

static archive archive_of(const void *pickle, size_t length)
{
    static const float values[] = {1, 2, 3, 4};
    archive a = {0};
    add(&a, "m/data.pkl", pickle, length);
    add(&a, "m/data/0", values, sizeof values);
    finish(&a);
    return a;
}

/* The file is opened, or refused with GB_DATA; what is said then is returned. */
static gb_safetensors *open_bytes(const void *bytes, size_t length, gb_status *status)
{
    *status = (gb_status){0};
    unlink("x.bin"); /* a file written over would go to the disk at once */
    FILE *file = fopen("x.bin", "wb");
    cr_assert(file && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
    gb_safetensors *tensors = gb_safetensors_open("x.bin", status);
    cr_assert(tensors || status->code == GB_DATA, "%d %s", (int)status->code, status->what);
    return tensors;
}

static void expect_refused(const void *pickle, size_t length, const char *complaint)
{
    gb_status status;
    archive a = archive_of(pickle, length);
    gb_safetensors *tensors = open_bytes(a.bytes, a.length, &status);
    cr_expect_null(tensors, "taken, not refused with \"%s\"", complaint);
    cr_expect(strstr(status.what, complaint), "\"%s\" does not say \"%s\"", status.what, complaint);
    gb_safetensors_close(tensors);
}
#define REFUSED(pickle, complaint) expect_refused(pickle, sizeof(pickle) - 1, complaint)

/* "w": 2 x 2 of the bytes "0". */
#define BYTES                                                                                      \
    "((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"                                            \
    "0X\3\0\0\0cpuK\4tQ"
#define REBUILD "ctorch._utils\n_rebuild_tensor_v2\n"
#define NAME    "\x80\2}(X\1\0\0\0w"
#define REST                                                                                       \
    "\x89"                                                                                         \
    "ccollections\nOrderedDict\n)RtRu."
#define GOOD NAME REBUILD BYTES "K\0K\2K\2\x86K\2K\1\x86" REST

Test(pickle, reads_a_file_made_here)
{
    scratch s = scratch_enter();
    gb_status status;
    archive a = archive_of(GOOD, sizeof GOOD - 1);
    gb_safetensors *tensors = open_bytes(a.bytes, a.length, &status);
    cr_assert(tensors, "%s", status.what);
    expect_values(tensors, "w", "F32", 2, 2, 1, 1);
    gb_safetensors_close(tensors);
    scratch_leave(&s);
}

Test(pickle, executes_nothing)
{
    scratch s = scratch_enter();
    REFUSED("\x80\2cos\nsystem\nX\4\0\0\0true\x85R.", "asks for os.system");
    REFUSED("\x80\2cbuiltins\neval\nX\1\0\0\0"
            "1\x85R.",
            "asks for builtins.eval");
    REFUSED("\x80\4\x8c\2os\x8c\6system\x93X\4\0\0\0true\x85R.", "asks for os.system");
    REFUSED("\x80\2ctorch._utils\n_rebuild_tensor_v2\nX\1\0\0\0w\x85R.", "in an unknown way");
    REFUSED("\x80\2ctorch\nFloatStorage\n)R.", "cannot be called");
    REFUSED("\x80\2(cos\nsystem\nX\4\0\0\0trueo.", "asks for os.system");         /* OBJ */
    REFUSED("(S'true'\nios\nsystem\n.", "unknown operation 0x53");                /* INST */
    REFUSED("\x80\2ccollections\nOrderedDict\n)\x81.", "unknown operation 0x81"); /* NEWOBJ */
    REFUSED("\x80\2"
            "P1\n.",
            "unknown operation 0x50");                  /* PERSID */
    REFUSED("\x80\2\x82\1.", "unknown operation 0x82"); /* EXT1 */
    REFUSED("\x80\2"
            "cc\x1b[2J\nx\n.",
            "asks for c?[2J.x");
    scratch_leave(&s);
}

Test(pickle, refuses_what_it_does_not_understand)
{
    scratch s = scratch_enter();
    REFUSED("", "ends too soon");
    REFUSED("\x80\2}", "ends too soon");
    REFUSED("\x80\2.", "something else than tensors by name");
    REFUSED("\x80\2K\1.", "something else than tensors by name");
    REFUSED("\x80\2}X\1\0\0\0wK\1s.", "w is no tensor");
    REFUSED("\x80\2}K\1K\1s.", "name is no text");
    REFUSED("\x80\2t.", "mark that is not there");
    REFUSED("\x80\2(R.", "value that is not there");
    REFUSED("\x80\2K\1K\1K\1s.", "no dictionary");
    REFUSED("\x80\2h\7.", "did not remember");
    REFUSED("\x80\2}r\xff\xff\xff\x7f.", "more than it holds");
    REFUSED("\x80\2X\xff\xff\xff\xff.", "ends too soon");
    REFUSED("\x80\2\x8a\x09"
            "123456789.",
            "too long");
    REFUSED(NAME REBUILD BYTES "K\1K\2K\2\x86K\2K\1\x86" REST, "not in the file");
    REFUSED(NAME REBUILD BYTES "K\0J\xff\xff\xff\x7fJ\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x87"
                               "K\1K\1K\1\x87" REST,
            "without end");
    REFUSED(NAME REBUILD BYTES "K\0J\xff\xff\xff\xffK\2\x86K\2K\1\x86" REST, "unknown way");
    REFUSED(NAME REBUILD BYTES "K\0K\2K\2\x86K\1K\2\x86" REST, "one after the other");
    REFUSED(NAME REBUILD BYTES "K\0K\2K\2\x86K\1\x85" REST, "unknown way");
    REFUSED("\x80\2}(X\0\0\0\0" REBUILD BYTES "K\0K\2K\2\x86K\2K\1\x86" REST, "empty, too long");
    scratch_leave(&s);
}

Test(pickle, refuses_damaged_zips)
{
    scratch s = scratch_enter();
    gb_status status;
    archive a = archive_of(GOOD, sizeof GOOD - 1), twice = {0}, none = {0};
    add(&twice, "m/data.pkl", GOOD, sizeof GOOD - 1);
    add(&twice, "m/data.pkl", GOOD, sizeof GOOD - 1);
    finish(&twice);
    cr_expect_null(open_bytes(twice.bytes, twice.length, &status));
    cr_expect(strstr(status.what, "twice"), "%s", status.what);
    add(&none, "m/readme", "", 0);
    finish(&none);
    cr_expect_null(open_bytes(none.bytes, none.length, &status));
    cr_expect(strstr(status.what, "no data.pkl"), "%s", status.what);
    cr_expect_null(open_bytes("\x80\2}q\0.padding", 14, &status));
    cr_expect(strstr(status.what, "before 1.6"), "%s", status.what);
    a.bytes[60] ^= 1; /* in the pickle: the checksum tells */
    cr_expect_null(open_bytes(a.bytes, a.length, &status));
    cr_expect(strstr(status.what, "checksum"), "%s", status.what);
    scratch_leave(&s);
}

/* Every byte changed, and every length: refused or read, but never more than that. The checksum is
 * made right again, so that changes of the pickle reach the machine. */
Test(pickle, survives_any_change)
{
    scratch s = scratch_enter();
    gb_status status;
    archive a = archive_of(GOOD, sizeof GOOD - 1);
    static const unsigned char changes[] = {1, 0x10, 0x80, 0xff};
    for (size_t i = 0; i < a.length; i++) {
        archive b = a;
        b.bytes[i] ^= changes[i % sizeof changes];
        gb_safetensors_close(open_bytes(b.bytes, b.length, &status));
        gb_safetensors_close(open_bytes(a.bytes, i, &status));
    }
    for (size_t i = 0; i < sizeof GOOD - 1; i++)
        for (int change = 1; change < 256; change += 23) {
            char pickle[] = GOOD;
            pickle[i] = (char)(pickle[i] ^ change);
            archive b = archive_of(pickle, sizeof GOOD - 1);
            gb_safetensors_close(open_bytes(b.bytes, b.length, &status));
        }
    scratch_leave(&s);
}
