/* The artifacts behind a value, and the commands that made them. */
#include "site.h"

#include <stdlib.h>
#include <string.h>

static bool has_step(const chain *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++)
        if (!strcmp(all->steps[i].name, name))
            return true;
    return false;
}

static bool add_inputs(chain *all, gb_store *store, const json_t *run, gb_status *status)
{
    const char *role;
    json_t *input, *one;
    size_t i;
    bool ok = true;
    json_object_foreach(json_object_get(run, "inputs"), role, input)
    {
        if (json_is_string(input))
            ok = ok && report_chain_add(all, store, json_string_value(input), status);
        json_array_foreach(input, i, one) if (json_is_string(one)) ok =
            ok && report_chain_add(all, store, json_string_value(one), status);
    }
    return ok;
}

bool report_chain_add(chain *all, gb_store *store, const char *name, gb_status *status)
{
    if (has_step(all, name) || !strncmp(name, "sha256:", 7))
        return true;
    char *path = store ? gb_path_join(status, gb_store_root(store), name) : NULL;
    json_t *run = path ? gb_artifact_read(path, NULL) : NULL;
    /* A step cannot be behind itself: its name is the hash of its inputs' names. */
    if (run && !add_inputs(all, store, run, status)) {
        json_decref(run);
        free(path);
        return false;
    }
    chain_step step = {.name = gb_strdup(name, status), .path = run ? path : NULL, .run = run};
    if (!run)
        free(path);
    if (!step.name ||
        !gb_grow(&all->steps, &all->capacity, all->count + 1, sizeof *all->steps, status)) {
        free(step.name);
        free(step.path);
        json_decref(run);
        return false;
    }
    all->steps[all->count++] = step;
    return true;
}

void report_chain_free(chain *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->steps[i].name);
        free(all->steps[i].path);
        json_decref(all->steps[i].run);
    }
    free(all->steps);
    *all = (chain){0};
}

/* ---- commands ---- */

static void option(gb_text *out, const char *name, const json_t *value)
{
    char digits[40];
    if (json_is_null(value) || json_is_false(value) || json_is_array(value) ||
        json_is_object(value))
        return;
    gb_text_printf(out, " \\\n    --%s", name);
    if (json_is_true(value))
        return;
    gb_text_append(out, " ", 1);
    if (json_is_string(value))
        gb_text_shell_word(out, json_string_value(value));
    else if (json_is_real(value))
        gb_text_printf(out, "%s", gb_format_double(json_real_value(value), digits));
    else
        gb_text_printf(out, "%lld", (long long)json_integer_value(value));
}

static void input_option(gb_text *out, const char *name, const char *label, const char *identity)
{
    gb_text_printf(out, " \\\n    --%s ", name);
    if (label) {
        gb_text_shell_word(out, label);
        gb_text_append(out, "=", 1);
    }
    if (strncmp(identity, "sha256:", 7))
        gb_text_printf(out, "\"$GABBRO_STORE\"/%s", identity);
    else
        gb_text_printf(out, "FILE-%.19s", identity); /* enough to tell it in the list of inputs */
}

void report_chain_command(const chain_step *step, gb_text *out)
{
    if (!step->run) {
        gb_text_printf(out, "# %s is not in the store", step->name);
        return;
    }
    const char *kind = gb_json_text(step->run, "kind"), *name;
    json_t *settings = json_object_get(step->run, "settings"), *value, *one;
    gb_text_printf(out, "gabbro ");
    gb_text_shell_word(out, !strcmp(kind, "tokens") ? "tokenize" : kind);
    const char *operand = !strcmp(kind, "pretrain") ? gb_json_text(settings, "objective") : "";
    if (*operand) {
        gb_text_append(out, " ", 1);
        gb_text_shell_word(out, operand);
    }
    size_t i;
    json_object_foreach(json_object_get(step->run, "inputs"), name, value)
    {
        if (json_is_string(value))
            input_option(out, name, NULL, json_string_value(value));
        json_array_foreach(value, i, one) if (json_is_string(one)) input_option(
            out, name, json_string_value(json_array_get(json_object_get(settings, "names"), i)),
            json_string_value(one));
    }
    /* The objective may have been the operand; a prompt's name is of the input "prompt". */
    json_object_foreach(settings, name, value) if (strcmp(name, "prompt-name") &&
                                                   (strcmp(name, "objective") || !*operand))
        option(out, name, value);
}
