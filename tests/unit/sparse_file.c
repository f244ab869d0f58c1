/* Files of sparse vectors: what is written is read, a killed process goes on, damage is found. */
#include "scratch.h"

#include "../../src/retrieve/sparse.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { TEXTS = 3000, VOCABULARY = 40, LONGEST = 9 }; /* several times what is written at once */

static scratch folder;
static uint32_t ids[TEXTS * LONGEST];
static size_t starts[TEXTS + 1];
static float weights[VOCABULARY];

static void setup(void)
{
    folder = scratch_enter();
    for (uint32_t t = 0; t < TEXTS; t++) {
        uint32_t length = t % (LONGEST + 1);
        for (uint32_t i = 0; i < length; i++)
            ids[starts[t] + i] = (t * 7 + i * i * 3) % VOCABULARY;
        starts[t + 1] = starts[t] + length;
    }
    for (uint32_t i = 0; i < VOCABULARY; i++)
        weights[i] = i % 5 ? (float)(i % 8) / 4 : 0;
}

static void teardown(void)
{
    scratch_leave(&folder);
}

TestSuite(sparse_file, .init = setup, .fini = teardown);

static const gb_encode_rows rows = {.ids = ids, .starts = starts, .count = TEXTS, .label = "test"};
static const gb_vector_file file = {.path = "terms", .journal = "journal"};

static bool write_file(uint32_t most, double least, gb_status *status)
{
    sparse_source source = {
        .specials = {.cls = 1, .sep = 2}, .max_length = 8, .most = most, .least = least};
    source.weights = weights;
    bool ok = retrieve_sparse_file_write(&file, &rows, VOCABULARY, &source, status);
    retrieve_sparse_source_free(&source);
    return ok;
}

/* The weights that a text should have, by the definition. */
static uint32_t expected(uint32_t text, double least, float *found)
{
    uint32_t count = 0;
    memset(found, 0, sizeof *found * VOCABULARY);
    for (size_t i = starts[text]; i < starts[text + 1] && i < starts[text] + 6; i++)
        if (ids[i] != 1 && ids[i] != 2 && (double)weights[ids[i]] >= least)
            found[ids[i]] = weights[ids[i]];
    for (uint32_t i = 0; i < VOCABULARY; i++)
        count += found[i] > 0;
    return count;
}

Test(sparse_file, what_is_written_is_read)
{
    gb_status status = {0};
    cr_assert(write_file(0, .5, &status), "%s", status.what);
    sparse_reader reader;
    cr_assert(retrieve_sparse_reader_open(&reader, "terms", VOCABULARY, &status), "%s",
              status.what);
    for (uint32_t t = 0; t < TEXTS; t++) {
        float wanted[VOCABULARY];
        uint32_t count;
        cr_assert(retrieve_sparse_reader_next(&reader, &count, &status), "%s", status.what);
        cr_assert_eq(count, expected(t, .5, wanted), "text %u: %u terms", t, count);
        for (uint32_t i = 0; i < count; i++)
            cr_assert_eq(reader.terms[i].weight, wanted[reader.terms[i].id], "text %u", t);
    }
    uint32_t count;
    cr_expect_not(retrieve_sparse_reader_next(&reader, &count, &status));
    cr_expect_not_null(strstr(status.what, "was cut off"), "%s", status.what);
    retrieve_sparse_reader_close(&reader);
}

/* The largest weights; of equal ones the term that comes first. */
Test(sparse_file, the_largest_remain)
{
    gb_status status = {0};
    cr_assert(write_file(2, 0, &status), "%s", status.what);
    sparse_reader reader;
    cr_assert(retrieve_sparse_reader_open(&reader, "terms", VOCABULARY, &status), "%s",
              status.what);
    for (uint32_t t = 0; t < TEXTS; t++) {
        float wanted[VOCABULARY];
        uint32_t count, all = expected(t, 0, wanted);
        cr_assert(retrieve_sparse_reader_next(&reader, &count, &status), "%s", status.what);
        cr_assert_eq(count, all < 2 ? all : 2, "text %u: %u terms of %u", t, count, all);
        for (uint32_t i = 0; i < VOCABULARY; i++)
            for (uint32_t k = 0; k < count; k++) {
                const sparse_term *kept = &reader.terms[k];
                bool among = i == reader.terms[0].id || i == reader.terms[count - 1].id;
                cr_assert(among || wanted[i] < kept->weight ||
                              (wanted[i] == kept->weight && i > kept->id),
                          "text %u: term %u was dropped for %u", t, i, kept->id);
            }
    }
    retrieve_sparse_reader_close(&reader);
}

/* A process that was killed had written more than its journal says, or nothing of use. */
Test(sparse_file, a_killed_process_goes_on)
{
    static const char *const journals[] = {"1024 %zu\n", "2048 99999999\n", "x", "4000 60\n"};
    gb_status status = {0};
    sparse_reader reader;
    uint32_t count;
    size_t length, whole_length;
    cr_assert(write_file(0, 0, &status), "%s", status.what);
    char *whole = gb_read_file("terms", &whole_length, &status);
    cr_assert(retrieve_sparse_reader_open(&reader, "terms", VOCABULARY, &status), "%s",
              status.what);
    for (uint32_t t = 0; t < 1024; t++)
        cr_assert(retrieve_sparse_reader_next(&reader, &count, &status));
    size_t place = (size_t)ftell(reader.stream);
    retrieve_sparse_reader_close(&reader);
    for (size_t i = 0; i < sizeof journals / sizeof *journals; i++) {
        char journal[64];
        snprintf(journal, sizeof journal, journals[i], place);
        scratch_write("journal", journal);
        cr_assert(gb_write_file("terms", whole, place + 5, &status), "%s", status.what);
        cr_assert(write_file(0, 0, &status), "%s", status.what);
        char *again = gb_read_file("terms", &length, &status);
        cr_expect_eq(length, whole_length, "journal %zu: %zu bytes", i, length);
        cr_expect_eq(memcmp(again, whole, length), 0, "journal %zu", i);
        free(again);
    }
    free(whole);
}

Test(sparse_file, damage_is_found)
{
    gb_status status = {0};
    sparse_reader reader;
    uint32_t count;
    cr_assert(write_file(0, 0, &status), "%s", status.what);
    cr_expect_not(retrieve_sparse_reader_open(&reader, "terms", VOCABULARY + 1, &status));
    cr_expect_not_null(strstr(status.what, "begins otherwise"), "%s", status.what);
    size_t length;
    char *bytes = gb_read_file("terms", &length, &status);
    const uint32_t far = VOCABULARY;
    for (size_t at = 20; at < 60; at += 4) { /* counts, ids and weights of the first texts */
        char kept[4];
        memcpy(kept, bytes + at, 4);
        memcpy(bytes + at, "\377\377\377\377", 4);
        cr_assert(gb_write_file("damaged", bytes, length, &status));
        memcpy(bytes + at, kept, 4);
        cr_assert(retrieve_sparse_reader_open(&reader, "damaged", far, &status), "%s", status.what);
        bool ok = true;
        for (uint32_t t = 0; ok && t < TEXTS; t++)
            ok = retrieve_sparse_reader_next(&reader, &count, &status);
        cr_expect_not(ok, "byte %zu", at);
        retrieve_sparse_reader_close(&reader);
    }
    free(bytes);
}
