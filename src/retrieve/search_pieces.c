/* Search in pieces of the passages: what was found in one is merged with what was found before, and
 * kept, so that a killed search goes on behind the last piece. */
#include "search.h"

#include <gabbro/ops.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = {'G', 'A', 'B', 'F', 'I', 'N', 'D', '1'};

static bool keep_found(const char *resume, uint32_t seen, size_t cells, const uint32_t *rows,
                       const float *scores, gb_status *status)
{
    uint64_t head[2] = {seen, cells};
    gb_out *out = gb_out_open(resume, status);
    if (!out)
        return false;
    FILE *stream = gb_out_stream(out);
    fwrite(magic, 1, sizeof magic, stream);
    fwrite(head, sizeof *head, 2, stream);
    fwrite(rows, sizeof *rows, cells, stream);
    fwrite(scores, sizeof *scores, cells, stream);
    return gb_out_commit(out, status);
}

/* How many passages were seen before; 0 where nothing that fits was kept. */
static uint32_t take_up(const char *resume, size_t cells, uint32_t total, uint32_t *rows,
                        float *scores)
{
    char start[sizeof magic];
    uint64_t head[2] = {0};
    FILE *file = fopen(resume, "rbe");
    if (!file)
        return 0;
    bool ok = fread(start, 1, sizeof start, file) == sizeof start &&
              !memcmp(start, magic, sizeof start) && fread(head, sizeof *head, 2, file) == 2 &&
              head[0] <= total && head[1] == cells &&
              fread(rows, sizeof *rows, cells, file) == cells &&
              fread(scores, sizeof *scores, cells, file) == cells;
    fclose(file);
    for (size_t i = 0; ok && i < cells; i++)
        ok = rows[i] < head[0] || rows[i] == GB_NO_ROW;
    return ok ? (uint32_t)head[0] : 0;
}

/* Where the results of one piece go before they are merged. */
typedef struct piece_room {
    search_found piece;   /* of the piece [queries, k] */
    search_found scratch; /* of merging [k] */
} piece_room;

static bool make_room(piece_room *room, size_t cells, uint32_t k, gb_status *status)
{
    room->piece.rows = gb_alloc(cells + k, sizeof *room->piece.rows, status);
    room->piece.scores = gb_alloc(cells + k, sizeof *room->piece.scores, status);
    if (!room->piece.rows || !room->piece.scores)
        return false;
    room->scratch = (search_found){room->piece.rows + cells, room->piece.scores + cells};
    return true;
}

static void merge_piece(const piece_room *room, uint32_t queries, uint32_t first, uint32_t k,
                        uint32_t *rows, float *scores)
{
    for (size_t q = 0, at = 0; q < queries; q++, at += k)
        search_merge(&(search_found){rows + at, scores + at},
                     &(search_found){room->piece.rows + at, room->piece.scores + at}, first, k,
                     &room->scratch);
}

bool search_pieces(gb_device *device, const gb_vectors *queries, const gb_vectors *passages,
                   const gb_search_params *params, uint32_t *rows, float *scores, gb_status *status)
{
    if (!params->piece)
        return search_whole(device, queries, passages, params, rows, scores, status);
    uint32_t k = params->k, piece = params->piece;
    const char *resume = params->resume;
    size_t cells = (size_t)queries->rows * k;
    piece_room room = {0};
    bool ok = make_room(&room, cells, k, status);
    uint32_t seen = ok && resume ? take_up(resume, cells, passages->rows, rows, scores) : 0;
    for (size_t i = 0; ok && !seen && i < cells; i++) {
        rows[i] = GB_NO_ROW;
        scores[i] = -INFINITY;
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
        gb_vectors part = search_part(&window, passages, seen, count);
        ok = search_whole(device, queries, &part, &quiet, room.piece.rows, room.piece.scores,
                          status);
        if (ok)
            merge_piece(&room, queries->rows, seen, k, rows, scores);
        ok = ok && (!resume || keep_found(resume, seen + count, cells, rows, scores, status));
        seen += ok ? count : 0;
        if (ok && !params->quiet)
            gb_progress_update(&progress, seen, NULL);
    }
    if (ok && !params->quiet)
        gb_progress_end(&progress, seen, NULL);
    free(room.piece.rows);
    free(room.piece.scores);
    return ok;
}
