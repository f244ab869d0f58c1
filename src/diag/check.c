/* Runs the programs of the self-test and compares them with float64. */
#include "check.h"
#include "selftest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Largest difference from the reference, relative to the largest value of the tensor. */
static double error_of(const float *got, const double *want, uint32_t rows, uint32_t cols,
                       uint32_t ld)
{
    double worst = 0, scale = 1e-3;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < cols; i++)
            scale = fmax(scale, fabs(want[(size_t)r * ld + i]));
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < cols; i++) {
            double error = fabs(got[(size_t)r * ld + i] - want[(size_t)r * ld + i]) / scale;
            worst = error <= worst ? worst : isnan(error) ? INFINITY : error;
        }
    return worst;
}

static bool differentiate(check *c, bool of_one, gb_status *status)
{
    gb_tensor gradient =
        of_one ? gb_tape_constant(c->tape, 1.0) : gb_scale(c->tape, c->outputs[0], 1);
    return gb_backward_from(c->tape, c->outputs[0], gradient, status);
}

static bool declare(void *self, gb_params *params, gb_status *status)
{
    (void)self;
    static const struct {
        const char *name;
        uint32_t rows, cols;
    } operands[] = {{"x", CHECK_ROWS, CHECK_WIDTH},
                    {"y", CHECK_ROWS, CHECK_WIDTH},
                    {"square", CHECK_WIDTH, CHECK_WIDTH},
                    {"w", CHECK_WORDS, CHECK_WIDTH},
                    {"gamma", 1, CHECK_WIDTH},
                    {"beta", 1, CHECK_WIDTH},
                    {"qkv", CHECK_ROWS, 3 * CHECK_WIDTH},
                    {"qkv of 64", CHECK_ROWS, 3 * 64},
                    {"positions", CHECK_WORDS, CHECK_WIDTH},
                    {"types", 2, CHECK_WIDTH},
                    {"word bias", 1, CHECK_WORDS},
                    {"weights", CHECK_ROWS, 1},
                    {"long", CHECK_LONG, CHECK_WIDTH},
                    {"by word", CHECK_ROWS, CHECK_WORDS},
                    {"kv", CHECK_ROWS, 2 * CHECK_WIDTH},
                    {"by distance", 2 * CHECK_ROWS + 1, CHECK_HEADS}};
    bool ok = true;
    for (size_t o = 0; ok && o < sizeof operands / sizeof *operands; o++)
        ok = gb_params_add_matrix(params, operands[o].name, operands[o].rows, operands[o].cols, .7f,
                                  status) != UINT32_MAX;
    return ok &&
           gb_params_add_state(params, "kept", CHECK_ROWS, CHECK_WIDTH, .7f, status) != UINT32_MAX;
}

static bool build(void *self, gb_tape *tape, gb_status *status)
{
    check *c = self;
    const check_case *which = &check_cases[c->which];
    c->tape = tape;
    c->params = gb_tape_params(tape);
    c->outputs[1] = GB_NO_TENSOR;
    c->outputs[0] = which->build(c);
    for (int o = 0; o < 2; o++)
        if (c->outputs[o] != GB_NO_TENSOR)
            gb_tape_output(tape, c->outputs[o]);
    return gb_tape_ok(tape, status) &&
           (which->how & NO_GRADIENT || differentiate(c, which->how & OF_ONE, status));
}

static bool prepare(check *c, gb_device *device, size_t i, gb_status *status)
{
    const gb_executable_params program = {.name = "check",
                                          .device = device,
                                          .declare = declare,
                                          .training = true,
                                          .build = build,
                                          .self = c};
    c->which = i;
    return (c->exec = gb_executable_build(&program, status)) &&
           (c->ref = gb_reference_create(c->tape, status));
}

/* Parameters, and gradients and moments too, to both sides. */
static bool fill(check *c, float *values, gb_status *status)
{
    for (int a = 0; a < GB_ARENA_COUNT; a++) {
        uint64_t floats = gb_params_arena_floats(c->params, (gb_arena_id)a);
        gb_params_init(c->params, (uint64_t)a + 1, values);
        if (a == GB_ARENA_MOMENT2)
            for (uint64_t i = 0; i < floats; i++)
                values[i] = fabsf(values[i]);
        if (!gb_state_write(gb_executable_state(c->exec), (gb_arena_id)a, values, status))
            return false;
        double *reference = gb_reference_arena(c->ref, (gb_arena_id)a);
        for (uint64_t i = 0; i < floats; i++)
            reference[i] = values[i];
    }
    for (uint32_t i = 0; i < c->input_count; i++) {
        const gb_tensor_info *info = gb_tape_tensor(c->tape, c->inputs[i].tensor);
        size_t count = (size_t)info->rows * info->ld;
        void *device = gb_executable_input(c->exec, c->inputs[i].tensor, status);
        if (!device)
            return false;
        memcpy(device, c->inputs[i].words, count * 4);
        if (info->type == GB_U32)
            memcpy(gb_reference_u(c->ref, c->inputs[i].tensor), c->inputs[i].words, count * 4);
        for (size_t e = 0; info->type == GB_F32 && e < count; e++)
            gb_reference_f(c->ref, c->inputs[i].tensor)[e] = gb_bits_float(c->inputs[i].words[e]);
    }
    return true;
}

/* Top-k promises no order: each column that is wanted must be among those of its row, with its
 * value. */
static double top_k_error(check *c, const float *got, const uint32_t *got_columns)
{
    const gb_tensor_info *info = gb_tape_tensor(c->tape, c->outputs[0]);
    uint32_t ld = info->ld, columns_ld = gb_tape_tensor(c->tape, c->outputs[1])->ld;
    const double *want = gb_reference_f(c->ref, c->outputs[0]);
    const uint32_t *want_columns = gb_reference_u(c->ref, c->outputs[1]);
    double worst = 0;
    for (uint32_t r = 0; r < info->rows; r++)
        for (uint32_t i = 0; i < info->cols; i++) {
            double error = INFINITY;
            for (uint32_t j = 0; j < info->cols; j++)
                if (got_columns[r * columns_ld + j] == want_columns[r * columns_ld + i])
                    error = fabs(got[r * ld + j] - want[r * ld + i]);
            worst = isnan(error) ? INFINITY : fmax(worst, error);
        }
    return worst;
}

static bool compare(check *c, float *values, double *worst, gb_status *status)
{
    uint64_t ticket;
    if (!gb_executable_run(c->exec, &ticket, status) ||
        !gb_executable_wait(c->exec, ticket, status))
        return false;
    gb_reference_run(c->ref);
    const gb_tensor_info *info = gb_tape_tensor(c->tape, c->outputs[0]);
    const float *got = gb_executable_output(c->exec, ticket, c->outputs[0], status);
    const uint32_t *columns =
        got && c->indices ? gb_executable_output(c->exec, ticket, c->outputs[1], status) : NULL;
    if (!got || (c->indices && !columns))
        return false;
    *worst = c->indices ? top_k_error(c, got, columns)
                        : error_of(got, gb_reference_f(c->ref, c->outputs[0]), info->rows,
                                   info->cols, info->ld);
    for (int a = 0; a < GB_ARENA_COUNT; a++) {
        if (!gb_state_read(gb_executable_state(c->exec), (gb_arena_id)a, values, status))
            return false;
        for (uint32_t p = 0; p < gb_params_count(c->params); p++) {
            const gb_param *param = gb_params_at(c->params, p);
            if (a != GB_ARENA_PARAMS && !param->trained)
                continue;
            *worst =
                fmax(*worst, error_of(values + param->offset,
                                      gb_reference_arena(c->ref, (gb_arena_id)a) + param->offset,
                                      param->rows, param->cols, param->ld));
        }
    }
    return true;
}

/* ---- for the self-test ---- */

size_t diag_selftest_case_count(void)
{
    return check_case_count;
}

const char *diag_selftest_case_name(size_t i)
{
    return check_cases[i].name;
}

bool diag_selftest_case_seldom(size_t i, bool cpu)
{
    return check_cases[i].how & (cpu ? SELDOM | ON_GPUS : SELDOM);
}

bool diag_selftest_case_in(size_t i, gb_selftest_column column)
{
    static const uint32_t needed[GB_SELFTEST_COLUMNS] = {
        [GB_SELFTEST_BUFFERS] = IN_BUFFERS,   [GB_SELFTEST_PLAIN] = IN_PLAIN,
        [GB_SELFTEST_MATRICES] = IN_MATRICES, [GB_SELFTEST_NV_FORM] = IN_MATRICES,
        [GB_SELFTEST_BFLOAT16] = IN_MATRICES,
    };
    return (check_cases[i].how & needed[column]) == needed[column];
}

bool diag_selftest_case_run(gb_device *device, size_t i, double *worst, gb_status *status)
{
    check *c = gb_alloc(1, sizeof *c, status);
    float *values = NULL;
    bool ok = c && prepare(c, device, i, status) &&
              (values = gb_alloc(gb_params_floats(c->params), sizeof *values, status)) &&
              fill(c, values, status) && compare(c, values, worst, status);
    if (c) {
        gb_reference_destroy(c->ref);
        gb_executable_destroy(c->exec);
    }
    free(values);
    free(c);
    return ok;
}
