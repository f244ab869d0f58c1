/* Search: exact inner-product search of vectors on the device. Stands on tape and ops. */
#ifndef GABBRO_SEARCH_H
#define GABBRO_SEARCH_H

#include <gabbro/base.h>
#include <gabbro/vk.h>

/* Vectors [rows, width], row-major without gaps, in memory (or mapped) or handed out in blocks. */
typedef struct gb_vectors {
    uint32_t rows;       /* vectors, below UINT32_MAX */
    uint32_t width;      /* floats of each */
    const float *values; /* [rows * width], or NULL: ask `read` */
    /* Rows first..first+count-1 [count * width], valid until the next call; NULL with status.
     * Blocks come in rising order, the last may overlap the one before it; the passages are read
     * once for every gb_search_group queries. */
    const float *(*read)(void *context, uint32_t first, uint32_t count, gb_status *status);
    void *context; /* for `read` */
} gb_vectors;

typedef struct gb_search_params {
    uint32_t k;             /* results wanted of each query */
    uint32_t query_block;   /* queries scored at once, rounded up to 64 or 512; 0: chosen */
    uint32_t passage_block; /* passages scored at once; 0: chosen */
    const char *label;      /* of the progress line; NULL: "search" */
    bool quiet;             /* no progress line */
} gb_search_params;

/* The k passages with the largest inner products of every query, in falling order; among equal
 * scores the lower row comes first, and NaN is below every number. rows, scores [queries * k] are
 * the caller's; where there are fewer than k passages, rows end with UINT32_MAX and scores with
 * -INFINITY. Products are float32 sums in an order that depends on the device's kernels alone, so
 * the result is the same for all block sizes, bit for bit.
 *
 * Memory beyond the results is bounded whatever the number of vectors: no operand and no block of
 * scores above 64 MiB and 32 MiB on the device, some 300 MiB together.
 *
 * Fails with GB_USAGE for vectors of different widths or wider than 16384, with GB_INTERRUPTED
 * after a signal, and with what `read` or the device say. */
bool gb_search(gb_device *device, const gb_vectors *queries, const gb_vectors *passages,
               const gb_search_params *params, uint32_t *rows, float *scores, gb_status *status);
/* The same in pieces of `piece` passages; after each of them what was found is kept in the file
 * `resume` (NULL: nowhere), from which the next call with the same vectors goes on. The result does
 * not depend on the pieces. */
bool gb_search_pieces(gb_device *device, const gb_vectors *queries, const gb_vectors *passages,
                      const gb_search_params *params, uint32_t piece, const char *resume,
                      uint32_t *rows, float *scores, gb_status *status);
/* How many queries share one reading of the passages. */
uint32_t gb_search_group(const gb_vectors *queries, const gb_vectors *passages,
                         const gb_search_params *params);

#endif
