/* libsentencepiece in C. What it throws ends here. */
#include <cstdlib>
#include <new>
#include <sentencepiece_processor.h>
#include <string>
#include <vector>

extern "C" {
#include "text/sentencepiece.h"
}

#define SPACE "\xE2\x96\x81" /* U+2581, a space in pieces */

struct sp_model {
    sentencepiece::SentencePieceProcessor processor; /* the library's */
};

/* Appended to a model: field 3 (how text is normalised), in it field 3 (a space in front): false. A
 * later value of a protocol buffer takes the place of an earlier one. */
static const char without_prefix[] = {0x1A, 0x02, 0x18, 0x00};

static bool load(sp_model *model, const char *path, bool prefix, gb_status *status)
{
    size_t length = 0;
    char *bytes = gb_read_file(path, &length, status);
    if (!bytes)
        return false;
    std::string proto;
    bool copied = true;
    try {
        proto.assign(bytes, length);
        if (!prefix)
            proto.append(without_prefix, sizeof without_prefix);
    } catch (const std::bad_alloc &) {
        copied = false;
    }
    free(bytes);
    if (!copied)
        return gb_fail_memory(status, "reading a sentencepiece model");
    sentencepiece::util::Status said = model->processor.LoadFromSerializedProto(proto);
    return said.ok() ||
           gb_fail(status, GB_DATA, path, "is it a whole sentencepiece model?",
                   "the sentencepiece model cannot be read: %.200s", said.error_message());
}

sp_model *text_sp_open(const char *path, bool prefix, gb_status *status)
{
    sp_model *model = gb_fault(GB_FAULT_MEMORY) ? nullptr : new (std::nothrow) sp_model;
    if (!model) {
        gb_fail_memory(status, "reading a sentencepiece model");
        return nullptr;
    }
    bool ok = false;
    try {
        ok = load(model, path, prefix, status);
    } catch (const std::bad_alloc &) {
        gb_fail_memory(status, "reading a sentencepiece model");
    }
    if (ok)
        return model;
    delete model;
    return nullptr;
}

void text_sp_close(sp_model *model)
{
    delete model;
}

uint32_t text_sp_count(const sp_model *model)
{
    return (uint32_t)model->processor.GetPieceSize();
}

uint32_t text_sp_id(const sp_model *model, const char *piece, size_t length)
{
    int id = model->processor.PieceToId(std::string_view(piece, length)); /* unknown: of <unk> */
    bool known = id >= 0 && std::string_view(piece, length) == model->processor.IdToPiece(id);
    return known ? (uint32_t)id : GB_MAP_NONE;
}

bool text_sp_encode(const sp_model *model, const char *text, size_t length, gb_ids *ids,
                    gb_status *status)
{
    try {
        /* By pieces, as transformers does: a stretch of unknown characters is one piece. */
        std::vector<std::string> pieces;
        sentencepiece::util::Status said =
            model->processor.Encode(std::string_view(text, length), &pieces);
        if (!said.ok())
            return gb_fail(status, GB_DATA, "sentencepiece", NULL, "%.200s", said.error_message());
        if (!gb_grow(&ids->data, &ids->capacity, ids->count + pieces.size(), sizeof *ids->data,
                     status))
            return false;
        for (const std::string &piece : pieces)
            ids->data[ids->count++] = (uint32_t)model->processor.PieceToId(piece);
        return true;
    } catch (const std::bad_alloc &) {
        return gb_fail_memory(status, "tokenizing by sentencepiece");
    }
}

bool text_sp_decode(const sp_model *model, const uint32_t *ids, size_t count, bool drop_space,
                    gb_text *text, gb_status *status)
{
    try {
        std::vector<std::string> pieces;
        for (size_t i = 0; i < count; i++)
            pieces.push_back(model->processor.IdToPiece((int)ids[i]));
        if (drop_space && count && pieces[0].compare(0, sizeof SPACE - 1, SPACE) == 0)
            pieces[0].erase(0, sizeof SPACE - 1);
        std::string made;
        sentencepiece::util::Status said = model->processor.Decode(pieces, &made);
        if (!said.ok())
            return gb_fail(status, GB_DATA, "sentencepiece", NULL, "%.200s", said.error_message());
        gb_text_append(text, made.data(), made.size());
        return !text->failed || gb_fail_memory(status, "putting pieces together");
    } catch (const std::bad_alloc &) {
        return gb_fail_memory(status, "putting pieces together");
    }
}
