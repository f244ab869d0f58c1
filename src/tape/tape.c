/* Building a tape: tensors and nodes. */
#include "tape.h"

#include <stdlib.h>
#include <string.h>

gb_tape *gb_tape_create(const gb_params *params, const char *name, gb_status *status)
{
    gb_tape *tape = gb_alloc(1, sizeof *tape, status);
    if (!tape)
        return NULL;
    snprintf(tape->name, sizeof tape->name, "%s", name);
    tape->params = params;
    uint32_t count = params ? gb_params_count(params) : 0;
    tape->of_param = gb_alloc(count, sizeof(gb_tensor), status);
    tape->grad_of_param = gb_alloc(count, sizeof(gb_tensor), status);
    if (!tape->of_param || !tape->grad_of_param) {
        gb_tape_destroy(tape);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++)
        tape->of_param[i] = tape->grad_of_param[i] = GB_NO_TENSOR;
    return tape;
}

void gb_tape_destroy(gb_tape *tape)
{
    if (!tape)
        return;
    free(tape->tensors);
    free(tape->nodes);
    free(tape->of_param);
    free(tape->grad_of_param);
    free(tape->layers);
    free(tape->fillers);
    gb_arena_destroy(tape->records);
    free(tape);
}

const char *gb_tape_name(const gb_tape *tape)
{
    return tape->name;
}

const gb_params *gb_tape_params(const gb_tape *tape)
{
    return tape->params;
}

bool gb_tape_fail(gb_tape *tape, const char *fmt, ...)
{
    if (tape->failure.code != GB_OK)
        return false;
    char text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return gb_fail(&tape->failure, GB_INTERNAL, tape->name, NULL, "%s", text);
}

bool gb_tape_ok(const gb_tape *tape, gb_status *status)
{
    if (tape->failure.code == GB_OK)
        return true;
    if (status)
        *status = tape->failure;
    return false;
}

static gb_tensor add_tensor(gb_tape *tape, const gb_tensor_info *info)
{
    if (!gb_grow(&tape->tensors, &tape->tensor_capacity, tape->tensor_count + 1,
                 sizeof *tape->tensors, &tape->failure))
        return GB_NO_TENSOR;
    tape->tensors[tape->tensor_count] = *info;
    return (gb_tensor)tape->tensor_count++;
}

static gb_tensor_info blank(const char *name, gb_type type, gb_role role, uint32_t rows,
                            uint32_t cols)
{
    gb_tensor_info info = {.type = type,
                           .role = role,
                           .rows = rows,
                           .cols = cols,
                           .ld = type == GB_F32 ? (cols + 3) & ~3u : cols,
                           .param = UINT32_MAX,
                           .base = GB_NO_TENSOR,
                           .grad = GB_NO_TENSOR,
                           .producer = -1};
    snprintf(info.name, sizeof info.name, "%.47s", name);
    return info;
}

gb_tensor gb_tape_input(gb_tape *tape, const char *name, gb_type type, uint32_t rows, uint32_t cols)
{
    gb_tensor_info info = blank(name, type, GB_ROLE_INPUT, rows, cols);
    return add_tensor(tape, &info);
}

gb_tensor gb_tape_temp(gb_tape *tape, const char *name, gb_type type, uint32_t rows, uint32_t cols)
{
    gb_tensor_info info = blank(name, type, GB_ROLE_TEMP, rows, cols);
    return add_tensor(tape, &info);
}

gb_tensor gb_tape_param(gb_tape *tape, uint32_t param)
{
    if (!tape->params || param >= gb_params_count(tape->params)) {
        gb_tape_fail(tape, "no parameter %u", param);
        return GB_NO_TENSOR;
    }
    if (tape->of_param[param] != GB_NO_TENSOR)
        return tape->of_param[param];
    const gb_param *p = gb_params_at(tape->params, param);
    gb_tensor_info info = blank(p->name, GB_F32, GB_ROLE_PARAM, p->rows, p->cols);
    info.param = param;
    info.needs_grad = p->trained;
    return tape->of_param[param] = add_tensor(tape, &info);
}

gb_tensor gb_tape_grad_arena(gb_tape *tape, uint32_t param)
{
    if (tape->grad_of_param[param] != GB_NO_TENSOR)
        return tape->grad_of_param[param];
    const gb_param *p = gb_params_at(tape->params, param);
    if (!p->trained) {
        gb_tape_fail(tape, "%s is not trained: it has no gradient", p->name);
        return GB_NO_TENSOR;
    }
    gb_tensor_info info = blank(p->name, GB_F32, GB_ROLE_GRAD, p->rows, p->cols);
    info.param = param;
    return tape->grad_of_param[param] = add_tensor(tape, &info);
}

gb_tensor gb_tape_state(gb_tape *tape, gb_arena_id arena, uint64_t first, uint64_t floats)
{
    static const char *const names[] = {"params", "grads", "moment1", "moment2"};
    if (floats > UINT32_MAX || first % 4 || floats % 4) {
        gb_tape_fail(tape, "window of %llu floats in an arena", (unsigned long long)floats);
        return GB_NO_TENSOR;
    }
    gb_tensor_info info = blank(names[arena], GB_F32, GB_ROLE_STATE, 1, (uint32_t)floats);
    info.arena = arena;
    info.offset = first * 4;
    return add_tensor(tape, &info);
}

gb_tensor gb_tape_view(gb_tape *tape, gb_tensor base, uint32_t row0, uint32_t rows)
{
    if (base == GB_NO_TENSOR)
        return GB_NO_TENSOR;
    gb_tensor_info info = tape->tensors[base];
    if ((uint64_t)row0 + rows > info.rows) {
        gb_tape_fail(tape, "view of rows %u..%u in %s of %u rows", row0, row0 + rows, info.name,
                     info.rows);
        return GB_NO_TENSOR;
    }
    info.role = GB_ROLE_VIEW;
    info.base = base;
    info.row0 = row0;
    info.rows = rows;
    info.grad = GB_NO_TENSOR;
    info.producer = -1;
    return add_tensor(tape, &info);
}

gb_tensor gb_tape_constant(gb_tape *tape, double value)
{
    gb_tensor_info info = blank("constant", GB_F32, GB_ROLE_TEMP, 1, 1);
    info.is_constant = true;
    info.constant = value;
    return add_tensor(tape, &info);
}

void gb_tape_output(gb_tape *tape, gb_tensor tensor)
{
    if (tensor == GB_NO_TENSOR)
        return;
    gb_tensor_info *info = &tape->tensors[tensor];
    if (info->role != GB_ROLE_TEMP && info->role != GB_ROLE_OUTPUT)
        gb_tape_fail(tape, "%s cannot be an output", info->name);
    else
        info->role = GB_ROLE_OUTPUT;
}

gb_tensor gb_tape_root(const gb_tape *tape, gb_tensor tensor, uint32_t *row0)
{
    uint32_t row = 0;
    while (tape->tensors[tensor].role == GB_ROLE_VIEW) {
        row += tape->tensors[tensor].row0;
        tensor = tape->tensors[tensor].base;
    }
    if (row0)
        *row0 = row;
    return tensor;
}

void gb_tape_fill_by(gb_tape *tape, gb_fill fill, const void *record, size_t bytes)
{
    gb_status *failure = &tape->failure;
    if (failure->code != GB_OK)
        return;
    if (!tape->records && !(tape->records = gb_arena_create(1 << 12, failure)))
        return;
    void *copy = gb_arena_alloc(tape->records, bytes, failure);
    if (!copy || !gb_grow(&tape->fillers, &tape->filler_capacity, tape->filler_count + 1,
                          sizeof *tape->fillers, failure))
        return;
    memcpy(copy, record, bytes);
    tape->fillers[tape->filler_count++] = (tape_filler){fill, copy};
}

void gb_tape_append(gb_tape *tape, const gb_node *node)
{
    if (tape->failure.code != GB_OK)
        return;
    if (!gb_grow(&tape->nodes, &tape->node_capacity, tape->node_count + 1, sizeof *tape->nodes,
                 &tape->failure))
        return;
    bool needs_grad = false;
    for (int i = 0; i < GB_NODE_IN; i++)
        if (node->in[i] != GB_NO_TENSOR)
            needs_grad |= tape->tensors[node->in[i]].needs_grad;
    for (int i = 0; i < GB_NODE_OUT; i++) {
        if (node->out[i] == GB_NO_TENSOR)
            continue;
        gb_tensor_info *out = &tape->tensors[node->out[i]];
        if (out->producer < 0)
            out->producer = (int32_t)tape->node_count;
        if (node->op->backward)
            out->needs_grad |= needs_grad && out->type == GB_F32;
    }
    tape->nodes[tape->node_count++] = *node;
}

uint32_t gb_tape_node_count(const gb_tape *tape)
{
    return tape->node_count;
}

gb_node *gb_tape_node(gb_tape *tape, uint32_t index)
{
    return &tape->nodes[index];
}

const gb_node *gb_tape_node_at(const gb_tape *tape, uint32_t index)
{
    return &tape->nodes[index];
}

uint32_t gb_tape_tensor_count(const gb_tape *tape)
{
    return tape->tensor_count;
}

gb_tensor_info *gb_tape_info(gb_tape *tape, gb_tensor tensor)
{
    return &tape->tensors[tensor];
}

const gb_tensor_info *gb_tape_tensor(const gb_tape *tape, gb_tensor tensor)
{
    return &tape->tensors[tensor];
}

static void dump_tensor(const gb_tape *tape, gb_tensor tensor, gb_text *out)
{
    const gb_tensor_info *info = &tape->tensors[tensor];
    if (info->is_constant)
        gb_text_printf(out, "%g", info->constant);
    else
        gb_text_printf(out, "%%%d:%s[%u,%u]", tensor, info->name, info->rows, info->cols);
}

void gb_tape_dump(const gb_tape *tape, gb_text *out)
{
    for (uint32_t n = 0; n < tape->node_count; n++) {
        const gb_node *node = &tape->nodes[n];
        const char *comma = "";
        for (int i = 0; i < GB_NODE_OUT; i++) {
            if (node->out[i] == GB_NO_TENSOR)
                continue;
            gb_text_printf(out, "%s", comma);
            dump_tensor(tape, node->out[i], out);
            comma = ", ";
        }
        gb_text_printf(out, " = %s(", node->op->name);
        comma = "";
        for (int i = 0; i < GB_NODE_IN; i++) {
            if (node->in[i] == GB_NO_TENSOR)
                continue;
            gb_text_printf(out, "%s", comma);
            dump_tensor(tape, node->in[i], out);
            comma = ", ";
        }
        gb_text_printf(out, ")\n");
    }
}
