/* Search in pieces of the passages: what was found in one is merged with what was found before, and
 * kept, so that a killed search goes on behind the last piece. */
#include "search.h"

#include <gabbro/ops.h>
#include <gabbro/os.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = {'G', 'A', 'B', 'F', 'I', 'N', 'D', '1'};

static bool keep_found(const char *resume, uint32_t seen, size_t cells, const gb_found *found,
                       gb_status *status)
{
    uint64_t head[2] = {seen, cells};
    gb_out *out = gb_out_open(resume, status);
    if (!out)
        return false;
    FILE *stream = gb_out_stream(out);
    fwrite(magic, 1, sizeof magic, stream);
    fwrite(head, sizeof *head, 2, stream);
    fwrite(found->rows, sizeof *found->rows, cells, stream);
    fwrite(found->scores, sizeof *found->scores, cells, stream);
    return gb_out_commit(out, status);
}

/* How many passages were seen before; 0 where nothing that fits was kept. */
static uint32_t read_found(const char *resume, size_t cells, uint32_t total, const gb_found *found)
{
    char start[sizeof magic];
    uint64_t head[2] = {0};
    FILE *file = gb_os_fopen(resume, "rb");
    if (!file)
        return 0;
    bool ok = fread(start, 1, sizeof start, file) == sizeof start &&
              !memcmp(start, magic, sizeof start) && fread(head, sizeof *head, 2, file) == 2 &&
              head[0] <= total && head[1] == cells &&
              fread(found->rows, sizeof *found->rows, cells, file) == cells &&
              fread(found->scores, sizeof *found->scores, cells, file) == cells;
    fclose(file);
    for (size_t i = 0; ok && i < cells; i++)
        ok = found->rows[i] < head[0] || found->rows[i] == GB_NO_ROW;
    return ok ? (uint32_t)head[0] : 0;
}

/* Memory for the results of one piece, and to merge them. */
typedef struct piece_found {
    gb_found piece;   /* [queries, k] */
    gb_found scratch; /* [k] */
} piece_found;

static bool make_room(piece_found *own, size_t cells, uint32_t k, gb_status *status)
{
    own->piece.rows = gb_alloc(cells + k, sizeof *own->piece.rows, status);
    own->piece.scores = gb_alloc(cells + k, sizeof *own->piece.scores, status);
    if (!own->piece.rows || !own->piece.scores)
        return false;
    own->scratch = (gb_found){own->piece.rows + cells, own->piece.scores + cells};
    return true;
}

/* Merge what was found in the piece that begins with passage `first`. */
static void merge_piece(const piece_found *own, uint32_t queries, uint32_t first, uint32_t k,
                        const gb_found *found)
{
    for (uint32_t q = 0; q < queries; q++) {
        gb_found all = retrieve_search_from(found, q, k),
                 piece = retrieve_search_from(&own->piece, q, k);
        retrieve_search_merge(&all, &piece, first, k, &own->scratch);
    }
}

bool retrieve_search_pieces(gb_device *device, const gb_vectors *queries,
                            const gb_vectors *passages, const gb_search_params *params,
                            const gb_found *found, gb_status *status)
{
    if (!params->piece)
        return retrieve_search_whole(device, queries, passages, params, found, status);
    uint32_t k = params->k, piece = params->piece;
    const char *resume = params->resume;
    size_t cells = (size_t)queries->rows * k;
    piece_found own = {0};
    bool ok = make_room(&own, cells, k, status);
    uint32_t seen = ok && resume ? read_found(resume, cells, passages->rows, found) : 0;
    for (size_t i = 0; ok && !seen && i < cells; i++) {
        found->rows[i] = GB_NO_ROW;
        found->scores[i] = -INFINITY;
    }
    gb_search_params quiet = *params;
    quiet.quiet = true;
    gb_progress progress;
    if (!params->quiet)
        gb_progress_begin(&progress, params->label ? params->label : "search", "passages",
                          passages->rows, seen);
    while (ok && seen < passages->rows) {
        search_window window;
        uint32_t left = passages->rows - seen, count = left < piece ? left : piece;
        gb_vectors part = retrieve_search_part(&window, passages, seen, count);
        ok = retrieve_search_whole(device, queries, &part, &quiet, &own.piece, status);
        if (ok)
            merge_piece(&own, queries->rows, seen, k, found);
        ok = ok && (!resume || keep_found(resume, seen + count, cells, found, status));
        seen += ok ? count : 0;
        if (ok && !params->quiet)
            gb_progress_update(&progress, seen, NULL);
    }
    if (ok && !params->quiet)
        gb_progress_end(&progress, seen, NULL);
    free(own.piece.rows);
    free(own.piece.scores);
    return ok;
}
