/* In the place of sentencepiece.cpp where libsentencepiece was not there to build with. */
#include "text/sentencepiece.h"

sp_model *text_sp_open(const char *path, bool prefix, gb_status *status)
{
    (void)prefix;
    gb_fail(status, GB_USAGE, path,
            "install libsentencepiece-dev (Debian) and build again with -Dsentencepiece=enabled",
            "this program was built without sentencepiece, which the model needs");
    return NULL;
}

void text_sp_close(sp_model *model)
{
    (void)model;
}

uint32_t text_sp_count(const sp_model *model)
{
    (void)model;
    return 0;
}

uint32_t text_sp_id(const sp_model *model, const char *piece, size_t length)
{
    (void)model, (void)piece, (void)length;
    return GB_MAP_NONE;
}

bool text_sp_encode(const sp_model *model, const char *text, size_t length, gb_ids *ids,
                    gb_status *status)
{
    (void)model, (void)text, (void)length, (void)ids;
    return gb_fail(status, GB_INTERNAL, NULL, NULL, "there is no sentencepiece model");
}

bool text_sp_decode(const sp_model *model, const uint32_t *ids, size_t count, bool drop_space,
                    gb_text *text, gb_status *status)
{
    (void)model, (void)ids, (void)count, (void)drop_space, (void)text;
    return gb_fail(status, GB_INTERNAL, NULL, NULL, "there is no sentencepiece model");
}
