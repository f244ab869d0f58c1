/* `gabbro pretrain --in-turns-with`: what a step of several objectives takes, or of one with
 * several contexts ("cocondenser:query"), a step each in turn. */
#include "in_turns.h"
#include "pretrain.h"

#include <gabbro/store.h>

#include <stdlib.h>
#include <string.h>

/* Each training is lent while its caller waits for `use`, so they are asked for one inside another.
 */
typedef struct turns {
    step_run *run;                    /* whose device and folder it is */
    int argc;                         /* the command */
    char **argv;                      /* its words [argc] */
    char **objective, **context;      /* those of them that are replaced; context may be NULL */
    const char *names[IN_TURNS_MOST]; /* "OBJECTIVE" or "OBJECTIVE:CONTEXT" */
    char words[IN_TURNS_MOST][32];    /* the objectives alone */
    char *first_context;              /* of the command */
    gb_training all[IN_TURNS_MOST];   /* of them, those that are there */
    uint32_t count, there;            /* objectives, and trainings */
    int code;                         /* of what failed; why is printed */
} turns;

static json_t *numbers(const gb_step_time *times, uint32_t steps, uint32_t count, bool data)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < steps; i++, times += count)
        json_array_append_new(list, json_real(data ? times->data_s : times->step_s));
    return list;
}

static bool write_times(const turns *t, const gb_step_time *times, uint32_t steps,
                        gb_status *status)
{
    json_t *all = json_object();
    bool whole = true;
    for (uint32_t i = 0; i < t->count; i++) {
        json_t *of = json_pack("{s:o, s:o}", "data_s", numbers(times + i, steps, t->count, true),
                               "step_s", numbers(times + i, steps, t->count, false));
        whole = json_object_set_new(all, t->names[i], of) == 0 && whole;
    }
    char *path = step_file(t->run, IN_TURNS_FILE, status);
    bool ok = path && gb_json_save(whole ? all : NULL, GB_JSON_FILE, path, status);
    free(path);
    json_decref(all);
    return ok;
}

static bool measure(turns *t, gb_status *status)
{
    uint32_t steps = t->all[0].params->schedule.steps;
    double start_s = gb_now_s();
    gb_device *device = step_device(t->run, status);
    gb_step_time *times = gb_alloc((size_t)steps * t->count, sizeof *times, status);
    bool ok = device && times && gb_train_in_turns(device, t->all, t->count, times, status) &&
              write_times(t, times, steps, status);
    if (ok) {
        json_t *facts = step_device_facts(t->run);
        json_object_set_new(facts, "times", step_times(gb_now_s() - start_s));
        ok = step_end(t->run, facts, status);
        json_decref(facts);
    }
    free(times);
    return ok;
}

static bool take(void *self, const gb_training *lent, gb_status *status);
static void ask(turns *t)
{
    int code = pretrain_open(t->argc, t->argv, take, t);
    if (!t->code)
        t->code = code;
}

/* Puts a name's objective and context into the command. */
static bool choose(turns *t, uint32_t which, gb_status *status)
{
    const char *name = t->names[which], *colon = strchr(name, ':');
    int length = colon ? (int)(colon - name) : (int)strlen(name);
    if (colon && !t->context)
        return gb_fail(status, GB_USAGE, "--in-turns-with", "give --context too",
                       "\"%s\" replaces a context that the command does not have", name);
    snprintf(t->words[which], sizeof t->words[which], "%.*s", length, name);
    *t->objective = t->words[which];
    if (t->context)
        *t->context = colon ? (char *)colon + 1 : t->first_context;
    return true;
}

/* One more training is there: ask for the next, or measure. */
static bool take(void *self, const gb_training *lent, gb_status *status)
{
    turns *t = self;
    t->all[t->there++] = *lent;
    if (t->there == t->count)
        return measure(t, status);
    if (!choose(t, t->there, status))
        return false;
    ask(t);
    return true;
}

/* names point into `list`, which is cut apart. */
static bool read_names(turns *t, const char *first, char *list, gb_status *status)
{
    t->names[t->count++] = first;
    for (char *rest, *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (t->count == IN_TURNS_MOST)
            return gb_fail(status, GB_USAGE, "--in-turns-with", NULL, "more than %d objectives",
                           IN_TURNS_MOST - 1);
        for (uint32_t i = 0; i < t->count; i++)
            if (!strcmp(t->names[i], name))
                return gb_fail(status, GB_USAGE, "--in-turns-with", NULL, "%s is there twice",
                               name);
        t->names[t->count++] = name;
    }
    return true;
}

int in_turns(step_run *run, int argc, char **argv, const char *first, const char *others,
             gb_status *status)
{
    turns t = {.run = run, .argc = argc};
    t.argv = gb_alloc((size_t)argc + 1, sizeof *t.argv, status);
    char *list = t.argv ? gb_strdup(others, status) : NULL;
    bool ok = list && read_names(&t, first, list, status);
    if (ok && run->ranks)
        ok = gb_fail(status, GB_USAGE, "--in-turns-with", "leave --ranks out",
                     "the times are those of one device");
    for (int i = 0; ok && i < argc; i++) {
        t.argv[i] = argv[i];
        if (argv[i] == first)
            t.objective = &t.argv[i];
        if (i && !strcmp(argv[i - 1], "--context")) {
            t.context = &t.argv[i];
            t.first_context = argv[i];
        }
    }
    if (ok)
        ask(&t);
    free(list);
    free(t.argv);
    return t.code;
}
