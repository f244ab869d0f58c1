/* Search in pieces of the passages: what was found in one is merged with what was found before, and
 * kept, so that a killed search goes on behind the last piece. */
#include "found.h"

#include <gabbro/ops.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = {'G', 'A', 'B', 'F', 'I', 'N', 'D', '1'};

static bool keep(const char *resume, uint32_t seen, size_t cells, const uint32_t *rows,
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

/* Search one piece and merge it. room: [2 * queries * k] of rows and of scores. */
static bool search_piece(gb_device *device, const gb_vectors *queries, const gb_vectors *passages,
                         const gb_search_params *params, uint32_t first, uint32_t count,
                         uint32_t *rows, float *scores, uint32_t *room_rows, float *room_scores,
                         gb_status *status)
{
    uint32_t k = params->k;
    size_t cells = (size_t)queries->rows * k;
    found_window w;
    gb_vectors piece = found_in(&w, passages, first, count);
    if (!gb_search(device, queries, &piece, params, room_rows, room_scores, status))
        return false;
    for (uint32_t q = 0; q < queries->rows; q++) {
        size_t at = (size_t)q * k;
        found_merge(rows + at, scores + at, room_rows + at, room_scores + at, first, k,
                    room_rows + cells, room_scores + cells);
    }
    return true;
}

bool gb_search_pieces(gb_device *device, const gb_vectors *queries, const gb_vectors *passages,
                      const gb_search_params *params, uint32_t piece, const char *resume,
                      uint32_t *rows, float *scores, gb_status *status)
{
    size_t cells = (size_t)queries->rows * params->k;
    uint32_t *room_rows = gb_alloc(cells + params->k, sizeof *room_rows, status);
    float *room_scores = gb_alloc(cells + params->k, sizeof *room_scores, status);
    bool ok = room_rows && room_scores;
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
        uint32_t left = passages->rows - seen, count = left < piece ? left : piece;
        ok = search_piece(device, queries, passages, &quiet, seen, count, rows, scores, room_rows,
                          room_scores, status) &&
             (!resume || keep(resume, seen + count, cells, rows, scores, status));
        seen += ok ? count : 0;
        if (ok && !params->quiet)
            gb_progress_update(&progress, seen, NULL);
    }
    if (ok && !params->quiet)
        gb_progress_end(&progress, seen, NULL);
    free(room_rows);
    free(room_scores);
    return ok;
}
