/* Tokenizers from before tokenizer.json: vocab.json with merges.txt (GPT-2, RoBERTa), and
 * sentencepiece.bpe.model (XLM-RoBERTa). Each becomes the tokenizer.json that Hugging Face
 * transformers would make of it, so that there is one reader. */
#include "folder/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- vocab.json and merges.txt ---- */

/* mask: it takes the spaces before it, and is looked for in normalised text. */
static json_t *special_entry(const char *text, uint32_t id, bool mask)
{
    return folder_added_token(text, id, true, mask, mask);
}

/* Merges of a file: "left right" a line; the first may be a remark. */
static json_t *read_merges(const char *path, gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    json_t *list = lines ? json_array() : NULL;
    bool ok = list != NULL, first = true;
    char *line;
    size_t length;
    int got = ok ? 1 : -1;
    while (ok && (got = gb_lines_next(lines, &line, &length, status)) == 1) {
        bool remark = first && strncmp(line, "#version", 8) == 0;
        first = false;
        if (!length || remark)
            continue;
        ok = gb_utf8_valid(line, length)
                 ? json_array_append_new(list, json_stringn(line, length)) == 0 ||
                       gb_fail_memory(status, "reading merges")
                 : gb_lines_fail(lines, status, NULL, "the merge is not valid UTF-8");
    }
    gb_lines_close(lines);
    if (ok && got == 0)
        return list;
    json_decref(list);
    return NULL;
}

/* The special tokens of names that the vocabulary has. */
static json_t *special_list(const json_t *words, const char *const names[GB_SPECIALS])
{
    json_t *list = json_array();
    for (int i = 0; i < GB_SPECIALS; i++) {
        const json_t *id = names[i] ? json_object_get(words, names[i]) : NULL;
        if (json_is_integer(id))
            json_array_append_new(
                list, special_entry(names[i], (uint32_t)json_integer_value(id), i == 4));
    }
    return list;
}

static json_t *around(const json_t *words, const char *name)
{
    return json_pack("[s, O]", name, json_object_get(words, name));
}

json_t *folder_json_of_merges(const char *dir, const char *const names[GB_SPECIALS],
                              bool prefix_space, gb_status *status)
{
    char *path = gb_path_join(status, dir, "merges.txt");
    json_t *words = path ? gb_json_load_in(dir, "vocab.json", 0, status) : NULL;
    json_t *merges = words ? read_merges(path, status) : NULL, *made = NULL;
    if (merges && (!names[2] || !names[3] || !json_object_get(words, names[2]) ||
                   !json_object_get(words, names[3]))) {
        gb_fail(status, GB_DATA, dir, "take the tokenizer from the model's own folder again",
                "vocab.json lacks the tokens that stand around a text");
    } else if (merges) {
        json_t *pre = json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space",
                                prefix_space, "trim_offsets", 1, "use_regex", 1);
        json_t *post = json_pack("{s:s, s:o, s:o, s:b, s:b}", "type", "RobertaProcessing", "sep",
                                 around(words, names[3]), "cls", around(words, names[2]),
                                 "trim_offsets", 1, "add_prefix_space", prefix_space);
        json_t *model =
            json_pack("{s:s, s:n, s:n, s:s, s:s, s:b, s:b, s:O, s:O}", "type", "BPE", "dropout",
                      "unk_token", "continuing_subword_prefix", "", "end_of_word_suffix", "",
                      "fuse_unk", 0, "byte_fallback", 0, "vocab", words, "merges", merges);
        made = json_pack("{s:s, s:n, s:n, s:o, s:n, s:o, s:o, s:{s:s, s:b, s:b, s:b}, s:o}",
                         "version", "1.0", "truncation", "padding", "added_tokens",
                         special_list(words, names), "normalizer", "pre_tokenizer", pre,
                         "post_processor", post, "decoder", "type", "ByteLevel", "add_prefix_space",
                         1, "trim_offsets", 1, "use_regex", 1, "model", model);
        if (!made)
            gb_fail_memory(status, "reading a tokenizer");
    }
    json_decref(words);
    json_decref(merges);
    free(path);
    return made;
}

/* ---- sentencepiece.bpe.model ---- */

/* A protocol buffer: fields with a number, and bytes or a number of their own. */
typedef struct field {
    uint64_t number;  /* of the field */
    uint64_t value;   /* of numbers; of bytes their count */
    const char *data; /* of bytes; NULL for numbers */
    uint32_t bits;    /* of a 32-bit value */
} field;

static bool varint(const char **at, const char *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)*(*at)++;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* 1: a field, 0: the end, -1: damage. */
static int next_field(const char **at, const char *end, field *f)
{
    uint64_t tag;
    *f = (field){0};
    if (*at == end)
        return 0;
    if (!varint(at, end, &tag))
        return -1;
    f->number = tag >> 3;
    size_t left, size;
    switch (tag & 7) {
    case 0:
        return varint(at, end, &f->value) ? 1 : -1;
    case 2:
        if (!varint(at, end, &f->value) || f->value > (uint64_t)(end - *at))
            return -1;
        f->data = *at;
        *at += f->value;
        return 1;
    case 1:
    case 5:
        left = (size_t)(end - *at);
        size = (tag & 7) == 1 ? 8 : 4;
        if (left < size)
            return -1;
        memcpy(&f->bits, *at, sizeof f->bits);
        *at += size;
        return 1;
    default:
        return -1;
    }
}

/* A piece as ["text", score]; NULL: damaged. */
static json_t *read_piece(const field *of)
{
    const char *at = of->data, *end = at + of->value, *text = NULL;
    size_t length = 0;
    float score = 0;
    field f;
    int got;
    while ((got = next_field(&at, end, &f)) == 1) {
        if (f.number == 1 && f.data) {
            text = f.data;
            length = f.value;
        } else if (f.number == 2 && !f.data) {
            memcpy(&score, &f.bits, sizeof score);
        }
    }
    bool ok = got == 0 && text && gb_utf8_valid(text, length) && score - score == 0;
    return ok ? json_pack("[o, f]", json_stringn(text, length), (double)score) : NULL;
}

/* What is read of a model. */
typedef struct sp_file {
    json_t *pieces;       /* all of them */
    const char *charsmap; /* of its normaliser */
    size_t length;        /* of the table */
    uint64_t type;        /* 1: unigrams */
} sp_file;

static bool read_part(sp_file *model, const field *part)
{
    const char *at = part->data, *end = at + part->value;
    field f;
    int got = 0;
    if (part->number == 1) {
        json_t *piece = read_piece(part);
        return piece && json_array_append_new(model->pieces, piece) == 0;
    }
    while ((part->number == 2 || part->number == 3) && (got = next_field(&at, end, &f)) == 1) {
        if (part->number == 2 && f.number == 3)
            model->type = f.value;
        if (part->number == 3 && f.number == 2 && f.data) {
            model->charsmap = f.data;
            model->length = f.value;
        }
    }
    return got == 0;
}

static bool read_model(const char *path, const char *bytes, size_t length, sp_file *model,
                       gb_status *status)
{
    const char *at = bytes, *end = bytes + length;
    field f;
    int got;
    while ((got = next_field(&at, end, &f)) == 1)
        if (f.data && !read_part(model, &f))
            break;
    if (got != 0 || json_array_size(model->pieces) < 4)
        return gb_fail(status, GB_DATA, path,
                       "take the tokenizer from the model's own folder again",
                       "the sentencepiece model is damaged");
    return model->type == 1 || gb_fail(status, GB_DATA, path, "only unigram models are read here",
                                       "the sentencepiece model is not of unigrams");
}

/* XLM-RoBERTa's order: <s> <pad> </s> <unk>, the pieces without their first three, <mask>. */
static json_t *xlm_tokens(const json_t *pieces)
{
    static const char *const first[] = {"<s>", "<pad>", "</s>", "<unk>"};
    json_t *list = json_array();
    for (int i = 0; i < 4; i++)
        json_array_append_new(list, json_pack("[s, f]", first[i], 0.0));
    for (size_t i = 3; i < json_array_size(pieces); i++)
        json_array_append(list, json_array_get(pieces, i));
    json_array_append_new(list, json_pack("[s, f]", "<mask>", 0.0));
    return list;
}

static json_t *xlm_template(void)
{
    json_t *single = json_pack("[o, o, o]", folder_template_piece("SpecialToken", "<s>", 0),
                               folder_template_piece("Sequence", "A", 0),
                               folder_template_piece("SpecialToken", "</s>", 0));
    json_t *pair = json_pack(
        "[o, o, o, o, o, o]", folder_template_piece("SpecialToken", "<s>", 0),
        folder_template_piece("Sequence", "A", 0), folder_template_piece("SpecialToken", "</s>", 0),
        folder_template_piece("SpecialToken", "</s>", 0), folder_template_piece("Sequence", "B", 0),
        folder_template_piece("SpecialToken", "</s>", 0));
    return json_pack("{s:s, s:o, s:o, s:{s:{s:s, s:[i], s:[s]}, s:{s:s, s:[i], s:[s]}}}", "type",
                     "TemplateProcessing", "single", single, "pair", pair, "special_tokens", "<s>",
                     "id", "<s>", "ids", 0, "tokens", "<s>", "</s>", "id", "</s>", "ids", 2,
                     "tokens", "</s>");
}

static json_t *xlm_normalizer(const sp_file *model)
{
    json_t *steps = json_array();
    gb_text text = {0};
    gb_base64_append(&text, model->charsmap, model->length);
    if (text.data && !text.failed)
        json_array_append_new(steps, json_pack("{s:s, s:s}", "type", "Precompiled",
                                               "precompiled_charsmap", text.data));
    gb_text_free(&text);
    json_array_append_new(
        steps, json_pack("{s:s, s:b, s:b}", "type", "Strip", "strip_left", 0, "strip_right", 1));
    json_array_append_new(steps, json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern",
                                           "Regex", " {2,}", "content", "\xE2\x96\x81"));
    return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", steps);
}

static json_t *xlm_json(const sp_file *model)
{
    static const char *const names[] = {"<s>", "<pad>", "</s>", "<unk>"};
    json_t *added = json_array(), *tokens = xlm_tokens(model->pieces);
    for (uint32_t i = 0; i < 4; i++)
        json_array_append_new(added, special_entry(names[i], i, false));
    json_array_append_new(added,
                          special_entry("<mask>", (uint32_t)json_array_size(tokens) - 1, true));
    json_t *words = json_pack("{s:s, s:i, s:o, s:b}", "type", "Unigram", "unk_id", 3, "vocab",
                              tokens, "byte_fallback", 0);
    const char *const space = "\xE2\x96\x81";
    return json_pack("{s:s, s:n, s:n, s:o, s:o, s:{s:s, s:s, s:s, s:b}, s:o, s:{s:s, s:s, s:s, "
                     "s:b}, s:o}",
                     "version", "1.0", "truncation", "padding", "added_tokens", added, "normalizer",
                     xlm_normalizer(model), "pre_tokenizer", "type", "Metaspace", "replacement",
                     space, "prepend_scheme", "always", "split", 1, "post_processor",
                     xlm_template(), "decoder", "type", "Metaspace", "replacement", space,
                     "prepend_scheme", "always", "split", 1, "model", words);
}

json_t *folder_json_of_sentencepiece(const char *path, gb_status *status)
{
    size_t length;
    char *bytes = gb_read_file(path, &length, status);
    sp_file model = {.pieces = bytes ? json_array() : NULL, .type = 1};
    json_t *made = NULL;
    if (bytes && read_model(path, bytes, length, &model, status) && !(made = xlm_json(&model)))
        gb_fail_memory(status, "reading a tokenizer");
    json_decref(model.pieces);
    free(bytes);
    return made;
}
