/* Store module: keys, hits and misses, what kills leave, damage, two processes on one step. */
#include "gabbro/store.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[64];    /* store of the running test */
static gb_store *store;  /* opened at root */
static json_t *settings; /* of the step that most tests make */

static void setup(void)
{
    gb_log_set_level(GB_LOG_ERROR);
    snprintf(root, sizeof root, "/tmp/gabbro-store-XXXXXX");
    cr_assert(mkdtemp(root));
    gb_status status = {0};
    store = gb_store_open(root, &status);
    cr_assert(store, "%s", status.what);
    settings = json_pack("{s:i, s:f, s:s}", "steps", 600, "rate", 0.003, "context", "query");
}

static void teardown(void)
{
    json_decref(settings);
    gb_store_close(store);
    gb_remove_tree(root, NULL);
}

static gb_artifact *begin(void)
{
    gb_status status = {0};
    gb_artifact_desc desc = {.kind = "pretrain", .version = 2, .settings = settings};
    gb_artifact *step = gb_artifact_begin(store, &desc, &status);
    cr_assert(step, "%s: %s", status.where, status.what);
    return step;
}

static void put(const char *folder, const char *name, const char *text)
{
    gb_status status = {0};
    char *path = gb_path_join(NULL, folder, name);
    cr_assert(gb_write_file(path, text, strlen(text), &status), "%s", status.what);
    free(path);
}

static char *get(const char *folder, const char *name)
{
    char *path = gb_path_join(NULL, folder, name);
    char *text = gb_read_file(path, NULL, NULL);
    free(path);
    return text;
}

/* Makes the step with one file and gives its folder. */
static char *make_step(void)
{
    gb_status status = {0};
    gb_artifact *step = begin();
    cr_assert(!gb_artifact_done(step));
    put(gb_artifact_path(step), "model.bin", "weights");
    cr_assert(gb_artifact_finish(step, NULL, &status), "%s: %s", status.where, status.what);
    cr_assert(gb_artifact_done(step));
    char *path = strdup(gb_artifact_path(step));
    gb_artifact_close(step);
    return path;
}

TestSuite(store, .init = setup, .fini = teardown);

/* What stands behind the kind in the step's name. */
static void key_of(const gb_artifact_desc *desc, char key[GB_ARTIFACT_KEY])
{
    gb_status status = {0};
    gb_artifact *step = gb_artifact_begin(store, desc, &status);
    cr_assert(step, "%s: %s", status.where, status.what);
    snprintf(key, GB_ARTIFACT_KEY, "%s", strrchr(gb_artifact_name(step), '-') + 1);
    gb_artifact_close(step);
}

Test(store, key_is_stable_and_sees_everything)
{
    /* A changed key would throw away every store in the world: the value is golden. */
    json_t *inputs = json_pack("{s:s}", "tokens", "tokenize-0123456789abcdef01234567");
    gb_artifact_desc desc = {.kind = "pretrain",
                             .version = 2,
                             .settings = settings,
                             .inputs = inputs,
                             .kernels = "k1",
                             .device = "device 1"};
    char key[GB_ARTIFACT_KEY], other[GB_ARTIFACT_KEY];
    key_of(&desc, key);
    cr_expect_str_eq(key, "61fe95af253f83c03965afcc");

    json_t *reordered =
        json_pack("{s:s, s:f, s:i}", "context", "query", "rate", 0.003, "steps", 600);
    json_t *changed = json_pack("{s:s, s:f, s:i}", "context", "span", "rate", 0.003, "steps", 600);
    gb_artifact_desc same = desc, variants[] = {desc, desc, desc, desc, desc, desc};
    same.settings = reordered;
    key_of(&same, other);
    cr_expect_str_eq(key, other, "the order of settings does not count");
    variants[0].kind = "finetune";
    variants[1].version = 3;
    variants[2].settings = changed;
    variants[3].inputs = NULL;
    variants[4].kernels = NULL;
    variants[5].device = "device 2";
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        key_of(&variants[i], other);
        cr_expect_str_neq(key, other, "variant %zu", i);
    }
    json_decref(inputs);
    json_decref(reordered);
    json_decref(changed);
}

Test(store, settings_at_their_defaults_are_recorded_without_being_in_the_key)
{
    gb_status status = {0};
    json_t *before = json_pack("{s:i}", "steps", 600);
    json_t *after = json_pack("{s:i, s:s}", "steps", 600, "new", "off");
    json_t *chosen = json_pack("{s:i, s:s}", "steps", 600, "new", "on");
    json_t *defaults = json_pack("[s]", "new");
    gb_artifact_desc desc = {.kind = "mine", .version = 1, .settings = before};
    char old[GB_ARTIFACT_KEY], now[GB_ARTIFACT_KEY], other[GB_ARTIFACT_KEY];
    key_of(&desc, old);
    desc.settings = chosen;
    key_of(&desc, other);
    cr_expect_str_neq(old, other);
    desc.settings = after;
    desc.defaults = defaults;
    key_of(&desc, now);
    cr_expect_str_eq(old, now);
    gb_artifact *step = gb_artifact_begin(store, &desc, &status);
    cr_assert(step && gb_artifact_finish(step, NULL, &status), "%s", status.what);
    json_t *run = gb_artifact_read(gb_artifact_path(step), &status);
    cr_assert(run, "%s", status.what);
    cr_expect(json_equal(json_object_get(run, "settings"), after));
    gb_artifact_close(step);
    json_decref(run);
    json_decref(before);
    json_decref(after);
    json_decref(chosen);
    json_decref(defaults);
}

Test(store, refuses_a_bad_description)
{
    gb_status status = {0};
    gb_artifact_desc desc = {.kind = "../up", .version = 1};
    cr_expect_null(gb_artifact_begin(store, &desc, &status));
    cr_expect_eq(status.code, GB_INTERNAL);
}

Test(store, finished_step_is_found_again)
{
    char *path = make_step();
    gb_artifact *step = begin();
    cr_expect(gb_artifact_done(step));
    cr_expect_str_eq(gb_artifact_path(step), path);
    char *text = get(gb_artifact_path(step), "model.bin");
    cr_expect_str_eq(text, "weights");
    free(text);
    gb_artifact_close(step);
    free(path);

    json_object_set_new(settings, "steps", json_integer(601));
    step = begin();
    cr_expect(!gb_artifact_done(step), "another setting is another step");
    gb_artifact_close(step);
}

Test(store, record_says_what_was_made)
{
    gb_status status = {0};
    gb_artifact *step = begin();
    char *sub = gb_path_join(NULL, gb_artifact_path(step), "sub");
    cr_assert(gb_make_dirs(sub, NULL));
    put(sub, "b.txt", "abc");
    put(gb_artifact_path(step), "a.txt", "");
    json_t *facts = json_pack("{s:s, s:{s:f}}", "driver", "llvmpipe", "times", "load_s", 1.5);
    cr_assert(gb_artifact_finish(step, facts, &status), "%s", status.what);
    json_decref(facts);
    json_t *run = gb_artifact_read(gb_artifact_path(step), &status);
    cr_assert(run, "%s", status.what);
    cr_expect_str_eq(json_string_value(json_object_get(run, "step")), gb_artifact_name(step));
    cr_expect_eq(json_integer_value(json_object_get(json_object_get(run, "settings"), "steps")),
                 600);
    json_t *outputs = json_object_get(run, "outputs");
    cr_expect_eq(json_object_size(outputs), 2);
    json_t *file = json_object_get(outputs, "sub/b.txt");
    cr_expect_eq(json_integer_value(json_object_get(file, "bytes")), 3);
    cr_expect_str_eq(json_string_value(json_object_get(file, "sha256")),
                     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    json_t *kept = json_object_get(run, "facts");
    cr_expect_str_eq(json_string_value(json_object_get(kept, "driver")), "llvmpipe");
    cr_expect_null(json_object_get(kept, "times"));
    json_t *times = json_object_get(run, "times");
    cr_expect_float_eq(json_real_value(json_object_get(times, "load_s")), 1.5, 0);
    cr_expect(json_is_string(json_object_get(times, "finished")));
    json_decref(run);
    free(sub);
    gb_artifact_close(step);
}

Test(store, records_differ_in_times_only)
{
    char *texts[2];
    for (int i = 0; i < 2; i++) {
        char *path = make_step();
        json_t *run = gb_artifact_read(path, NULL);
        json_object_del(run, "times");
        texts[i] = json_dumps(run, JSON_SORT_KEYS);
        json_decref(run);
        cr_assert(gb_remove_tree(path, NULL));
        free(path);
    }
    cr_expect_str_eq(texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
}

Test(store, a_step_that_began_nothing_leaves_nothing)
{
    gb_artifact *step = begin();
    char *work = strdup(gb_artifact_path(step));
    cr_assert(gb_dir_exists(work));
    gb_artifact_close(step);
    cr_expect_not(gb_dir_exists(work));
    free(work);
}

Test(store, unfinished_step_resumes)
{
    gb_artifact *step = begin();
    char *name = strdup(gb_artifact_name(step));
    char *resume = gb_path_join(NULL, gb_artifact_path(step), "resume");
    cr_assert(gb_make_dirs(resume, NULL));
    put(resume, "checkpoint", "step 300");
    put(gb_artifact_path(step), ".model.bin.123-0.draft", "half");
    static const char *const folders[] = {".model.123-0.draft", ".model.123-0.draft.old",
                                          "collection.123.draft"};
    for (size_t i = 0; i < 3; i++) {
        char *draft_folder = gb_path_join(NULL, gb_artifact_path(step), folders[i]);
        cr_assert(gb_make_dirs(draft_folder, NULL));
        put(draft_folder, "config.json", "half");
        free(draft_folder);
    }
    gb_artifact_close(step); /* as a kill would */

    step = begin();
    cr_expect(!gb_artifact_done(step));
    char *checkpoint = get(resume, "checkpoint"),
         *draft = get(gb_artifact_path(step), ".model.bin.123-0.draft");
    cr_assert_not_null(checkpoint);
    cr_expect_str_eq(checkpoint, "step 300");
    cr_expect_null(draft, "drafts of the dead are removed");
    for (size_t i = 0; i < 3; i++) {
        char *draft_folder = gb_path_join(NULL, gb_artifact_path(step), folders[i]);
        cr_expect_not(gb_dir_exists(draft_folder), "%s is removed", folders[i]);
        free(draft_folder);
    }
    put(gb_artifact_path(step), "model.bin", "weights");
    gb_status status = {0};
    cr_assert(gb_artifact_finish(step, NULL, &status), "%s", status.what);
    char *gone = gb_path_join(NULL, gb_artifact_path(step), "resume");
    cr_expect(!gb_dir_exists(gone), "checkpoints are not kept");
    json_t *run = gb_artifact_read(gb_artifact_path(step), NULL);
    cr_expect(json_is_true(json_object_get(json_object_get(run, "times"), "resumed")));
    json_decref(run);
    gb_artifact_close(step);
    char *lock = gb_format(NULL, "%s/work/%s.lock", root, name);
    cr_expect(!gb_file_exists(lock));
    free(lock);
    free(gone);
    free(checkpoint);
    free(resume);
    free(name);
}

Test(store, kill_between_record_and_rename_loses_nothing)
{
    char *path = make_step();
    const char *name = strrchr(path, '/') + 1;
    char *work = gb_format(NULL, "%s/work/%s", root, name);
    char *resume = gb_path_join(NULL, work, "resume");
    cr_assert_eq(rename(path, work), 0);
    cr_assert(gb_make_dirs(resume, NULL));
    gb_artifact *step = begin();
    cr_expect(gb_artifact_done(step), "complete work is put into place");
    cr_expect(!gb_dir_exists(work));
    gb_artifact_close(step);
    json_t *run = gb_artifact_read(path, NULL);
    cr_expect_not_null(run);
    json_decref(run);
    free(resume);
    free(work);
    free(path);
}

/* Does the damaged folder count as a result? The new work folder must also start empty. */
static void expect_made_again(const char *what)
{
    gb_artifact *step = begin();
    cr_expect(!gb_artifact_done(step), "%s", what);
    char *old = get(gb_artifact_path(step), "model.bin");
    cr_expect_null(old, "%s: remains of the damaged artifact", what);
    gb_artifact_close(step);
    char *path = make_step();
    free(path);
}

Test(store, damage_is_no_hit)
{
    char *path = make_step();
    char *run = gb_path_join(NULL, path, "run.json"),
         *model = gb_path_join(NULL, path, "model.bin");
    cr_assert_eq(unlink(run), 0);
    expect_made_again("no run.json");
    cr_assert_eq(truncate(run, 40), 0);
    expect_made_again("cut run.json");
    put(path, "run.json", "{\"step\": \"pretrain-0\", \"outputs\": {}}");
    expect_made_again("run.json of something else");
    cr_assert_eq(truncate(model, 3), 0);
    expect_made_again("short output");
    cr_assert_eq(unlink(model), 0);
    expect_made_again("missing output");
    free(run);
    free(model);
    free(path);
}

/* A record that is there and cannot be opened, as where another user owns it, or the disk fails. */
Test(store, unreadable_is_no_damage)
{
    char *path = make_step();
    char *run = gb_path_join(NULL, path, "run.json"), *aside = gb_path_join(NULL, root, "aside");
    cr_assert_eq(rename(run, aside), 0);
    cr_assert_eq(symlink("run.json", run), 0);
    gb_artifact_desc desc = {.kind = "pretrain", .version = 2, .settings = settings};
    gb_status status = {0};
    cr_expect_null(gb_artifact_begin(store, &desc, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect(strstr(status.where, "run.json"), "the file is named: %s", status.where);
    gb_store_freed freed;
    cr_expect(gb_store_gc(store, false, &freed, &status));
    cr_expect_eq(freed.damaged, 0);
    cr_assert_eq(rename(aside, run), 0);
    gb_artifact *step = begin();
    cr_expect(gb_artifact_done(step), "it is as it was");
    gb_artifact_close(step);
    free(aside);
    free(run);
    free(path);
}

Test(store, verify_sees_changed_bytes)
{
    char *path = make_step();
    gb_status status = {0};
    cr_expect(gb_artifact_verify(path, &status));
    put(path, "model.bin", "wEights");
    cr_expect(!gb_artifact_verify(path, &status));
    cr_expect_eq(status.code, GB_DATA);
    put(path, "model.bin", "weights");
    char *run_path = gb_path_join(NULL, path, "run.json");
    json_t *run = gb_artifact_read(path, NULL);
    json_object_del(json_object_get(json_object_get(run, "outputs"), "model.bin"), "sha256");
    cr_assert_eq(json_dump_file(run, run_path, 0), 0);
    status = (gb_status){0};
    cr_expect(!gb_artifact_verify(path, &status));
    cr_expect(strstr(status.what, "no hash"), "an output without a hash is told: %s", status.what);
    json_decref(run);
    free(run_path);
    free(path);
}

Test(store, two_processes_make_a_step_once)
{
    char *log = gb_path_join(NULL, root, "log");
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            gb_artifact_desc desc = {.kind = "pretrain", .version = 2, .settings = settings};
            gb_artifact *step = gb_artifact_begin(store, &desc, NULL);
            if (!step)
                _exit(1);
            if (!gb_artifact_done(step)) {
                int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
                bool wrote = write(fd, "x", 1) == 1;
                usleep(200 * 1000);
                put(gb_artifact_path(step), "model.bin", "weights");
                if (!wrote || !gb_artifact_finish(step, NULL, NULL))
                    _exit(2);
            }
            _exit(gb_artifact_done(step) && access(gb_artifact_path(step), R_OK) == 0 ? 0 : 3);
        }
    }
    for (int i = 0; i < 2; i++) {
        int result;
        cr_assert_eq(waitpid(children[i], &result, 0), children[i]);
        cr_expect(WIFEXITED(result) && WEXITSTATUS(result) == 0, "child %d: %x", i, result);
    }
    char *text = gb_read_file(log, NULL, NULL);
    cr_expect_str_eq(text, "x", "the work was done by one of them");
    free(text);
    free(log);
}

Test(store, who_does_not_wait_is_told_that_the_step_is_busy)
{
    gb_artifact *holder = begin();
    gb_artifact_desc desc = {
        .kind = "pretrain", .version = 2, .settings = settings, .no_wait = true};
    gb_status status = {0};
    cr_expect_null(gb_artifact_begin(store, &desc, &status));
    cr_expect_eq(status.code, GB_BUSY);
    gb_artifact_close(holder);
    gb_artifact *step = gb_artifact_begin(store, &desc, &status);
    cr_assert_not_null(step);
    gb_artifact_close(step);
}

Test(store, death_of_the_holder_frees_the_step)
{
    int ready[2];
    cr_assert_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        gb_artifact_desc desc = {.kind = "pretrain", .version = 2, .settings = settings};
        gb_artifact *step = gb_artifact_begin(store, &desc, NULL);
        bool told = step && write(ready[1], "1", 1) == 1;
        pause();
        _exit(told);
    }
    char byte;
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    gb_artifact_close(begin());
}

Test(store, finish_refuses_links)
{
    gb_artifact *step = begin();
    char *link = gb_path_join(NULL, gb_artifact_path(step), "out");
    cr_assert_eq(symlink("/etc/passwd", link), 0);
    gb_status status = {0};
    cr_expect(!gb_artifact_finish(step, NULL, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect(!gb_artifact_done(step) && gb_dir_exists(gb_artifact_path(step)), "the work stays");
    gb_artifact_close(step);
    free(link);
}

Test(store, identity_of_steps_files_and_folders)
{
    char *path = make_step();
    char identity[GB_IDENTITY];
    gb_status status = {0};
    cr_assert(gb_identity(path, identity, &status));
    cr_expect_str_eq(identity, strrchr(path, '/') + 1);
    char *model = gb_path_join(NULL, path, "model.bin");
    cr_assert(gb_identity(model, identity, &status));
    cr_expect_str_eq(identity,
                     "sha256:9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848cf1a13eafdf33b2c");
    cr_assert(gb_identity(root, identity, &status));
    cr_expect_eq(strncmp(identity, "sha256:", 7), 0);
    cr_assert_eq(truncate(model, 2), 0);
    cr_expect(!gb_identity(path, identity, &status), "a damaged artifact is no input");
    cr_expect_eq(status.code, GB_DATA);
    cr_expect(!gb_identity("/nonexistent", identity, &status));
    free(model);
    free(path);
}

Test(store, find_by_name_or_key)
{
    char *path = make_step();
    const char *name = strrchr(path, '/') + 1;
    gb_status status = {0};
    char *found = gb_store_find(store, name + strlen("pretrain-"), &status);
    cr_assert(found, "%s", status.what);
    cr_expect_str_eq(found, path);
    free(found);
    json_object_set_new(settings, "steps", json_integer(601));
    free(make_step());
    cr_expect_null(gb_store_find(store, "pretrain-", &status), "two steps start like this");
    cr_expect_eq(status.code, GB_USAGE);
    cr_expect_null(gb_store_find(store, "zzz", &status));
    status = (gb_status){0};
    cr_expect(gb_store_look(store, "zzz", &found, &status) && !found && status.code == GB_OK);
    cr_expect(!gb_store_look(store, "pretrain-", &found, &status) && !found);
    cr_expect_not_null(strstr(status.what, "2 finished artifacts"), "%s", status.what);
    free(path);
}

Test(store, gc_frees_what_nobody_uses)
{
    char *path = make_step();
    char *model = gb_path_join(NULL, path, "model.bin");
    json_object_set_new(settings, "steps", json_integer(601));
    gb_artifact *busy = begin();
    json_object_set_new(settings, "steps", json_integer(602));
    gb_artifact *left = begin();
    put(gb_artifact_path(left), "half", "1234");
    char *left_path = strdup(gb_artifact_path(left));
    gb_artifact_close(left);
    gb_store_freed freed;
    cr_assert(gb_store_gc(store, true, &freed, NULL));
    cr_expect_eq(freed.work, 1);
    cr_expect_eq(freed.damaged, 0);
    cr_expect_eq(freed.bytes, 4);
    cr_expect(gb_dir_exists(left_path), "a dry run removes nothing");
    cr_assert_eq(truncate(model, 2), 0);
    cr_assert(gb_store_gc(store, false, &freed, NULL));
    cr_expect_eq(freed.work, 1);
    cr_expect_eq(freed.damaged, 1);
    cr_expect(!gb_dir_exists(left_path) && !gb_dir_exists(path));
    cr_expect(gb_dir_exists(gb_artifact_path(busy)), "work in progress stays");
    gb_artifact_close(busy);
    free(left_path);
    free(model);
    free(path);
}

/* While memory is short nothing is known of a step, so it is not taken for a damaged one. */
Test(store, gc_out_of_memory_removes_nothing_whole)
{
    char *path = make_step();
    char *work = gb_format(NULL, "%s/work/%s", root, strrchr(path, '/') + 1);
    cr_assert_eq(rename(path, work), 0);
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        gb_store_freed freed;
        gb_status status = {0};
        gb_fault_arm(n);
        bool ok = gb_store_gc(store, false, &freed, &status);
        failed = gb_fault_left() == 0;
        bool memory = failed && gb_fault_seen() == GB_FAULT_MEMORY;
        gb_fault_arm(0);
        if (memory) {
            cr_expect(!ok && status.code == GB_MEMORY, "operation %u", (unsigned)n);
            cr_assert(gb_dir_exists(work), "operation %u: %s", (unsigned)n, status.what);
        } else if (!gb_dir_exists(work)) { /* unreadable: made anew */
            free(make_step());
            cr_assert_eq(rename(path, work), 0);
        }
    }
    free(work);
    free(path);
}

Test(store, room_on_the_disk)
{
    gb_status status = {0};
    cr_expect(gb_store_room(".", 1, "bytes", &status), "%s", status.what);
    cr_expect_not(gb_store_room(".", UINT64_C(1) << 60, "all the vectors", &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_not_null(strstr(status.what, "all the vectors take 1099511627776.00 MiB, and"));
    cr_expect(gb_store_room("nowhere", UINT64_C(1) << 60, "bytes", NULL)); /* it is not known */
}
