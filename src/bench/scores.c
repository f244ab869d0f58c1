/* What scores by tokens and by terms cost, with their gradients: late interaction between the
 * queries and passages of a fine-tuning step, and term weights of its passages. */
#include "private.h"

#define WIDTH        128         /* of a token's vector, at most */
#define CHUNK_LOGITS (16u << 20) /* numbers of a chunk, as the objectives have it */

typedef struct shape {
    const bench_size *size;    /* batch */
    bool terms;                /* term weights; else late interaction */
    bool floor;                /* of COIL: no similarity below 0 counts */
    uint32_t passages;         /* of the batch */
    uint32_t width;            /* of a token's vector or state */
    gb_max_sim_input tokens;   /* inputs of late interaction */
    gb_tensor sequences, ones; /* inputs of term weights, and of the sum of what came out */
} shape;

static uint32_t query_rows(const shape *s)
{
    return s->size->queries * s->size->query_tokens;
}

static uint32_t passage_rows(const shape *s)
{
    return s->passages * s->size->max_length;
}

static bool declare(void *context, gb_params *params, gb_status *status)
{
    const shape *s = context;
    uint32_t rows = s->terms ? s->size->vocabulary : query_rows(s);
    return gb_params_add_matrix(params, "passages", passage_rows(s), s->width, .1f, status) !=
               UINT32_MAX &&
           gb_params_add_matrix(params, "others", rows, s->width, .1f, status) != UINT32_MAX;
}

/* The gradient needs one number: the mean of the scores' softmax loss; of term weights, their
 * FLOPS. */
static void build(void *context, gb_tape *tape)
{
    shape *s = context;
    const bench_size *z = s->size;
    gb_status ignored = {0}; /* the tape remembers */
    gb_tensor p = bench_activation(tape, 0), loss;
    if (s->terms) {
        s->sequences = gb_sequences_input(tape, "sequences", s->passages);
        s->ones = gb_tape_input(tape, "shares", GB_F32, 1, s->passages);
        gb_tensor factor = gb_tape_input(tape, "factor", GB_F32, 1, 1);
        gb_tensor weights = gb_term_weights(tape, p, gb_tape_param(tape, 1), GB_NO_TENSOR,
                                            s->sequences, CHUNK_LOGITS / z->vocabulary);
        loss = gb_flops_loss(tape, weights, s->ones, factor);
    } else {
        s->tokens =
            gb_max_sim_declare(tape, z->queries, query_rows(s), s->passages, passage_rows(s));
        gb_tensor labels = gb_tape_input(tape, "labels", GB_U32, z->queries, 1);
        s->ones = gb_tape_input(tape, "weights", GB_F32, z->queries, 1);
        gb_tensor q = bench_activation(tape, 1);
        loss = gb_softmax_loss(tape, gb_max_sim(tape, q, p, &s->tokens, s->floor), labels, s->ones,
                               GB_NO_TENSOR);
    }
    gb_tape_output(tape, loss);
    gb_backward(tape, loss, &ignored);
}

/* Texts of equal length, one behind the other. */
static bool fill_starts(gb_executable *exec, gb_tensor input, uint32_t header, uint32_t texts,
                        uint32_t length, gb_status *status)
{
    uint32_t *words = gb_executable_input(exec, input, status);
    for (uint32_t t = 0; words && t <= texts; t++)
        words[header + t] = t * length;
    return words != NULL;
}

static bool fill(void *context, gb_executable *exec, gb_status *status)
{
    const shape *s = context;
    const bench_size *z = s->size;
    float *ones = gb_executable_input(exec, s->ones, status);
    uint32_t count = s->terms ? s->passages : z->queries, stride = s->terms ? 1 : 4;
    for (uint32_t i = 0; ones && i < count; i++)
        ones[(size_t)i * stride] = 1.0f / (float)count;
    if (!ones || s->terms)
        return ones && fill_starts(exec, s->sequences, GB_SEQUENCES_HEADER, s->passages,
                                   z->max_length, status);
    return fill_starts(exec, s->tokens.query_starts, 0, z->queries, z->query_tokens, status) &&
           fill_starts(exec, s->tokens.passage_starts, 0, s->passages, z->max_length, status);
}

static bool measure(bench *b, void *context, bench_times *times, gb_status *status)
{
    bench_program program = {
        .declare = declare, .build = build, .fill = fill, .context = context, .training = true};
    return bench_program_measure(b, &program, times, status);
}

bool bench_scores(bench *b, gb_status *status)
{
    for (size_t i = 0; i < BENCH_SIZES; i++)
        for (int kind = 0; b->sizes[i] && kind < (b->survey ? 3 : 2); kind++) {
            const bench_size *z = &bench_sizes[i];
            bool terms = kind == 1;
            shape s = {.size = z,
                       .terms = terms,
                       .floor = kind == 2,
                       .passages = z->queries * (1 + z->negatives),
                       .width = terms || z->hidden < WIDTH ? z->hidden : WIDTH};
            uint32_t others = terms ? z->vocabulary : query_rows(&s);
            char name[80];
            snprintf(name, sizeof name, "%s %s", z->name,
                     terms     ? "term weights"
                     : s.floor ? "late interaction of words"
                               : "late interaction");
            bench_case c = {.name = name,
                            .size = z,
                            .shape = json_pack("{s:s, s:i, s:i, s:i}", "score",
                                               terms ? "term_weights" : "late_interaction", "rows",
                                               (int)passage_rows(&s), "cols", (int)others, "width",
                                               (int)s.width),
                            .expected = 6.0 * passage_rows(&s) * others * s.width};
            if (!bench_case_run(b, &c, measure, &s, status))
                return false;
        }
    return true;
}
