/* The first numbers of the vectors of a set, as Matryoshka models allow. */
#include "private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT = 256 }; /* vectors by which a set is known as one of length 1 */

struct gb_vector_cutting {
    gb_vectors whole; /* as they are in the files */
    uint32_t dims;    /* numbers that are kept */
    bool unit;        /* what is kept is scaled to length 1 */
    float *room;      /* vectors that were read last, cut */
    size_t capacity;  /* floats of it */
};
typedef struct gb_vector_cutting cutting;

static double square_of(const float *vector, uint32_t width)
{
    double square = 0;
    for (uint32_t i = 0; i < width; i++)
        square += (double)vector[i] * (double)vector[i];
    return square;
}

/* The first vectors tell, but for those of zeros. Those of int8 are off by a little. */
static bool look(cutting *c, gb_status *status)
{
    uint32_t count = c->whole.rows < LOOKED_AT ? c->whole.rows : LOOKED_AT, others = 0, units = 0;
    const float *rows = count ? c->whole.read(c->whole.context, 0, count, status) : NULL;
    for (uint32_t r = 0; rows && r < count; r++) {
        double square = square_of(rows + (size_t)r * c->whole.width, c->whole.width);
        units += fabs(square - 1) < .01;
        others += square > 0 && !(fabs(square - 1) < .01);
    }
    c->unit = units && !others;
    return rows || !count;
}

static const float *read_cut(void *context, uint32_t first, uint32_t count, gb_status *status)
{
    cutting *c = context;
    const float *rows = c->whole.read(c->whole.context, first, count, status);
    if (!rows || !gb_grow(&c->room, &c->capacity, (size_t)count * c->dims, sizeof *c->room, status))
        return NULL;
    for (uint32_t r = 0; r < count; r++) {
        float *to = c->room + (size_t)r * c->dims;
        memcpy(to, rows + (size_t)r * c->whole.width, c->dims * sizeof *to);
        gb_vector_cut(to, c->dims, c->unit);
    }
    return c->room;
}

bool gb_vector_set_cut(gb_vector_set *set, uint32_t dims, gb_status *status)
{
    if (dims > set->vectors.width)
        return gb_fail(status, GB_USAGE, set->folder, "take no more, or encode anew with --dims",
                       "--dims %u of vectors that have %u numbers", dims, set->vectors.width);
    if (!dims || dims == set->vectors.width)
        return true;
    cutting *c = set->cutting = gb_alloc(1, sizeof *c, status);
    if (!c)
        return false;
    c->whole = set->vectors;
    c->dims = dims;
    set->vectors.width = dims;
    set->vectors.read = read_cut;
    set->vectors.context = c;
    return look(c, status);
}

void retrieve_cutting_free(struct gb_vector_cutting *c)
{
    if (c)
        free(c->room);
    free(c);
}
