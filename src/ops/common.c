/* Launch shapes and gradient bookkeeping shared by all operations. */
#include "ops.h"

#include <common/purpose.h>

_Static_assert(PURPOSE_DROPOUT == GB_RNG_DROPOUT && PURPOSE_DRAW == GB_RNG_DRAW,
               "kernels and host draw for the same purposes");

uint32_t ops_lanes(const gb_target *target)
{
    if (target->profile == GB_PROFILE_CPU)
        return 8;
    return target->max_invocations < 64 ? target->max_invocations : 64;
}

bool ops_lane_rows(const gb_target *target)
{
    return target->profile == GB_PROFILE_CPU && !(target->avoid & GB_QUIRK_NO_LANE_ROWS);
}

void ops_row_kernel(gb_kernel *kernel, const gb_target *target, uint32_t rows)
{
    uint32_t lanes = ops_lanes(target);
    uint32_t lanes_per_row = ops_lane_rows(target) ? 1 : lanes;
    uint32_t rows_per_group = lanes / lanes_per_row;
    ops_spec(kernel, lanes);
    ops_spec(kernel, lanes_per_row);
    gb_grid(target, (rows + rows_per_group - 1) / rows_per_group, kernel->grid);
}

gb_kernel ops_element_kernel(const gb_target *target, const char *shader, uint32_t elements)
{
    gb_kernel kernel = ops_kernel_of(shader, NULL);
    uint32_t lanes = ops_lanes(target);
    ops_spec(&kernel, lanes);
    gb_grid(target, (elements + lanes - 1) / lanes, kernel.grid);
    return kernel;
}

/* llvmpipe ends the loops of an invocation, silently, after 65535 iterations of all of them
 * together. */
#define CPU_TURNS 60000

bool ops_iterations_fit(const gb_target *target, uint64_t iterations)
{
    return target->profile != GB_PROFILE_CPU || iterations <= CPU_TURNS;
}

bool ops_check_iterations(const gb_target *target, uint64_t iterations, const char *where,
                          gb_status *status)
{
    return ops_iterations_fit(target, iterations) ||
           gb_fail(status, GB_USAGE, where, "use shorter texts, or fewer a batch",
                   "%llu rows are more than a loop of a CPU driver holds",
                   (unsigned long long)iterations);
}

void ops_long_row_kernel(gb_kernel *kernel, const gb_target *target, uint32_t rows,
                         uint64_t iterations)
{
    if (ops_iterations_fit(target, iterations)) {
        ops_row_kernel(kernel, target, rows);
        return;
    }
    uint32_t lanes = ops_lanes(target), most = target->max_invocations < 256 ? 128 : 256;
    while (lanes < most && iterations / lanes > CPU_TURNS)
        lanes *= 2;
    ops_spec(kernel, lanes);
    ops_spec(kernel, lanes);
    gb_grid(target, rows, kernel->grid);
}

uint32_t ops_each_kernel(gb_kernel *kernel, const gb_target *target, const gb_tensor_info *info)
{
    uint32_t lanes = ops_lanes(target);
    /* Shorter loops than 64 are unrolled by lavapipe's compiler, which then takes seconds. */
    uint32_t per_lane = target->profile == GB_PROFILE_CPU ? 64 : 4;
    uint32_t count4 = (uint32_t)((uint64_t)info->rows * info->ld / 4);
    ops_spec(kernel, lanes);
    ops_spec(kernel, per_lane);
    uint32_t per_group = lanes * per_lane;
    gb_grid(target, (count4 + per_group - 1) / per_group, kernel->grid);
    return count4;
}

uint32_t ops_keep_threshold(float p)
{
    return (uint32_t)((double)p * 4294967296.0);
}

uint32_t ops_row_blocks(uint32_t rows)
{
    /* 64 rows a block, at most 256 blocks: enough to fill a GPU, few enough to add up at once. */
    uint32_t blocks = (rows + 63) / 64;
    return blocks < 1 ? 1 : blocks > 256 ? 256 : blocks;
}

gb_tensor ops_temp_like(gb_tape *tape, const char *name, gb_tensor tensor)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, tensor);
    return gb_tape_temp(tape, name, info->type, info->rows, info->cols);
}

gb_tensor ops_grad_of(const gb_tape *tape, gb_tensor tensor)
{
    return tensor == GB_NO_TENSOR ? GB_NO_TENSOR : gb_tape_tensor(tape, tensor)->grad;
}

bool ops_wants_grad(const gb_tape *tape, gb_tensor tensor)
{
    return tensor != GB_NO_TENSOR && gb_tape_tensor(tape, tensor)->needs_grad;
}

gb_tensor ops_old_grad(const gb_tape *tape, gb_tensor tensor)
{
    return gb_tape_tensor(tape, tensor)->grad;
}

void ops_set_grad(gb_tape *tape, gb_tensor tensor, gb_tensor gradient)
{
    gb_tensor_info *info = gb_tape_info(tape, tensor);
    if (info->role == GB_ROLE_VIEW) {
        gb_tape_fail(tape, "gradient through a view of %s", info->name);
    } else if (info->role == GB_ROLE_PARAM) {
        bool accumulate; /* not needed: the older gradient is already part of this one */
        gb_tensor slot = ops_param_grad(tape, tensor, &accumulate);
        ops_scale_into(tape, gradient, gb_tape_constant(tape, 1.0), slot, false);
    } else {
        info->grad = gradient;
    }
}

void ops_add_grad(gb_tape *tape, gb_tensor tensor, gb_tensor gradient)
{
    if (!ops_wants_grad(tape, tensor))
        return;
    gb_tensor old = ops_old_grad(tape, tensor);
    ops_set_grad(tape, tensor, old == GB_NO_TENSOR ? gradient : gb_add(tape, old, gradient));
}

gb_tensor ops_param_grad(gb_tape *tape, gb_tensor param, bool *accumulate)
{
    gb_tensor_info *info = gb_tape_info(tape, param);
    *accumulate = info->grad != GB_NO_TENSOR;
    if (info->role != GB_ROLE_PARAM) {
        gb_tape_fail(tape, "%s is not a parameter", info->name);
        return GB_NO_TENSOR;
    }
    gb_tensor slot = gb_tape_grad_arena(tape, info->param);
    gb_tape_info(tape, param)->grad = slot;
    return slot;
}

gb_tensor ops_times_scalar(gb_tape *tape, gb_tensor x, gb_tensor g)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, g);
    if (info->is_constant && info->constant == 1.0)
        return x;
    return info->is_constant ? gb_scale(tape, x, (float)info->constant) : gb_scale_by(tape, x, g);
}
