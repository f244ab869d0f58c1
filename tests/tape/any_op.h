/* An operation that stands for any other: nodes that only read and write, for planning and barriers
 * without a device. */
#ifndef TESTS_TAPE_ANY_OP_H
#define TESTS_TAPE_ANY_OP_H

#include <gabbro/tape.h>

/* One kernel that reads the node's inputs and writes its outputs. */
static bool any_emit(gb_emitter *emitter, const gb_tape *tape, const gb_node *node,
                     gb_status *status)
{
    (void)tape;
    gb_kernel kernel = {.shader = "any", .grid = {1, 1, 1}};
    int used = 0;
    for (int i = 0; i < GB_KERNEL_BINDINGS; i++)
        kernel.bind[i] = GB_NO_TENSOR;
    for (int i = 0; i < GB_NODE_IN; i++) {
        bool updated = false; /* bound once, as an output */
        for (int o = 0; o < GB_NODE_OUT; o++)
            updated |= node->in[i] == node->out[o];
        if (node->in[i] == GB_NO_TENSOR || updated)
            continue;
        kernel.bind[used] = node->in[i];
        kernel.access[used++] = GB_READ;
    }
    for (int o = 0; o < GB_NODE_OUT; o++) {
        if (node->out[o] == GB_NO_TENSOR)
            continue;
        kernel.bind[used] = node->out[o];
        kernel.access[used++] = GB_READ_WRITE;
    }
    return gb_emit(emitter, &kernel, status);
}

static const gb_op any_op = {"any", any_emit, NULL, NULL};

/* Append out = any(a, b); each may be GB_NO_TENSOR. */
static inline void any_append(gb_tape *tape, gb_tensor a, gb_tensor b, gb_tensor out)
{
    gb_node node = {.op = &any_op};
    for (int i = 0; i < GB_NODE_IN; i++)
        node.in[i] = GB_NO_TENSOR;
    for (int i = 0; i < GB_NODE_OUT; i++)
        node.out[i] = GB_NO_TENSOR;
    node.in[0] = a;
    node.in[1] = b;
    node.out[0] = out;
    gb_tape_append(tape, &node);
}

#endif
