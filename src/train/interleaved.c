/* What a step of several pre-trainings takes, a step of each in turn. */
#include "step_times.h"

#include <stdlib.h>
#include <string.h>

/* Several pre-trainings that differ in their objective or its context. */
typedef struct interleaved {
    gb_pretraining_settings settings[INTERLEAVED_MAX]; /* of each */
    const char *names[INTERLEAVED_MAX];                /* "OBJECTIVE" or "OBJECTIVE:CONTEXT" */
    char objectives[INTERLEAVED_MAX][32];              /* the first part of the names */
    gb_pretraining *open[INTERLEAVED_MAX];             /* of each, or NULL */
    gb_training trainings[INTERLEAVED_MAX];            /* what they train */
    uint32_t count;                                    /* how many */
    char *list;                                        /* that names point into */
} interleaved;

/* ---- names ---- */

/* The settings of a name: those of the first with another objective, and perhaps context. */
static bool settings_of(interleaved *t, uint32_t which, const gb_pretraining_settings *first,
                        gb_status *status)
{
    const char *name = t->names[which], *colon = strchr(name, ':');
    gb_pretraining_settings *own = &t->settings[which];
    snprintf(t->objectives[which], sizeof t->objectives[which], "%.*s", (int)strcspn(name, ":"),
             name);
    *own = *first;
    own->objective = t->objectives[which];
    if (colon && first->params.context == GB_CONTEXT_NONE)
        return gb_fail(status, GB_USAGE, "--interleave-with", "give --context too",
                       "\"%s\" replaces a context that the command does not have", name);
    if (colon && !train_context(colon + 1, &own->params.context))
        return gb_fail(status, GB_USAGE, "--interleave-with", "see --help", "no context \"%s\"",
                       colon + 1);
    if (!gb_pretraining_check(own, status))
        return false;
    return (gb_pretraining_objective(own) && own->steps) ||
           gb_fail(status, GB_USAGE, NULL, NULL, "pretrain %s trains nothing", own->objective);
}

static bool add_name(interleaved *t, const char *name, gb_status *status)
{
    if (t->count == INTERLEAVED_MAX)
        return gb_fail(status, GB_USAGE, "--interleave-with", NULL, "more than %d objectives",
                       INTERLEAVED_MAX - 1);
    for (uint32_t i = 0; i < t->count; i++)
        if (!strcmp(t->names[i], name))
            return gb_fail(status, GB_USAGE, "--interleave-with", NULL, "%s is there twice", name);
    t->names[t->count++] = name;
    return true;
}

static bool read_names(interleaved *t, const gb_pretraining_settings *first, const char *others,
                       gb_status *status)
{
    *t = (interleaved){.list = gb_strdup(others, status)};
    bool ok = t->list && add_name(t, first->objective, status);
    char *rest = t->list;
    for (char *name; ok && (name = gb_take_field(&rest, ","));)
        ok = !*name || add_name(t, name, status);
    for (uint32_t i = 0; ok && i < t->count; i++)
        ok = settings_of(t, i, first, status);
    return ok;
}

bool gb_pretrain_interleaved_check(const gb_pretraining_settings *settings, const char *others,
                                   gb_option_table tables[GB_PRETRAINING_TABLES + 1],
                                   gb_status *status)
{
    interleaved *t = gb_alloc(1, sizeof *t, status);
    bool ok = t && read_names(t, settings, others, status);
    for (uint32_t i = 0; ok && i < t->count; i++)
        gb_pretraining_note(tables, t->objectives[i]);
    if (t)
        free(t->list);
    free(t);
    return ok;
}

/* ---- trainings ---- */

static bool open_all(interleaved *t, gb_device *device, gb_status *status)
{
    for (uint32_t i = 0; i < t->count; i++) {
        t->open[i] = gb_pretraining_open(&t->settings[i], status);
        if (!t->open[i] || !gb_pretraining_prepare(t->open[i], device, status))
            return false;
        t->trainings[i] = *gb_pretraining_training(t->open[i]);
    }
    return true;
}

static void close_all(interleaved *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        gb_pretraining_close(t->open[i]);
    free(t->list);
}

/* ---- times ---- */

static json_t *numbers(const gb_step_time *times, uint32_t steps, uint32_t count, bool data)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < steps; i++, times += count)
        json_array_append_new(list, json_real(data ? times->data_s : times->step_s));
    return list;
}

static bool write_times(const gb_maker *maker, const interleaved *t, const gb_step_time *times,
                        gb_status *status)
{
    uint32_t steps = t->settings[0].steps;
    json_t *all = json_object();
    bool whole = true;
    for (uint32_t i = 0; i < t->count; i++) {
        json_t *of = json_pack("{s:o, s:o}", "data_s", numbers(times + i, steps, t->count, true),
                               "step_s", numbers(times + i, steps, t->count, false));
        whole = json_object_set_new(all, t->names[i], of) == 0 && whole;
    }
    char *path = gb_maker_file(maker, STEP_TIMES_FILE, status);
    bool ok = path && gb_json_save(whole ? all : NULL, GB_JSON_FILE, path, status);
    free(path);
    json_decref(all);
    return ok;
}

bool gb_pretrain_interleaved(gb_maker *maker, const gb_pretraining_settings *settings,
                             const char *others, gb_status *status)
{
    interleaved *t = gb_alloc(1, sizeof *t, status);
    gb_device *device = t ? gb_maker_device(maker, status) : NULL;
    gb_step_time *times = NULL;
    bool ok = device && read_names(t, settings, others, status) && open_all(t, device, status);
    if (ok)
        times = gb_alloc((size_t)settings->steps * t->count, sizeof *times, status);
    ok = times && gb_train_interleaved(device, t->trainings, t->count, times, status) &&
         write_times(maker, t, times, status);
    if (t)
        close_all(t);
    free(times);
    free(t);
    return ok;
}
