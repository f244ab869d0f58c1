/* The commands of a plan, and what each of them costs. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

/* ---- commands ---- */

bool repro_is_finetuning(const char *command)
{
    return !strcmp(command, "finetune") || !strcmp(command, "finetune-cross");
}

bool repro_plan_command(const repro_plan *plan, const char *const *words, gb_text *printed,
                        gb_status *status)
{
    repro_command command = {
        .program = plan->session->program, .words = words, .environment = plan->environment};
    gb_text dropped = {0};
    int code = 0;
    bool ok = repro_process_run(&command, printed ? printed : &dropped, &code, status);
    gb_text_free(&dropped);
    return ok && repro_process_ok(words[0], code, status);
}

/* ---- costs of commands ---- */

double repro_cost_get(const repro_cost *cost, const char *name)
{
    for (size_t i = 0; i < cost->count; i++)
        if (!strcmp(cost->items[i].name, name))
            return cost->items[i].value;
    return 0;
}

static void read_cost(const char *text, repro_cost *cost)
{
    *cost = (repro_cost){0};
    while (*(text += strspn(text, " \n")) &&
           cost->count < sizeof cost->items / sizeof *cost->items) {
        size_t name = strcspn(text, "= \n"), length = strcspn(text, " \n");
        snprintf(cost->items[cost->count].name, sizeof cost->items->name, "%.*s", (int)name, text);
        if (name < length)
            cost->items[cost->count++].value = strtod(text + name + 1, NULL);
        text += length;
    }
}

/* A command without what does not change its cost. */
static void write_kind(const repro_argv *argv, gb_text *kind)
{
    static const char *const free_of_cost[] = {"--init", "--model", "--negatives", "--seed",
                                               "--learning-rate"};
    for (size_t i = 0; i < argv->count; i++) {
        bool passed = false;
        for (size_t o = 0; o < sizeof free_of_cost / sizeof *free_of_cost; o++)
            passed = passed || !strcmp(argv->items[i], free_of_cost[o]);
        if (passed)
            i++;
        else
            gb_text_append(kind, argv->items[i], strlen(argv->items[i]) + 1);
    }
}

static bool ask_cost(const repro_plan *plan, const repro_argv *argv, repro_cost *cost,
                     gb_status *status)
{
    const char *words[sizeof argv->items / sizeof *argv->items + 2];
    gb_text printed = {0};
    memcpy(words, argv->items, argv->count * sizeof *words);
    words[argv->count] = "--cost";
    words[argv->count + 1] = "--quiet";
    words[argv->count + 2] = NULL;
    bool ok = repro_plan_command(plan, words, &printed, status);
    if (ok)
        read_cost(printed.data ? printed.data : "", cost);
    gb_text_free(&printed);
    return ok;
}

bool repro_plan_cost(repro_plan *plan, const repro_argv *argv, repro_cost *cost, gb_status *status)
{
    gb_text kind = {0};
    write_kind(argv, &kind);
    uint32_t place = kind.failed ? GB_MAP_NONE : gb_map_get(plan->counted, kind.data, kind.length);
    bool ok = !kind.failed || gb_fail_memory(status, "counting a cost");
    if (ok && place != GB_MAP_NONE) {
        *cost = plan->kinds[place];
    } else if (ok) {
        ok = ask_cost(plan, argv, cost, status) &&
             gb_grow(&plan->kinds, &plan->kind_capacity, plan->kind_count + 1, sizeof *plan->kinds,
                     status) &&
             gb_map_set(plan->counted, kind.data, kind.length, (uint32_t)plan->kind_count, status);
        if (ok)
            plan->kinds[plan->kind_count++] = *cost;
    }
    gb_text_free(&kind);
    return ok;
}
