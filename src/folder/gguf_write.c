/* Writes a BERT encoder as a GGUF file (version 3) that llama.cpp reads. Little endian, as the
 * layout is: "GGUF", version, numbers of tensors and of keys; the keys, each a name, a type and a
 * value; of each tensor its name, dimensions (the one that lies together first), type, and place
 * behind the header; then the numbers, at multiples of 32 bytes. Names and meanings of keys and
 * tensors are those of gguf's constants (MODEL_ARCH.BERT) and of llama.cpp's converter for
 * BertModel: words begin with U+2581, tokens inside words lose their "##", and [CLS] and its like
 * stay. */
#include "folder/internal.h"

#include <gabbro/rows.h>

#include <stdlib.h>
#include <string.h>

enum { VERSION = 3, ALIGNMENT = 32 };
enum { U32 = 4, I32 = 5, F32 = 6, BOOL = 7, STRING = 8, ARRAY = 9 }; /* types of values */
enum { TENSOR_F32 = 0, TENSOR_F16 = 1 };                             /* and of tensors */
enum { TOKEN_NORMAL = 1, TOKEN_UNKNOWN = 2, TOKEN_CONTROL = 3, TOKEN_UNUSED = 5 }; /* and tokens */

/* A file being written. */
typedef struct gguf {
    FILE *out;               /* it */
    const gb_folder *folder; /* what */
    gb_bert_config config;   /* of it */
    gb_vocab *vocab;         /* of it */
    bool half;               /* matrices are float16 */
    uint64_t bytes;          /* written so far */
    uint64_t keys;           /* written so far */
    float *values;           /* room for the largest tensor */
} gguf;

/* ---- values ---- */

static void put(gguf *g, const void *bytes, size_t size)
{
    fwrite(bytes, 1, size, g->out);
    g->bytes += size;
}

static void put_u32(gguf *g, uint32_t value)
{
    put(g, &value, sizeof value);
}

static void put_u64(gguf *g, uint64_t value)
{
    put(g, &value, sizeof value);
}

static void put_string(gguf *g, const char *text)
{
    put_u64(g, strlen(text));
    put(g, text, strlen(text));
}

static void key(gguf *g, const char *name, uint32_t type)
{
    put_string(g, name);
    put_u32(g, type);
    g->keys++;
}

static void key_string(gguf *g, const char *name, const char *value)
{
    key(g, name, STRING);
    put_string(g, value);
}

static void key_u32(gguf *g, const char *name, uint32_t value)
{
    key(g, name, U32);
    put_u32(g, value);
}

static void key_real(gguf *g, const char *name, double value)
{
    float number = (float)value;
    key(g, name, F32);
    put(g, &number, sizeof number);
}

static void key_bool(gguf *g, const char *name, bool value)
{
    key(g, name, BOOL);
    put(g, &(uint8_t){value}, 1);
}

static void key_array(gguf *g, const char *name, uint32_t type, uint64_t count)
{
    key(g, name, ARRAY);
    put_u32(g, type);
    put_u64(g, count);
}

/* ---- keys ---- */

static void put_model(gguf *g, const gb_sentence_settings *sentence)
{
    static const uint32_t poolings[] = {[GB_POOLING_UNSTATED] = 2,
                                        [GB_POOLING_CLS] = 2,
                                        [GB_POOLING_MEAN] = 1,
                                        [GB_POOLING_LAST] = 3};
    const gb_bert_config *c = &g->config;
    size_t length;
    const char *name = gb_path_name(gb_folder_path(g->folder), &length);
    key_string(g, "general.architecture", "bert");
    key_string(g, "general.type", "model");
    key(g, "general.name", STRING);
    put_u64(g, length);
    put(g, name, length);
    key_u32(g, "general.file_type", g->half);
    key_u32(g, "general.alignment", ALIGNMENT);
    key_u32(g, "bert.block_count", c->layers);
    key_u32(g, "bert.context_length", c->max_positions);
    key_u32(g, "bert.embedding_length", c->hidden_size);
    key_u32(g, "bert.feed_forward_length", c->intermediate_size);
    key_u32(g, "bert.attention.head_count", c->heads);
    key_real(g, "bert.attention.layer_norm_epsilon", c->layer_norm_eps);
    key_bool(g, "bert.attention.causal", false);
    key_u32(g, "bert.pooling_type", poolings[sentence->pooling]);
}

/* A token as llama.cpp wants it; those behind the vocabulary only fill up the embeddings. */
static void put_token(gguf *g, uint32_t id)
{
    char text[32];
    const char *token = gb_vocab_token(g->vocab, id);
    if (!token) {
        snprintf(text, sizeof text, "[PAD%u]", id);
        put_string(g, text);
        return;
    }
    size_t length = strlen(token);
    bool bracketed = length > 1 && token[0] == '[' && token[length - 1] == ']';
    if (bracketed || !strncmp(token, "##", 2)) {
        put_string(g, bracketed ? token : token + 2);
        return;
    }
    put_u64(g, length + 3);
    put(g, "\xe2\x96\x81", 3);
    put(g, token, length);
}

static void put_tokens(gguf *g)
{
    const gb_special_ids ids = gb_vocab_specials(g->vocab);
    const uint32_t count = g->config.vocab_size, known = gb_vocab_size(g->vocab);
    key_string(g, "tokenizer.ggml.model", "bert");
    key_string(g, "tokenizer.ggml.pre", "default");
    key_u32(g, "tokenizer.ggml.token_type_count", g->config.type_vocab_size);
    key_array(g, "tokenizer.ggml.tokens", STRING, count);
    for (uint32_t id = 0; id < count; id++)
        put_token(g, id);
    key_array(g, "tokenizer.ggml.token_type", I32, count);
    for (uint32_t id = 0; id < count; id++)
        put_u32(g, id >= known                         ? TOKEN_UNUSED
                   : id == ids.unk                     ? TOKEN_UNKNOWN
                   : gb_vocab_is_special(g->vocab, id) ? TOKEN_CONTROL
                                                       : TOKEN_NORMAL);
    key_u32(g, "tokenizer.ggml.bos_token_id", ids.cls);
    key_u32(g, "tokenizer.ggml.eos_token_id", ids.sep);
    key_u32(g, "tokenizer.ggml.unknown_token_id", ids.unk);
    key_u32(g, "tokenizer.ggml.seperator_token_id", ids.sep); /* so spelled */
    key_u32(g, "tokenizer.ggml.padding_token_id", ids.pad);
    key_u32(g, "tokenizer.ggml.cls_token_id", ids.cls);
    key_u32(g, "tokenizer.ggml.mask_token_id", ids.mask);
}

/* ---- tensors ---- */

/* Name of a parameter in the file. */
static void tensor_name(const char *canonical, char name[GB_WEIGHT_NAME])
{
    static const char *const parts[][2] = {
        {"embeddings.word_embeddings.", "token_embd."},
        {"embeddings.position_embeddings.", "position_embd."},
        {"embeddings.token_type_embeddings.", "token_types."},
        {"embeddings.LayerNorm.", "token_embd_norm."},
        {"attention.self.query.", "attn_q."},
        {"attention.self.key.", "attn_k."},
        {"attention.self.value.", "attn_v."},
        {"attention.output.dense.", "attn_output."},
        {"attention.output.LayerNorm.", "attn_output_norm."},
        {"intermediate.dense.", "ffn_up."},
        {"output.dense.", "ffn_down."},
        {"output.LayerNorm.", "layer_output_norm."},
    };
    unsigned number = 0;
    int behind = 0;
    const char *rest = canonical + strlen("bert.");
    bool layer = sscanf(rest, "encoder.layer.%u.%n", &number, &behind) == 1 && behind;
    rest += layer ? behind : 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t length = strlen(parts[i][0]);
        if (strncmp(rest, parts[i][0], length) != 0)
            continue;
        if (layer)
            snprintf(name, GB_WEIGHT_NAME, "blk.%u.%s%s", number, parts[i][1], rest + length);
        else
            snprintf(name, GB_WEIGHT_NAME, "%s%s", parts[i][1], rest + length);
        return;
    }
    snprintf(name, GB_WEIGHT_NAME, "%s", canonical);
}

/* Vectors stay float32, and so do the small embeddings that are added to those of words. */
static bool is_half(const gguf *g, const gb_weight_spec *spec)
{
    return g->half && spec->cols && !strstr(spec->name, "position_embeddings") &&
           !strstr(spec->name, "token_type_embeddings");
}

static uint64_t numbers_of(const gb_weight_spec *spec)
{
    return spec->rows * (spec->cols ? spec->cols : 1);
}

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void put_infos(gguf *g, size_t count)
{
    uint64_t place = 0;
    for (size_t i = 0; i < count; i++) {
        const gb_weight_spec spec = gb_bert_weight_at(&g->config, i);
        char name[GB_WEIGHT_NAME];
        tensor_name(spec.name, name);
        put_string(g, name);
        put_u32(g, spec.cols ? 2 : 1);
        if (spec.cols)
            put_u64(g, spec.cols);
        put_u64(g, spec.rows);
        put_u32(g, is_half(g, &spec) ? TENSOR_F16 : TENSOR_F32);
        put_u64(g, place);
        place = aligned(place + numbers_of(&spec) * (is_half(g, &spec) ? 2 : 4));
    }
}

static void pad(gguf *g)
{
    static const char zeros[ALIGNMENT];
    put(g, zeros, (size_t)(aligned(g->bytes) - g->bytes));
}

static bool put_tensor(gguf *g, const gb_weight_spec *spec, gb_status *status)
{
    uint64_t count = numbers_of(spec);
    if (!gb_folder_read(g->folder, spec->name, spec->rows, spec->cols, g->values, status))
        return false;
    if (is_half(g, spec) && !gb_number_pack(GB_NUMBER_FLOAT16, g->values, (uint32_t)count,
                                            g->values, NULL, spec->name, status))
        return false;
    put(g, g->values, (size_t)count * (is_half(g, spec) ? 2 : 4));
    pad(g);
    return true;
}

/* ---- the file ---- */

/* What llama.cpp computes of a folder is what this program does, or it is refused. */
static bool check(const gguf *g, const gb_sentence_settings *sentence, gb_status *status)
{
    const char *path = gb_folder_path(g->folder), *what = NULL;
    const gb_vocab_rules *rules = gb_vocab_get_rules(g->vocab);
    if (g->config.kind != GB_ENCODER_BERT)
        return gb_fail(status, GB_DATA, path, "BERT's encoders can be",
                       "a %s is not written as GGUF", gb_encoder_name(g->config.kind));
    if (rules->kind != GB_VOCAB_WORDS || !gb_vocab_is_bert(g->vocab))
        what = "its tokenizer is not BERT's WordPiece, as llama.cpp has it";
    else if (!rules->words.lower_case)
        what = "its tokenizer is cased; llama.cpp makes all texts lower case";
    else if (!gb_vocab_is_plain(g->vocab))
        what = "its tokenizer has added tokens, or other rules than BERT's";
    else if (sentence->pooling == GB_POOLING_TERMS)
        what = "its vectors are sparse (SparseEncoder)";
    else if (gb_folder_late_kind(path) != GB_LATE_NONE)
        what = "its vectors are of tokens (late interaction)";
    else if (gb_folder_has(g->folder, "retriever.linear.weight") ||
             gb_folder_has(g->folder, "retriever.nonlinear.weight"))
        what = "its vectors pass a projector";
    return !what || gb_fail(status, GB_DATA, path, "there is no such model in GGUF", "%s", what);
}

static bool write_all(gguf *g, const char *path, const gb_sentence_settings *sentence,
                      gb_status *status)
{
    const size_t count = gb_bert_weight_count(&g->config, false);
    uint64_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        const gb_weight_spec spec = gb_bert_weight_at(&g->config, i);
        largest = numbers_of(&spec) > largest ? numbers_of(&spec) : largest;
    }
    if (!(g->values = gb_alloc((size_t)largest, sizeof *g->values, status)))
        return false;
    put(g, "GGUF", 4);
    put_u32(g, VERSION);
    put_u64(g, count);
    put_u64(g, 0); /* number of keys, put in at the end */
    put_model(g, sentence);
    put_tokens(g);
    put_infos(g, count);
    pad(g);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        const gb_weight_spec spec = gb_bert_weight_at(&g->config, i);
        ok = put_tensor(g, &spec, status);
    }
    if (ok && fseek(g->out, 16, SEEK_SET) != 0)
        return gb_fail(status, GB_DATA, path, "name a file", "GGUF cannot be written to a pipe");
    fwrite(&g->keys, sizeof g->keys, 1, g->out);
    return ok;
}

bool gb_gguf_write(const gb_folder *folder, bool half, const char *path, gb_status *status)
{
    gguf g = {.folder = folder, .config = *gb_folder_config(folder), .half = half};
    gb_sentence_settings sentence = {0};
    gb_out *out = NULL;
    bool ok = gb_folder_sentence(folder, &sentence, status) &&
              (g.vocab = gb_folder_vocab(folder, status)) && check(&g, &sentence, status) &&
              (out = gb_out_open(path, status));
    g.out = out ? gb_out_stream(out) : NULL;
    ok = ok && write_all(&g, path, &sentence, status);
    gb_vocab_destroy(g.vocab);
    free(g.values);
    if (ok)
        return gb_out_commit(out, status);
    gb_out_abandon(out);
    return false;
}
