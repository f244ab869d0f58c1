/* The memory plan: random and real programs, checked by brute force and by playing them through. */
#include "any_op.h"
#include "harness.h"
#include "small_program.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define MUST(x) cr_assert((x), "%s: %s", status.where, status.what)
#define ALIGN   64
#define NOBODY  GB_NO_TENSOR

static bool in_arena(const gb_tensor_info *info)
{
    return (info->role == GB_ROLE_TEMP || info->role == GB_ROLE_OUTPUT) && info->placed;
}

/* The tensor that now owns each piece of ALIGN bytes of the arena. */
typedef struct arena {
    const gb_tape *tape; /* program played */
    gb_tensor *owner;    /* [pieces] */
    size_t pieces;       /* of the arena */
} arena;

/* Let `tensor` own its pieces, or check that it does. */
static void visit(arena *a, gb_tensor tensor, bool take, uint32_t node)
{
    const gb_tensor_info *info = gb_tape_tensor(a->tape, tensor);
    size_t first = info->offset / ALIGN;
    size_t count = ((size_t)info->rows * info->ld * 4 + ALIGN - 1) / ALIGN;
    cr_assert(info->offset % ALIGN == 0 && first + count <= a->pieces, "place of %s", info->name);
    for (size_t i = first; i < first + count; i++) {
        if (take)
            a->owner[i] = tensor;
        cr_assert_eq(a->owner[i], tensor, "node %u: %%%d of %s was overwritten by %%%d", node,
                     tensor, gb_tape_name(a->tape), a->owner[i]);
    }
}

/* Play the program: what a node reads must still be what was last written there by its owner, and
 * the outputs must be there at the end. */
static void play(const gb_tape *tape, const gb_plan *plan)
{
    arena a = {.tape = tape, .pieces = plan->arena_bytes / ALIGN};
    uint32_t count = gb_tape_tensor_count(tape);
    a.owner = malloc((a.pieces + 1) * sizeof *a.owner);
    bool *written = calloc(count + 1, sizeof *written);
    for (size_t i = 0; i < a.pieces; i++)
        a.owner[i] = NOBODY;
    for (uint32_t n = 0; n < gb_tape_node_count(tape); n++) {
        const gb_node *node = gb_tape_node_at(tape, n);
        /* Outputs take their places before the inputs are looked at: they live together. */
        for (int i = 0; i < GB_NODE_OUT + GB_NODE_IN; i++) {
            gb_tensor t = i < GB_NODE_OUT ? node->out[i] : node->in[i - GB_NODE_OUT];
            t = t == GB_NO_TENSOR ? t : gb_tape_root(tape, t, NULL);
            if (t == GB_NO_TENSOR || !in_arena(gb_tape_tensor(tape, t)))
                continue;
            visit(&a, t, !written[t], n);
            written[t] = true;
        }
    }
    for (uint32_t t = 0; t < count; t++)
        if (gb_tape_tensor(tape, (gb_tensor)t)->role == GB_ROLE_OUTPUT && written[t])
            visit(&a, (gb_tensor)t, false, gb_tape_node_count(tape));
    free(written);
    free(a.owner);
}

/* Bytes alive at the busiest node: no plan can do with less. */
static uint64_t busiest(const gb_tape *tape)
{
    uint64_t most = 0;
    for (uint32_t n = 0; n <= gb_tape_node_count(tape); n++) {
        uint64_t sum = 0;
        for (uint32_t t = 0; t < gb_tape_tensor_count(tape); t++) {
            const gb_tensor_info *info = gb_tape_tensor(tape, (gb_tensor)t);
            if (in_arena(info) && info->first <= n && n <= info->last)
                sum += ((uint64_t)info->rows * info->ld * 4 + ALIGN - 1) / ALIGN * ALIGN;
        }
        most = sum > most ? sum : most;
    }
    return most;
}

static void plan_and_check(gb_tape *tape, gb_plan *plan)
{
    gb_status status = {0};
    MUST(gb_plan_memory(tape, ALIGN, 0, plan, &status));
    MUST(gb_plan_check(tape, &status));
    play(tape, plan);
    cr_expect_geq(plan->arena_bytes, busiest(tape));
    cr_expect_leq(plan->arena_bytes, plan->temp_bytes);
}

/* The same program in buffers of so many bytes: no tensor lies in two of them. */
static void plan_in_buffers(gb_tape *tape, uint64_t buffer_bytes, gb_plan *plan)
{
    gb_status status = {0};
    MUST(gb_plan_memory(tape, ALIGN, buffer_bytes, plan, &status));
    MUST(gb_plan_check(tape, &status));
    play(tape, plan);
    cr_expect_geq(plan->arena_bytes, busiest(tape));
    for (uint32_t t = 0; t < gb_tape_tensor_count(tape); t++) {
        const gb_tensor_info *info = gb_tape_tensor(tape, (gb_tensor)t);
        uint64_t bytes = (uint64_t)info->rows * info->ld * 4, end = info->offset + bytes;
        if (in_arena(info))
            cr_assert_eq(info->offset / buffer_bytes, (end - 1) / buffer_bytes,
                         "%s at %llu in two buffers", info->name,
                         (unsigned long long)info->offset);
    }
}

/* A program of random nodes over temps of random sizes, with views, updates in place, outputs,
 * inputs and tensors that nobody reads. */
static gb_tape *random_program(uint32_t seed)
{
    gb_status status = {0};
    gb_rng rng = gb_rng_make(31, GB_RNG_TEST, seed, 0);
    gb_tape *tape = gb_tape_create(NULL, "random", &status);
    MUST(tape);
    gb_tensor made[64];
    uint32_t count = 0;
    made[count++] = gb_tape_input(tape, "in", GB_F32, 3, 5);
    uint32_t nodes = 5 + gb_rng_below(&rng, 40);
    for (uint32_t n = 0; n < nodes; n++) {
        gb_tensor a = made[gb_rng_below(&rng, count)], b = made[gb_rng_below(&rng, count)];
        uint32_t rows = gb_tape_tensor(tape, a)->rows, kind = gb_rng_below(&rng, 8);
        if (kind == 0 && rows > 1) { /* the rest of a tensor as operand */
            uint32_t row0 = gb_rng_below(&rng, rows);
            a = gb_tape_view(tape, a, row0, rows - row0);
        }
        if (kind == 1 && gb_tape_tensor(tape, b)->role != GB_ROLE_INPUT) {
            any_append(tape, b, a, b); /* in place */
            continue;
        }
        gb_tensor out = gb_tape_temp(tape, "t", kind == 2 ? GB_U32 : GB_F32, gb_rng_below(&rng, 40),
                                     1 + gb_rng_below(&rng, 30));
        any_append(tape, a, kind == 3 ? GB_NO_TENSOR : b, out);
        if (kind == 4)
            gb_tape_output(tape, out);
        made[count++] = out;
    }
    return tape;
}

Test(memory, random_programs)
{
    uint64_t arenas = 0, temps = 0;
    for (uint32_t seed = 0; seed < 200; seed++) {
        gb_tape *tape = random_program(seed);
        gb_plan plan;
        plan_and_check(tape, &plan);
        arenas += plan.arena_bytes;
        temps += plan.temp_bytes;
        gb_tape_destroy(tape);
    }
    cr_expect_lt(arenas, temps * 3 / 4, "%llu of %llu bytes", (unsigned long long)arenas,
                 (unsigned long long)temps);
}

Test(memory, random_programs_in_buffers)
{
    uint64_t arenas = 0, cut = 0;
    uint32_t several = 0;
    for (uint32_t seed = 0; seed < 200; seed++) {
        gb_tape *tape = random_program(seed);
        gb_plan plan, buffers;
        plan_and_check(tape, &plan);
        plan_in_buffers(tape, plan.largest_bytes / ALIGN * ALIGN + ALIGN, &buffers);
        cr_expect_eq(buffers.largest_bytes, plan.largest_bytes);
        cr_expect_leq(buffers.widest_bytes, buffers.largest_bytes);
        several += buffers.arena_bytes > buffers.buffer_bytes;
        arenas += plan.arena_bytes;
        cut += buffers.arena_bytes;
        gb_tape_destroy(tape);
    }
    cr_expect_gt(several, 150);
    /* Buffers as small as can be: what is lost at their ends. */
    cr_expect_lt(cut, arenas * 3 / 2, "%llu bytes, in one buffer %llu", (unsigned long long)cut,
                 (unsigned long long)arenas);
}

/* A tensor that no buffer holds is named before anything is made. */
Test(memory, says_what_no_buffer_holds)
{
    gb_status status = {0};
    gb_tape *tape = gb_tape_create(NULL, "wide", &status);
    MUST(tape);
    gb_tensor x = gb_tape_input(tape, "x", GB_F32, 16, 16);
    gb_tensor y = gb_tape_temp(tape, "wide one", GB_F32, 64, 64);
    any_append(tape, x, GB_NO_TENSOR, y);
    gb_tape_output(tape, y);
    gb_plan plan;
    gb_device_caps caps = {.name = "a card", .max_binding_bytes = 1 << 14};
    MUST(gb_plan_memory(tape, ALIGN, 1 << 14, &plan, &status));
    MUST(gb_plan_fits(tape, &plan, &caps, &status));
    caps.max_binding_bytes--;
    cr_expect_not(gb_plan_fits(tape, &plan, &caps, &status));
    cr_expect_eq(status.code, GB_MEMORY);
    cr_expect(strstr(status.what, "wide one") && strstr(status.what, "a card"), "%s", status.what);
    caps.max_binding_bytes = UINT64_MAX;
    MUST(gb_plan_memory(tape, ALIGN, (1 << 14) - ALIGN, &plan, &status));
    cr_expect_not(gb_plan_fits(tape, &plan, &caps, &status));
    gb_tape_destroy(tape);
}

/* ---- parameters ---- */

static bool declare_table(void *self, gb_params *params, gb_status *status)
{
    (void)self;
    return gb_params_add_matrix(params, "word table", 64, 64, 1, status) != UINT32_MAX;
}

static bool build_look_up(void *self, gb_tape *tape, gb_status *status)
{
    (void)self;
    const gb_row_index none = {GB_NO_TENSOR, GB_NO_TENSOR};
    gb_tensor ids = gb_tape_input(tape, "ids", GB_U32, 1, 8);
    gb_tape_output(tape, gb_lookup_rows(tape, gb_tape_param(tape, 0), ids, none, GB_NO_TENSOR));
    return gb_tape_ok(tape, status);
}

/* A table of words may be larger than what the device sees at once: that is no bug. */
Test(memory, says_which_parameter_the_device_does_not_see)
{
    gb_status status = {0};
    gb_device *device = test_device();
    gb_device_caps *caps = (gb_device_caps *)gb_device_get_caps(device);
    const gb_executable_params params = {
        .name = "look-up", .device = device, .declare = declare_table, .build = build_look_up};
    caps->max_binding_bytes = 1 << 14;
    gb_executable *exec = gb_executable_build(&params, &status);
    MUST(exec);
    gb_executable_destroy(exec);
    caps->max_binding_bytes--;
    cr_expect_null(gb_executable_build(&params, &status));
    cr_expect_eq(status.code, GB_MEMORY);
    cr_expect(strstr(status.what, "word table") && strstr(status.what, caps->name), "%s",
              status.what);
    gb_device_close(device);
}

/* ---- chains ---- */

/* A chain needs two tensors at a time, however long it is. */
Test(memory, chain_needs_two)
{
    gb_status status = {0};
    gb_tape *tape = gb_tape_create(NULL, "chain", &status);
    MUST(tape);
    gb_tensor x = gb_tape_input(tape, "x", GB_F32, 16, 16);
    for (int i = 0; i < 20; i++) {
        gb_tensor y = gb_tape_temp(tape, "y", GB_F32, 16, 16);
        any_append(tape, x, GB_NO_TENSOR, y);
        x = y;
    }
    gb_tape_output(tape, x);
    gb_plan plan;
    plan_and_check(tape, &plan);
    cr_expect_eq(plan.arena_bytes, 2 * 16 * 16 * 4);
    cr_expect_eq(plan.temp_bytes, 20 * 16 * 16 * 4);
    cr_expect_eq(plan.input_bytes, 16 * 16 * 4);
    gb_tape_destroy(tape);
}

/* A view keeps its base alive; inputs never lie in the arena; nothing needs no memory. */
Test(memory, views_and_empty_tensors)
{
    gb_status status = {0};
    gb_tape *tape = gb_tape_create(NULL, "views", &status);
    MUST(tape);
    gb_tensor base = gb_tape_temp(tape, "base", GB_F32, 8, 16);
    any_append(tape, GB_NO_TENSOR, GB_NO_TENSOR, base);
    gb_tensor view = gb_tape_view(tape, gb_tape_view(tape, base, 2, 6), 1, 3);
    gb_tensor empty = gb_tape_temp(tape, "empty", GB_F32, 0, 16);
    any_append(tape, GB_NO_TENSOR, GB_NO_TENSOR, empty);
    gb_tensor other = gb_tape_temp(tape, "other", GB_F32, 8, 16);
    any_append(tape, empty, GB_NO_TENSOR, other);
    gb_tensor last = gb_tape_temp(tape, "last", GB_F32, 8, 16);
    any_append(tape, view, GB_NO_TENSOR, last);
    gb_plan plan;
    plan_and_check(tape, &plan);
    uint32_t row0;
    cr_expect_eq(gb_tape_root(tape, view, &row0), base);
    cr_expect_eq(row0, 3);
    cr_expect_not(gb_tape_tensor(tape, empty)->placed);
    cr_expect_neq(gb_tape_tensor(tape, other)->offset, gb_tape_tensor(tape, base)->offset);
    gb_tape_destroy(tape);
}

Test(memory, training_step)
{
    small_program p = small_program_make(true);
    gb_plan plan;
    plan_and_check(p.tape, &plan);
    cr_expect_lt(plan.arena_bytes, plan.temp_bytes * 2 / 3, "%llu of %llu bytes",
                 (unsigned long long)plan.arena_bytes, (unsigned long long)plan.temp_bytes);
    small_program_free(&p);
}

/* The check is no formality: any tensor put onto another that lives with it is reported. */
Test(memory, check_sees_a_wrong_place)
{
    gb_status status = {0};
    small_program p = small_program_make(true);
    gb_plan plan;
    plan_and_check(p.tape, &plan);
    uint32_t moved = 0;
    for (uint32_t t = 0; t < gb_tape_tensor_count(p.tape); t++)
        for (uint32_t u = t + 1; u < gb_tape_tensor_count(p.tape); u++) {
            gb_tensor_info *a = gb_tape_info(p.tape, (gb_tensor)t);
            const gb_tensor_info *b = gb_tape_tensor(p.tape, (gb_tensor)u);
            if (!in_arena(a) || !in_arena(b) || a->first > b->last || b->first > a->last)
                continue;
            if (++moved % 7) /* some of the pairs */
                continue;
            uint64_t offset = a->offset;
            a->offset = b->offset;
            cr_assert_not(gb_plan_check(p.tape, &status), "%s on %s", a->name, b->name);
            a->offset = offset;
        }
    cr_expect_gt(moved, 100);
    MUST(gb_plan_check(p.tape, &status));
    small_program_free(&p);
}
