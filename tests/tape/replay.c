/* Running a recorded program: the same bits every time, with the fewest barriers as with all, and
 * with inputs and outputs that follow their run although the host runs ahead. */
#include "small_program.h"

#include "../parity/trust.h"
#include "tape/exec.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MUST(x) cr_assert((x), "%s: %s", status.where, status.what)
#define STEPS   6

/* What a training of STEPS steps leaves. */
typedef struct outcome {
    float loss[STEPS];             /* of each step */
    float norm[STEPS];             /* of each gradient */
    float *arenas[GB_ARENA_COUNT]; /* at the end */
    uint64_t floats;               /* of each arena */
    uint32_t buffers;              /* that its activations lie in */
} outcome;

static float read_scalar(gb_executable *exec, uint64_t ticket, gb_tensor tensor)
{
    gb_status status = {0};
    const float *value = gb_executable_output(exec, ticket, tensor, &status);
    MUST(value);
    return *value;
}

/* How a training runs. */
typedef enum manner {
    PLAIN,  /* each step is read before the next */
    AHEAD,  /* outputs are read one step late, as in training */
    BESIDE, /* as that, and other programs of the same state run between the steps */
} manner;

/* ---- another program: y = x + 2 x, of any size ---- */

#define OTHER_COLS 64

typedef struct other {
    gb_tape *tape;
    gb_executable *exec;
    gb_tensor x, y;
    uint32_t rows;
} other;

static other other_make(gb_state *state, const gb_params *params, uint32_t rows)
{
    gb_status status = {0};
    other o = {.rows = rows, .tape = gb_tape_create(params, "other", &status)};
    MUST(o.tape);
    o.x = gb_tape_input(o.tape, "x", GB_F32, rows, OTHER_COLS);
    o.y = gb_add(o.tape, o.x, gb_scale(o.tape, o.x, 2));
    gb_tape_output(o.tape, o.y);
    MUST(o.exec = gb_executable_create(state, o.tape, &status));
    cr_expect_geq(state->activation_bytes, gb_executable_arena_bytes(o.exec));
    return o;
}

static void other_run(other *o)
{
    gb_status status = {0};
    uint64_t ticket;
    float *x = gb_executable_input(o->exec, o->x, &status);
    MUST(x);
    for (uint32_t i = 0; i < o->rows * OTHER_COLS; i++)
        x[i] = (float)(i % 1000);
    MUST(gb_executable_run(o->exec, &ticket, &status));
    const float *y = gb_executable_output(o->exec, ticket, o->y, &status);
    MUST(y);
    for (uint32_t i = 0; i < o->rows * OTHER_COLS; i++)
        cr_assert_eq(y[i], 3 * (float)(i % 1000), "value %u is %g", i, y[i]);
}

static void other_free(other *o)
{
    gb_executable_destroy(o->exec);
    gb_tape_destroy(o->tape);
}

/* Some smaller, some larger than all before it; all of them take what the largest does. */
static void run_others(other *others, uint32_t step, gb_state *state, const gb_params *params)
{
    static const uint32_t rows[STEPS] = {8, 2000, 16, 4000, 30, 5000};
    others[step] = other_make(state, params, rows[step]);
    for (uint32_t i = 0; i <= step; i++)
        other_run(&others[i]);
    if (step == STEPS - 1)
        cr_expect_eq(state->activation_bytes, gb_executable_arena_bytes(others[step].exec));
}

static outcome train_with(const gb_config *config, manner how)
{
    gb_status status = {0};
    bool ahead = how != PLAIN;
    other others[STEPS] = {0};
    gb_device_params device_params = gb_ops_device(config, NULL);
    device_params.validation = device_params.quiet = true;
    gb_device *device = gb_device_open(&device_params, &status);
    MUST(device);
    small_program p = small_program_make(true);
    gb_state *state = gb_state_create(device, p.params, true, &status);
    gb_executable *exec = state ? gb_executable_create(state, p.tape, &status) : NULL;
    MUST(exec);
    outcome out = {.floats = gb_params_floats(p.params)};
    for (int a = 0; a < GB_ARENA_COUNT; a++)
        out.arenas[a] = malloc(out.floats * sizeof(float));
    gb_params_init(p.params, 3, out.arenas[0]);
    MUST(gb_state_write(state, GB_ARENA_PARAMS, out.arenas[0], &status));
    out.buffers = state->activation_count;
    uint64_t tickets[STEPS];
    for (uint32_t step = 0; step < STEPS + (ahead ? 1 : 0); step++) {
        if (step < STEPS) {
            small_program_fill(&p, exec, step + 1);
            MUST(gb_executable_run(exec, &tickets[step], &status));
            if (how == BESIDE)
                run_others(others, step, state, p.params);
        }
        uint32_t done = ahead ? step - 1 : step;
        if (ahead && step == 0)
            continue;
        out.loss[done] = read_scalar(exec, tickets[done], p.loss);
        out.norm[done] = read_scalar(exec, tickets[done], p.norm);
    }
    for (int a = 0; a < GB_ARENA_COUNT; a++)
        MUST(gb_state_read(state, (gb_arena_id)a, out.arenas[a], &status));
    cr_expect_eq(gb_device_validation_count(device), 0, "the validation layer spoke");
    for (uint32_t i = 0; how == BESIDE && i < STEPS; i++)
        other_free(&others[i]);
    gb_executable_destroy(exec);
    gb_state_destroy(state);
    small_program_free(&p);
    gb_device_close(device);
    return out;
}

static outcome train(manner how)
{
    gb_config config = gb_config_read();
    return train_with(&config, how);
}

static void expect_same(const char *what, const outcome *a, const outcome *b)
{
    uint64_t differ = 0;
    cr_expect_arr_eq(a->loss, b->loss, sizeof a->loss);
    cr_expect_arr_eq(a->norm, b->norm, sizeof a->norm);
    for (int i = 0; i < STEPS; i++)
        differ += (a->loss[i] != b->loss[i]) + (a->norm[i] != b->norm[i]);
    for (int i = 0; i < GB_ARENA_COUNT; i++) {
        cr_expect(!memcmp(a->arenas[i], b->arenas[i], a->floats * sizeof(float)), "arena %d", i);
        for (uint64_t k = 0; k < a->floats; k++)
            differ += memcmp(&a->arenas[i][k], &b->arenas[i][k], sizeof(float)) != 0;
    }
    trust_note(what, "the same program, six steps of it", (double)differ, 0);
}

static void outcome_free(outcome *o)
{
    for (int a = 0; a < GB_ARENA_COUNT; a++)
        free(o->arenas[a]);
}

Test(replay, twice_the_same_bits)
{
    outcome a = train(PLAIN), b = train(PLAIN);
    expect_same("run twice: values with other bits", &a, &b);
    cr_expect_lt(a.loss[STEPS - 1], a.loss[0], "it learns: %g, then %g", a.loss[0],
                 a.loss[STEPS - 1]);
    outcome_free(&a);
    outcome_free(&b);
}

Test(replay, host_one_step_ahead)
{
    outcome a = train(PLAIN), b = train(AHEAD);
    expect_same("host a step ahead: values with other bits", &a, &b);
    outcome_free(&a);
    outcome_free(&b);
}

/* Programs of a state share the memory of their activations, which may move between two runs, and
 * keep nothing in it from one run to the next. */
Test(replay, beside_programs_of_other_sizes)
{
    outcome a = train(PLAIN), b = train(BESIDE);
    expect_same("beside programs of other sizes: values with other bits", &a, &b);
    outcome_free(&b);
    gb_config config = gb_config_read();
    config.poison = "1";
    b = train_with(&config, BESIDE);
    expect_same("in memory full of NaN: values with other bits", &a, &b);
    outcome_free(&a);
    outcome_free(&b);
}

/* Activations in many buffers, as large as the largest tensor needs, and in one. */
Test(replay, in_several_buffers)
{
    gb_config config = gb_config_read();
    config.limits = NULL; /* the smallest limits come with staging memory, which is larger */
    outcome one = train_with(&config, PLAIN), several;
    config.limits = "buffer=64K";
    config.poison = "1";
    several = train_with(&config, AHEAD);
    cr_expect_eq(one.buffers, 1);
    cr_expect_gt(several.buffers, 3, "%u buffers", several.buffers);
    expect_same("activations in several buffers: values with other bits", &one, &several);
    outcome_free(&one);
    outcome_free(&several);
}

Test(replay, few_barriers_or_all)
{
    gb_config config = gb_config_read();
    config.barriers = NULL;
    outcome few = train_with(&config, AHEAD);
    config.barriers = "full";
    outcome full = train_with(&config, AHEAD);
    expect_same("fewest barriers against all: values with other bits", &few, &full);
    outcome_free(&few);
    outcome_free(&full);
}

/* The gradient's norm is that of the parameters, not of what lies between their rows. */
Test(replay, norm_without_padding)
{
    outcome o = train(PLAIN);
    small_program p = small_program_make(true);
    double squares = 0;
    for (uint32_t i = 0; i < gb_params_count(p.params); i++) {
        const gb_param *param = gb_params_at(p.params, i);
        for (uint32_t r = 0; r < param->rows; r++)
            for (uint32_t c = 0; c < param->cols; c++) {
                double g = o.arenas[GB_ARENA_GRADS][param->offset + (uint64_t)r * param->ld + c];
                squares += g * g;
            }
    }
    cr_expect_float_eq(o.norm[STEPS - 1], sqrt(squares), 1e-5 * sqrt(squares), "%g, not %g",
                       o.norm[STEPS - 1], sqrt(squares));
    small_program_free(&p);
    outcome_free(&o);
}
