/* The way of a command that makes an artifact, from its options to the folder that it prints. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* ---- for the work ---- */

gb_device *gb_maker_device(gb_maker *maker, gb_status *status)
{
    if (!maker->device) {
        gb_device_params params = gb_ops_device(maker->config, maker->device_name);
        params.profile = maker->profile;
        if (maker->kernels) /* what the key does not cover cannot run */
            params.users = maker->kernels | GB_USER_FP16 | GB_USER_BF16;
        maker->device = gb_device_open(&params, status);
    }
    return maker->device;
}

const char *gb_maker_name(const gb_maker *maker)
{
    return gb_artifact_name(maker->step);
}

const char *gb_maker_folder(const gb_maker *maker)
{
    return maker->folder ? maker->folder : gb_artifact_path(maker->step);
}

char *gb_maker_file(const gb_maker *maker, const char *name, gb_status *status)
{
    return gb_path_join(status, gb_maker_folder(maker), name);
}

char *gb_maker_resume_file(const gb_maker *maker, const char *name, gb_status *status)
{
    char *folder = gb_maker_file(maker, "resume", status);
    char *path = folder && gb_make_dirs(folder, status) ? gb_path_join(status, folder, name) : NULL;
    free(folder);
    return path;
}

bool gb_maker_write_metrics(const gb_maker *maker, const json_t *metrics, gb_status *status)
{
    char *path = gb_maker_file(maker, "metrics.json", status);
    bool ok = path && gb_json_save(metrics, GB_JSON_FILE, path, status);
    free(path);
    return ok;
}

void gb_note_padding(json_t *times, uint64_t used, uint64_t computed)
{
    if (!computed)
        return;
    gb_log(GB_LOG_DEBUG, "padding: %.1f%% of %llu rows of tokens computed",
           100 * (double)(computed - used) / (double)computed, (unsigned long long)computed);
    json_object_set_new(times, "rows_used", json_integer((json_int_t)used));
    json_object_set_new(times, "rows_computed", json_integer((json_int_t)computed));
}

/* ---- the way ---- */

/* What is known of every artifact, where the work did not say more of it. */
static void complete_facts(const gb_maker *maker, double seconds)
{
    if (!json_object_get(maker->facts, "times"))
        json_object_set_new(maker->facts, "times", json_pack("{s:f}", "work_s", seconds));
    experiment_note_origin(maker->config, maker->device ? gb_device_get_caps(maker->device) : NULL,
                           maker->facts);
    if (!maker->device)
        return;
    const gb_device_caps *caps = gb_device_get_caps(maker->device);
    json_t *device = json_pack("{s:s, s:s, s:s}", "driver", caps->driver, "device", caps->name,
                               "profile", gb_kernel_profile_name(caps->profile));
    json_object_update_missing(maker->facts, device);
    json_decref(device);
}

/* Are the options good? */
static bool check(gb_maker *maker, gb_status *status)
{
    const gb_make_params *params = maker->params;
    return (!params->check || params->check(maker, params->self, status)) &&
           experiment_maker_check_chosen(maker, status);
}

/* Make the artifact unless it is there. */
static bool find_or_make(gb_maker *maker, gb_status *status)
{
    const gb_make_params *params = maker->params;
    double start_s = gb_now_s();
    if (!experiment_maker_begin(maker, status))
        return false;
    if (experiment_maker_done(maker))
        return true;
    if (!params->make(maker, params->self, status))
        return false;
    complete_facts(maker, gb_now_s() - start_s);
    return !gb_maker_leads(maker) || gb_artifact_finish(maker->step, maker->facts, status);
}

/* The same, and print where it is. */
static bool make(gb_maker *maker, gb_status *status)
{
    const gb_make_params *params = maker->params;
    if (!find_or_make(maker, status))
        return false;
    if (!gb_maker_leads(maker))
        return true;
    if (!(maker->flags & GB_MAKES_UNSEEN))
        printf("%s\n", gb_maker_folder(maker));
    if (maker->profile && maker->device)
        gb_timing_print(maker->device, stderr);
    return !params->after || params->after(maker, params->self, status);
}

static bool run(gb_maker *maker, char **argv, gb_status *status)
{
    const gb_make_params *params = maker->params;
    if (!experiment_maker_find_models(maker, status))
        return false;
    if (maker->quiet)
        gb_log_set_level(GB_LOG_WARN);
    gb_install_signals();
    if (!maker->settings || !maker->initial || !maker->defaults || !maker->facts)
        return gb_fail_memory(status, "noting settings");
    if (maker->flags & (GB_MAKES_DIVIDED | GB_MAKES_TRAINING) &&
        !experiment_maker_ranks_join(maker, argv, status))
        return false;
    if (!check(maker, status))
        return false;
    if (maker->over)
        return true;
    return maker->cost ? params->cost(maker, params->self, status) : make(maker, status);
}

/* Are the options good? Inputs need not be there yet, so what is wrong with files is left to the
 * command when it runs. */
static void look(gb_maker *maker, gb_status *status)
{
    if (!check(maker, status) && status->code == GB_DATA)
        *status = (gb_status){0};
}

static gb_maker begin(const gb_make_params *params, const gb_config *config)
{
    return (gb_maker){.params = params,
                      .config = config,
                      .version = params->version,
                      .flags = params->flags,
                      .kernels = params->kernels,
                      .settings = json_object(),
                      .initial = json_object(),
                      .defaults = json_array(),
                      .facts = json_object()};
}

static void end(gb_maker *maker)
{
    gb_artifact_close(maker->step);
    gb_store_close(maker->store);
    gb_device_close(maker->device);
    json_decref(maker->settings);
    json_decref(maker->initial);
    json_decref(maker->defaults);
    json_decref(maker->facts);
    while (maker->model_count)
        free(maker->models[--maker->model_count]);
}

int gb_make(const gb_make_params *params, const gb_call *call)
{
    gb_status status = {0};
    gb_maker maker = begin(params, call->config);
    bool parsed = experiment_maker_parse(&maker, call->argc, call->argv, &status) == GB_PARSED_RUN;
    if (parsed && call->refused)
        look(&maker, &status);
    else if (parsed)
        run(&maker, call->argv, &status);
    end(&maker);
    if (call->refused) {
        *call->refused = status;
        return (int)status.code;
    }
    experiment_maker_ranks_close(&maker, &status);
    return (int)status.code;
}

bool gb_make_artifact(const gb_make_params *params, const gb_making *how, char **folder,
                      gb_status *status)
{
    gb_maker maker = begin(params, how->config);
    bool ok = (maker.settings && maker.initial && maker.defaults && maker.facts) ||
              gb_fail_memory(status, "noting settings");
    experiment_maker_pool(&maker, NULL);
    ok = ok && experiment_maker_note_initial(&maker, status);
    maker.store_root = how->store;
    maker.device_name = how->device;
    experiment_maker_pool(&maker, how->pooling);
    ok = ok && find_or_make(&maker, status) &&
         (*folder = gb_strdup(gb_maker_folder(&maker), status));
    end(&maker);
    return ok;
}
