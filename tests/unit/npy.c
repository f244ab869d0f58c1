/* Vectors in NumPy's files. */
#include <gabbro/rows.h>

#include <math.h>

#include "scratch.h"

static void write_bytes(const char *path, const void *head, size_t head_size, const void *body,
                        size_t body_size)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(head, 1, head_size, file), head_size);
    cr_assert_eq(fwrite(body, 1, body_size, file), body_size);
    cr_assert_eq(fclose(file), 0);
}

/* A header as numpy.save writes it, of so many bytes. */
static void header_of(char header[GB_NPY_HEADER], const char *dictionary)
{
    memset(header, ' ', GB_NPY_HEADER);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(header + 10, dictionary, strlen(dictionary));
    header[GB_NPY_HEADER - 1] = '\n';
}

Test(npy, files_are_read_as_one)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    char header[GB_NPY_HEADER];
    const float first[] = {1, 2, 3, 4, 5, 6};
    const uint16_t halfs[] = {0x3c00, 0xc000, 0x0001, 0x7bff}; /* 1, -2, 2^-24, 65504 */
    gb_npy_header(3, 2, header);
    write_bytes("a.npy", header, sizeof header, first, sizeof first);
    header_of(header, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 2), }");
    write_bytes("b.npy", header, sizeof header, halfs, sizeof halfs);
    gb_npy *npy = gb_npy_open((const char *const[]){"a.npy", "b.npy"}, 2, &status);
    cr_assert_not_null(npy, "%s: %s", status.where, status.what);
    gb_vectors v = gb_npy_vectors(npy);
    cr_expect(v.rows == 5 && v.width == 2 && gb_npy_rows(npy, 0) == 3);
    const float wanted[] = {5, 6, 1, -2, ldexpf(1, -24), 65504};
    const float *got = v.read(v.context, 2, 3, &status);
    cr_assert_not_null(got);
    for (size_t i = 0; i < 6; i++)
        cr_expect_eq(got[i], wanted[i], "%zu: %g", i, (double)got[i]);
    cr_expect_eq(v.read(v.context, 0, 1, &status)[1], 2.0f);
    gb_npy_close(npy);
    gb_npy_close(NULL);
    scratch_leave(&s);
}

Test(npy, what_rounding_changes)
{
    static const float rows[][2] = {{127, 63.4f}, {0, 0}, {3, 4}};
    gb_rounding rounding = {0};
    gb_status status = {0};
    for (size_t r = 0; r < 3; r++) {
        int8_t packed[2];
        float factor;
        cr_assert(gb_number_pack(GB_NUMBER_INT8, rows[r], 2, packed, &factor, "x", &status));
        gb_rounding_add(&rounding, GB_NUMBER_INT8, rows[r], 2, packed, factor);
    }
    /* 63.4 is 63; 3 of at most 4 is 95 of 127, which is 2.992 */
    cr_expect_float_eq(rounding.number, .4, 1e-5);
    cr_expect_float_eq(rounding.vector, .4 / sqrt(127. * 127 + 63.4 * 63.4), 1e-6);
    rounding = (gb_rounding){0};
    const float third = 1 / 3.f;
    uint16_t half;
    cr_assert(gb_number_pack(GB_NUMBER_FLOAT16, &third, 1, &half, NULL, "x", &status));
    gb_rounding_add(&rounding, GB_NUMBER_FLOAT16, &third, 1, &half, 1);
    cr_expect_float_eq(rounding.number, fabs(.333251953125 - (double)third), 1e-12);
    cr_expect_float_eq(rounding.vector, rounding.number / (double)third, 1e-9);
}

Test(npy, no_number_becomes_a_small_one)
{
    static const float rows[][2] = {{1, NAN}, {-INFINITY, 1}};
    float factor;
    for (size_t r = 0; r < 2; r++)
        for (gb_number kind = GB_NUMBER_FLOAT16; kind <= GB_NUMBER_INT8; kind++) {
            gb_status status = {0};
            uint16_t packed[2];
            cr_expect_not(gb_number_pack(kind, rows[r], 2, packed, &factor, "x", &status));
            cr_expect(status.code == GB_DATA && strstr(status.what, r ? "-inf" : "nan"), "%s",
                      status.what);
        }
}

static const char good[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }";

static void expect_refused(const char *dictionary, size_t body, const char *what)
{
    gb_status status = {0};
    char header[GB_NPY_HEADER];
    const float values[8] = {0};
    header_of(header, dictionary);
    write_bytes("x.npy", header, sizeof header, values, body);
    cr_expect_null(gb_npy_open((const char *const[]){"x.npy"}, 1, &status), "%s", what);
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.where, "x.npy");
    cr_expect_not_null(strstr(status.what, what), "\"%s\" does not say \"%s\"", status.what, what);
}

Test(npy, damage_is_named)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    expect_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }", 16, "float32");
    expect_refused("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }", 8, "C order");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8, "[rows, width]");
    expect_refused(good, 4, "another size");
    expect_refused(good, 12, "another size");
    expect_refused("nothing", 8, "float32");
    scratch_write("x.npy", "a text that is no array at all");
    cr_expect_null(gb_npy_open((const char *const[]){"x.npy"}, 1, &status));
    cr_expect_not_null(strstr(status.what, "not a .npy"), "%s", status.what);
    scratch_write("x.npy", "short");
    cr_expect_null(gb_npy_open((const char *const[]){"x.npy"}, 1, &status));
    cr_expect_not_null(strstr(status.what, "cut off"), "%s", status.what);
    scratch_leave(&s);
}

Test(npy, numbers_that_are_none_are_refused)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    char header[GB_NPY_HEADER];
    const float rows[] = {1, 2, 3, NAN, INFINITY, 6};
    gb_npy_header(3, 2, header);
    write_bytes("x.npy", header, sizeof header, rows, sizeof rows);
    gb_npy *npy = gb_npy_open((const char *const[]){"x.npy"}, 1, &status);
    cr_assert_not_null(npy, "%s", status.what);
    gb_vectors v = gb_npy_vectors(npy);
    cr_expect_not_null(v.read(v.context, 0, 1, &status));
    cr_expect_null(v.read(v.context, 0, 3, &status));
    cr_expect(status.code == GB_DATA && strstr(status.what, "row 1"), "%s", status.what);
    cr_expect_null(v.read(v.context, 2, 1, &status));
    cr_expect(strstr(status.what, "row 2"), "%s", status.what);
    gb_npy_close(npy);
    scratch_leave(&s);
}
