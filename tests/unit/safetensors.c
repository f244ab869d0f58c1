/* safetensors files: values keep their bits, damage of any kind is told and never read. */
#include "gabbro/folder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/gabbro-safetensors-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void drop_folder(void)
{
    cr_expect(gb_remove_tree(folder, NULL));
}

TestSuite(safetensors, .init = make_folder, .fini = drop_folder);

/* A path in the folder, valid until the fourth call after. */
static const char *in_folder(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static char *slurp(const char *path, size_t *length)
{
    gb_status status = {0};
    char *bytes = gb_read_file(path, length, &status);
    cr_assert_not_null(bytes, "%s", status.what);
    return bytes;
}

static void spill(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb"); /* gb_write_file would wait for the disk each time */
    cr_assert(file && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
}

/* A file made by hand: header text, then data. */
static void write_raw(const char *path, const char *header, const void *data, size_t size)
{
    uint64_t length = strlen(header);
    char *bytes = malloc(8 + length + size);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    if (size)
        memcpy(bytes + 8 + length, data, size);
    spill(path, bytes, 8 + length + size);
    free(bytes);
}

/* Opening must fail as damaged data, naming the file and saying `part`. */
static void expect_refused(const char *path, const char *file, const char *part)
{
    gb_status status = {0};
    gb_safetensors *tensors = gb_safetensors_open(path, &status);
    cr_expect_null(tensors, "accepted, but: %s", part);
    gb_safetensors_close(tensors);
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_not_null(strstr(status.what, part), "\"%s\" does not say \"%s\"", status.what, part);
    cr_expect_not_null(strstr(status.where, file), "\"%s\" does not name %s", status.where, file);
    cr_expect_str_not_empty(status.hint);
}

/* ---- round trip ---- */

static const uint32_t odd_bits[6] = {
    0x7fc12345, /* NaN with a payload */
    0xff800000, /* -infinity */
    0x80000000, /* -0 */
    0x00000001, /* least subnormal */
    0x3f800001, /* just above 1 */
    0x7f7fffff, /* greatest */
};

Test(safetensors, round_trip_keeps_every_bit)
{
    float odd[6], ones[5] = {1, 1, 1, 1, 1};
    memcpy(odd, odd_bits, sizeof odd);
    gb_weight weights[] = {{"m", 2, 3, odd}, {"b.10", 5, 0, ones}, {"b.2", 0, 4, NULL}};
    gb_status status = {0};
    const char *path = in_folder("a.safetensors");
    cr_assert(gb_safetensors_write(path, weights, 3, &status), "%s", status.what);
    gb_safetensors *tensors = gb_safetensors_open(path, &status);
    cr_assert_not_null(tensors, "%s", status.what);
    cr_assert_eq(gb_safetensors_count(tensors), 3);
    cr_expect_str_eq(gb_safetensors_at(tensors, 0)->name, "b.10");
    cr_expect_str_eq(gb_safetensors_at(tensors, 1)->name, "b.2");
    cr_expect_null(gb_safetensors_find(tensors, "b"));
    const gb_stored *m = gb_safetensors_find(tensors, "m");
    cr_assert_not_null(m);
    float back[6];
    cr_assert(gb_stored_read(m, 2, 3, back, &status), "%s", status.what);
    cr_expect_eq(memcmp(back, odd_bits, sizeof back), 0);
    cr_assert(gb_stored_read(gb_safetensors_find(tensors, "b.10"), 5, 0, back, &status));
    cr_expect_eq(back[4], 1);
    gb_safetensors_close(tensors);
}

/* What lies between the rows of a matrix is no part of it. */
Test(safetensors, rows_may_lie_apart)
{
    const float apart[] = {1, 2, 3, NAN, 4, 5, 6, NAN};
    const gb_weight weight = {"m", 2, 3, apart, 4};
    gb_status status = {0};
    const char *path = in_folder("apart.safetensors");
    cr_assert(gb_safetensors_write(path, &weight, 1, &status), "%s", status.what);
    gb_safetensors *tensors = gb_safetensors_open(path, &status);
    cr_assert_not_null(tensors, "%s", status.what);
    float back[6];
    cr_assert(gb_stored_read(gb_safetensors_find(tensors, "m"), 2, 3, back, &status));
    for (int i = 0; i < 6; i++)
        cr_expect_eq(back[i], i + 1);
    gb_safetensors_close(tensors);
}

Test(safetensors, bytes_are_fixed)
{
    const float values[2] = {1, -2};
    gb_weight forth[] = {{"a", 1, 0, values}, {"b\"\\\xc3\xa4", 2, 1, values}};
    gb_weight back[] = {forth[1], forth[0]};
    gb_status status = {0};
    cr_assert(gb_safetensors_write(in_folder("1"), forth, 2, &status), "%s", status.what);
    cr_assert(gb_safetensors_write(in_folder("2"), back, 2, &status), "%s", status.what);
    size_t length[2];
    char *bytes[2] = {slurp(in_folder("1"), &length[0]), slurp(in_folder("2"), &length[1])};
    const char expected[] =
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
        "\"b\\\"\\\\\xc3\xa4\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[4,12]}}";
    size_t padded = (sizeof expected - 1 + 7) / 8 * 8;
    cr_assert_eq(length[0], 8 + padded + 12);
    cr_assert_eq(length[0], length[1]);
    cr_expect_eq(memcmp(bytes[0], bytes[1], length[0]), 0, "depends on the order given");
    cr_expect_eq(memcmp(bytes[0] + 8, expected, sizeof expected - 1), 0);
    for (size_t i = sizeof expected - 1; i < padded; i++)
        cr_expect_eq(bytes[0][8 + i], ' ');
    cr_expect_eq(memcmp(bytes[0] + 8 + padded, (float[]){1, 1, -2}, 12), 0);
    free(bytes[0]);
    free(bytes[1]);
}

Test(safetensors, writer_refuses_what_cannot_be_read_back)
{
    const float one = 1;
    const gb_weight cases[][2] = {
        {{"a", 1, 0, &one}, {"a", 1, 0, &one}},
        {{"a", 1, 0, &one}, {"", 1, 0, &one}},
        {{"a", 1, 0, &one}, {"__metadata__", 1, 0, &one}},
        {{"a", 1, 0, &one}, {"line\n", 1, 0, &one}},
        {{"a", 1, 0, &one}, {"\xff", 1, 0, &one}},
        {{"a", 1, 0, &one}, {"huge", UINT64_MAX / 2, 3, &one}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gb_status status = {0};
        cr_expect_not(gb_safetensors_write(in_folder("x"), cases[i], 2, &status), "case %zu", i);
        cr_expect_eq(status.code, GB_DATA);
        cr_expect_not(gb_file_exists(in_folder("x")));
    }
}

/* ---- types ---- */

Test(safetensors, every_half_becomes_its_value)
{
    uint16_t *halves = malloc(65536 * sizeof *halves);
    float *values = malloc(65536 * sizeof *values);
    for (int i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    const char *header =
        "{\"h\":{\"dtype\":\"F16\",\"shape\":[65536],\"data_offsets\":[0,131072]}}";
    write_raw(in_folder("h"), header, halves, 131072);
    gb_status status = {0};
    gb_safetensors *tensors = gb_safetensors_open(in_folder("h"), &status);
    cr_assert_not_null(tensors, "%s", status.what);
    cr_assert(gb_stored_read(gb_safetensors_at(tensors, 0), 65536, 0, values, &status));
    for (int i = 0; i < 65536; i++) {
        int exponent = i >> 10 & 31, fraction = i & 1023;
        double value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        if (exponent == 31)
            value = fraction ? (double)NAN : (double)INFINITY;
        value = i & 0x8000 ? -value : value;
        bool same = isnan(value) ? isnan(values[i])
                                 : values[i] == value && !signbit(values[i]) == !signbit(value);
        cr_assert(same, "half %04x: %g, not %g", i, (double)values[i], value);
    }
    gb_safetensors_close(tensors);
    free(halves);
    free(values);
}

Test(safetensors, other_types)
{
    /* Data at odd places: nothing may rely on alignment. */
    unsigned char data[25] = {0, 0x80, 0x3f, 0xc0, 0x7f}; /* U8, then BF16 1 and NaN */
    const double wide[2] = {0.1, 1e-300};
    memcpy(data + 5, wide, 16);
    memcpy(data + 21, &(int32_t){7}, 4);
    write_raw(in_folder("t"),
              "{\"u\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
              "\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[1,5]},"
              "\"d\":{\"dtype\":\"F64\",\"shape\":[1,2],\"data_offsets\":[5,21]},"
              "\"i\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[21,25]}}  ",
              data, sizeof data);
    gb_status status = {0};
    gb_safetensors *tensors = gb_safetensors_open(in_folder("t"), &status);
    cr_assert_not_null(tensors, "%s", status.what);
    float out[2];
    cr_assert(gb_stored_read(gb_safetensors_find(tensors, "b"), 2, 0, out, &status));
    cr_expect(out[0] == 1 && isnan(out[1]));
    cr_assert(gb_stored_read(gb_safetensors_find(tensors, "d"), 1, 2, out, &status));
    cr_expect(out[0] == 0.1f && out[1] == 0);
    cr_expect_not(gb_stored_read(gb_safetensors_find(tensors, "u"), 1, 0, out, &status));
    cr_expect_str_eq(status.what, "tensor u is of type U8, not floating point");
    cr_expect_eq(status.code, GB_DATA);
    /* A vector is no matrix of one column, and the other way round. */
    cr_expect_not(gb_stored_read(gb_safetensors_find(tensors, "b"), 2, 1, out, &status));
    cr_expect_str_eq(status.what, "tensor b is [2], but [2, 1] is wanted");
    cr_expect_not(gb_stored_read(gb_safetensors_find(tensors, "d"), 2, 0, out, &status));
    cr_expect_str_eq(status.what, "tensor d is [1, 2], but [2] is wanted");
    cr_expect_not_null(strstr(status.where, "/t"));
    gb_safetensors_close(tensors);
}

/* ---- damage ---- */

#define F32(shape, begin, end)                                                                     \
    "{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

Test(safetensors, every_damage_has_its_message)
{
    static const struct {
        const char *header;
        size_t size; /* bytes of data */
        const char *part;
    } cases[] = {
        {"", 8, "does not begin with '{'"},
        {" {}", 0, "does not begin with '{'"},
        {"{\"a\":" F32("[2]", 0, 8), 8, "not valid JSON"},
        {"{\"a\":" F32("[2]", 0, 8) "}x", 8, "not valid JSON"},
        {"{\"a\":" F32("[1]", 0, 4) ",\"a\":" F32("[1]", 4, 8) "}", 8, "not valid JSON"},
        {"{\"\xff\":" F32("[2]", 0, 8) "}", 8, "not valid JSON"},
        {"{\"\":" F32("[2]", 0, 8) "}", 8, "name \"\" is empty"},
        {"{\"a\\u001b\":" F32("[2]", 0, 8) "}", 8, "control characters"},
        {"{\"a\":7}", 0, "tensor a is no object"},
        {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "tensor a has no \"dtype\""},
        {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, "no \"shape\""},
        {"{\"a\":{\"dtype\":\"F31\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
         "tensor a has the unknown type \"F31\""},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "tensor a has no sound \"data_offsets\""},
        {"{\"a\":" F32("[2]", 8, 0) "}", 8, "tensor a has no sound"},
        {"{\"a\":" F32("[2]", -8, 0) "}", 8, "tensor a has no sound"},
        {"{\"a\":" F32("[2]", 0.0, 8) "}", 8, "tensor a has no sound"},
        {"{\"a\":" F32("[-2]", 0, 8) "}", 8, "shape of tensor a"},
        {"{\"a\":" F32("[2.0]", 0, 8) "}", 8, "shape of tensor a"},
        {"{\"a\":" F32("[1,1,1,1,1,1,1,1,2]", 0, 8) "}", 8, "tensor a has 9 dimensions"},
        {"{\"a\":" F32("[4294967296,4294967296]", 0, 8) "}", 8, "shape of tensor a"},
        {"{\"a\":" F32("[3]", 0, 8) "}", 8, "tensor a has 8 bytes; [3] of F32 are 12"},
        {"{\"a\":" F32("[2]", 0, 8) "}", 7, "tensor a ends at byte 8 of the data"},
        {"{\"a\":" F32("[2]", 0, 8) "}", 9, "1 bytes at the end"},
        {"{}", 1, "1 bytes at the end"},
        {"{\"a\":" F32("[2]", 0, 8) ",\"b\":" F32("[2]", 4, 12) "}", 12, "a and b overlap"},
        {"{\"a\":" F32("[2]", 0, 8) ",\"b\":" F32("[1]", 0, 4) "}", 8, "b and a overlap"},
        {"{\"a\":" F32("[1]", 0, 4) ",\"b\":" F32("[1]", 5, 9) "}", 9, "1 bytes before tensor b"},
        {"{\"a\":" F32("[1]", 4, 8) "}", 8, "4 bytes before tensor a"},
        {"{\"__metadata__\":{\"format\":1},\"a\":" F32("[2]", 0, 8) "}", 8, "__metadata__"},
        {"{\"__metadata__\":\"pt\",\"a\":" F32("[2]", 0, 8) "}", 8, "__metadata__"},
    };
    const char zeros[16] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_raw(in_folder("bad"), cases[i].header, zeros, cases[i].size);
        expect_refused(in_folder("bad"), "/bad", cases[i].part);
    }
}

Test(safetensors, header_length_beyond_the_file)
{
    const uint64_t lengths[] = {UINT64_MAX, UINT64_MAX - 7, 100000001, 9};
    for (size_t i = 0; i < 4; i++) {
        char bytes[] = "\0\0\0\0\0\0\0\0{}      ";
        memcpy(bytes, &lengths[i], 8);
        spill(in_folder("bad"), bytes, sizeof bytes - 1);
        expect_refused(in_folder("bad"), "/bad", "the header has");
    }
    expect_refused(in_folder("absent"), "/absent", "cannot open");
    expect_refused(folder, folder, "not a regular file");
}

static void write_good(const char *path)
{
    const float values[6] = {1, 2, 3, 4, 5, 6};
    const gb_weight weights[] = {{"first", 2, 2, values}, {"second", 6, 0, values}};
    gb_status status = {0};
    cr_assert(gb_safetensors_write(path, weights, 2, &status), "%s", status.what);
}

Test(safetensors, every_cut_is_refused)
{
    size_t length;
    write_good(in_folder("good"));
    char *bytes = slurp(in_folder("good"), &length);
    for (size_t cut = 0; cut < length; cut++) {
        spill(in_folder("cut"), bytes, cut);
        expect_refused(in_folder("cut"), "/cut", "");
    }
    free(bytes);
}

/* Whatever is accepted after a change of the header stays inside the file (run with the address
 * sanitizer). */
Test(safetensors, changed_headers_are_refused_or_readable)
{
    size_t length;
    int accepted = 0;
    write_good(in_folder("good"));
    char *bytes = slurp(in_folder("good"), &length);
    gb_rng rng = gb_rng_make(1, GB_RNG_TEST, 0, 0);
    for (size_t i = 0; i < 3 * (length - 40); i++) {
        char *byte = &bytes[i / 3], old = *byte;
        *byte = (char)(i % 3 ? '0' + gb_rng_below(&rng, 10) : gb_rng_below(&rng, 256));
        spill(in_folder("odd"), bytes, length);
        *byte = old;
        gb_status status = {0};
        gb_safetensors *tensors = gb_safetensors_open(in_folder("odd"), &status);
        cr_expect(tensors || status.code == GB_DATA);
        accepted += tensors != NULL;
        for (size_t t = 0; tensors && t < gb_safetensors_count(tensors); t++) {
            const gb_stored *stored = gb_safetensors_at(tensors, t);
            float out[64];
            cr_assert(stored->bytes <= 40);
            gb_stored_read(stored, stored->shape[0], stored->rank == 2 ? stored->shape[1] : 0, out,
                           NULL);
        }
        gb_safetensors_close(tensors);
    }
    cr_expect_gt(accepted, 0); /* a changed name is a sound file */
    free(bytes);
}

/* ---- shards ---- */

static void write_shards(const char *index)
{
    const float values[4] = {1, 2, 3, 4};
    gb_status status = {0};
    cr_assert(gb_safetensors_write(in_folder("m-1.safetensors"),
                                   (gb_weight[]){{"b", 2, 2, values}, {"d", 1, 0, values}}, 2,
                                   &status));
    cr_assert(gb_safetensors_write(in_folder("m-2.safetensors"),
                                   (gb_weight[]){{"a", 1, 0, values + 3}}, 1, &status));
    spill(in_folder("m.safetensors.index.json"), index, strlen(index));
}

Test(safetensors, shards_are_one_model)
{
    write_shards("{\"metadata\":{\"total_size\":24},\"weight_map\":{\"b\":\"m-1.safetensors\","
                 "\"a\":\"m-2.safetensors\",\"d\":\"m-1.safetensors\"}}");
    gb_status status = {0};
    gb_safetensors *tensors = gb_safetensors_open(in_folder("m.safetensors.index.json"), &status);
    cr_assert_not_null(tensors, "%s", status.what);
    cr_assert_eq(gb_safetensors_count(tensors), 3);
    float out[4];
    cr_assert(gb_stored_read(gb_safetensors_find(tensors, "a"), 1, 0, out, &status));
    cr_expect_eq(out[0], 4);
    cr_assert(gb_stored_read(gb_safetensors_find(tensors, "b"), 2, 2, out, &status));
    cr_expect_eq(out[3], 4);
    cr_expect_not_null(strstr(gb_safetensors_find(tensors, "a")->path, "/m-2.safetensors"));
    gb_safetensors_close(tensors);
}

Test(safetensors, damaged_indexes)
{
    static const struct {
        const char *index;
        const char *file; /* that the message names */
        const char *part;
    } cases[] = {
        {"{", "index.json:1", "not valid JSON"},
        {"{\"weight_map\":[]}", "index.json", "no \"weight_map\""},
        {"{\"weight_map\":{\"a\":\"../m-2.safetensors\"}}", "index.json", "tensor a is no plain"},
        {"{\"weight_map\":{\"a\":2}}", "index.json", "tensor a is no plain"},
        {"{\"weight_map\":{\"a\":\"m-3.safetensors\"}}", "m-3.safetensors", "cannot open"},
        {"{\"weight_map\":{\"b\":\"m-1.safetensors\"}}", "index.json", "tensor d lies in"},
        {"{\"weight_map\":{\"a\":\"m-2.safetensors\",\"e\":\"m-2.safetensors\"}}", "index.json",
         "tensor e is not in m-2.safetensors"},
        {"{\"weight_map\":{\"b\":\"m-1.safetensors\",\"d\":\"m-2.safetensors\","
         "\"a\":\"m-2.safetensors\"}}",
         "index.json", "tensor d lies in"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_shards(cases[i].index);
        expect_refused(in_folder("m.safetensors.index.json"), cases[i].file, cases[i].part);
    }
    /* The same tensor in two shards. */
    write_shards("{\"weight_map\":{\"b\":\"m-1.safetensors\",\"a\":\"m-2.safetensors\"}}");
    const float value = 1;
    cr_assert(gb_safetensors_write(in_folder("m-2.safetensors"),
                                   (gb_weight[]){{"a", 1, 0, &value}, {"b", 1, 0, &value}}, 2,
                                   NULL));
    expect_refused(in_folder("m.safetensors.index.json"), "/m-", "tensor b is also in");
}
