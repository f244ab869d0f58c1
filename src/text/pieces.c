/* Text to the ids of a sentencepiece model and back, as the T5 and LLaMA tokenizers of Hugging Face
 * transformers do it: tokens that are no pieces are found in the text first, and where spaces are
 * added or taken away is theirs, not sentencepiece's. */
#include "text/sentencepiece.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

#define SPACE "\xE2\x96\x81" /* U+2581, a space in pieces */

/* A token beside the pieces; owns its text. */
typedef struct added {
    char *text;          /* as it is written */
    size_t length;       /* bytes of it */
    gb_added_token says; /* how it behaves; its text is not used */
} added;

struct gb_pieces {
    gb_pieces_params params; /* rules */
    sp_model *model;         /* the library's */
    added *added;            /* tokens beside the pieces */
    size_t count, capacity;  /* how many, and room */
    uint32_t space;          /* id of a space alone, or GB_MAP_NONE */
    size_t unknown_pieces;   /* pieces of unknown_text, where it is needed */
};

/* A piece before a text, so that the spaces the text begins with are kept. */
static const char unknown_text[] = "<unk>";

gb_pieces *gb_pieces_open(const char *path, gb_pieces_params params, gb_status *status)
{
    gb_ids unknown = {0};
    gb_pieces *pieces = gb_alloc(1, sizeof *pieces, status);
    if (!pieces)
        return NULL;
    pieces->params = params;
    pieces->model = text_sp_open(path, params.legacy, status);
    bool ok = pieces->model && text_sp_encode(pieces->model, unknown_text, sizeof unknown_text - 1,
                                              &unknown, status);
    if (ok) {
        pieces->space = text_sp_id(pieces->model, SPACE, sizeof SPACE - 1);
        pieces->unknown_pieces = unknown.count;
    } else {
        gb_pieces_close(pieces);
        pieces = NULL;
    }
    free(unknown.data);
    return pieces;
}

void gb_pieces_close(gb_pieces *pieces)
{
    if (!pieces)
        return;
    text_sp_close(pieces->model);
    for (size_t i = 0; i < pieces->count; i++)
        free(pieces->added[i].text);
    free(pieces->added);
    free(pieces);
}

uint32_t gb_pieces_count(const gb_pieces *pieces)
{
    return text_sp_count(pieces->model);
}

uint32_t gb_pieces_id(const gb_pieces *pieces, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < pieces->count; i++)
        if (!strcmp(pieces->added[i].text, text))
            return pieces->added[i].says.id;
    return text_sp_id(pieces->model, text, length);
}

bool gb_pieces_add(gb_pieces *pieces, const gb_added_token *token, gb_status *status)
{
    if (!token->text[0])
        return true;
    if (!gb_grow(&pieces->added, &pieces->capacity, pieces->count + 1, sizeof *pieces->added,
                 status))
        return false;
    char *text = gb_strdup(token->text, status);
    if (!text)
        return false;
    pieces->added[pieces->count++] = (added){text, strlen(text), *token};
    return true;
}

/* ---- text to ids ---- */

/* What str.isspace of Python holds for a space. */
static bool is_space(int32_t c)
{
    return (c >= 0x1C && c <= 0x1F) || (c >= 0 && text_unicode_is_white_space(c));
}

/* Start of text[0 .. length) without spaces. */
static size_t skip_spaces(const char *text, size_t length)
{
    size_t at = 0;
    for (size_t next = 0; at < length && is_space(text_unicode_next(text, length, &next));
         at = next)
        ;
    return at;
}

/* End of text[0 .. length) without spaces. */
static size_t trim_spaces(const char *text, size_t length)
{
    while (length) {
        size_t at = length - 1;
        while (at && ((unsigned char)text[at] & 0xC0) == 0x80)
            at--;
        size_t next = at;
        if (!is_space(text_unicode_next(text, length, &next)))
            break;
        length = at;
    }
    return length;
}

/* The longest added token that text begins with, or NULL. */
static const added *added_at(const gb_pieces *pieces, const char *text, size_t length)
{
    const added *found = NULL;
    for (size_t i = 0; i < pieces->count; i++) {
        const added *a = &pieces->added[i];
        if (a->length <= length && text[0] == a->text[0] && !memcmp(text, a->text, a->length) &&
            (!found || a->length > found->length))
            found = a;
    }
    return found;
}

static bool begins_with_space(const char *text, size_t length)
{
    return text[0] == ' ' || (length >= sizeof SPACE - 1 && !memcmp(text, SPACE, sizeof SPACE - 1));
}

/* Ids of a stretch between added tokens. */
static bool encode_stretch(const gb_pieces *pieces, const char *text, size_t length, gb_ids *ids,
                           gb_status *status)
{
    if (!length)
        return true;
    if (pieces->params.legacy || !begins_with_space(text, length))
        return text_sp_encode(pieces->model, text, length, ids, status);
    gb_text whole = {0};
    gb_text_append(&whole, unknown_text, sizeof unknown_text - 1);
    gb_text_append(&whole, text, length);
    size_t from = ids->count, drop = pieces->unknown_pieces;
    bool ok = whole.failed ? gb_fail_memory(status, "tokenizing by sentencepiece")
                           : text_sp_encode(pieces->model, whole.data, whole.length, ids, status);
    if (ok && ids->count - from >= drop) {
        ids->count -= drop;
        memmove(ids->data + from, ids->data + from + drop, (ids->count - from) * sizeof *ids->data);
    }
    gb_text_free(&whole);
    return ok;
}

/* Ids of valid UTF-8 as the rules want it. */
static bool encode_clean(const gb_pieces *pieces, const char *text, size_t length, gb_ids *ids,
                         gb_status *status)
{
    const size_t first = ids->count;
    size_t from = 0;
    for (size_t at = 0; at < length;) {
        const added *a = added_at(pieces, text + at, length - at);
        if (!a) {
            at++;
            continue;
        }
        size_t stretch = at - from;
        if (a->says.strip_left)
            stretch = trim_spaces(text + from, stretch);
        if (!encode_stretch(pieces, text + from, stretch, ids, status))
            return false;
        /* Only the space put in front stands before it. */
        if (!pieces->params.legacy && a->says.special && ids->count == first + 1 &&
            ids->data[first] == pieces->space && from == 0)
            ids->count = first;
        if (!gb_ids_append(ids, a->says.id, status))
            return false;
        at += a->length;
        if (a->says.strip_right)
            at += skip_spaces(text + at, length - at);
        from = at;
    }
    return encode_stretch(pieces, text + from, length - from, ids, status);
}

bool gb_pieces_encode(const gb_pieces *pieces, const char *text, size_t length, gb_ids *ids,
                      gb_status *status)
{
    gb_text clean = {0};
    bool legacy = pieces->params.legacy;
    if (!legacy && length && pieces->params.prefix_space)
        gb_text_append(&clean, SPACE, sizeof SPACE - 1);
    for (size_t at = 0; at < length;) {
        size_t from = at;
        int32_t c = text_unicode_next(text, length, &at);
        if (c < 0)
            gb_text_append(&clean, "\xEF\xBF\xBD", 3); /* U+FFFD */
        else if (!legacy && c == 0x2581)
            gb_text_append(&clean, " ", 1);
        else
            gb_text_append(&clean, text + from, at - from);
    }
    bool ok = clean.failed
                  ? gb_fail_memory(status, "tokenizing by sentencepiece")
                  : encode_clean(pieces, clean.data ? clean.data : "", clean.length, ids, status);
    gb_text_free(&clean);
    return ok;
}

/* ---- ids to text ---- */

static const added *added_of(const gb_pieces *pieces, uint32_t id)
{
    for (size_t i = 0; i < pieces->count; i++)
        if (pieces->added[i].says.id == id)
            return &pieces->added[i];
    return NULL;
}

/* Text of a run of pieces; those between other tokens are parted by a space. */
static bool decode_run(const gb_pieces *pieces, const gb_ids *run, bool first, gb_text *text,
                       gb_status *status)
{
    gb_text made = {0};
    if (!run->count)
        return true;
    bool ok = text_sp_decode(pieces->model, run->data, run->count, pieces->params.prefix_space,
                             &made, status);
    size_t from = 0, end = made.length;
    if (pieces->params.trim) {
        end = trim_spaces(made.data, end);
        from = skip_spaces(made.data, end);
    }
    if (ok && end > from) {
        if (!first)
            gb_text_append(text, " ", 1);
        gb_text_append(text, made.data + from, end - from);
    }
    gb_text_free(&made);
    return ok;
}

bool gb_pieces_decode(const gb_pieces *pieces, const uint32_t *ids, size_t count, gb_text *text,
                      gb_status *status)
{
    const size_t begin = text->length;
    gb_ids run = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        const added *a = added_of(pieces, ids[i]);
        if (!a && ids[i] < gb_pieces_count(pieces)) {
            ok = gb_ids_append(&run, ids[i], status);
        } else if (a && !a->says.special) {
            ok = decode_run(pieces, &run, text->length == begin, text, status);
            run.count = 0;
            if (text->length > begin)
                gb_text_append(text, " ", 1);
            gb_text_append(text, a->text, a->length);
        }
    }
    ok = ok && decode_run(pieces, &run, text->length == begin, text, status);
    free(run.data);
    if (ok && text->failed)
        return gb_fail_memory(status, "putting pieces together");
    return ok;
}
