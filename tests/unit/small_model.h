/* A small model with random weights and a folder to write it to, for the tests of model folders.
 * A test program's suite has make_root and drop_root as its .init and .fini. */
#ifndef GABBRO_TESTS_SMALL_MODEL_H
#define GABBRO_TESTS_SMALL_MODEL_H

#include "gabbro/folder.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char root[64];

static inline void make_root(void)
{
    strcpy(root, "/tmp/gabbro-folder-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static inline void drop_root(void)
{
    cr_expect(gb_remove_tree(root, NULL));
}

/* A path below the root, valid until the fourth call after. */
static inline const char *at(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", root, name);
    return path;
}

static inline void spill(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* ---- a small model ---- */

static const gb_bert_config small = {12, 8, 2, 2, 16, 10, 2, 0, 1e-12, 0.1, 0, 0.02};
static const char vocab_text[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##b\n\"\n\\\n\xc3\xa4\n";

typedef struct model {
    gb_weight_spec specs[64]; /* names and shapes */
    gb_weight weights[64];    /* in the order of gb_bert_weight_at, then added ones */
    size_t count;             /* weights in use */
    float extra[24];          /* values of added weights */
    gb_vocab *vocab;          /* of vocab_text */
    gb_folder_params params;  /* all of it */
} model;

static inline void make_model(model *m, bool head)
{
    gb_status status = {0};
    memset(m, 0, sizeof *m);
    m->count = gb_bert_weight_count(&small, head);
    for (size_t i = 0; i < m->count; i++) {
        gb_rng rng = gb_rng_make(7, GB_RNG_TEST, 0, (uint32_t)i);
        m->specs[i] = gb_bert_weight_at(&small, i);
        uint64_t rows = m->specs[i].rows, cols = m->specs[i].cols;
        float *values = malloc(rows * (cols ? cols : 1) * sizeof *values);
        for (size_t v = 0; v < rows * (cols ? cols : 1); v++)
            values[v] = (float)gb_rng_normal(&rng);
        m->weights[i] = (gb_weight){m->specs[i].name, rows, cols, values};
    }
    spill(at("vocab"), vocab_text);
    m->vocab = gb_vocab_load(at("vocab"), &status);
    cr_assert_not_null(m->vocab, "%s", status.what);
    m->params = (gb_folder_params){.config = &small,
                                   .weights = m->weights,
                                   .weight_count = m->count,
                                   .vocab = m->vocab,
                                   .tokenizer = GB_TOKENIZER_DEFAULTS,
                                   .sentence = {.max_length = 9}};
}

static inline void drop_model(model *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->weights[i].data != m->extra)
            free((void *)m->weights[i].data);
    gb_vocab_destroy(m->vocab);
}

static inline gb_weight *weight(model *m, const char *name)
{
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->weights[i].name, name) == 0)
            return &m->weights[i];
    cr_assert_fail("no weight %s", name);
    return NULL;
}

static inline void add_weight(model *m, const char *name, uint64_t rows, uint64_t cols)
{
    m->weights[m->count++] = (gb_weight){name, rows, cols, m->extra};
}

/* Opened, the folder must have the first `count` weights of m, bit by bit. */
static inline void expect_model(const char *path, const model *m, size_t count)
{
    gb_status status = {0};
    gb_folder *folder = gb_folder_open(path, &status);
    cr_assert_not_null(folder, "%s: %s", status.where, status.what);
    cr_expect_eq(gb_folder_count(folder), count);
    for (size_t i = 0; i < count; i++) {
        const gb_weight_spec *spec = &m->specs[i];
        size_t values = spec->rows * (spec->cols ? spec->cols : 1);
        float out[256];
        cr_assert(values <= 256 && gb_folder_has(folder, spec->name));
        cr_assert(gb_folder_read(folder, spec->name, spec->rows, spec->cols, out, &status), "%s",
                  status.what);
        cr_expect_eq(memcmp(out, m->weights[i].data, values * sizeof *out), 0, "%s", spec->name);
    }
    gb_folder_close(folder);
}

#endif
