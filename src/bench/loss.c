/* Losses with their gradients: vocabulary heads of masked LM and of bags of words, and the
 * contrastive loss over the texts of a batch. */
#include "private.h"

typedef enum kind { MASKED_LM, BAG_OF_WORDS, CONTRASTIVE } kind;

typedef struct shape {
    kind what;                  /* of the loss */
    uint32_t rows, cols, width; /* rows [rows, width] against cols of that width */
    gb_tensor labels, weights;  /* inputs */
} shape;

#define CHUNK_LOGITS (16u << 20) /* numbers of a chunk, as the objectives have it */

static bool declare(void *context, gb_params *params, gb_status *status)
{
    const shape *s = context;
    return gb_params_add_matrix(params, "h", s->rows, s->width, .1f, status) != UINT32_MAX &&
           gb_params_add_matrix(params, "table", s->cols, s->width, .1f, status) != UINT32_MAX &&
           gb_params_add_vector(params, "bias", s->cols, GB_INIT_ZEROS, status) != UINT32_MAX;
}

static void build(void *context, gb_tape *tape)
{
    shape *s = context;
    gb_status ignored = {0}; /* the tape remembers */
    gb_tensor h = bench_activation(tape, 0), table = gb_tape_param(tape, 1);
    uint32_t words = (s->cols + 31) / 32, chunk = CHUNK_LOGITS / s->cols;
    s->labels = gb_tape_input(tape, "labels", GB_U32, s->rows, s->what == BAG_OF_WORDS ? words : 1);
    s->weights = gb_tape_input(tape, "weights", GB_F32, s->rows, 1);
    gb_tensor loss;
    if (s->what == MASKED_LM)
        loss = gb_vocabulary_loss(tape, h, table, gb_tape_param(tape, 2), s->labels, s->weights,
                                  chunk);
    else if (s->what == BAG_OF_WORDS)
        loss = gb_vocabulary_multilabel_loss(tape, h, table, gb_tape_param(tape, 2), s->labels,
                                             s->weights, chunk);
    else
        loss = gb_softmax_loss(tape, gb_matmul(tape, GB_NT, h, table), s->labels, s->weights,
                               GB_NO_TENSOR);
    gb_tape_output(tape, loss);
    gb_backward(tape, loss, &ignored);
}

static bool fill(void *context, gb_executable *exec, gb_status *status)
{
    const shape *s = context;
    uint32_t *labels = gb_executable_input(exec, s->labels, status), words = (s->cols + 31) / 32;
    float *weights = labels ? gb_executable_input(exec, s->weights, status) : NULL;
    for (uint32_t r = 0; weights && r < s->rows; r++) {
        weights[(size_t)r * 4] = 1.0f / (float)s->rows;
        if (s->what == BAG_OF_WORDS)
            for (uint32_t i = 0; i < 64; i++) /* words of a passage */
                labels[(size_t)r * words + (r + i * 7) % words] |= 1;
        else
            labels[r] = (uint32_t)((uint64_t)r * 7919 % s->cols);
    }
    return weights != NULL;
}

static bool measure(bench *b, void *context, bench_times *times, gb_status *status)
{
    bench_program program = {
        .declare = declare, .build = build, .fill = fill, .context = context, .training = true};
    return bench_program_measure(b, &program, times, status);
}

bool bench_loss(bench *b, gb_status *status)
{
    static const char *const names[] = {[MASKED_LM] = "masked LM head",
                                        [BAG_OF_WORDS] = "bag-of-words head",
                                        [CONTRASTIVE] = "contrastive"};
    static const char *const keys[] = {
        [MASKED_LM] = "masked_lm", [BAG_OF_WORDS] = "bag_of_words", [CONTRASTIVE] = "contrastive"};
    for (size_t i = 0; i < BENCH_SIZES; i++)
        for (int what = MASKED_LM; b->sizes[i] && what <= CONTRASTIVE; what++) {
            const bench_size *z = &bench_sizes[i];
            shape s = {.what = (kind)what,
                       .rows = what == MASKED_LM      ? z->labelled
                               : what == BAG_OF_WORDS ? z->texts
                                                      : z->queries,
                       .cols =
                           what == CONTRASTIVE ? z->queries * (1 + z->negatives) : z->vocabulary,
                       .width = z->hidden};
            char name[80];
            snprintf(name, sizeof name, "%s %s", z->name, names[what]);
            bench_case c = {.name = name,
                            .size = z,
                            .shape =
                                json_pack("{s:s, s:i, s:i, s:i}", "loss", keys[what], "rows",
                                          (int)s.rows, "cols", (int)s.cols, "width", (int)s.width),
                            .expected = 6.0 * s.rows * s.cols * s.width};
            if (!bench_case_run(b, &c, measure, &s, status))
                return false;
        }
    return true;
}
