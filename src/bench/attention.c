/* Attention within texts of one length: forward, and forward with its gradient. */
#include "private.h"

typedef struct shape {
    const bench_size *size; /* heads and width */
    uint32_t length, texts; /* tokens of a text; texts */
    bool gradient;          /* with its gradient */
    gb_tensor sequences;    /* input */
} shape;

static bool declare(void *context, gb_params *params, gb_status *status)
{
    const shape *s = context;
    uint32_t rows = s->length * s->texts, width = s->size->hidden;
    return gb_params_add_matrix(params, "qkv", rows, 3 * width, 1, status) != UINT32_MAX &&
           gb_params_add_state(params, "dy", rows, width, 1, status) != UINT32_MAX;
}

static void build(void *context, gb_tape *tape)
{
    shape *s = context;
    uint32_t width = s->size->hidden;
    gb_status ignored = {0}; /* the tape remembers */
    s->sequences = gb_sequences_input(tape, "sequences", s->texts);
    gb_tensor x = bench_activation(tape, 0), dy = gb_tape_param(tape, 1);
    gb_tensor y = gb_attention(tape, s->sequences, x, 0, x, width, 2 * width, width,
                               &(gb_attention_params){.heads = s->size->heads,
                                                      .mask = GB_MASK_NONE,
                                                      .bits = GB_NO_TENSOR,
                                                      .max_length = s->length});
    if (s->gradient)
        gb_backward_from(tape, y, dy, &ignored);
}

static bool fill(void *context, gb_executable *exec, gb_status *status)
{
    const shape *s = context;
    uint32_t *p = gb_executable_input(exec, s->sequences, status);
    for (uint32_t i = 0; p && i <= s->texts; i++)
        p[GB_SEQUENCES_HEADER + i] = i * s->length;
    return p != NULL;
}

static bool measure(bench *b, void *context, bench_times *times, gb_status *status)
{
    const shape *s = context;
    bench_program program = {.declare = declare,
                             .build = build,
                             .fill = fill,
                             .context = context,
                             .training = s->gradient};
    return bench_program_measure(b, &program, times, status);
}

static bool run(bench *b, const bench_size *size, uint32_t length, bool gradient, gb_status *status)
{
    char name[80];
    shape s = {.size = size, .length = length, .texts = size->rows / length, .gradient = gradient};
    snprintf(name, sizeof name, "%s %u tokens, %s", size->name, length,
             gradient ? "and gradient" : "forward");
    double forward = 4.0 * size->rows * length * size->hidden; /* scores and values */
    bench_case c = {.name = name,
                    .size = size,
                    .shape = json_pack("{s:i, s:i, s:i, s:i, s:b}", "texts", (int)s.texts, "length",
                                       (int)length, "heads", (int)size->heads, "width",
                                       (int)size->hidden, "gradient", gradient),
                    .expected = gradient ? 3.5 * forward : forward};
    return bench_case_run(b, &c, measure, &s, status);
}

bool bench_attention(bench *b, gb_status *status)
{
    for (size_t i = 0; i < BENCH_SIZES; i++)
        for (uint32_t length = 32; b->sizes[i] && length <= 512; length *= 2)
            for (int gradient = 0; gradient < 2; gradient++)
                if (!run(b, &bench_sizes[i], length, gradient, status))
                    return false;
    return true;
}
