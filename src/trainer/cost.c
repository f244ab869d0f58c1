/* What trainings and encodings take, from their programs and texts alone: nothing runs. */
#include "private.h"

#include <stdlib.h>

/* A device without limits: arithmetic and activations are nearly the same on all. */
static const gb_target anywhere = {
    .profile = GB_PROFILE_SCALAR, .max_groups = 65535, .max_invocations = 1024};

uint64_t trainer_parameter_bytes(const gb_params *params)
{
    uint64_t bytes = 0;
    for (int a = 0; a < GB_ARENA_COUNT; a++)
        bytes += sizeof(float) * gb_params_arena_floats(params, (gb_arena_id)a);
    return bytes;
}

/* Arithmetic of a built program, and bytes of its activations and inputs on the device; the copies
 * from which inputs are uploaded are the host's. */
static bool add_program(gb_tape *tape, double *flops, gb_train_cost *cost, gb_status *status)
{
    gb_plan plan;
    gb_emitter emitter = {.target = anywhere};
    bool ok = gb_tape_ok(tape, status) && gb_plan_memory(tape, 256, 0, &plan, status) &&
              gb_emit_tape(&emitter, tape, true, status);
    for (size_t k = 0; ok && k < emitter.count; k++)
        *flops += emitter.kernels[k].flops;
    if (ok && plan.arena_bytes + plan.input_bytes > cost->activation_bytes)
        cost->activation_bytes = plan.arena_bytes + plan.input_bytes;
    if (ok && plan.largest_bytes > cost->widest_bytes)
        cost->widest_bytes = plan.largest_bytes;
    free(emitter.kernels);
    return ok;
}

static bool add_step(const gb_task *task, const gb_train_params *params, const gb_bucket *bucket,
                     gb_train_cost *cost, gb_status *status)
{
    gb_tensor losses[GB_MAX_LOSSES];
    gb_tape *tape = gb_tape_create(params->params, params->label, status);
    bool ok = tape != NULL;
    if (ok) {
        gb_builder builder = trainer_builder(params, tape, NULL);
        task->build(task->self, &builder, bucket, losses);
        uint32_t forward_nodes = gb_tape_node_count(tape);
        ok = gb_tape_ok(tape, status) && gb_backward(tape, losses[0], status);
        if (ok && params->storage == GB_STORE_BFLOAT16)
            gb_keep_bfloat16(tape, forward_nodes);
        ok = ok && (!builder.recompute || gb_tape_prune(tape, status)) &&
             add_program(tape, &cost->flops, cost, status);
    }
    gb_tape_destroy(tape);
    return ok;
}

static bool add_update(const gb_train_params *params, gb_train_cost *cost, gb_status *status)
{
    gb_tape *tape = gb_tape_create(params->params, "adamw", status);
    if (!tape)
        return false;
    gb_tensor values = gb_adamw_input(tape, false);
    gb_adamw(tape, &params->adamw, values);
    bool ok = add_program(tape, &cost->update_flops, cost, status);
    gb_tape_destroy(tape);
    return ok;
}

bool gb_train_estimate(const gb_task *task, const gb_train_params *params, uint32_t batches,
                       gb_train_cost *cost, gb_status *status)
{
    *cost = (gb_train_cost){.parameter_bytes = trainer_parameter_bytes(params->params)};
    for (uint32_t b = 0; b < batches; b++) {
        gb_bucket bucket = {0};
        if (!task->sample(task->self, b, &bucket, status) ||
            !add_step(task, params, &bucket, cost, status))
            return false;
    }
    cost->flops /= batches ? batches : 1;
    if (batches && task->microbatch.count)
        cost->texts = task->microbatch.count(task->self);
    return add_update(params, cost, status);
}

/* Of a text of n tokens to the state of its first one. */
static double text_flops(const gb_bert_config *config, double n)
{
    double h = config->hidden_size;
    double f = config->intermediate_size * (config->theta > 0 ? 1.5 : 1); /* gated: 3 matrices */
    double layer = 2 * n * (4 * h * h + 2 * h * f) + 4 * n * n * h;
    return config->layers * layer - 2 * (n - 1) * (h * h + 2 * h * f);
}

double gb_encode_flops(const gb_bert_config *config, const gb_row_file *tokens,
                       const uint32_t *rows, uint32_t count, uint32_t max_length)
{
    double flops = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t length;
        gb_row_file_row(tokens, rows ? rows[i] : i, &length);
        flops += text_flops(config, length + 2 > max_length ? max_length : (double)length + 2);
    }
    return flops;
}

double gb_pair_flops(const gb_pair_scorer_params *params, const gb_bert_config *config,
                     const gb_text_pair *pairs, uint32_t count)
{
    double flops = 0, h = config->hidden_size;
    for (uint32_t i = 0; i < count; i++) {
        const gb_text_pair *p = &pairs[i];
        size_t length =
            3 + gb_token_text_of(params->queries, p->query, params->max_query_length).length +
            gb_token_text_of(params->passages, p->passage, params->max_passage_length).length;
        flops +=
            text_flops(config, length > params->max_length ? params->max_length : (double)length) +
            2 * h * h;
    }
    return flops;
}
