/* Work that the bandwidth of memory limits: layer norm, AdamW, copies by a kernel. */
#include "private.h"

typedef enum kind { NORM, NORM_GRADIENT, ADAMW, SCALE } kind;

typedef struct shape {
    kind what;           /* of the work */
    uint32_t rows, cols; /* of the matrix, or of all parameters */
    gb_tensor step;      /* input of AdamW */
} shape;

#define ADAMW_COLS 1024

static bool declare(void *context, gb_params *params, gb_status *status)
{
    const shape *s = context;
    const gb_param_spec x = {.name = "x", .rows = s->rows, .cols = s->cols, .init = GB_INIT_ONES};
    if (gb_params_add(params, &x, status) == UINT32_MAX)
        return false;
    if (s->what != NORM && s->what != NORM_GRADIENT)
        return true;
    return gb_params_add_vector(params, "gamma", s->cols, GB_INIT_ONES, status) != UINT32_MAX &&
           gb_params_add_vector(params, "beta", s->cols, GB_INIT_ONES, status) != UINT32_MAX;
}

static const gb_adamw_params adamw = {.9f, .999f, 1e-8f, .01f};

static void build(void *context, gb_tape *tape)
{
    shape *s = context;
    gb_status ignored = {0}; /* the tape remembers */
    if (s->what == ADAMW) {
        s->step = gb_adamw_input(tape, false);
        gb_adamw(tape, &adamw, s->step);
        return;
    }
    gb_tensor x = bench_activation(tape, 0);
    if (s->what == SCALE) {
        gb_scale(tape, x, 2);
        return;
    }
    gb_tensor y = gb_layer_norm(tape, x, gb_tape_param(tape, 1), gb_tape_param(tape, 2), 1e-12f);
    if (s->what == NORM_GRADIENT) /* what it is the gradient of makes no difference to the time */
        gb_backward_from(tape, y, x, &ignored);
}

static bool fill(void *context, gb_executable *exec, gb_status *status)
{
    const shape *s = context;
    if (s->what != ADAMW)
        return true;
    float *values = gb_executable_input(exec, s->step, status);
    if (values)
        gb_adamw_fill(&adamw, 1, 1e-4f, 1, values);
    return values != NULL;
}

static bool measure(bench *b, void *context, bench_times *times, gb_status *status)
{
    const shape *s = context;
    bench_program program = {.declare = declare,
                             .build = build,
                             .fill = fill,
                             .context = context,
                             .training = s->what == NORM_GRADIENT || s->what == ADAMW};
    return bench_program_measure(b, &program, times, status);
}

/* Least traffic: x read, y written; x and dy read, y and dx written; AdamW reads parameter,
 * gradient and two moments, the gradient once more for its norm, and writes three. */
static const struct {
    const char *name;  /* of the case */
    const char *key;   /* for peers */
    double per_number; /* floats moved */
} works[] = {[NORM] = {"layer norm, forward", "layer_norm", 2},
             [NORM_GRADIENT] = {"layer norm, and gradient", "layer_norm_gradient", 5},
             [ADAMW] = {"AdamW, all parameters", "adamw", 8},
             [SCALE] = {"copy by a kernel", "copy", 2}};

static uint32_t parameters_of(const bench_size *s)
{
    uint32_t h = s->hidden, layer = 4 * h * h + 2 * h * s->ffn + 9 * h + s->ffn;
    return s->layers * layer + (s->vocabulary + s->max_length) * h + h * h + s->vocabulary;
}

static bool run(bench *b, const bench_size *size, kind what, gb_status *status)
{
    char name[80];
    shape s = {.what = what, .rows = size->rows, .cols = size->hidden};
    if (what == ADAMW)
        s = (shape){.what = what, .rows = parameters_of(size) / ADAMW_COLS, .cols = ADAMW_COLS};
    if (what == SCALE)
        s = (shape){.what = what, .rows = 8192, .cols = 1024};
    snprintf(name, sizeof name, "%s %s", size->name, works[what].name);
    bench_case c = {.name = name,
                    .size = size,
                    .shape = json_pack("{s:s, s:i, s:i}", "work", works[what].key, "rows",
                                       (int)s.rows, "cols", (int)s.cols),
                    .bytes = 4 * works[what].per_number * s.rows * s.cols};
    return bench_case_run(b, &c, measure, &s, status);
}

bool bench_bandwidth(bench *b, gb_status *status)
{
    bool copied = false;
    for (size_t i = 0; i < BENCH_SIZES; i++)
        for (int what = NORM; b->sizes[i] && what <= SCALE; what++) {
            if (what == SCALE && copied)
                continue; /* the same for all sizes */
            copied = copied || what == SCALE;
            if (!run(b, &bench_sizes[i], (kind)what, status))
                return false;
        }
    return true;
}
