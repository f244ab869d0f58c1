/* Programs rewritten: layers that are computed twice instead of kept, and nodes nobody needs. */
#include "tape.h"

#include <stdlib.h>

/* ---- layers computed again ---- */

void gb_tape_layer(gb_tape *tape, uint32_t first)
{
    if (tape->failure.code != GB_OK || first >= tape->node_count)
        return;
    if (gb_grow(&tape->layers, &tape->layer_capacity, tape->layer_count + 1, sizeof *tape->layers,
                &tape->failure))
        tape->layers[tape->layer_count++] = (tape_layer){first, tape->node_count};
}

uint32_t gb_tape_layer_before(const gb_tape *tape, uint32_t end)
{
    for (size_t l = tape->layer_count; l-- > 0;)
        if (tape->layers[l].end == end)
            return tape->layers[l].first;
    return UINT32_MAX;
}

/* What stands for a tensor in the copy: itself where it comes from outside. */
static gb_tensor stand_in(gb_tape *tape, gb_tensor *copies, gb_tensor tensor)
{
    if (tensor == GB_NO_TENSOR || copies[tensor] != GB_NO_TENSOR)
        return tensor == GB_NO_TENSOR ? tensor : copies[tensor];
    gb_tensor_info info = tape->tensors[tensor];
    if (info.role != GB_ROLE_VIEW)
        return tensor;
    gb_tensor base = stand_in(tape, copies, info.base);
    if (base == info.base)
        return tensor;
    return copies[tensor] = gb_tape_view(tape, base, info.row0, info.rows);
}

/* A tensor for what a node of the layer gives. */
static gb_tensor given(gb_tape *tape, gb_tensor *copies, gb_tensor tensor, uint32_t first)
{
    gb_tensor copy = stand_in(tape, copies, tensor);
    if (copy != tensor)
        return copy;
    gb_tensor_info info = tape->tensors[tensor];
    if ((info.role != GB_ROLE_TEMP && info.role != GB_ROLE_OUTPUT) ||
        info.producer < (int32_t)first) {
        gb_tape_fail(tape, "%s is changed by a layer that is computed twice", info.name);
        return tensor;
    }
    copy = gb_tape_temp(tape, info.name, info.type, info.rows, info.cols);
    if (copy != GB_NO_TENSOR)
        tape->tensors[copy].grad = info.grad;
    return copies[tensor] = copy;
}

void gb_tape_repeat(gb_tape *tape, uint32_t first, uint32_t end)
{
    if (tape->failure.code != GB_OK)
        return;
    uint32_t count = tape->tensor_count;
    gb_tensor *copies = gb_alloc(count, sizeof *copies, &tape->failure);
    for (uint32_t t = 0; copies && t < count; t++)
        copies[t] = GB_NO_TENSOR;
    for (uint32_t n = first; copies && n < end && tape->failure.code == GB_OK; n++) {
        gb_node node = tape->nodes[n];
        for (int i = 0; i < GB_NODE_IN; i++)
            node.in[i] = stand_in(tape, copies, node.in[i]);
        for (int i = 0; i < GB_NODE_OUT; i++)
            if (node.out[i] != GB_NO_TENSOR)
                node.out[i] = given(tape, copies, node.out[i], first);
        gb_tape_append(tape, &node);
    }
    free(copies);
}

/* ---- nodes nobody needs ---- */

/* Whether what a node gives is read later, or stays behind when the program has run. */
static bool is_needed(const gb_tape *tape, const gb_node *node, const bool *needed)
{
    for (int i = 0; i < GB_NODE_OUT; i++) {
        if (node->out[i] == GB_NO_TENSOR)
            continue;
        gb_tensor root = gb_tape_root(tape, node->out[i], NULL);
        if (needed[root] || tape->tensors[root].role != GB_ROLE_TEMP)
            return true;
    }
    return false;
}

/* Close the gaps: nodes and the numbers of producers. */
static void keep_nodes(gb_tape *tape, const bool *kept, int32_t *moved)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < tape->node_count; n++) {
        moved[n] = kept[n] ? (int32_t)count : -1;
        if (kept[n])
            tape->nodes[count++] = tape->nodes[n];
    }
    for (uint32_t t = 0; t < tape->tensor_count; t++)
        if (tape->tensors[t].producer >= 0)
            tape->tensors[t].producer = moved[tape->tensors[t].producer];
    tape->node_count = count;
    tape->layer_count = 0;
}

bool gb_tape_prune(gb_tape *tape, gb_status *status)
{
    if (!gb_tape_ok(tape, status))
        return false;
    bool *needed = gb_alloc(tape->tensor_count, sizeof *needed, status);
    bool *kept = needed ? gb_alloc(tape->node_count, sizeof *kept, status) : NULL;
    int32_t *moved = kept ? gb_alloc(tape->node_count, sizeof *moved, status) : NULL;
    for (uint32_t n = tape->node_count; moved && n-- > 0;) {
        const gb_node *node = &tape->nodes[n];
        kept[n] = is_needed(tape, node, needed);
        for (int i = 0; kept[n] && i < GB_NODE_IN; i++)
            if (node->in[i] != GB_NO_TENSOR)
                needed[gb_tape_root(tape, node->in[i], NULL)] = true;
    }
    bool ok = moved != NULL;
    if (ok)
        keep_nodes(tape, kept, moved);
    free(moved);
    free(kept);
    free(needed);
    return ok;
}
