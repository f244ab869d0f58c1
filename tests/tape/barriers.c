/* Barriers: each one that is emitted is needed, none is missing, and the checker sees it. */
#include "any_op.h"
#include "small_program.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define MUST(x) cr_assert((x), "%s: %s", status.where, status.what)

static const gb_target targets[] = {{GB_PROFILE_CPU, 65535, 1024, 1u << 20},
                                    {GB_PROFILE_SCALAR, 65535, 1024, 0},
                                    {GB_PROFILE_SCALAR, 65535, 128, 0}};

static void emit_for(gb_emitter *emitter, const gb_target *target, gb_tape *tape, bool full)
{
    gb_status status = {0};
    gb_plan plan;
    *emitter = (gb_emitter){.target = *target};
    MUST(gb_plan_memory(tape, 256, 0, &plan, &status));
    MUST(gb_emit_tape(emitter, tape, full, &status));
}

static size_t barriers(const gb_emitter *emitter)
{
    size_t count = 0;
    for (size_t k = 0; k < emitter->count; k++)
        count += emitter->kernels[k].barrier;
    return count;
}

/* What emission gives passes, and without any single barrier it does not. */
static void check_every_barrier(gb_tape *tape, const gb_emitter *emitter)
{
    gb_status status = {0};
    MUST(gb_hazard_check(tape, emitter->kernels, emitter->count, &status));
    for (size_t k = 0; k < emitter->count; k++) {
        if (!emitter->kernels[k].barrier)
            continue;
        emitter->kernels[k].barrier = false;
        gb_status why = {0};
        cr_assert_not(gb_hazard_check(tape, emitter->kernels, emitter->count, &why),
                      "%s: the barrier before kernel %zu (%s) is not missed", gb_tape_name(tape), k,
                      emitter->kernels[k].label);
        cr_expect(strstr(why.what, emitter->kernels[k].label), "%s", why.what);
        emitter->kernels[k].barrier = true;
    }
}

Test(barriers, training_step)
{
    gb_status status = {0};
    small_program p = small_program_make(true);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        gb_emitter few, full;
        emit_for(&few, &targets[t], p.tape, false);
        emit_for(&full, &targets[t], p.tape, true);
        check_every_barrier(p.tape, &few);
        MUST(gb_hazard_check(p.tape, full.kernels, full.count, &status));
        cr_expect_eq(few.count, full.count);
        cr_expect_eq(barriers(&full), full.count - 1);
        cr_expect_lt(barriers(&few), full.count - 1);
        free(few.kernels);
        free(full.kernels);
    }
    small_program_free(&p);
}

Test(barriers, random_programs)
{
    gb_status status = {0};
    for (uint32_t seed = 0; seed < 100; seed++) {
        gb_rng rng = gb_rng_make(32, GB_RNG_TEST, seed, 0);
        gb_tape *tape = gb_tape_create(NULL, "random", &status);
        MUST(tape);
        gb_tensor made[40];
        uint32_t count = 0;
        made[count++] = gb_tape_input(tape, "in", GB_F32, 9, 16);
        for (uint32_t n = 0; n < 30; n++) {
            gb_tensor a = made[gb_rng_below(&rng, count)], b = made[gb_rng_below(&rng, count)];
            if (gb_rng_below(&rng, 3) == 0)
                a = gb_tape_view(tape, a, gb_rng_below(&rng, 4), 5);
            gb_tensor out = b;
            if (gb_rng_below(&rng, 4) || b == made[0])
                out = made[count++] =
                    gb_tape_temp(tape, "t", GB_F32, 9, 4 + gb_rng_below(&rng, 30));
            any_append(tape, a, b, out);
        }
        gb_emitter emitter;
        emit_for(&emitter, &targets[0], tape, false);
        check_every_barrier(tape, &emitter);
        free(emitter.kernels);
        gb_tape_destroy(tape);
    }
}

/* The barriers of a program written out, so that the two methods cannot be wrong together. */
Test(barriers, by_hand)
{
    gb_status status = {0};
    gb_tape *tape = gb_tape_create(NULL, "by hand", &status);
    MUST(tape);
    gb_tensor x = gb_tape_input(tape, "x", GB_F32, 64, 16);
    gb_tensor a = gb_tape_temp(tape, "a", GB_F32, 64, 16);
    gb_tensor b = gb_tape_temp(tape, "b", GB_F32, 64, 16);
    gb_tensor c = gb_tape_temp(tape, "c", GB_F32, 64, 16);
    gb_tensor top = gb_tape_view(tape, c, 0, 16), bottom = gb_tape_view(tape, c, 32, 16);
    any_append(tape, x, GB_NO_TENSOR, a);      /* 0: first */
    any_append(tape, x, GB_NO_TENSOR, b);      /* 1: reads the same as 0, writes elsewhere */
    any_append(tape, a, GB_NO_TENSOR, c);      /* 2: reads what 0 wrote */
    any_append(tape, b, GB_NO_TENSOR, top);    /* 3: writes what 2 wrote */
    any_append(tape, b, GB_NO_TENSOR, bottom); /* 4: other rows than 3 */
    any_append(tape, x, top, GB_NO_TENSOR);    /* 5: reads what 3 wrote */
    any_append(tape, x, bottom, GB_NO_TENSOR); /* 6: 4 is behind the barrier of 5 */
    any_append(tape, x, GB_NO_TENSOR, top);    /* 7: writes what 5 reads */
    any_append(tape, a, b, top);               /* 8: writes what 7 wrote */
    static const bool wanted[] = {false, false, true, true, false, true, false, true, true};
    gb_emitter emitter;
    emit_for(&emitter, &targets[0], tape, false);
    cr_assert_eq(emitter.count, 9);
    for (size_t k = 0; k < emitter.count; k++)
        cr_expect_eq(emitter.kernels[k].barrier, wanted[k], "kernel %zu", k);
    check_every_barrier(tape, &emitter);
    free(emitter.kernels);
    gb_tape_destroy(tape);
}

/* Two tensors that take turns in one place need a barrier although no data passes. */
Test(barriers, reused_memory)
{
    gb_status status = {0};
    gb_tape *tape = gb_tape_create(NULL, "reuse", &status);
    MUST(tape);
    gb_tensor x = gb_tape_input(tape, "x", GB_F32, 64, 16);
    gb_tensor a = gb_tape_temp(tape, "a", GB_F32, 64, 16);
    gb_tensor b = gb_tape_temp(tape, "b", GB_F32, 64, 16);
    any_append(tape, x, GB_NO_TENSOR, a); /* read by nobody, so its place is free again */
    any_append(tape, x, GB_NO_TENSOR, b);
    gb_emitter emitter;
    emit_for(&emitter, &targets[0], tape, false);
    cr_assert_eq(gb_tape_tensor(tape, a)->offset, gb_tape_tensor(tape, b)->offset);
    cr_expect(emitter.kernels[1].barrier);
    check_every_barrier(tape, &emitter);
    free(emitter.kernels);
    gb_tape_destroy(tape);
}
