/* Folders of token vectors of a part of a collection, as gb_token_set_open reads them. */
#include "late.h"

#include <stdlib.h>

static bool write_list(const char *folder, const char *name, const uint32_t *values, size_t count,
                       gb_status *status)
{
    char *path = gb_path_join(status, folder, name);
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    char header[GB_NPY_HEADER];
    gb_npy_list_header(count, header);
    if (out) {
        fwrite(header, 1, sizeof header, gb_out_stream(out));
        fwrite(values, sizeof *values, count, gb_out_stream(out));
    }
    free(path);
    return out && gb_out_commit(out, status);
}

static bool put_tags(void *ctx, const uint32_t *tags, uint32_t count)
{
    fwrite(tags, sizeof *tags, count, gb_out_stream(ctx));
    return true;
}

static bool write_tags(const gb_retriever *r, gb_late_side side, const gb_encode_rows *texts,
                       uint32_t tokens, const char *folder, gb_status *status)
{
    char *path = gb_path_join(status, folder, "tags.npy");
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    char header[GB_NPY_HEADER];
    gb_npy_list_header(tokens, header);
    bool ok = out && fwrite(header, 1, sizeof header, gb_out_stream(out)) &&
              retrieve_late_tags(r, side, texts, put_tags, out, status);
    if (ok)
        ok = gb_out_commit(out, status);
    else if (out)
        gb_out_abandon(out);
    free(path);
    return ok;
}

bool retrieve_late_write_shard(const gb_retriever *r, gb_text_kind kind,
                               const gb_encode_rows *texts, gb_number numbers, const char *folder,
                               const char *journal, gb_padding *padding, gb_status *status)
{
    gb_late_side side = kind == GB_TEXT_QUERY ? GB_LATE_QUERY : GB_LATE_PASSAGE;
    char *tokens = gb_path_join(status, folder, "vectors.npy");
    char *whole = gb_path_join(status, folder, "whole.npy");
    uint32_t *starts = tokens && whole ? retrieve_late_starts(r, side, texts, status) : NULL;
    bool ok = starts && retrieve_late_write(r, side, texts, starts,
                                            &(gb_vector_file){tokens, journal, numbers}, whole,
                                            padding, status);
    if (ok && !gb_ranks_rank(r->how.ranks))
        ok = write_list(folder, "starts.npy", starts, (size_t)texts->count + 1, status) &&
             (r->late.settings.kind != GB_LATE_COIL ||
              write_tags(r, side, texts, starts[texts->count], folder, status));
    free(tokens);
    free(whole);
    free(starts);
    return ok;
}
