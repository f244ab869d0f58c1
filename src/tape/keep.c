/* Temps that wait for the gradient, kept in half the memory. A temp of the forward pass that the
 * gradient reads is written in another form behind its last reader before the gradient, and
 * restored before its first reader there; in between it takes half as much. */
#include "tape.h"

#include <stdlib.h>

/* Narrow tensors (norms' statistics, losses) keep their precision; they are small. */
#define LEAST_COLS 16

/* What becomes of a tensor. */
typedef struct kept_tensor {
    bool kept;         /* it is kept in the other form */
    bool awaited;      /* the gradient reads it */
    uint32_t last;     /* node that uses it last before the gradient */
    gb_tensor form;    /* the other form */
    gb_tensor restored; /* what the gradient reads, or GB_NO_TENSOR: not yet */
} kept_tensor;

static void look_at_node(const gb_tape *tape, uint32_t n, uint32_t first, kept_tensor *list)
{
    const gb_node *node = &tape->nodes[n];
    for (int i = 0; i < GB_NODE_IN; i++)
        if (node->in[i] != GB_NO_TENSOR) {
            kept_tensor *k = &list[node->in[i]];
            k->awaited |= n >= first;
            k->last = n < first ? n : k->last;
        }
    for (int i = 0; i < GB_NODE_OUT; i++)
        if (node->out[i] != GB_NO_TENSOR) {
            kept_tensor *k = &list[node->out[i]];
            k->kept &= tape->tensors[node->out[i]].producer == (int32_t)n;
            k->last = n < first && n > k->last ? n : k->last;
        }
}

/* Which tensors can be kept so: written once before the gradient, never seen by a view. */
static void choose(const gb_tape *tape, uint32_t first, kept_tensor *list)
{
    for (uint32_t t = 0; t < tape->tensor_count; t++) {
        const gb_tensor_info *info = &tape->tensors[t];
        list[t] = (kept_tensor){.kept = info->role == GB_ROLE_TEMP && info->type == GB_F32 &&
                                        !info->is_constant && info->cols >= LEAST_COLS &&
                                        info->producer >= 0 && info->producer < (int32_t)first,
                                .form = GB_NO_TENSOR,
                                .restored = GB_NO_TENSOR};
    }
    for (uint32_t n = 0; n < tape->node_count; n++)
        look_at_node(tape, n, first, list);
    for (uint32_t t = 0; t < tape->tensor_count; t++) {
        list[t].kept &= list[t].awaited;
        if (tape->tensors[t].role == GB_ROLE_VIEW)
            list[tape->tensors[t].base].kept = false;
    }
}

/* The nodes once more, with those that keep and restore between them. */
static void append_all(gb_tape *tape, const gb_node *nodes, uint32_t count, uint32_t first,
                       kept_tensor *list, const gb_node *keep, const gb_node *restore)
{
    for (uint32_t n = 0; n < count; n++) {
        gb_node node = nodes[n];
        for (int i = 0; n >= first && i < GB_NODE_IN; i++) {
            kept_tensor *k = node.in[i] == GB_NO_TENSOR ? NULL : &list[node.in[i]];
            if (!k || !k->kept)
                continue;
            if (k->restored == GB_NO_TENSOR) {
                gb_tensor_info info = tape->tensors[node.in[i]];
                gb_node back = *restore;
                back.in[0] = k->form;
                back.out[0] = k->restored =
                    gb_tape_temp(tape, info.name, GB_F32, info.rows, info.cols);
                gb_tape_append(tape, &back);
            }
            node.in[i] = k->restored;
        }
        gb_tape_append(tape, &node);
        for (int i = 0; n < first && i < GB_NODE_IN + GB_NODE_OUT; i++) {
            gb_tensor t = i < GB_NODE_IN ? node.in[i] : node.out[i - GB_NODE_IN];
            if (t == GB_NO_TENSOR || !list[t].kept || list[t].last != n ||
                list[t].form != GB_NO_TENSOR)
                continue;
            gb_tensor_info info = tape->tensors[t];
            gb_node there = *keep;
            there.in[0] = t;
            there.out[0] = list[t].form =
                gb_tape_temp(tape, info.name, GB_U32, info.rows, info.ld / 2);
            gb_tape_append(tape, &there);
        }
    }
}

void gb_tape_keep_between(gb_tape *tape, uint32_t first, const gb_node *keep,
                          const gb_node *restore)
{
    if (tape->failure.code != GB_OK)
        return;
    uint32_t count = tape->node_count;
    gb_node *nodes = gb_alloc(count, sizeof *nodes, &tape->failure);
    kept_tensor *list = nodes ? gb_alloc(tape->tensor_count, sizeof *list, &tape->failure) : NULL;
    if (list) {
        choose(tape, first, list);
        for (uint32_t n = 0; n < count; n++)
            nodes[n] = tape->nodes[n];
        for (uint32_t t = 0; t < tape->tensor_count; t++)
            tape->tensors[t].producer = -1;
        tape->node_count = 0;
        tape->layer_count = 0;
        append_all(tape, nodes, count, first, list, keep, restore);
    }
    free(list);
    free(nodes);
}
