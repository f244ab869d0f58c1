/* Artifacts that are trained. */
#include "private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A checkpoint is written after so many seconds at the earliest, and so seldom that checkpoints
 * take no more than this share of the time: of a large model each is more than a gigabyte. */
#define CHECKPOINT_S     20
#define CHECKPOINT_SHARE .02

static const char *const recomputations[] = {"auto", "none", "layers", NULL}, *const storages[] = {
                                                                                  "auto", "float32",
                                                                                  "bfloat16", NULL};
const gb_option gb_memory_options[] = {
    {"micro-batch", GB_OPTION_U32, GB_FIELD(gb_memory_settings, micro_batch), 0, NULL,
     "texts (pairs where the batch has pairs) on the device at once at most; their gradients add "
     "up to those of the batch; 0: the whole batch"},
    {"recompute", GB_OPTION_CHOICE, GB_FIELD(gb_memory_settings, recompute), 0, NULL,
     "what is computed again for the gradient instead of being kept; auto: nothing if it fits into "
     "the device's memory, else layers, and then smaller micro-batches",
     recomputations},
    {"activations", GB_OPTION_CHOICE, GB_FIELD(gb_memory_settings, storage), 0, NULL,
     "how activations wait for the gradient; auto: bfloat16 on GPUs, float32 on CPUs", storages},
    {0}};

void gb_memory_apply(const gb_memory_settings *settings, gb_train_params *params)
{
    static const gb_recompute kinds[] = {GB_RECOMPUTE_AUTO, GB_RECOMPUTE_NONE, GB_RECOMPUTE_LAYERS};
    params->micro_batch = settings->micro_batch;
    static const gb_storage forms[] = {GB_STORE_AUTO, GB_STORE_FLOAT32, GB_STORE_BFLOAT16};
    params->recompute = kinds[settings->recompute];
    params->storage = forms[settings->storage];
}

static json_t *times_of(const gb_train_result *result)
{
    json_t *times = json_pack("{s:f, s:f, s:f, s:f, s:i, s:f}", "work_s", result->seconds, "step_s",
                              result->step_s, "data_s", result->data_s, "build_s", result->build_s,
                              "steps", (int)(result->steps - result->resumed_at), "gflops_per_s",
                              result->flops / result->seconds / 1e9);
    if (result->ranks_s > 0)
        json_object_set_new(times, "ranks_s", json_real(result->ranks_s));
    if (result->loss_scale > 0) {
        json_object_set_new(times, "loss_scale", json_real(result->loss_scale));
        json_object_set_new(times, "skipped_steps", json_integer(result->skipped));
    }
    gb_note_padding(times, result->rows_used, result->rows_computed);
    return times;
}

static void note(gb_maker *maker, const gb_train_result *result)
{
    json_object_set_new(maker->facts, "times", times_of(result));
    if (!result->micro_batch && result->recompute == GB_RECOMPUTE_NONE &&
        result->storage == GB_STORE_FLOAT32)
        return;
    gb_log(GB_LOG_INFO, "activations take %.2f MiB on the device, parts of a batch: %u",
           (double)result->arena_bytes / (1 << 20), result->parts);
    json_object_set_new(
        maker->facts, "memory",
        json_pack("{s:I, s:s, s:s}", "micro_batch", (json_int_t)result->micro_batch, "recompute",
                  result->recompute == GB_RECOMPUTE_LAYERS ? "layers" : "none", "activations",
                  result->storage == GB_STORE_BFLOAT16 ? "bfloat16" : "float32"));
    /* Of the batches since the last interruption, as times are. */
    json_t *times = json_object_get(maker->facts, "times");
    json_object_set_new(times, "activation_bytes", json_integer((json_int_t)result->arena_bytes));
    json_object_set_new(times, "parts", json_integer((json_int_t)result->parts));
}

/* A training state is parameters and both moments; a new one is there before the old one goes. What
 * a killed training left is there already. */
static bool room_for_states(const char *resume, const gb_params *params, gb_status *status)
{
    uint64_t state_bytes = 3 * sizeof(float) * (uint64_t)gb_params_floats(params);
    char *path = gb_path_join(status, resume, "checkpoint");
    bool one = path && gb_file_exists(path);
    bool ok = path && gb_make_dirs(resume, status) &&
              gb_store_room(resume, one ? state_bytes : 2 * state_bytes,
                            one ? "the numbers of another training state" : "two training states",
                            status);
    free(path);
    return ok;
}

bool gb_maker_train(gb_maker *maker, const gb_training *training, float *values,
                    double (*log)[GB_MAX_LOSSES], gb_train_result *result, gb_status *status)
{
    gb_device *device = gb_maker_device(maker, status);
    bool leads = gb_maker_leads(maker);
    char *resume = device && leads ? gb_maker_file(maker, "resume", status) : NULL;
    gb_train_params params = *training->params;
    params.resume_dir = resume;
    params.checkpoint_s = CHECKPOINT_S;
    params.checkpoint_share = CHECKPOINT_SHARE;
    params.gradient_shards = maker->how.gradient_shards;
    params.ranks = maker->ranks;
    bool ok = device && (!leads || (resume && room_for_states(resume, params.params, status))) &&
              gb_train(device, training->task, &params, values, log, result, status);
    if (ok)
        note(maker, result);
    free(resume);
    return ok;
}

/* What a training takes, as it would be cut for the device (gb_train_fit, but for what is known of
 * a part of a batch only): *at_once gets the texts on the device, of `texts`. */
static bool fit_cost(const gb_maker *maker, const gb_task *task, gb_train_params *params,
                     double texts, double *at_once, gb_train_cost *cost, gb_status *status)
{
    gb_device_params select = gb_ops_device(maker->config, maker->device_name);
    gb_device_caps caps;
    bool choose = params->recompute == GB_RECOMPUTE_AUTO;
    if (!gb_device_find(&select, &caps, status))
        return false;
    params->storage = gb_storage_on(params->storage, &caps);
    bool ok = gb_train_estimate(task, params, 2, cost, status);
    double drawn = cost->texts ? cost->texts : texts;
    *at_once = params->micro_batch && params->micro_batch < texts ? params->micro_batch : texts;
    if (!ok || !choose || gb_train_cost_fits(cost, *at_once / drawn, &caps))
        return ok;
    params->recompute = GB_RECOMPUTE_LAYERS;
    ok = gb_train_estimate(task, params, 2, cost, status);
    while (ok && !gb_train_cost_fits(cost, *at_once / drawn, &caps)) {
        if (*at_once < 2 || !cost->texts)
            return gb_fail(status, GB_MEMORY, params->label,
                           "use shorter passages, a smaller model or batch, or a device with more "
                           "memory; GABBRO_LIMITS=memory=24G plans for one",
                           "it does not fit into the %.1f MiB of %s",
                           (double)caps.memory_bytes / (1 << 20), caps.name);
        *at_once = ceil(*at_once / 2);
    }
    return ok;
}

bool gb_maker_print_cost(const gb_maker *maker, const gb_training *training, uint32_t batch,
                         uint32_t part, gb_status *status)
{
    const gb_task *task = training->task;
    gb_train_params params = *training->params;
    gb_train_cost cost;
    gb_bucket bucket = {0};
    double texts = batch, at_once;
    if (task->microbatch.count) {
        if (!task->sample(task->self, 0, &bucket, status))
            return false;
        texts *= (double)task->microbatch.count(task->self) / part;
    }
    if (!fit_cost(maker, task, &params, texts, &at_once, &cost, status))
        return false;
    bool microbatch = at_once < texts;
    if ((microbatch || maker->how.gradient_shards) && task->microbatch.vectors)
        cost.flops *= 4. / 3; /* vectors first, forward only */
    printf("steps=%u batch=%u part=%u flops=%.6g update_flops=%.6g activation_bytes=%.0f "
           "parameter_bytes=%llu micro_batch=%.0f recompute=%d\n",
           params.schedule.steps, batch, part, cost.flops * batch / part, cost.update_flops,
           (double)cost.activation_bytes * at_once / texts * batch / part,
           (unsigned long long)cost.parameter_bytes, microbatch ? at_once : 0,
           params.recompute == GB_RECOMPUTE_LAYERS);
    return true;
}
