/* The kernels of attention: rows of lanes on CPU drivers, tiles in shared memory on GPUs
 * (shaders/common/attention_tiles.glsl), and tiles whose products are made by cooperative matrices
 * where those are asked for (shaders/common/attention_matrix.glsl). */
#include "attention_kernel.h"

#define NAMES(name)                                                                                \
    {                                                                                              \
        name, name "_tiled", name "_matrix", name "_matrix_khr", name "_matrix_bfloat16"           \
    }
enum { BY_LANES, TILED, MATRIX, MATRIX_KHR, MATRIX_BFLOAT16, FORMS };
static const char *const names[2][3][FORMS] = {
    {NAMES("attention_forward"), NAMES("attention_backward_q"), NAMES("attention_backward_kv")},
    {NAMES("attention_gqa_forward"), NAMES("attention_gqa_backward_q"),
     NAMES("attention_gqa_backward_kv")}};

/* ---- tiles ---- */

#define TILE_ROWS 32 /* TILE of common/attention_tiles.glsl, whose lanes are 64 or more */

/* A lane keeps 32 numbers of its rows, so that no GPU's registers end; backward there are two
 * tiles of products beside them, and two gradients of keys. */
static uint32_t tile_lanes(const gb_target *target, uint32_t head_dim, bool backward)
{
    uint32_t wanted = head_dim << backward, lanes = 64;
    if (target->avoid & GB_QUIRK_MORE_LANES)
        wanted = backward && head_dim < 64 ? 128 : 2 * head_dim;
    if (target->avoid & GB_QUIRK_MOST_LANES && backward && head_dim >= 64)
        wanted = 4 * head_dim;
    while (lanes < 256 && lanes < wanted && 2 * lanes <= target->max_invocations)
        lanes *= 2;
    return lanes;
}

/* ---- cooperative matrices ---- */

#define WIDEST_MATRIX_HEAD 128 /* a subgroup keeps the sums of half of it in registers */

/* Subgroups of a workgroup each way, and rows of the other side at a time. */
typedef struct matrix_tile {
    uint32_t groups_m, groups_n, others;
} matrix_tile;

static uint32_t greater(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* What the three shaders share, in bytes: see their lists of what lies where. */
static uint32_t shared_bytes(attention_part part, const gb_matrix *matrix, const matrix_tile *t,
                             uint32_t head_dim)
{
    uint32_t unit = greater(matrix->k, t->groups_n * matrix->n);
    uint32_t wide = (head_dim + unit - 1) / unit * unit, tile = t->groups_m * matrix->m;
    uint32_t along = wide / 4 + 2, turned = t->others / 4 + 2, scores = t->others / 2 + 2;
    uint32_t groups = t->groups_m * t->groups_n, patches = groups * matrix->m * matrix->n / 2;
    uint32_t pair = greater(2 * t->others * along, greater(2 * tile * scores, patches)), words2;
    if (part == ATTENTION_FORWARD)
        words2 = tile * along + greater(t->others * along, patches) + tile * scores + wide * turned;
    else if (part == ATTENTION_BACKWARD_Q)
        words2 = 2 * tile * along + pair + wide * turned + tile * turned;
    else
        words2 = 2 * tile * along + pair + 2 * wide * turned + 2 * tile * turned;
    return 8 * words2 + 4 * (groups * matrix->lanes + tile + 4);
}

static bool fits(const gb_target *target, attention_part part, uint32_t head_dim,
                 const matrix_tile *t)
{
    return shared_bytes(part, &target->matrix, t, head_dim) <= target->max_shared_bytes;
}

/* Tiles of 32 rows, with fewer of the other side where that is too much to share; false if none
 * will do. CPU drivers spell every multiplication of a matrix out, so theirs are small. */
static bool matrix_tile_of(const gb_target *target, attention_part part, uint32_t head_dim,
                           matrix_tile *t)
{
    const gb_matrix *matrix = &target->matrix;
    if (!ops_has_matrices(target) || (target->avoid & GB_QUIRK_NO_MATRIX_ATTENTION) ||
        head_dim > WIDEST_MATRIX_HEAD)
        return false;
    bool few = matrix->lanes < 16;
    uint32_t least = greater(matrix->k, 2 * matrix->n), narrow = greater(matrix->k, matrix->n);
    *t = (matrix_tile){.groups_m = matrix->m >= 32 ? 1
                                   : few           ? 2
                                                   : 32 / matrix->m,
                       .groups_n = 2,
                       .others = few ? least : greater(least, 32)};
    uint32_t lanes = t->groups_m * t->groups_n * matrix->lanes;
    if (lanes > target->max_invocations || lanes < 2 * t->groups_m * matrix->m)
        return false;
    while (t->others > least && !fits(target, part, head_dim, t))
        t->others /= 2;
    /* A subgroup has all sums of its rows then: many registers, which lanes of Intel's lack. */
    if (!fits(target, part, head_dim, t) && matrix->lanes >= 32) {
        t->groups_n = 1;
        t->others = narrow;
    }
    return fits(target, part, head_dim, t);
}

/* ---- the choice ---- */

attention_choice ops_attention_choose(const gb_target *target, attention_part part, bool gqa,
                                      uint32_t head_dim)
{
    const gb_matrix *matrix = &target->matrix;
    const char *const *of = names[gqa][part];
    matrix_tile t;
    if (matrix_tile_of(target, part, head_dim, &t)) {
        int form = matrix->bfloat16               ? MATRIX_BFLOAT16
                   : ops_has_khr_matrices(target) ? MATRIX_KHR
                                                  : MATRIX;
        return (attention_choice){.shader = of[form],
                                  .lanes = t.groups_m * t.groups_n * matrix->lanes,
                                  .rows = t.groups_m * matrix->m,
                                  .spec = {matrix->m, matrix->n, matrix->k, t.groups_m, t.groups_n,
                                           t.others, matrix->lanes},
                                  .spec_count = 7};
    }
    bool by_lanes = target->profile == GB_PROFILE_CPU;
    uint32_t lanes =
        by_lanes ? ops_lanes(target) : tile_lanes(target, head_dim, part != ATTENTION_FORWARD);
    return (attention_choice){.shader = of[by_lanes ? BY_LANES : TILED],
                              .lanes = lanes,
                              .rows = by_lanes ? lanes : TILE_ROWS,
                              .by_lanes = by_lanes,
                              .spec = {lanes},
                              .spec_count = 1};
}

gb_kernel ops_attention_kernel(const attention_choice *choice, uint32_t head_dim, uint32_t second,
                               uint32_t third)
{
    gb_kernel kernel = ops_kernel_of(choice->shader, NULL);
    ops_spec(&kernel, choice->lanes);
    ops_spec(&kernel, head_dim / 4);
    ops_spec(&kernel, second);
    ops_spec(&kernel, third);
    for (uint32_t i = 0; i < choice->spec_count; i++)
        ops_spec(&kernel, choice->spec[i]);
    return kernel;
}
