/* Global gradient norm, clipping and AdamW (Loshchilov and Hutter, 2019) over whole arenas. */
#include "ops.h"

#include <math.h>

/* ---- partial sums of squares ---- */

#define NORM_SHARES 256 /* partial sums; added up in order by one lane */

static bool emit_squares(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                         gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[0]);
    const gb_target *target = &emitter->target;
    bool lane_rows = ops_lane_rows(target);
    uint32_t lanes = lane_rows ? ops_lanes(target) : target->max_invocations < 256 ? 128 : 256;
    gb_kernel kernel = ops_kernel_of("square_sum", NULL);
    ops_spec(&kernel, lanes);
    ops_spec(&kernel, lane_rows ? 1 : lanes);
    ops_bind_tensor(&kernel, 0, node->in[0], GB_READ);
    ops_bind_tensor(&kernel, 1, node->out[0], GB_WRITE);
    push(&kernel, SQUARE_SUM_PUSH, .count = info->cols / 4, .shares = NORM_SHARES);
    gb_grid(target, lane_rows ? NORM_SHARES / lanes : NORM_SHARES, kernel.grid);
    kernel.flops = 2.0 * info->cols;
    kernel.bytes = 4.0 * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference_squares(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const double *x = gb_reference_f(ref, node->in[0]);
    double *partial = gb_reference_f(ref, node->out[0]);
    for (uint32_t share = 0; share < NORM_SHARES; share++)
        partial[share] = 0;
    for (uint32_t i = 0; i < gb_tape_tensor(tape, node->in[0])->cols; i++)
        partial[i / 4 % NORM_SHARES] += x[i] * x[i];
}

static const gb_op op_squares = {"square_sum", emit_squares, NULL, reference_squares};

/* ---- padding ---- */

/* Gradients leave anything in the padding of their rows; the norm runs over whole arenas. */
static bool emit_clear(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                       gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    uint32_t lanes = ops_lanes(&emitter->target);
    gb_kernel kernel = ops_kernel_of("clear_padding", NULL);
    ops_spec(&kernel, lanes);
    ops_bind_tensor(&kernel, 0, node->out[0], GB_READ_WRITE);
    push(&kernel, CLEAR_PADDING_PUSH, .rows = info->rows, .cols = info->cols, .ld = info->ld);
    gb_grid(&emitter->target, (info->rows + lanes - 1) / lanes, kernel.grid);
    kernel.bytes = 4.0 * info->rows * (info->ld - info->cols);
    return gb_emit(emitter, &kernel, status);
}

static void reference_clear(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    const gb_tensor_info *info = gb_tape_tensor(tape, node->out[0]);
    double *x = gb_reference_f(ref, node->out[0]);
    for (uint32_t r = 0; r < info->rows; r++)
        for (uint32_t c = info->cols; c < info->ld; c++)
            x[(size_t)r * info->ld + c] = 0;
}

static const gb_op op_clear = {"clear_padding", emit_clear, NULL, reference_clear};

static void clear_padding(gb_tape *tape)
{
    const gb_params *params = gb_tape_params(tape);
    for (uint32_t i = 0; i < gb_params_count(params); i++) {
        const gb_param *param = gb_params_at(params, i);
        if (!param->trained || param->ld == param->cols || !param->rows)
            continue;
        gb_node node = ops_node_of(&op_clear);
        node.in[0] = node.out[0] = gb_tape_grad_arena(tape, i);
        gb_tape_append(tape, &node);
    }
}

/* ---- the step ---- */

enum { IN_P, IN_G, IN_M, IN_V, IN_NORM, IN_STEP };
enum { ATTR_BETA1, ATTR_BETA2, ATTR_EPS, ATTR_DECAY };

static bool is_scaled(const gb_tape *tape, const gb_node *node)
{
    return gb_tape_tensor(tape, node->in[IN_STEP])->cols > GB_ADAMW_UNSCALE;
}

static bool emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node, gb_status *status)
{
    static const gb_access access[] = {GB_READ_WRITE, GB_READ, GB_READ_WRITE,
                                       GB_READ_WRITE, GB_READ, GB_READ};
    const gb_tensor_info *info = gb_tape_tensor(tape, node->in[IN_P]);
    gb_kernel kernel = ops_kernel_of(is_scaled(tape, node) ? "adamw_scaled" : "adamw", NULL);
    uint32_t count = ops_each_kernel(&kernel, &emitter->target, info);
    for (int i = IN_P; i <= IN_STEP; i++)
        ops_bind_tensor(&kernel, i, node->in[i], access[i]);
    gb_use_texels(&emitter->target, tape, &kernel, 15);
    push(&kernel, ADAMW_PUSH, .count = count, .beta1 = gb_bits_float(node->attr[ATTR_BETA1]),
         .beta2 = gb_bits_float(node->attr[ATTR_BETA2]), .eps = gb_bits_float(node->attr[ATTR_EPS]),
         .decay = gb_bits_float(node->attr[ATTR_DECAY]));
    kernel.flops = 15.0 * info->cols;
    kernel.bytes = 28.0 * info->cols;
    return gb_emit(emitter, &kernel, status);
}

static void reference(gb_reference *ref, const gb_tape *tape, const gb_node *node)
{
    double *p = gb_reference_f(ref, node->in[IN_P]), *m = gb_reference_f(ref, node->in[IN_M]);
    double *v = gb_reference_f(ref, node->in[IN_V]);
    const double *g = gb_reference_f(ref, node->in[IN_G]);
    const double *step = gb_reference_f(ref, node->in[IN_STEP]);
    bool scaled = is_scaled(tape, node);
    double unscale = scaled ? step[GB_ADAMW_UNSCALE] : 1;
    double norm = *gb_reference_f(ref, node->in[IN_NORM]) * unscale;
    if (scaled && !isfinite(norm))
        return;
    double clip = (step[3] > 0 ? fmin(1, step[3] / (norm + 1e-6)) : 1) * unscale;
    double beta1 = gb_bits_float(node->attr[ATTR_BETA1]),
           beta2 = gb_bits_float(node->attr[ATTR_BETA2]);
    double eps = gb_bits_float(node->attr[ATTR_EPS]), decay = gb_bits_float(node->attr[ATTR_DECAY]);
    for (uint32_t i = 0; i < gb_tape_tensor(tape, node->in[IN_P])->cols; i++) {
        double grad = g[i] * clip;
        m[i] = beta1 * m[i] + (1 - beta1) * grad;
        v[i] = beta2 * v[i] + (1 - beta2) * grad * grad;
        p[i] =
            p[i] * (1 - step[0] * decay) - step[0] / step[1] * m[i] / (sqrt(v[i]) / step[2] + eps);
    }
}

static const gb_op op = {"adamw", emit, NULL, reference};

gb_tensor gb_adamw_input(gb_tape *tape, bool scaled)
{
    return gb_tape_input(tape, "adamw step", GB_F32, 1, scaled ? GB_ADAMW_UNSCALE + 1 : 4);
}

void gb_adamw_fill(const gb_adamw_params *params, uint32_t step, float learning_rate,
                   float max_norm, float values[4])
{
    values[0] = learning_rate;
    values[1] = (float)(1 - pow(params->beta1, step));
    values[2] = (float)sqrt(1 - pow(params->beta2, step));
    values[3] = max_norm;
}

/* Floats of one window: a binding must stay under 128 MiB, what every device allows. */
#define WINDOW_FLOATS (32u << 20)

static gb_tensor norm_of(gb_tape *tape, uint64_t floats)
{
    uint32_t windows = (uint32_t)((floats + WINDOW_FLOATS - 1) / WINDOW_FLOATS);
    gb_tensor partials = gb_tape_temp(tape, "norm partials", GB_F32, windows, NORM_SHARES);
    for (uint32_t w = 0; w < windows; w++) {
        uint64_t first = (uint64_t)w * WINDOW_FLOATS;
        uint64_t count = floats - first < WINDOW_FLOATS ? floats - first : WINDOW_FLOATS;
        gb_node node = ops_node_of(&op_squares);
        node.in[0] = gb_tape_state(tape, GB_ARENA_GRADS, first, count);
        node.out[0] = gb_tape_view(tape, partials, w, 1);
        gb_tape_append(tape, &node);
    }
    return gb_sqrt_of_sum(tape, partials);
}

gb_tensor gb_adamw(gb_tape *tape, const gb_adamw_params *params, gb_tensor step_values)
{
    uint64_t floats = gb_params_arena_floats(gb_tape_params(tape), GB_ARENA_GRADS);
    uint64_t decayed = gb_params_decayed_floats(gb_tape_params(tape));
    clear_padding(tape);
    gb_tensor norm = norm_of(tape, floats);
    for (uint64_t first = 0; first < floats;) {
        uint64_t end = first < decayed ? decayed : floats;
        uint64_t count = end - first < WINDOW_FLOATS ? end - first : WINDOW_FLOATS;
        gb_node node = ops_node_of(&op);
        for (int a = 0; a < GB_ARENA_COUNT; a++)
            node.in[a] = gb_tape_state(tape, (gb_arena_id)a, first, count);
        node.in[IN_NORM] = norm;
        node.in[IN_STEP] = step_values;
        node.attr[ATTR_BETA1] = gb_float_bits(params->beta1);
        node.attr[ATTR_BETA2] = gb_float_bits(params->beta2);
        node.attr[ATTR_EPS] = gb_float_bits(params->eps);
        node.attr[ATTR_DECAY] = gb_float_bits(first < decayed ? params->decay : 0);
        node.out[0] = node.in[IN_P];
        node.out[1] = node.in[IN_M];
        node.out[2] = node.in[IN_V];
        gb_tape_append(tape, &node);
        first += count;
    }
    return norm;
}
