/* What the files of this module share: shorthands for nodes, kernels and gradients. */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include <gabbro/ops.h>

#include <common/push.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

typedef uint32_t uint; /* as push.h has it; not every C library has the name */

/* A node with nothing bound. */
static inline gb_node ops_node_of(const gb_op *op)
{
    gb_node node = {.op = op};
    for (int i = 0; i < GB_NODE_IN; i++)
        node.in[i] = GB_NO_TENSOR;
    for (int i = 0; i < GB_NODE_OUT; i++)
        node.out[i] = GB_NO_TENSOR;
    return node;
}

/* ---- kernels ---- */

static inline gb_kernel ops_kernel_of(const char *shader, const char *label)
{
    gb_kernel kernel = {.shader = shader, .label = label};
    for (int i = 0; i < GB_KERNEL_BINDINGS; i++)
        kernel.bind[i] = GB_NO_TENSOR;
    return kernel;
}

static inline void ops_bind_tensor(gb_kernel *kernel, int at, gb_tensor tensor, gb_access access)
{
    kernel->bind[at] = tensor;
    kernel->access[at] = tensor == GB_NO_TENSOR ? 0 : access;
}

/* Push constants of a kernel: those of a list of common/push.h, by name; what is not named is 0. */
#define push(kernel, fields, ...)                                                                  \
    ops_push_bytes(kernel, &(struct {fields}){__VA_ARGS__}, sizeof(struct {fields}))

static inline void ops_push_bytes(gb_kernel *kernel, const void *values, size_t bytes)
{
    memcpy(kernel->push, values, bytes);
    kernel->push_count = (uint32_t)(bytes / sizeof *kernel->push);
}

/* More than there is room for are counted, and gb_emit refuses the kernel. */
static inline void ops_spec(gb_kernel *kernel, uint32_t value)
{
    if (kernel->spec_count < GB_KERNEL_SPECS)
        kernel->spec[kernel->spec_count] = value;
    kernel->spec_count++;
}

/* Lanes of a workgroup for simple kernels: one AVX2 register on a CPU. */
uint32_t ops_lanes(const gb_target *target);
/* Whether products are made by cooperative matrices, and by the kernels compiled for KHR's. */
bool ops_has_matrices(const gb_target *target);
bool ops_has_khr_matrices(const gb_target *target);
/* Whether kernels on rows give each lane a row of its own: barriers are dear on CPU drivers. */
bool ops_lane_rows(const gb_target *target);
/* Whether one lane may take so many iterations of loops: CPU drivers end them silently. */
bool ops_iterations_fit(const gb_target *target, uint64_t iterations);
/* The same, and a failure where not. */
bool ops_check_iterations(const gb_target *target, uint64_t iterations, const char *where,
                          gb_status *status);
/* Start of a kernel on rows (common/rows.glsl): specs 0, 1 and the grid. */
void ops_row_kernel(gb_kernel *kernel, const gb_target *target, uint32_t rows);
/* The same for rows on which a lane of its own may spend `iterations` iterations of loops: long
 * rows are shared by a workgroup on CPU drivers too, which end long loops. */
void ops_long_row_kernel(gb_kernel *kernel, const gb_target *target, uint32_t rows,
                         uint64_t iterations);
/* Start of a kernel on vec4 elements (common/each.glsl): specs 0, 1 and the grid. Returns `count`
 * of its push constants. */
uint32_t ops_each_kernel(gb_kernel *kernel, const gb_target *target, const gb_tensor_info *info);
/* Fixed split of `rows` into blocks for column reductions. */
uint32_t ops_row_blocks(uint32_t rows);

/* ---- gradients ---- */

/* Gradient of an output of a node, or GB_NO_TENSOR if the loss does not depend on it. */
gb_tensor ops_grad_of(const gb_tape *tape, gb_tensor tensor);
bool ops_wants_grad(const gb_tape *tape, gb_tensor tensor);
/* Add `gradient` (a temp) to the gradient of an activation. */
void ops_add_grad(gb_tape *tape, gb_tensor tensor, gb_tensor gradient);
/* For operations that can add to an older gradient themselves: that gradient or GB_NO_TENSOR; the
 * new sum is then set by ops_set_grad. */
gb_tensor ops_old_grad(const gb_tape *tape, gb_tensor tensor);
void ops_set_grad(gb_tape *tape, gb_tensor tensor, gb_tensor gradient);
/* Slot of a parameter's gradient; *accumulate tells whether something is already there. */
gb_tensor ops_param_grad(gb_tape *tape, gb_tensor param, bool *accumulate);

/* Shared emissions. */
gb_tensor ops_temp_like(gb_tape *tape, const char *name, gb_tensor tensor);
/* table (+)= rows of dy added up by entry (see gb_row_index): the gradient of looking rows up, for
 * a parameter or an activation. */
void ops_table_gradient(gb_tape *tape, gb_tensor table, gb_tensor starts, gb_tensor order,
                        gb_tensor dy);
/* Kernel and reference of the sum of all elements of x into out [1,1] (root: its square root). */
bool ops_emit_sum(gb_emitter *emitter, const gb_tape *tape, gb_tensor x, gb_tensor out, bool root,
                  const char *label, gb_status *status);
double ops_reference_sum(gb_reference *ref, const gb_tape *tape, gb_tensor x);
/* Smallest Philox output that keeps an element dropped with probability p. */
uint32_t ops_keep_threshold(float p);
/* out [1,C] (+)= column sums of x [N,C]. */
void ops_column_sum_into(gb_tape *tape, gb_tensor x, gb_tensor out, bool accumulate);
/* What it needs for partial sums, or GB_NO_TENSOR; and its kernels. */
gb_tensor ops_column_partials(gb_tape *tape, gb_tensor x);
bool ops_emit_column_sum(gb_emitter *emitter, const gb_tape *tape, gb_tensor x, gb_tensor out,
                         gb_tensor partials, bool accumulate, gb_status *status);
void ops_reference_column_sum(gb_reference *ref, const gb_tape *tape, gb_tensor x, gb_tensor out,
                              bool accumulate);
/* Sums over blocks of rows for the gradients of a norm's parameters, dgamma and dbeta [blocks, C];
 * in: x, stats, dy. */
bool ops_emit_norm_params(gb_emitter *emitter, const gb_tape *tape, const char *label,
                          const gb_tensor in[3], gb_tensor dgamma, gb_tensor dbeta,
                          gb_status *status);
/* Node of a kernel that turns rows of logits into their gradient, with their losses [R,1], from
 * what is wanted of each row, its weight, and bits of columns left out (or GB_NO_TENSOR). */
enum { ROWS_LOGITS, ROWS_WANTED, ROWS_WEIGHTS, ROWS_EXCLUDE };
enum { ROWS_OUT_LOSS, ROWS_OUT_GRADIENT };
void ops_append_loss_rows(gb_tape *tape, const gb_op *op, gb_tensor logits, gb_tensor wanted,
                          gb_tensor weights, gb_tensor exclude, gb_tensor loss);
/* Its kernel, a shader of the softmax; bits_ld: words of a row of bits; flops of an element. */
bool ops_emit_softmax_rows(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                           const char *shader, uint32_t bits_ld, double flops, gb_status *status);
/* Like the rows of gb_multilabel_loss: logits become their gradient, row losses go into `loss`
 * [R,1]. */
void ops_set_rows(gb_tape *tape, gb_tensor logits, gb_tensor targets, gb_tensor weights,
                  gb_tensor exclude, gb_tensor loss);
void ops_target_rows(gb_tape *tape, gb_tensor scores, gb_tensor targets, gb_tensor weights,
                     gb_tensor exclude, gb_tensor loss);
void ops_preference_rows(gb_tape *tape, gb_tensor scores, gb_tensor pairs, gb_tensor weights,
                         gb_tensor exclude, gb_tensor loss);
/* The sum of all elements of `losses` as a loss [1,1], with its gradient with respect to x known.
 */
gb_tensor ops_total_loss(gb_tape *tape, gb_tensor losses, gb_tensor x, gb_tensor gradient);
/* Start of a kernel whose lanes have an element each. */
gb_kernel ops_element_kernel(const gb_target *target, const char *shader, uint32_t elements);
/* C (+)= A^T B and sums (+)= column sums of A, into given tensors: a weight's gradient and its
 * bias's. */
void ops_weight_gradient_into(gb_tape *tape, gb_tensor a, gb_tensor b, gb_tensor c, bool accumulate,
                              gb_tensor sums, bool accumulate_sums);
/* C (+)= op(A) op(B) (+ residual), into a given tensor. */
void ops_matmul_into(gb_tape *tape, gb_matmul_form form, gb_tensor a, gb_tensor b, gb_tensor c,
                     gb_tensor residual, bool accumulate);
/* out (+)= g * x for a scalar g [1,1], into a given tensor. */
void ops_scale_into(gb_tape *tape, gb_tensor x, gb_tensor g, gb_tensor out, bool accumulate);
/* Multiply a gradient by the scalar gradient g [1,1] of a loss; the same tensor when g is 1. */
gb_tensor ops_times_scalar(gb_tape *tape, gb_tensor x, gb_tensor g);

#endif
