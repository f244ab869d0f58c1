/* Options, the store and the device of the sub-commands that run a step. */
#include "private.h"
#include <gabbro/diag.h>

#define step_ranks_join  maker_ranks_join
#define step_ranks_begun maker_ranks_begun
#define step_ranks_close maker_ranks_close

#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static bool set_option(const step_option *option, const char *text, gb_status *status)
{
    step_list *list;
    char name[64];
    snprintf(name, sizeof name, "--%s", option->name);
    switch (option->kind) {
    case OPTION_TEXT:
        *(const char **)option->value = text;
        return true;
    case OPTION_U32:
        return gb_parse_u32(name, text, 0, UINT32_MAX, option->value, status);
    case OPTION_U64:
        return gb_parse_u64(name, text, 0, UINT64_MAX, option->value, status);
    case OPTION_REAL:
        return gb_parse_real(name, text, 0, 1e30, option->value, status);
    case OPTION_RATIO:
        return gb_parse_real(name, text, 0, 1, option->value, status);
    case OPTION_LIST:
        list = option->value;
        if (list->count == GB_WORDS_MAX)
            return gb_fail(status, GB_USAGE, NULL, NULL, "--%s is given too often", option->name);
        list->items[list->count++] = text;
        return true;
    case OPTION_FLAG:
        break;
    }
    *(bool *)option->value = true;
    return true;
}

static bool takes_ranks(const step_run *run)
{
    return run->trains || run->divides;
}

static void print_help(const step_run *run, const char *usage)
{
    printf("%s\n", usage);
    for (const step_option *o = run->options; o->name; o++)
        printf("  --%-22s %s%s\n", o->name, o->help, o->required ? " (needed)" : "");
    if (run->encodes)
        printf("  --%-22s %s\n", "pooling KIND",
               "vectors by cls or mean (as the model's folder says)");
    printf("  --%-22s %s\n", "store DIR", "run store (default $GABBRO_STORE)");
    printf("  --%-22s %s\n", "device NAME", "index, name, UUID or cpu (default $GABBRO_DEVICE)");
    printf("  --%-22s %s\n", "profile", "print the device time of every kernel");
    printf("  --%-22s %s\n", "quiet", "no progress");
    printf("  --%-22s %s\n", "no-wait", "exit with 76 while another process makes the step");
    printf("  --%-22s %s\n", "cost", "of steps that train or encode: print what it takes, and end");
    if (!takes_ranks(run))
        return;
    printf("\nSeveral devices or machines (docs/design/ranks.md); also under mpirun and srun:\n");
    printf("  --%-22s %s\n", "ranks N", "processes that work together, started here by mpirun");
    printf("  --%-22s %s\n", "devices A,B",
           "theirs in turn, on each machine; one rank each without --ranks");
    if (!run->trains)
        return;
    printf("  --%-22s %s\n", "shares N",
           "of a batch, that ranks divide (8); results depend on it, not on ranks");
    printf("  --%-22s %s\n", "simulate-ranks N", "what N ranks do, in one process: the same bits");
}

static const step_option *find_option(const step_option *options, const char *name)
{
    for (const step_option *o = options; o->name; o++)
        if (!strcmp(o->name, name))
            return o;
    return NULL;
}

/* An option that must be given and is missing. */
static bool missing(const step_option *o)
{
    if (!o->required)
        return false;
    return o->kind == OPTION_LIST ? ((step_list *)o->value)->count == 0
                                  : o->kind == OPTION_TEXT && !*(const char **)o->value;
}

static bool parse(step_run *run, int argc, char **argv, const char **operand, gb_status *status)
{
    const step_option common[] = {{"store", OPTION_TEXT, &run->store_root, false, false, ""},
                                  {"device", OPTION_TEXT, &run->device_name, false, false, ""},
                                  {"quiet", OPTION_FLAG, &run->quiet, false, false, ""},
                                  {"profile", OPTION_FLAG, &run->profile, false, false, ""},
                                  {"no-wait", OPTION_FLAG, &run->no_wait, false, false, ""},
                                  {"cost", OPTION_FLAG, &run->cost, false, false, ""},
                                  {"help", OPTION_FLAG, &run->help, false, false, ""},
                                  {0}};
    const step_option of_encoders[] = {{"pooling", OPTION_TEXT, &run->pooling, false, false, ""},
                                       {0}};
    const step_option of_ranks[] = {{"ranks", OPTION_U32, &run->how.count, false, false, ""},
                                    {"devices", OPTION_TEXT, &run->how.devices, false, false, ""},
                                    {0}};
    const step_option of_shares[] = {
        {"simulate-ranks", OPTION_U32, &run->how.simulated, false, false, ""},
        {"shares", OPTION_U32, &run->how.shares, false, false, ""},
        {0}};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (!strcmp(word, "-h"))
            word = "--help";
        if (strncmp(word, "--", 2)) {
            if (!operand || *operand)
                return gb_fail(status, GB_USAGE, NULL, "see --help", "%s: unexpected \"%s\"",
                               argv[0], word);
            *operand = word;
            continue;
        }
        const step_option *o = find_option(run->options, word + 2);
        o = o ? o : find_option(common, word + 2);
        o = o || !run->encodes ? o : find_option(of_encoders, word + 2);
        o = o || !takes_ranks(run) ? o : find_option(of_ranks, word + 2);
        o = o || !run->trains ? o : find_option(of_shares, word + 2);
        if (!o)
            return gb_fail(status, GB_USAGE, NULL, "see --help", "%s: no option %s", argv[0], word);
        if (o->kind != OPTION_FLAG && i + 1 == argc)
            return gb_fail(status, GB_USAGE, NULL, "see --help", "%s: %s needs a value", argv[0],
                           word);
        if (!set_option(o, o->kind == OPTION_FLAG ? "" : argv[++i], status))
            return false;
    }
    if (run->pooling && strcmp(run->pooling, "cls") && strcmp(run->pooling, "mean"))
        return gb_fail(status, GB_USAGE, NULL, "cls or mean", "%s: unknown --pooling %.40s",
                       argv[0], run->pooling);
    for (const step_option *o = run->options; o->name && !run->help; o++)
        if (missing(o))
            return gb_fail(status, GB_USAGE, NULL, "see --help", "%s: --%s is needed", argv[0],
                           o->name);
    return true;
}

static json_t *setting_of(const step_option *o)
{
    switch (o->kind) {
    case OPTION_TEXT:
        return *(const char **)o->value ? json_string(*(const char **)o->value) : json_null();
    case OPTION_U32:
        return json_integer(*(uint32_t *)o->value);
    case OPTION_U64:
        return json_integer((json_int_t) * (uint64_t *)o->value);
    case OPTION_FLAG:
        return json_boolean(*(bool *)o->value);
    default:
        return json_real(*(double *)o->value);
    }
}

/* Whether an option has the value that it had before options were read. */
static bool has_default(const step_run *run, const step_option *o)
{
    json_t *now = setting_of(o);
    bool same = json_equal(now, json_object_get(run->defaults, o->name));
    json_decref(now);
    return same;
}

bool step_parse(step_run *run, int argc, char **argv, const char *usage, const char **operand,
                int *exit_code, gb_status *status)
{
    run->environment = gb_config_read();
    run->config = &run->environment;
    run->defaults = json_object();
    for (const step_option *o = run->options; o->name; o++)
        if (!o->step)
            json_object_set_new(run->defaults, o->name, setting_of(o));
    if (!parse(run, argc, argv, operand, status)) {
        *exit_code = step_close(run, status);
        return false;
    }
    if (run->help) {
        print_help(run, usage);
        *exit_code = 0;
        json_decref(run->defaults);
        return false;
    }
    run->flags = (run->trains ? GB_MAKES_TRAINING : 0) | (run->divides ? GB_MAKES_DIVIDED : 0);
    if (run->quiet)
        gb_log_set_level(GB_LOG_WARN);
    gb_install_signals();
    if (takes_ranks(run) && !step_ranks_join(run, argv, status)) {
        *exit_code = step_close(run, status);
        return false;
    }
    return true;
}

/* ---- the step ---- */

static json_t *identity_of(const char *path, gb_status *status)
{
    char identity[GB_IDENTITY];
    return gb_identity(path, identity, status) ? json_string(identity) : NULL;
}

static bool add_input(json_t *inputs, const step_option *o, gb_status *status)
{
    json_t *value = NULL;
    if (o->kind == OPTION_LIST) {
        const step_list *list = o->value;
        value = json_array();
        for (size_t i = 0; i < list->count; i++) {
            json_t *one = identity_of(list->items[i], status);
            if (!one) {
                json_decref(value);
                return false;
            }
            json_array_append_new(value, one);
        }
    } else {
        const char *path = *(const char **)o->value;
        if (!path)
            return true;
        if (!(value = identity_of(path, status)))
            return false;
    }
    return json_object_set_new(inputs, o->name, value) == 0 ||
           gb_fail_memory(status, "noting inputs");
}

/* Of the kernels that the step may use on its device. */
static bool hash_kernels(const step_run *run, char kernels[GB_HASH_SIZE], gb_status *status)
{
    gb_device_params params = gb_ops_device(run->config, run->device_name);
    gb_device_caps caps;
    char sets[STEP_SETS + 16];
    const char *own = run->shader_set ? run->shader_set : "";
    if (!gb_device_find(&params, &caps, status))
        return false;
    static const char *const of_precision[] = {"", "matrix,scaled", "bfloat16"};
    const char *matrices = of_precision[caps.precision];
    snprintf(sets, sizeof sets, "%s%s%s", own, *own && *matrices ? "," : "", matrices);
    gb_shaders_hash(sets, kernels);
    return true;
}

static bool add_setting(json_t *settings, const step_option *o, gb_status *status)
{
    const char *text = o->kind == OPTION_TEXT ? *(const char **)o->value : NULL;
    if (text && !gb_utf8_valid(text, strlen(text)))
        return gb_fail(status, GB_USAGE, NULL, "give it in UTF-8", "--%s is no valid UTF-8",
                       o->name);
    return json_object_set_new(settings, o->name, setting_of(o)) == 0 ||
           gb_fail_memory(status, "noting settings");
}

bool step_begin(step_run *run, uint32_t version, bool on_device, json_t *extra, gb_status *status)
{
    json_t *settings = extra ? extra : json_object(), *inputs = json_object();
    bool ok = (settings && inputs) || gb_fail_memory(status, "noting settings");
    if (ok && run->cost)
        ok = gb_fail(status, GB_USAGE, NULL, NULL, "%s has no --cost", run->kind);
    for (const step_option *o = run->options; ok && o->name; o++) {
        if (o->step)
            ok = add_input(inputs, o, status);
        else if (!json_object_get(settings, o->name) &&
                 !((o->later || run->said_alone) && has_default(run, o)))
            ok = add_setting(settings, o, status);
    }
    if (ok && run->pooling)
        ok = json_object_set_new(settings, "pooling", json_string(run->pooling)) == 0 ||
             gb_fail_memory(status, "noting settings");
    if (ok && run->how.shares)
        ok = json_object_set_new(settings, "shares", json_integer(run->how.shares)) == 0 ||
             gb_fail_memory(status, "noting settings");
    char kernels[GB_HASH_SIZE], *device = NULL;
    if (ok && on_device) {
        gb_device_params params = gb_ops_device(run->config, run->device_name);
        ok = gb_device_ready(run->config, run->device_name, status) &&
             hash_kernels(run, kernels, status) &&
             (device = gb_device_identity(&params, status)) != NULL;
    }
    if (ok && !run->store && step_leads(run))
        ok = maker_open_store(run, status);
    if (ok && step_leads(run)) {
        gb_step_desc desc = {.kind = run->kind,
                             .version = version,
                             .settings = settings,
                             .inputs = inputs,
                             .kernels = device ? kernels : NULL,
                             .device = device,
                             .no_wait = run->no_wait};
        ok = (run->step = gb_step_begin(run->store, &desc, status)) != NULL;
    }
    ok = step_ranks_begun(run, device, status) && ok;
    json_decref(settings);
    json_decref(inputs);
    free(device);
    return ok;
}

bool step_end(step_run *run, const json_t *facts, gb_status *status)
{
    if (!step_leads(run))
        return true;
    bool ok = gb_step_done(run->step) || gb_step_finish(run->step, facts, status);
    if (ok) {
        printf("%s\n", gb_step_path(run->step));
        if (run->profile && run->device)
            gb_profile_print(run->device, stderr);
    }
    return ok;
}

int step_close(step_run *run, const gb_status *status)
{
    gb_step_close(run->step);
    gb_store_close(run->store);
    gb_device_close(run->device);
    json_decref(run->defaults);
    step_ranks_close(run, status);
    return status->code;
}

json_t *step_times(double seconds)
{
    return json_pack("{s:f}", "work_s", seconds);
}

bool step_memory_check(const step_memory *memory, const step_run *run, bool dropout,
                       const char *set, char *sets, gb_status *status)
{
    bool parts = (memory->micro_batch || run->how.shares) &&
                 dropout; /* without dropout a part needs no kernel of its own */
    snprintf(sets, STEP_SETS, "%s%s%s", set ? set : "", set && parts ? "," : "",
             parts ? "parts" : "");
    return !strcmp(memory->recompute, "none") || !strcmp(memory->recompute, "layers") ||
           gb_fail(status, GB_USAGE, NULL, NULL, "--recompute is none or layers");
}

void step_memory_apply(const step_memory *memory, const step_run *run, gb_train_params *params)
{
    params->shares = run->how.shares;
    params->ranks = run->ranks;
    params->micro_batch = memory->micro_batch;
    params->recompute = !strcmp(memory->recompute, "layers");
}

void step_memory_facts(const step_memory *memory, const gb_train_result *result, json_t *facts)
{
    if (!memory->micro_batch && !strcmp(memory->recompute, "none"))
        return;
    gb_log(GB_LOG_INFO, "activations take %.2f MiB on the device, parts of a batch: %u",
           (double)result->arena_bytes / (1 << 20), result->parts);
    json_object_set_new(facts, "memory",
                        json_pack("{s:I, s:I}", "activation_bytes", (json_int_t)result->arena_bytes,
                                  "parts", (json_int_t)result->parts));
}

json_t *step_train_times(const gb_train_result *result)
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
    step_say_padding(times, result->rows_used, result->rows_computed);
    return times;
}

bool step_train_cost(const gb_task *task, const gb_train_params *params, uint32_t batch,
                     uint32_t part, gb_status *status)
{
    gb_train_cost cost;
    if (!gb_train_estimate(task, params, 2, &cost, status))
        return false;
    double texts = (double)cost.texts * batch / part, at_once = batch;
    bool cut = params->micro_batch && params->micro_batch < texts;
    if (cut)
        at_once *= params->micro_batch / texts;
    if ((cut || params->shares) && task->cut.vectors)
        cost.flops *= 4. / 3; /* vectors first, forward only */
    printf("steps=%u batch=%u part=%u flops=%.6g update_flops=%.6g activation_bytes=%.0f "
           "parameter_bytes=%llu\n",
           params->schedule.steps, batch, part, cost.flops * batch / part, cost.update_flops,
           (double)cost.activation_bytes * at_once / part,
           (unsigned long long)cost.parameter_bytes);
    return true;
}

json_t *step_device_facts(step_run *run)
{
    const gb_device_caps *caps = gb_device_get_caps(run->device);
    return json_pack("{s:s, s:s, s:s}", "driver", caps->driver, "device", caps->name, "profile",
                     gb_kernel_profile_name(caps->profile));
}
