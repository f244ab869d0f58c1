/* Which kernel multiplies which shape: tiles, splits and launch sizes per profile. */
#include "matmul.h"

#include <gabbro/ops.h>

/* Tiles of the cpu kernel, rows x (lanes * 8) columns, measured on lavapipe: best with operands
 * read as texels; from storage buffers, {32, 4} is faster on Mesa 22.3, but slower on 25.0, where
 * its compiler takes a minute for the products of a layer. */
#define CPU_LANES 8
#define CPU_COLS4 2
typedef struct cpu_tile {
    uint32_t rows, kstep; /* of a workgroup; depth of a step */
} cpu_tile;
static const cpu_tile cpu_texel = {16, 8}, cpu_buffer = {16, 4};

/* Tiles of the shared-memory kernel, and small ones for small products. */
typedef struct scalar_tile {
    uint32_t lanes, bm, bn, bk, tm, tn; /* workgroup; tile; depth; register tile of a lane */
} scalar_tile;
static const scalar_tile scalar_big = {128, 64, 64, 16, 8, 4},
                         scalar_small = {64, 32, 32, 16, 4, 4};

/* Others that `gabbro tune` tries; the first is tile 1 of a class. What the shaders ask for: cpu,
 * rows x depth / 4 a multiple of the lanes, and for column sums 8 a multiple of rows / 4; scalar,
 * see there. */
static const cpu_tile cpu_others[GB_OTHER_TILES] = {{8, 8}, {16, 8}, {16, 4}, {32, 4}, {32, 8}};
static const scalar_tile scalar_others[GB_OTHER_TILES] = {{64, 32, 32, 16, 4, 4},
                                                          {64, 64, 64, 16, 8, 8},
                                                          {128, 64, 64, 16, 8, 4},
                                                          {128, 128, 64, 16, 8, 8},
                                                          {256, 128, 128, 16, 8, 8}};

/* Tiles of the kernel of cooperative matrices: of a workgroup, and its subgroups each way. Few
 * lanes are a CPU driver's, 16 those of Intel, whose registers end early, so that a subgroup keeps
 * fewer sums. */
typedef struct matrix_tile {
    uint32_t rows, columns, depth, groups_m, groups_n;
} matrix_tile;
static const matrix_tile matrix_others[GB_OTHER_TILES] = {{64, 64, 32, 4, 4},
                                                          {64, 64, 64, 2, 2},
                                                          {128, 64, 32, 2, 2},
                                                          {128, 128, 32, 2, 2},
                                                          {128, 128, 32, 4, 2}};

uint32_t gb_tile_class(gb_matmul_form form, uint32_t k)
{
    return (uint32_t)form * 2 + (k >= GB_TILE_DEPTH);
}

/* Whether the cpu kernel multiplies there. */
static bool has_cpu_kernel(gb_kernel_profile profile, uint32_t avoided)
{
    return profile == GB_PROFILE_CPU && !(avoided & GB_QUIRK_NO_SHUFFLE_MATMUL);
}

/* Whether a tile has whole matrices, the lanes room for its sums beside the operands (16 lanes:
 * Intel's; AS_STORED: NVIDIA's, of which its own driver gives a lane 255), and the device for what
 * the shader shares: operands, each line padded by 16 bytes, and a matrix of sums of each subgroup.
 */
static bool matrix_tile_fits(const gb_matrix *matrix, uint32_t avoid, const matrix_tile *t,
                             uint32_t invocations, uint32_t shared_bytes)
{
    uint32_t sums = matrix->lanes < 32 ? 16 : avoid & GB_QUIRK_AS_STORED ? 128 : 64;
    uint32_t groups = t->groups_m * t->groups_n, lanes = groups * matrix->lanes;
    uint32_t bytes =
        (2 * t->depth + 16) * (t->rows + t->columns) + 4 * groups * matrix->m * matrix->n;
    return matrix->lanes >= 16 && !(t->rows % (t->groups_m * matrix->m)) &&
           !(t->columns % (t->groups_n * matrix->n)) && !(t->depth % matrix->k) &&
           t->rows * t->columns <= lanes * sums && lanes <= invocations && bytes <= shared_bytes;
}

bool gb_tile_fits(const gb_device_caps *caps, uint32_t tile)
{
    gb_matrix matrix = gb_matrix_of(caps, caps->precision);
    if (!tile || tile > GB_OTHER_TILES)
        return !tile;
    if (matrix.m)
        return matrix_tile_fits(&matrix, caps->quirks, &matrix_others[tile - 1],
                                caps->max_workgroup, caps->max_shared_bytes);
    const scalar_tile *t = &scalar_others[tile - 1];
    return has_cpu_kernel(caps->profile, caps->quirks) ||
           (!(caps->quirks & GB_QUIRK_FEW_REGISTERS) && t->lanes <= caps->max_workgroup &&
            4 * t->bk * (t->bm + t->bn + 8) <= caps->max_shared_bytes);
}

void gb_tile_text(const gb_device_caps *caps, uint32_t tile, char *text, size_t size)
{
    const scalar_tile *s = &scalar_others[tile ? tile - 1 : 0];
    const cpu_tile *c = &cpu_others[tile ? tile - 1 : 0];
    const matrix_tile *x = &matrix_others[tile ? tile - 1 : 0];
    if (!tile)
        snprintf(text, size, "its own");
    else if (gb_matrix_of(caps, caps->precision).m)
        snprintf(text, size, "%u x %u, depth %u, %u x %u", x->rows, x->columns, x->depth,
                 x->groups_m, x->groups_n);
    else if (has_cpu_kernel(caps->profile, caps->quirks))
        snprintf(text, size, "%u x %u, depth %u", c->rows, CPU_LANES * CPU_COLS4 * 4, c->kstep);
    else
        snprintf(text, size, "%u x %u, depth %u, %u lanes", s->bm, s->bn, s->bk, s->lanes);
}

/* Place in the list of others that a device was tuned to; GB_OTHER_TILES: none. */
static uint32_t tuned(const gb_target *target, const matmul_call *call)
{
    uint32_t tile = gb_tile_of(target->tiles, gb_tile_class(call->form, call->k));
    return tile && tile <= GB_OTHER_TILES ? tile - 1 : GB_OTHER_TILES;
}

/* A split of k is worth its reduction when there are few tiles and each part stays long. */
#define SPLIT_TILES 16
#define SPLIT_K     512

uint32_t ops_matmul_splits(uint32_t m, uint32_t n, uint32_t k)
{
    uint64_t tiles = ((m + 31ull) / 32) * ((n + 63ull) / 64);
    if (!tiles || k < 2 * SPLIT_K || tiles >= SPLIT_TILES)
        return 1;
    uint64_t splits = (SPLIT_TILES + tiles - 1) / tiles, most = k / SPLIT_K;
    return (uint32_t)(splits < most ? splits : most);
}

static uint32_t ld_of(const gb_tape *tape, gb_tensor tensor)
{
    return gb_tape_tensor(tape, tensor)->ld;
}

/* Specialization constants 1..6 of every product shader. */
static void spec_flags(gb_kernel *kernel, const matmul_call *call, bool epilogue, bool k_edge)
{
    ops_spec(kernel, call->form);
    ops_spec(kernel, epilogue && call->bias != GB_NO_TENSOR);
    ops_spec(kernel, epilogue ? call->act : MATMUL_LINEAR);
    ops_spec(kernel, epilogue && call->residual != GB_NO_TENSOR);
    ops_spec(kernel, epilogue && call->accumulate);
    ops_spec(kernel, k_edge);
}

/* Kernels fetch the first step of k before they look whether there is one. Without k they find it
 * in c where it lies along a row of m or n (its first row again and again, leading dimension 0),
 * else in what stands for a missing operand. */
static void bind_operands(gb_kernel *kernel, const matmul_call *call)
{
    bool along_m = call->form == GB_TN, along_n = call->form != GB_NT;
    ops_bind_tensor(kernel, 0, call->k || !along_m ? call->a : call->c, GB_READ);
    ops_bind_tensor(kernel, 1, call->k || !along_n ? call->b : call->c, GB_READ);
}

static void bind_epilogue(gb_kernel *kernel, const matmul_call *call)
{
    ops_bind_tensor(kernel, 2, call->c, call->accumulate ? GB_READ_WRITE : GB_WRITE);
    ops_bind_tensor(kernel, 3, call->bias, GB_READ);
    ops_bind_tensor(kernel, 4, call->residual, GB_READ);
    ops_bind_tensor(kernel, 5, call->pre, call->act == MATMUL_GELU ? GB_WRITE : GB_READ);
}

static bool emit_reduce(gb_emitter *emitter, const gb_tape *tape, const matmul_call *call,
                        gb_status *status)
{
    uint32_t lanes = ops_lanes(&emitter->target), n4 = (call->n + 3) / 4;
    uint32_t groups_per_row = (n4 + lanes - 1) / lanes;
    gb_kernel kernel = ops_kernel_of("matmul_reduce", NULL);
    ops_spec(&kernel, lanes);
    spec_flags(&kernel, call, true, false);
    ops_bind_tensor(&kernel, 0, call->partials, GB_READ);
    bind_epilogue(&kernel, call);
    uint32_t ldp = ld_of(tape, call->partials);
    push(&kernel, MATMUL_PUSH, .M = call->m, .N = call->n, .K = call->k, .lda = ldp,
         .ldc = ld_of(tape, call->c), .tiles_n = groups_per_row, .tiles = call->m * groups_per_row,
         .k_per_split = call->k, .splits = call->splits);
    gb_grid(&emitter->target, call->m * groups_per_row, kernel.grid);
    kernel.flops = (double)call->splits * call->m * call->n;
    kernel.bytes = 4.0 * (call->splits + 1) * call->m * call->n;
    return gb_emit(emitter, &kernel, status);
}

static const char *form_label(gb_matmul_form form)
{
    return form == GB_NN ? "matmul nn" : form == GB_NT ? "matmul nt" : "matmul tn";
}

/* The product kernel of a profile: shader, specialization constants, tile and k step. */
typedef struct tiling {
    uint32_t tile_m, tile_n, kstep; /* of a workgroup */
} tiling;

static tiling cpu_kernel(const gb_target *target, gb_kernel *kernel, const matmul_call *call,
                         bool epilogue)
{
    uint32_t other = tuned(target, call);
    const cpu_tile *t = other < GB_OTHER_TILES ? &cpu_others[other]
                        : kernel->texels       ? &cpu_texel
                                               : &cpu_buffer;
    kernel->shader = "matmul_cpu";
    ops_spec(kernel, CPU_LANES);
    spec_flags(kernel, call, epilogue, call->k % t->kstep != 0);
    ops_spec(kernel, CPU_LANES);
    ops_spec(kernel, t->rows);
    ops_spec(kernel, CPU_COLS4);
    ops_spec(kernel, t->kstep);
    bool sums = kernel->access[6] != 0;
    ops_spec(kernel, sums ? 1 + call->accumulate_sums : 0);
    return (tiling){t->rows, CPU_LANES * CPU_COLS4 * 4, t->kstep};
}

static tiling scalar_kernel(const gb_target *target, gb_kernel *kernel, const matmul_call *call,
                            bool epilogue)
{
    bool small = call->m <= 32 || call->n <= 32 || (target->avoid & GB_QUIRK_FEW_REGISTERS);
    const scalar_tile *t = small ? &scalar_small : &scalar_big;
    uint32_t other = tuned(target, call);
    if (t == &scalar_big && other < GB_OTHER_TILES &&
        scalar_others[other].lanes <= target->max_invocations)
        t = &scalar_others[other];
    kernel->shader = "matmul_scalar";
    ops_spec(kernel, t->lanes);
    spec_flags(kernel, call, epilogue, call->k % t->bk != 0);
    ops_spec(kernel, t->bm);
    ops_spec(kernel, t->bn);
    ops_spec(kernel, t->bk);
    ops_spec(kernel, t->tm);
    ops_spec(kernel, t->tn);
    return (tiling){t->bm, t->bn, t->bk};
}

bool ops_has_matrices(const gb_target *target)
{
    uint32_t wrong = target->matrix.bfloat16 ? GB_QUIRK_NO_BFLOAT16 : GB_QUIRK_NO_MATRIX;
    return target->matrix.m && !(target->avoid & wrong);
}

bool ops_has_khr_matrices(const gb_target *target)
{
    return ops_has_matrices(target) && target->matrix.khr_source &&
           !(target->avoid & GB_QUIRK_NO_MATRIX_KHR);
}

/* A large tile needs so many of them to keep a large GPU busy. */
#define MANY_TILES 64

/* The tile of a profile's own for products that are not small: as many sums as lanes have registers
 * for, where there are tiles enough. Two subgroups a way, four of which hold 64 x 64 at 64 lanes.
 */
static matrix_tile matrix_tile_own(const gb_target *target, const matmul_call *call)
{
    const gb_matrix *matrix = &target->matrix;
    uint64_t tiles = ((call->m + 127ull) / 128) * ((call->n + 127ull) / 128);
    bool wide = matrix->lanes >= 64 || target->avoid & GB_QUIRK_AS_STORED;
    matrix_tile large = {128, 128, 32, wide ? 2 : 4, 2}, many = {64, 64, 32, 4, 4};
    uint32_t most = target->max_invocations, shared = target->max_shared_bytes;
    if (tiles >= MANY_TILES && matrix_tile_fits(matrix, target->avoid, &large, most, shared))
        return large;
    if (matrix->lanes == 16 && matrix_tile_fits(matrix, target->avoid, &many, most, shared))
        return many;
    return (matrix_tile){64, 64, 32, most >= 4 * matrix->lanes ? 2 : 1,
                         most >= 2 * matrix->lanes ? 2 : 1};
}

/* CPU drivers spell every multiplication of a matrix out, and compile all that is unrolled. */
static matrix_tile matrix_tile_of(const gb_target *target, const matmul_call *call)
{
    const gb_matrix *matrix = &target->matrix;
    uint32_t most = target->max_invocations / matrix->lanes, other = tuned(target, call);
    uint32_t groups_m = most >= 4 ? 2 : 1, groups_n = most >= 2 ? 2 : 1;
    if (matrix->lanes < 16)
        return (matrix_tile){32, 32, matrix->k, groups_m, groups_n};
    if (call->m <= 32 || call->n <= 32)
        return (matrix_tile){32, 32, 32, groups_m, groups_n};
    if (other < GB_OTHER_TILES &&
        matrix_tile_fits(matrix, target->avoid, &matrix_others[other], target->max_invocations,
                         target->max_shared_bytes))
        return matrix_others[other];
    return matrix_tile_own(target, call);
}

static tiling matrix_kernel(const gb_target *target, gb_kernel *kernel, const matmul_call *call,
                            bool epilogue)
{
    const gb_matrix *matrix = &target->matrix;
    matrix_tile tile = matrix_tile_of(target, call);
    uint32_t own_m = tile.rows / (tile.groups_m * matrix->m);
    uint32_t own_n = tile.columns / (tile.groups_n * matrix->n);
    own_m += !own_m;
    own_n += !own_n;
    kernel->shader = matrix->bfloat16               ? "matmul_matrix_bfloat16"
                     : ops_has_khr_matrices(target) ? "matmul_matrix_khr"
                                                    : "matmul_matrix";
    ops_spec(kernel, tile.groups_m * tile.groups_n * matrix->lanes);
    spec_flags(kernel, call, epilogue, call->k % tile.depth != 0);
    ops_spec(kernel, matrix->m);
    ops_spec(kernel, matrix->n);
    ops_spec(kernel, matrix->k);
    ops_spec(kernel, own_m);
    ops_spec(kernel, own_n);
    ops_spec(kernel, tile.groups_m);
    ops_spec(kernel, tile.groups_n);
    ops_spec(kernel, tile.depth);
    ops_spec(kernel, matrix->lanes);
    ops_spec(kernel, (target->avoid & GB_QUIRK_AS_STORED) != 0);
    return (tiling){tile.groups_m * own_m * matrix->m, tile.groups_n * own_n * matrix->n,
                    tile.depth};
}

/* Few tiles keep the few cores of a CPU busy: there a split is rarely worth its second pass. */
#define CPU_SPLIT_TILES 4

static bool splits_k(const gb_target *target, const matmul_call *call)
{
    uint64_t tiles = ((call->m + 15ull) / 16) * ((call->n + 63ull) / 64);
    return call->partials != GB_NO_TENSOR &&
           (target->profile != GB_PROFILE_CPU || tiles < CPU_SPLIT_TILES);
}

bool ops_matmul_emit(gb_emitter *emitter, const gb_tape *tape, const matmul_call *given,
                     gb_status *status)
{
    bool split = splits_k(&emitter->target, given);
    matmul_call own = *given, *call = &own;
    if (!split)
        own.splits = 1;
    gb_kernel kernel = ops_kernel_of(NULL, form_label(call->form));
    bool matrices = ops_has_matrices(&emitter->target);
    bool cpu = !matrices && has_cpu_kernel(emitter->target.profile, emitter->target.avoid);
    bind_operands(&kernel, call);
    if (cpu && call->k) /* a product without k has nothing to view */
        gb_use_texels(&emitter->target, tape, &kernel, 3);
    /* The cpu kernel adds up the columns of a on the way, others leave it to a kernel of its own.
     */
    bool sums = call->sums != GB_NO_TENSOR, inside = sums && cpu && !split;
    if (inside)
        ops_bind_tensor(&kernel, 6, call->sums, call->accumulate_sums ? GB_READ_WRITE : GB_WRITE);
    const gb_target *target = &emitter->target;
    tiling t = matrices ? matrix_kernel(target, &kernel, call, !split)
               : cpu    ? cpu_kernel(target, &kernel, call, !split)
                        : scalar_kernel(target, &kernel, call, !split);
    if (split)
        ops_bind_tensor(&kernel, 2, call->partials, GB_WRITE);
    else
        bind_epilogue(&kernel, call);
    uint32_t k_per_split = (call->k + call->splits - 1) / call->splits;
    k_per_split = (k_per_split + t.kstep - 1) / t.kstep * t.kstep;
    uint32_t tiles_n = (call->n + t.tile_n - 1) / t.tile_n;
    uint32_t tiles = (call->m + t.tile_m - 1) / t.tile_m * tiles_n;
    push(&kernel, MATMUL_PUSH, .M = call->m, .N = call->n, .K = call->k,
         .lda = call->k ? ld_of(tape, call->a) : 0, .ldb = call->k ? ld_of(tape, call->b) : 0,
         .ldc = ld_of(tape, split ? call->partials : call->c), .tiles_n = tiles_n, .tiles = tiles,
         .k_per_split = k_per_split, .splits = call->splits);
    gb_grid(&emitter->target, tiles, kernel.grid);
    kernel.grid[2] = call->splits;
    kernel.flops = 2.0 * call->m * call->n * call->k;
    kernel.bytes = 4.0 * ((double)call->m * call->k + (double)call->k * call->n +
                          (double)call->m * call->n * call->splits);
    if (!gb_emit(emitter, &kernel, status))
        return false;
    if (split && !emit_reduce(emitter, tape, call, status))
        return false;
    return !sums || inside ||
           ops_emit_column_sum(emitter, tape, call->a, call->sums, call->sum_partials,
                               call->accumulate_sums, status);
}
