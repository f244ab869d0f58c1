/* GGUF files: written from the golden BERT, and read again here by the layout that gguf describes.
 */
#include "scratch.h"

#include <gabbro/folder.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define BERT GB_GOLDEN "/bert"

/* A file at a place. */
typedef struct reading {
    char *bytes;     /* of the file */
    size_t at, size; /* next byte; bytes */
} reading;

static uint64_t number(reading *r, size_t bytes)
{
    uint64_t value = 0;
    cr_assert(r->at + bytes <= r->size, "the file ends inside its header");
    memcpy(&value, r->bytes + r->at, bytes);
    r->at += bytes;
    return value;
}

static char *string(reading *r)
{
    size_t length = (size_t)number(r, 8);
    cr_assert(r->at + length <= r->size);
    char *text = strndup(r->bytes + r->at, length);
    r->at += length;
    return text;
}

static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1};

/* A value as text; of a list its number of values, and the value `pick` of them. */
static char *value(reading *r, uint64_t type, uint64_t pick)
{
    char text[64];
    if (type == 8)
        return string(r);
    if (type == 9) {
        uint64_t of = number(r, 4), count = number(r, 8);
        char *picked = NULL;
        for (uint64_t i = 0; i < count; i++) {
            char *one = value(r, of, 0);
            if (i == pick)
                picked = one;
            else
                free(one);
        }
        snprintf(text, sizeof text, "%llu %s", (unsigned long long)count, picked);
        free(picked);
        return strdup(text);
    }
    uint64_t bits = number(r, sizes[type]);
    float real;
    memcpy(&real, &bits, sizeof real);
    if (type == 6)
        snprintf(text, sizeof text, "%g", (double)real);
    else
        snprintf(text, sizeof text, "%llu", (unsigned long long)bits);
    return strdup(text);
}

static void write_golden(bool half, reading *r)
{
    gb_status status = {0};
    scratch place = scratch_enter();
    gb_folder *bert = gb_folder_open(BERT, &status);
    cr_assert(bert, "%s", status.what);
    cr_assert(gb_gguf_write(bert, half, "model.gguf", &status), "%s", status.what);
    r->bytes = gb_read_file("model.gguf", &r->size, &status);
    r->at = 0;
    cr_assert(r->bytes);
    gb_folder_close(bert);
    scratch_leave(&place);
}

/* Skips to the keys' value of that name. */
static char *find_key(reading *r, const char *name, uint64_t pick)
{
    char *found = NULL;
    r->at = 16;
    uint64_t keys = number(r, 8);
    for (uint64_t i = 0; i < keys; i++) {
        char *have = string(r);
        char *text = value(r, number(r, 4), pick);
        bool same = !strcmp(have, name);
        free(have);
        if (same) {
            cr_assert(!found, "%s is there twice", name);
            found = text;
        } else {
            free(text);
        }
    }
    cr_assert(found, "there is no %s", name);
    return found;
}

static void expect_key(reading *r, const char *name, uint64_t pick, const char *wanted)
{
    char *have = find_key(r, name, pick);
    cr_expect_str_eq(have, wanted, "%s is %s", name, have);
    free(have);
}

Test(gguf, keys)
{
    reading r;
    write_golden(false, &r);
    cr_assert(!memcmp(r.bytes, "GGUF\3\0\0\0", 8));
    expect_key(&r, "general.architecture", 0, "bert");
    expect_key(&r, "bert.block_count", 0, "3");
    expect_key(&r, "bert.context_length", 0, "40");
    expect_key(&r, "bert.embedding_length", 0, "32");
    expect_key(&r, "bert.feed_forward_length", 0, "64");
    expect_key(&r, "bert.attention.head_count", 0, "4");
    expect_key(&r, "bert.attention.layer_norm_epsilon", 0, "1e-12");
    expect_key(&r, "bert.attention.causal", 0, "0");
    expect_key(&r, "bert.pooling_type", 0, "2");
    expect_key(&r, "tokenizer.ggml.model", 0, "bert");
    expect_key(&r, "tokenizer.ggml.token_type_count", 0, "2");
    free(r.bytes);
}

Test(gguf, tokens)
{
    gb_status status = {0};
    gb_vocab *vocab = gb_vocabulary_read(BERT, &status);
    reading r;
    write_golden(false, &r);
    cr_assert(vocab, "%s", status.what);
    uint32_t pieces = 0, words = 0;
    for (uint32_t id = 0; id < gb_vocab_size(vocab); id++) {
        const char *token = gb_vocab_token(vocab, id);
        char wanted[200];
        bool special = gb_vocab_is_special(vocab, id), piece = !strncmp(token, "##", 2);
        snprintf(wanted, sizeof wanted, "99 %s%s", special || piece ? "" : "\xe2\x96\x81",
                 token + (piece ? 2 : 0));
        bool bracketed = token[0] == '[' && strlen(token) > 1 && token[strlen(token) - 1] == ']';
        pieces += piece;
        words += !piece && !bracketed;
        if (special || !bracketed)
            expect_key(&r, "tokenizer.ggml.tokens", id, wanted);
        if (!special)
            expect_key(&r, "tokenizer.ggml.token_type", id, "99 1");
    }
    cr_assert(pieces && words);
    const gb_special_ids ids = gb_vocab_specials(vocab);
    expect_key(&r, "tokenizer.ggml.token_type", ids.unk, "99 2");
    expect_key(&r, "tokenizer.ggml.token_type", ids.sep, "99 3");
    gb_vocab_destroy(vocab);
    free(r.bytes);
}

/* Names in the folder and in the file, and their shapes. */
static const struct {
    const char *folder, *file; /* names */
    uint64_t rows, cols;       /* shape */
    bool halved;               /* in a file of float16 */
} some[] = {
    {"bert.embeddings.word_embeddings.weight", "token_embd.weight", 99, 32, true},
    {"bert.embeddings.position_embeddings.weight", "position_embd.weight", 40, 32, false},
    {"bert.embeddings.token_type_embeddings.weight", "token_types.weight", 2, 32, false},
    {"bert.embeddings.LayerNorm.bias", "token_embd_norm.bias", 32, 0, false},
    {"bert.encoder.layer.0.attention.self.query.weight", "blk.0.attn_q.weight", 32, 32, true},
    {"bert.encoder.layer.1.attention.self.key.bias", "blk.1.attn_k.bias", 32, 0, false},
    {"bert.encoder.layer.1.attention.self.value.weight", "blk.1.attn_v.weight", 32, 32, true},
    {"bert.encoder.layer.2.attention.output.dense.weight", "blk.2.attn_output.weight", 32, 32,
     true},
    {"bert.encoder.layer.2.attention.output.LayerNorm.weight", "blk.2.attn_output_norm.weight", 32,
     0, false},
    {"bert.encoder.layer.0.intermediate.dense.weight", "blk.0.ffn_up.weight", 64, 32, true},
    {"bert.encoder.layer.0.output.dense.weight", "blk.0.ffn_down.weight", 32, 64, true},
    {"bert.encoder.layer.2.output.LayerNorm.bias", "blk.2.layer_output_norm.bias", 32, 0, false},
};
enum { SOME = sizeof some / sizeof *some };

static void check_tensor(const reading *r, size_t which, bool half, uint64_t place)
{
    gb_status status = {0};
    gb_folder *bert = gb_folder_open(BERT, &status);
    size_t count = some[which].rows * (some[which].cols ? some[which].cols : 1);
    float *wanted = calloc(count, sizeof *wanted);
    cr_assert(gb_folder_read(bert, some[which].folder, some[which].rows, some[which].cols, wanted,
                             &status));
    for (size_t i = 0; i < count; i++) {
        if (half) {
            uint16_t have, bits = gb_half_of(wanted[i]);
            memcpy(&have, r->bytes + place + 2 * i, 2);
            cr_assert_eq(have, bits);
        } else {
            cr_assert(!memcmp(r->bytes + place + 4 * i, wanted + i, 4));
        }
    }
    free(wanted);
    gb_folder_close(bert);
}

static void check_tensors(bool half)
{
    reading r;
    uint64_t places[SOME], end = 0, types[SOME] = {0};
    size_t met = 0;
    write_golden(half, &r);
    free(find_key(&r, "general.name", 0));
    size_t infos = r.at;
    r.at = 8;
    uint64_t tensors = number(&r, 8);
    cr_assert_eq(tensors, 5 + 16 * 3);
    r.at = infos;
    for (uint64_t t = 0; t < tensors; t++) {
        char *name = string(&r);
        uint64_t rank = number(&r, 4), cols = number(&r, 8);
        uint64_t rows = rank == 2 ? number(&r, 8) : 1;
        uint64_t type = number(&r, 4), place = number(&r, 8);
        cr_assert(place % 32 == 0 && place == (end + 31) / 32 * 32, "%s", name);
        end = place + rows * cols * (type ? 2 : 4);
        for (size_t i = 0; i < SOME; i++)
            if (!strcmp(name, some[i].file)) {
                cr_assert_eq(rank, some[i].cols ? 2u : 1u);
                cr_assert(rows * cols == some[i].rows * (some[i].cols ? some[i].cols : 1));
                cr_assert(!some[i].cols || cols == some[i].cols, "the last dimension comes first");
                places[i] = place;
                types[i] = type;
                met++;
            }
        free(name);
    }
    cr_assert_eq(met, (size_t)SOME);
    uint64_t start = (r.at + 31) / 32 * 32;
    cr_assert_eq(r.size, start + (end + 31) / 32 * 32, "nothing follows the last tensor");
    for (size_t i = 0; i < SOME; i++) {
        cr_assert_eq(types[i], half && some[i].halved ? 1u : 0u);
        check_tensor(&r, i, types[i] == 1, start + places[i]);
    }
    free(r.bytes);
}

Test(gguf, tensors_of_float32)
{
    check_tensors(false);
}

Test(gguf, tensors_of_float16)
{
    check_tensors(true);
}

static void refused(const char *folder, const char *why)
{
    gb_status status = {0};
    gb_folder *other = gb_folder_open(folder, &status);
    scratch place = scratch_enter();
    cr_assert(other, "%s", status.what);
    cr_assert(!gb_gguf_write(other, false, "model.gguf", &status));
    cr_assert_eq(status.code, GB_DATA);
    cr_assert(strstr(status.what, why), "%s", status.what);
    cr_assert(!gb_file_exists("model.gguf"));
    gb_folder_close(other);
    scratch_leave(&place);
}

Test(gguf, other_encoders_are_refused_by_name)
{
    refused(GB_GOLDEN "/encoders/mpnet", "MPNet");
    refused(GB_GOLDEN "/encoders/distilbert", "DistilBert");
}
