/* Losses of pairs of scores and of a teacher's, forward and backward, against the float64
 * reference.
 */
#include "harness.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define EPS 6e-8

/* ---- what a teacher's softmax asks for ---- */

/* Probabilities of every third column from the row's number on; row 1 has none. Of the others some
 * are excluded. */
static void fill_targets(uint32_t rows, uint32_t cols, float *targets, uint32_t *exclude)
{
    uint32_t ld = (cols + 3) / 4 * 4, words = (cols + 31) / 32;
    for (uint32_t r = 0; r < rows; r++) {
        double sum = 0;
        for (uint32_t c = 0; c < cols; c++)
            sum += r != 1 && c % 3 == r % 3 ? 1 + c % 5 : 0;
        for (uint32_t c = 0; c < cols; c++) {
            if (sum > 0 && c % 3 == r % 3)
                targets[(size_t)r * ld + c] = (float)((1 + c % 5) / sum);
            else if ((c + r) % 4 == 0)
                exclude[r * words + c / 32] |= 1u << c % 32;
        }
    }
}

static void target_case(uint32_t rows, uint32_t cols, bool exclusion)
{
    uint32_t ld = (cols + 3) / 4 * 4, words = (cols + 31) / 32;
    float *targets = calloc((size_t)rows * ld, 4);
    uint32_t *exclude = calloc((size_t)rows * words, 4);
    fill_targets(rows, cols, targets, exclude);
    program p = program_make();
    program_param(&p, "scores", rows, cols);
    program_freeze(&p);
    gb_tensor tt = gb_tape_input(p.tape, "targets", GB_F32, rows, cols);
    gb_tensor tw = gb_tape_input(p.tape, "weights", GB_F32, rows, 1);
    gb_tensor te = exclusion ? gb_tape_input(p.tape, "exclude", GB_U32, rows, words) : GB_NO_TENSOR;
    gb_tensor scores = gb_scale(p.tape, program_operand(&p, "scores"), 1.5f);
    gb_tensor y = gb_target_loss(p.tape, scores, tt, tw, te);
    input_values inputs[] = {{tt, NULL, targets}, {te, exclude, NULL}};
    check_program(&p, y, inputs, exclusion ? 2 : 1, 200 * EPS);
    program_free(&p);
    free(targets), free(exclude);
}

Test(ranking, target_loss)
{
    target_case(1, 3, false);
    target_case(9, 37, true);
    target_case(9, 64, false);
    target_case(70, 130, true);
}

/* ---- pairs ---- */

typedef struct pair_case {
    uint32_t rows, cols; /* of the scores */
    bool square;         /* MarginMSE */
    bool teacher;        /* has scores */
    bool ranks;          /* LambdaRank */
    uint32_t cut;        /* of the ranks */
} pair_case;

/* Row r has one positive, column 5 r, in row 2 two more; every fourth column has no weight. */
static void fill_pairs(const pair_case *c, uint32_t *positives, float *weights)
{
    uint32_t ld = (c->cols + 3) / 4 * 4, words = (c->cols + 31) / 32;
    for (uint32_t r = 0; r < c->rows; r++) {
        for (uint32_t i = 0; i < (r == 2 ? 3 : 1); i++) {
            uint32_t at = (5 * r + 11 * i) % c->cols;
            positives[r * words + at / 32] |= 1u << at % 32;
        }
        for (uint32_t j = 0; j < c->cols; j++)
            weights[(size_t)r * ld + j] =
                (r + j) % 4 ? (1.0f + (float)(j % 3)) / (float)c->cols : 0;
    }
}

static void check_pairs(const pair_case *c)
{
    uint32_t ld = (c->cols + 3) / 4 * 4, words = (c->cols + 31) / 32;
    uint32_t *positives = calloc((size_t)c->rows * words, 4);
    float *weights = calloc((size_t)c->rows * ld, 4);
    fill_pairs(c, positives, weights);
    program p = program_make();
    program_param(&p, "scores", c->rows, c->cols);
    program_freeze(&p);
    gb_pairs pairs = {.positives = gb_tape_input(p.tape, "positives", GB_U32, c->rows, words),
                      .weights = gb_tape_input(p.tape, "weights", GB_F32, c->rows, c->cols),
                      .teacher = c->teacher
                                     ? gb_tape_input(p.tape, "teacher", GB_F32, c->rows, c->cols)
                                     : GB_NO_TENSOR,
                      .ranks = GB_NO_TENSOR,
                      .square = c->square};
    gb_tensor scores = gb_scale(p.tape, program_operand(&p, "scores"), 1.5f);
    if (c->ranks)
        pairs.ranks = gb_reciprocal_ranks(p.tape, scores, &pairs, c->cut);
    gb_tensor y = gb_pair_loss(p.tape, scores, &pairs);
    input_values inputs[] = {{pairs.positives, positives, NULL}, {pairs.weights, NULL, weights}};
    check_program(&p, y, inputs, 2, 200 * EPS);
    program_free(&p);
    free(positives), free(weights);
}

Test(ranking, margins_of_a_teacher)
{
    check_pairs(&(pair_case){1, 2, .square = true, .teacher = true});
    check_pairs(&(pair_case){9, 37, .square = true, .teacher = true});
    check_pairs(&(pair_case){33, 70, .square = true, .teacher = true});
}

Test(ranking, order_of_pairs)
{
    check_pairs(&(pair_case){1, 5});
    check_pairs(&(pair_case){9, 37});
    check_pairs(&(pair_case){40, 130, .teacher = true});
}

Test(ranking, order_weighted_by_ranks)
{
    check_pairs(&(pair_case){3, 9, .ranks = true});
    check_pairs(&(pair_case){9, 37, .ranks = true, .cut = 5});
    check_pairs(&(pair_case){33, 70, .ranks = true, .cut = 20});
}
