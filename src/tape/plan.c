/* Memory plan: live ranges, places in one arena, and a second opinion by brute force. The arena is
 * one range of offsets; where it is cut into buffers, tensors keep out of the way of the cuts. */
#include "tape.h"

#include <stdlib.h>
#include <string.h>

/* Extend the life of the root of `tensor` to node n. */
static void touch(gb_tape *tape, gb_tensor tensor, uint32_t n)
{
    if (tensor == GB_NO_TENSOR)
        return;
    tape->tensors[tensor].used = true;
    gb_tensor_info *root = &tape->tensors[gb_tape_root(tape, tensor, NULL)];
    if (n < root->first)
        root->first = n;
    if (n > root->last)
        root->last = n;
}

static void live_ranges(gb_tape *tape)
{
    for (uint32_t t = 0; t < tape->tensor_count; t++) {
        tape->tensors[t].first = UINT32_MAX;
        tape->tensors[t].last = 0;
        tape->tensors[t].placed = tape->tensors[t].used = false;
    }
    for (uint32_t n = 0; n < tape->node_count; n++) {
        for (int i = 0; i < GB_NODE_IN; i++)
            touch(tape, tape->nodes[n].in[i], n);
        for (int i = 0; i < GB_NODE_OUT; i++)
            touch(tape, tape->nodes[n].out[i], n);
    }
    for (uint32_t t = 0; t < tape->tensor_count; t++)
        if (tape->tensors[t].role == GB_ROLE_OUTPUT)
            tape->tensors[t].last = tape->node_count; /* read after the last node */
}

static bool in_arena(const gb_tensor_info *info)
{
    return (info->role == GB_ROLE_TEMP || info->role == GB_ROLE_OUTPUT) && !info->is_constant &&
           info->first != UINT32_MAX && info->rows && info->cols;
}

static bool live_together(const gb_tensor_info *a, const gb_tensor_info *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static int largest_first(const void *a, const void *b, void *context)
{
    const gb_tape *tape = context;
    uint32_t ta = *(const uint32_t *)a, tb = *(const uint32_t *)b;
    uint64_t bytes_a = tape_tensor_bytes(&tape->tensors[ta]),
             bytes_b = tape_tensor_bytes(&tape->tensors[tb]);
    if (bytes_a != bytes_b)
        return bytes_a > bytes_b ? -1 : 1;
    return ta < tb ? -1 : 1;
}

/* The offset, or the beginning of the next buffer if `bytes` from there on lie in two. */
static uint64_t within_buffer(uint64_t offset, uint64_t bytes, uint64_t buffer_bytes)
{
    uint64_t left = buffer_bytes ? buffer_bytes - offset % buffer_bytes : UINT64_MAX;
    return bytes > left && left < buffer_bytes ? offset + left : offset;
}

/* Lowest offset at which `info` meets none of the placed tensors that live with it. */
static uint64_t lowest_place(const gb_tape *tape, const uint32_t *placed, uint32_t placed_count,
                             const gb_tensor_info *info, uint32_t align, uint64_t buffer_bytes)
{
    uint64_t bytes = tape_tensor_bytes(info), offset = 0;
    for (bool moved = true; moved;) {
        uint64_t whole = within_buffer(offset, bytes, buffer_bytes);
        moved = whole != offset;
        offset = whole;
        for (uint32_t i = 0; i < placed_count; i++) {
            const gb_tensor_info *other = &tape->tensors[placed[i]];
            uint64_t end = other->offset + tape_tensor_bytes(other);
            if (live_together(info, other) && offset < end && other->offset < offset + bytes) {
                offset = (end + align - 1) / align * align;
                moved = true;
            }
        }
    }
    return offset;
}

/* Notes the largest temps, as they are placed and as nodes use them. */
static void find_largest(gb_tape *tape, gb_plan *plan)
{
    for (uint32_t t = 0; t < tape->tensor_count; t++) {
        const gb_tensor_info *root = &tape->tensors[gb_tape_root(tape, (gb_tensor)t, NULL)];
        uint64_t bytes = tape_tensor_bytes(&tape->tensors[t]);
        if (!in_arena(root))
            continue;
        if (root == &tape->tensors[t] && bytes > plan->largest_bytes) {
            plan->largest = (gb_tensor)t;
            plan->largest_bytes = bytes;
        }
        if (tape->tensors[t].used && bytes > plan->widest_bytes) {
            plan->widest = (gb_tensor)t;
            plan->widest_bytes = bytes;
        }
    }
}

bool gb_plan_memory(gb_tape *tape, uint32_t align, uint64_t buffer_bytes, gb_plan *plan,
                    gb_status *status)
{
    buffer_bytes = buffer_bytes / align * align;
    *plan =
        (gb_plan){.buffer_bytes = buffer_bytes, .largest = GB_NO_TENSOR, .widest = GB_NO_TENSOR};
    live_ranges(tape);
    find_largest(tape, plan);
    uint32_t *order = gb_alloc(tape->tensor_count, sizeof *order, status);
    if (!order)
        return false;
    uint32_t count = 0;
    for (uint32_t t = 0; t < tape->tensor_count; t++) {
        gb_tensor_info *info = &tape->tensors[t];
        uint64_t bytes = (tape_tensor_bytes(info) + align - 1) / align * align;
        if (info->role == GB_ROLE_INPUT) {
            info->offset = plan->input_bytes;
            info->placed = true;
            plan->input_bytes += bytes;
        } else if (in_arena(info)) {
            order[count++] = t;
            plan->temp_bytes += bytes;
        }
    }
    gb_sort(order, count, sizeof *order, largest_first, tape);
    for (uint32_t i = 0; i < count; i++) {
        gb_tensor_info *info = &tape->tensors[order[i]];
        info->offset = lowest_place(tape, order, i, info, align, buffer_bytes);
        info->placed = true;
        uint64_t end = info->offset + (tape_tensor_bytes(info) + align - 1) / align * align;
        if (end > plan->arena_bytes)
            plan->arena_bytes = end;
    }
    free(order);
    return true;
}

bool gb_plan_fits(const gb_tape *tape, const gb_plan *plan, const gb_device_caps *caps,
                  gb_status *status)
{
    const double mib = 1 << 20;
    bool placed = !plan->buffer_bytes || plan->largest_bytes <= plan->buffer_bytes;
    if (placed && plan->widest_bytes <= caps->max_binding_bytes)
        return true;
    uint64_t bytes = placed ? plan->widest_bytes : plan->largest_bytes;
    return gb_fail(status, GB_MEMORY, tape->name,
                   "use shorter texts, or a smaller --micro-batch or --batch where there is one",
                   "\"%s\" takes %.1f MiB, and %s sees at most %.1f MiB at once",
                   tape->tensors[placed ? plan->widest : plan->largest].name, (double)bytes / mib,
                   caps->name,
                   (double)(placed ? caps->max_binding_bytes : plan->buffer_bytes) / mib);
}

bool gb_plan_check(const gb_tape *tape, gb_status *status)
{
    /* Walk the program; at each node every live tensor must be alone on its bytes. */
    for (uint32_t n = 0; n <= tape->node_count; n++) {
        for (uint32_t a = 0; a < tape->tensor_count; a++) {
            const gb_tensor_info *ta = &tape->tensors[a];
            if (!in_arena(ta) || n < ta->first || n > ta->last)
                continue;
            for (uint32_t b = a + 1; b < tape->tensor_count; b++) {
                const gb_tensor_info *tb = &tape->tensors[b];
                if (!in_arena(tb) || n < tb->first || n > tb->last)
                    continue;
                if (ta->offset < tb->offset + tape_tensor_bytes(tb) &&
                    tb->offset < ta->offset + tape_tensor_bytes(ta))
                    return gb_fail(status, GB_INTERNAL, tape->name, NULL,
                                   "%s and %s share memory at node %u", ta->name, tb->name, n);
            }
        }
    }
    return true;
}
