/* Losses of vectors cut after several numbers, added up (Kusupati et al., "Matryoshka
 * representation learning", NeurIPS 2022): L = sum over i of w_i L(scores of the vectors' first d_i
 * numbers). Where vectors have length 1, what is left of them is scaled to length 1 again. */
#include "private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static bool fail(const char *option, const char *list, const char *why, gb_status *status)
{
    return gb_fail(status, GB_USAGE, option, "e.g. --matryoshka 384,128,64", "\"%.80s\" %s", list,
                   why);
}

/* The numbers of a list that commas part; *count of them, of at most GB_MATRYOSHKA_MAX. */
static bool read_numbers(const char *option, const char *list, double *numbers, uint32_t *count,
                         gb_status *status)
{
    const char *rest = list;
    size_t length;
    *count = 0;
    for (const char *word; (word = gb_next_word(&rest, ',', &length));) {
        char text[32], *end;
        if (*count == GB_MATRYOSHKA_MAX)
            return fail(option, list, "has too many numbers", status);
        snprintf(text, sizeof text, "%.*s", length < sizeof text ? (int)length : 0, word);
        double number = strtod(text, &end);
        if (!*text || *end || !isfinite(number) || number <= 0)
            return fail(option, list, "is no list of positive numbers", status);
        numbers[(*count)++] = number;
    }
    return *count || fail(option, list, "is an empty list", status);
}

bool gb_matryoshka_read(const char *dims, const char *weights, gb_matryoshka *parts,
                        gb_status *status)
{
    double sizes[GB_MATRYOSHKA_MAX], shares[GB_MATRYOSHKA_MAX];
    uint32_t count;
    *parts = (gb_matryoshka){0};
    if (!dims)
        return !weights || gb_fail(status, GB_USAGE, "--matryoshka-weights", "give --matryoshka",
                                   "weights are of the lengths of --matryoshka");
    if (!read_numbers("--matryoshka", dims, sizes, &parts->count, status) ||
        (weights && !read_numbers("--matryoshka-weights", weights, shares, &count, status)))
        return false;
    if (weights && count != parts->count)
        return gb_fail(status, GB_USAGE, "--matryoshka-weights", "give one for each length",
                       "%u weights for %u lengths", count, parts->count);
    for (uint32_t i = 0; i < parts->count; i++) {
        if (sizes[i] != floor(sizes[i]) || sizes[i] > UINT32_MAX)
            return fail("--matryoshka", dims, "has a number that is no whole one", status);
        for (uint32_t j = 0; j < i; j++)
            if (sizes[i] == sizes[j])
                return fail("--matryoshka", dims, "has a number twice", status);
        parts->dims[i] = (uint32_t)sizes[i];
        parts->weights[i] = weights ? (float)shares[i] : 1;
    }
    return true;
}

/* ---- building ---- */

/* Ones that select the first columns of vectors. */
typedef struct first_columns {
    gb_tensor ones;    /* [dims, width] */
    uint32_t dims, ld; /* rows; floats from one to the next */
} first_columns;

static bool fill_ones(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const first_columns *in = record;
    float *ones = gb_executable_input(exec, in->ones, status);
    for (uint32_t d = 0; ones && d < in->dims; d++)
        ones[(size_t)d * in->ld + d] = 1;
    return ones;
}

gb_tensor finetune_select_columns(gb_builder *builder, uint32_t dims, uint32_t width)
{
    first_columns in = {.ones = gb_tape_input(builder->tape, "first columns", GB_F32, dims, width),
                        .dims = dims};
    if (in.ones == GB_NO_TENSOR)
        return GB_NO_TENSOR;
    in.ld = gb_tape_tensor(builder->tape, in.ones)->ld;
    gb_tape_fill_by(builder->tape, fill_ones, &in, sizeof in);
    return in.ones;
}

gb_tensor finetune_cut_vectors(gb_builder *builder, gb_tensor vectors, gb_tensor columns, bool unit)
{
    gb_tensor cut = gb_matmul(builder->tape, GB_NT, vectors, columns);
    return unit ? gb_normalize_rows(builder->tape, cut) : cut;
}
