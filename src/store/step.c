/* The life of an artifact: it is found in the store, or locked, made and put into place. */
#include "store.h"
#include <gabbro/os.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gb_artifact {
    char name[GB_ARTIFACT_NAME]; /* kind-key */
    json_t *desc;                /* description, as hashed */
    char *root;                  /* the store's folder */
    char *final;                 /* where the finished artifact stands */
    char *work;                  /* where it is made */
    char *lock_path;             /* its lock */
    int lock;                    /* descriptor of the held lock, or -1 */
    bool done;                   /* finished, here or earlier */
    bool resumed;                /* work was there at the beginning */
    double start_s;              /* when the work began */
};

void gb_artifact_close(gb_artifact *step)
{
    if (!step)
        return;
    if (step->lock >= 0 && !step->done && step->work)
        gb_os_remove(step->work); /* only where nothing was begun: a folder with files stays */
    if (step->lock >= 0)          /* the file stays: it marks the work folder's name as taken */
        close(step->lock);
    json_decref(step->desc);
    free(step->root);
    free(step->final);
    free(step->work);
    free(step->lock_path);
    free(step);
}

bool gb_artifact_done(const gb_artifact *step)
{
    return step->done;
}

const char *gb_artifact_name(const gb_artifact *step)
{
    return step->name;
}

const char *gb_artifact_path(const gb_artifact *step)
{
    return step->done ? step->final : step->work;
}

static bool name_of(const json_t *desc, const char *kind, char name[GB_ARTIFACT_NAME],
                    gb_status *status)
{
    char key[GB_ARTIFACT_KEY];
    bool ok = desc && store_desc_key(desc, key, status);
    if (ok)
        snprintf(name, GB_ARTIFACT_NAME, "%s-%s", kind, key);
    return ok;
}

bool gb_artifact_name_of(const gb_artifact_desc *desc, char name[GB_ARTIFACT_NAME],
                         gb_status *status)
{
    json_t *json = store_desc_to_json(desc, status);
    bool ok = name_of(json, desc->kind, name, status);
    json_decref(json);
    return ok;
}

static gb_artifact *step_create(gb_store *store, const gb_artifact_desc *desc, gb_status *status)
{
    gb_artifact *step = gb_alloc(1, sizeof *step, status);
    if (!step)
        return NULL;
    step->lock = -1;
    step->desc = store_desc_to_json(desc, status);
    bool ok = name_of(step->desc, desc->kind, step->name, status) &&
              (step->root = gb_strdup(store->root, status)) &&
              (step->final = gb_path_join(status, store->root, step->name)) &&
              (step->work = gb_path_join(status, store->work, step->name)) &&
              (step->lock_path = gb_format(status, "%s.lock", step->work));
    if (!ok) {
        gb_artifact_close(step);
        return NULL;
    }
    return step;
}

static bool is_complete(const char *folder, const char *name, bool *damaged, gb_status *status)
{
    json_t *run = store_run_read(folder, name, damaged, status);
    json_decref(run);
    return run != NULL;
}

/* From work to final. What a kill leaves at any point in here is either a complete work folder,
 * which the next attempt publishes, or the finished artifact. */
static bool publish(gb_artifact *step, gb_status *status)
{
    char *resume = gb_path_join(status, step->work, RESUME_FOLDER);
    bool ok = resume && gb_remove_tree(resume, status) && store_sync(step->work, status);
    free(resume);
    if (ok && GB_TRY_CALL(gb_os_rename(step->work, step->final)) != 0)
        ok = gb_fail(status, GB_DATA, step->final, "check the store's permissions",
                     "cannot put the step into place: %s", strerror(errno));
    ok = ok && store_sync(step->root, status);
    if (ok) {
        step->done = true;
        store_lock_drop(step->lock_path, step->lock);
        step->lock = -1;
    }
    return ok;
}

/* A finished-looking folder that is not whole must not be taken for a result, nor be resumed. */
static bool remove_damaged(gb_artifact *step, const gb_status *why, gb_status *status)
{
    gb_log(GB_LOG_WARN, "%s is damaged and is made again: %s: %s", step->name, why->where,
           why->what);
    char *aside = gb_format(status, "%s.damaged", step->work);
    bool ok = aside && gb_remove_tree(aside, status);
    if (ok && GB_TRY_CALL(gb_os_rename(step->final, aside)) != 0)
        ok = gb_fail(status, GB_DATA, step->final, "remove it by hand",
                     "cannot move the damaged artifact aside: %s", strerror(errno));
    ok = ok && gb_remove_tree(aside, status);
    free(aside);
    return ok;
}

/* With the lock held: make the work folder ready, or finish what a killed process nearly did. */
static bool prepare_work(gb_artifact *step, gb_status *status)
{
    gb_status why = {0};
    bool damaged;
    if (is_complete(step->final, step->name, &damaged, &why)) { /* made while we waited */
        step->done = true;
        store_lock_drop(step->lock_path, step->lock);
        step->lock = -1;
        return true;
    }
    if (!damaged) { /* nothing is known of the step: it may be whole */
        if (status)
            *status = why;
        return false;
    }
    if (gb_dir_exists(step->final) && !remove_damaged(step, &why, status))
        return false;
    step->resumed = gb_dir_exists(step->work);
    if (!step->resumed)
        return gb_make_dirs(step->work, status);
    if (!store_remove_drafts(step->work, status))
        return false;
    if (is_complete(step->work, step->name, NULL, NULL))
        return publish(step, status);
    return true;
}

gb_artifact *gb_artifact_begin(gb_store *store, const gb_artifact_desc *desc, gb_status *status)
{
    gb_artifact *step = step_create(store, desc, status);
    if (!step)
        return NULL;
    step->start_s = gb_now_s();
    if (is_complete(step->final, step->name, NULL, NULL)) {
        step->done = true;
        return step;
    }
    bool waited;
    gb_status failed = {0};
    if (!gb_make_dirs(store->work, status)) { /* a store that is only read stays as it is */
        gb_artifact_close(step);
        return NULL;
    }
    step->lock = store_lock_take(step->lock_path, !desc->no_wait, &waited, &failed);
    if (step->lock < 0 && failed.code == GB_OK)
        gb_fail(&failed, GB_BUSY, step->name, NULL, "another process makes this artifact");
    if (step->lock < 0 && status)
        *status = failed;
    if (step->lock < 0 || !prepare_work(step, status)) {
        gb_artifact_close(step);
        return NULL;
    }
    step->start_s = gb_now_s();
    return step;
}

static json_t *times_of(const gb_artifact *step, const json_t *facts)
{
    char date[GB_DATE];
    gb_date_now(date);
    json_t *given = json_object_get(facts, "times");
    json_t *times = json_is_object(given) ? json_deep_copy(given) : json_object();
    json_object_set_new(times, "finished", json_string(date));
    json_object_set_new(times, "wall_s", json_real(gb_now_s() - step->start_s));
    json_object_set_new(times, "resumed", json_boolean(step->resumed));
    uint64_t peak =
        gb_os_peak_bytes(); /* beside the times: it is no more the same twice than they are */
    if (peak)
        json_object_set_new(times, "peak_resident_bytes", json_integer((json_int_t)peak));
    return times;
}

/* The whole record; takes over the reference to outputs. */
static json_t *run_of(const gb_artifact *step, const json_t *facts, json_t *outputs)
{
    json_t *run = json_deep_copy(step->desc);
    json_t *rest = facts ? json_deep_copy(facts) : json_object();
    json_object_del(rest, "times");
    int bad = json_object_set_new(run, "format", json_integer(1)) |
              json_object_set_new(run, "step", json_string(step->name)) |
              json_object_set_new(run, "program", json_string("gabbro " GABBRO_VERSION)) |
              json_object_set_new(run, "facts", rest) |
              json_object_set_new(run, "outputs", outputs) |
              json_object_set_new(run, "times", times_of(step, facts));
    if (bad) {
        json_decref(run);
        return NULL;
    }
    return run;
}

bool gb_artifact_finish(gb_artifact *step, const json_t *facts, gb_status *status)
{
    if (step->done)
        return true;
    if (facts && !json_is_object(facts))
        return gb_fail(status, GB_INTERNAL, step->name, NULL, "a step's facts must be an object");
    json_t *outputs = store_outputs_collect(step->work, status);
    if (!outputs)
        return false;
    json_t *run = run_of(step, facts, outputs);
    bool ok =
        gb_json_save_in(run, GB_JSON_FILE, step->work, RUN_FILE, status) && publish(step, status);
    json_decref(run);
    return ok;
}
