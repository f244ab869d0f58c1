/* What a training on the user's own collection is made from. */
#include "train.h"

#include <gabbro/artifact.h>
#include <gabbro/os.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTINGS_FILE "reproduce/train.settings"

const repro_entry repro_train_entry = {.name = "train",
                                       .title = "A retriever for a collection of one's own",
                                       .aliases = "",
                                       .cost = "",
                                       .ready = true};

static char *settings_file(gb_status *status)
{
    char *path = gb_installed_file(SETTINGS_FILE);
    if (!path)
        gb_fail(status, GB_DATA, SETTINGS_FILE, "install gabbro again", "a file is missing");
    return path;
}

bool repro_train_example(FILE *out, gb_status *status)
{
    char *path = settings_file(status), *text = path ? gb_read_file(path, NULL, status) : NULL;
    if (text)
        fputs(text, out);
    free(text);
    free(path);
    return text != NULL;
}

static bool given(const char *value)
{
    return strcmp(value, "-") != 0;
}

/* ---- the model ---- */

/* The prompts of the model, for those that are not given. */
static bool take_prompts(repro_session *session, const char *folder, gb_status *status)
{
    static const char *const names[] = {"query_prompt", "passage_prompt"};
    gb_folder *model = gb_folder_open(folder, status);
    gb_text_prompts prompts = {0};
    bool ok = model && gb_folder_prompts(model, &prompts, status);
    char *const texts[] = {prompts.query, prompts.passage};
    for (int i = 0; ok && i < 2; i++) {
        if (!texts[i] || !*texts[i] || given(repro_settings_get(&session->settings, names[i])))
            continue;
        size_t length = strlen(texts[i]); /* recipes put a blank behind it */
        char *text =
            gb_format(status, "%.*s", (int)(length - (texts[i][length - 1] == ' ')), texts[i]);
        gb_log(GB_LOG_INFO, "%s of the model: \"%s\"", names[i], texts[i]);
        ok = text && repro_settings_put(&session->settings, names[i], text, status);
        free(text);
    }
    gb_text_prompts_free(&prompts);
    gb_folder_close(model);
    return ok;
}

static bool take_model(repro_session *session, gb_status *status)
{
    const char *name = repro_settings_get(&session->settings, "model");
    if (!given(name))
        return true;
    char *found = gb_find_model(session->params->config, name, status);
    char *folder = found ? gb_find_model_folder(found, status) : NULL;
    char *whole = folder ? gb_os_real_path(folder) : NULL;
    bool ok = folder && (whole || gb_fail_memory(status, "finding the model"));
    session->recipe.init = ok ? repro_session_keep(session, status, "%s", whole) : NULL;
    char *vocabulary = session->recipe.init && take_prompts(session, whole, status)
                           ? gb_find_vocabulary(whole, status)
                           : NULL;
    ok = vocabulary && (session->recipe.vocabulary =
                            repro_session_keep(session, status, "%s", vocabulary)) != NULL;
    free(vocabulary);
    free(whole);
    free(folder);
    free(found);
    return ok;
}

/* ---- the collection ---- */

static bool take_collection(repro_session *session, gb_status *status)
{
    const char *name = repro_settings_get(&session->settings, "collection");
    if (!given(name))
        return gb_fail(
            status, GB_USAGE, NULL,
            "write collection = DIR into a file for --settings; see gabbro train --example",
            "the setting collection must be given");
    char *found = gb_find_collection(session->params->config, name, status);
    char *whole = found ? gb_os_real_path(found) : NULL;
    bool ok = found && (whole || gb_fail(status, GB_USAGE, name, NULL, "cannot be read"));
    session->recipe.collection = ok ? repro_session_keep(session, status, "%s", whole) : NULL;
    free(whole);
    free(found);
    return session->recipe.collection != NULL;
}

/* The folder of the results, where none was given. */
static bool set_out(repro_session *session, gb_status *status)
{
    size_t length;
    const char *name = gb_path_name(session->recipe.collection, &length);
    session->out = repro_session_keep(session, status, "results/train.%.*s", (int)length, name);
    return session->out != NULL;
}

bool repro_train_settings(repro_session *session, gb_status *status)
{
    const gb_reproduce_params *params = session->params;
    repro_settings *settings = &session->settings, known = {0};
    char *path = settings_file(status);
    bool ok = path && repro_settings_read(settings, path, NULL, status) &&
              repro_settings_copy(settings, &known, status);
    for (size_t i = 0; ok && i < params->settings_files.count; i++)
        ok = repro_settings_read(settings, params->settings_files.items[i], &known, status);
    for (size_t i = 0; ok && i < params->changes.count; i++)
        ok = repro_settings_choose(settings, params->changes.items[i], &known, status);
    repro_settings_free(&known);
    free(path);
    return ok && take_collection(session, status) && take_model(session, status) &&
           (params->out || set_out(session, status));
}
