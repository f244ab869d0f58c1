/* What decides an artifact: its settings, its inputs, the kernels and the device. */
#include "private.h"
#include <gabbro/artifact.h>
#include <gabbro/diag.h>

#include <stdlib.h>
#include <string.h>

const char *experiment_maker_kind(const gb_maker *maker)
{
    return maker->params->kind ? maker->params->kind : maker->params->command->name;
}

bool experiment_maker_done(const gb_maker *maker)
{
    return maker->ranks ? maker->there : gb_artifact_done(maker->step);
}

static json_t *identity_of(const char *path, gb_status *status)
{
    char identity[GB_IDENTITY];
    if (!gb_identity(path, identity, status))
        return NULL;
    json_t *name = json_string(identity);
    if (!name)
        gb_fail_memory(status, "noting inputs");
    return name;
}

static json_t *identities_of(const gb_words *paths, gb_status *status)
{
    json_t *list = json_array();
    bool ok = list != NULL || gb_fail_memory(status, "noting inputs");
    for (size_t i = 0; ok && i < paths->count; i++) {
        json_t *one = identity_of(paths->items[i], status);
        ok = one &&
             (json_array_append_new(list, one) == 0 || gb_fail_memory(status, "noting inputs"));
    }
    if (ok)
        return list;
    json_decref(list);
    return NULL;
}

/* Inputs that were not given are left out. */
static bool add_input(json_t *inputs, const gb_option *option, gb_status *status)
{
    const char *path = option->kind == GB_OPTION_TEXT ? *(const char **)option->value : NULL;
    if (option->kind == GB_OPTION_TEXT && !path)
        return true;
    if (option->kind == GB_OPTION_LIST && !((const gb_words *)option->value)->count)
        return true;
    json_t *value = option->kind == GB_OPTION_LIST ? identities_of(option->value, status)
                                                   : identity_of(path, status);
    return value && (json_object_set_new(inputs, option->name, value) == 0 ||
                     gb_fail_memory(status, "noting inputs"));
}

bool gb_maker_note(gb_maker *maker, const char *name, const char *text, gb_status *status)
{
    return json_object_set_new(maker->settings, name, json_string(text)) == 0 ||
           gb_fail_memory(status, "noting settings");
}

/* A model whose vectors are scaled although no module of it does so: earlier programs did not. */
static bool add_similarity(gb_maker *maker, const gb_option *option, gb_status *status)
{
    if (!(maker->params->flags & GB_MAKES_ENCODING) || option->kind != GB_OPTION_TEXT ||
        !*(const char **)option->value || !gb_model_is_rescaled(*(const char **)option->value))
        return true;
    return gb_maker_note(maker, "similarity", "cosine", status);
}

/* Notes the option's value, and whether it is the default. */
static bool add_setting(const gb_maker *maker, const gb_option *option, gb_status *status)
{
    if (json_object_get(maker->settings, option->name))
        return true;
    json_t *value = gb_option_value(option, status);
    bool initial = value && json_equal(value, experiment_maker_initial(maker, option, NULL));
    return value && ((json_object_set_new(maker->settings, option->name, value) == 0 &&
                      (!initial ||
                       json_array_append_new(maker->defaults, json_string(option->name)) == 0)) ||
                     gb_fail_memory(status, "noting settings"));
}

static bool collect(gb_maker *maker, json_t *inputs, gb_status *status)
{
    gb_option_table tables[MAKER_TABLES];
    bool ok = inputs != NULL || gb_fail_memory(status, "noting inputs");
    experiment_maker_tables(maker, tables);
    for (gb_option_walk walk = {0}; ok && gb_option_next(&walk, tables);) {
        if (walk.table->no_key || walk.option.flags & GB_OPTION_NO_KEY)
            continue;
        ok = walk.option.flags & GB_OPTION_INPUT ? add_input(inputs, &walk.option, status) &&
                                                       add_similarity(maker, &walk.option, status)
                                                 : add_setting(maker, &walk.option, status);
    }
    return ok;
}

/* Of the kernels that the artifact's device may use for it. */
static bool hash_kernels(const gb_maker *maker, char kernels[GB_HASH_SIZE], gb_status *status)
{
    static const uint32_t of_precision[] = {
        [GB_FP32] = 0, [GB_FP16] = GB_USER_FP16, [GB_BF16] = GB_USER_BF16};
    gb_device_params params = gb_ops_device(maker->config, maker->device_name);
    gb_device_caps caps;
    if (!gb_device_find(&params, &caps, status))
        return false;
    gb_shaders_hash(maker->kernels | of_precision[caps.precision], kernels);
    return true;
}

static bool open_store(gb_maker *maker, gb_status *status)
{
    char *root = gb_store_root_find(maker->config, maker->store_root, status);
    maker->store = root ? gb_store_open(root, status) : NULL;
    free(root);
    return maker->store != NULL;
}

bool experiment_maker_begin(gb_maker *maker, gb_status *status)
{
    json_t *inputs = json_object();
    char kernels[GB_HASH_SIZE], name[GB_ARTIFACT_NAME], *device = NULL;
    bool ok = collect(maker, inputs, status);
    if (ok && maker->kernels) {
        gb_device_params params = gb_ops_device(maker->config, maker->device_name);
        ok = gb_device_ready(maker->config, maker->device_name, status) &&
             hash_kernels(maker, kernels, status) &&
             (device = gb_device_identity(&params, status)) != NULL;
    }
    const gb_artifact_desc desc = {.kind = experiment_maker_kind(maker),
                                   .version = maker->version,
                                   .settings = maker->settings,
                                   .defaults = maker->defaults,
                                   .inputs = inputs,
                                   .kernels = device ? kernels : NULL,
                                   .device = device,
                                   .no_wait = maker->no_wait};
    ok = ok && (!maker->ranks || gb_artifact_name_of(&desc, name, status));
    if (ok && gb_maker_leads(maker)) {
        maker->step =
            open_store(maker, status) ? gb_artifact_begin(maker->store, &desc, status) : NULL;
        ok = maker->step != NULL;
    }
    ok = experiment_maker_ranks_begun(maker, device, name, status) && ok;
    json_decref(inputs);
    free(device);
    return ok;
}
