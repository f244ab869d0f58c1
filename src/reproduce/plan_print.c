/* Prints a plan: a line for each table. */
#include "plan.h"

#include <gabbro/fetch.h>

#include <stdlib.h>
#include <string.h>

static const char *amount(double bytes, char text[32])
{
    if (bytes < 1e7)
        snprintf(text, 32, "%.1f MB", bytes / 1e6);
    else
        snprintf(text, 32, bytes < 1e9 ? "%.2f GB" : "%.1f GB", bytes / 1e9);
    return text;
}

static const char *duration(double seconds, char text[32])
{
    if (seconds < 7200)
        snprintf(text, 32, "%7.1f minutes", seconds / 60);
    else if (seconds < 172800)
        snprintf(text, 32, "%7.1f hours", seconds / 3600);
    else if (seconds < 86400000)
        snprintf(text, 32, "%7.1f days", seconds / 86400);
    else
        snprintf(text, 32, "%7.1f years", seconds / 31557600);
    return text;
}

/* As a run asks before it begins. */
static bool is_there(const repro_plan *plan, const char *name)
{
    char *path = gb_path_join(NULL, plan->session->data_dir, name);
    bool there = path && gb_dir_exists(path);
    free(path);
    return there;
}

/* What is still to be fetched for a table. */
static void print_download(const repro_plan *plan, const repro_table_cost *cost,
                           const gb_manifest *manifest)
{
    double bytes = 0;
    bool more = false;
    char text[32];
    for (size_t i = 0; i < cost->data_count; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen = seen || !strcmp(cost->data[j], cost->data[i]);
        const gb_source *source = seen || is_there(plan, cost->data[i])
                                      ? NULL
                                      : gb_manifest_find(manifest, cost->data[i], NULL);
        uint32_t unknown = 0;
        bytes += source ? (double)gb_source_bytes(source, &unknown) : 0;
        more = more || unknown;
    }
    if (bytes > 0)
        printf(", download %s%s", more ? "at least " : "", amount(bytes, text));
}

static void print_line(const repro_plan *plan, const repro_table_cost *cost,
                       const repro_speed *speed, const gb_manifest *manifest)
{
    double jobs = plan->session->jobs;
    repro_bytes most = {0};
    char time[32], device[32], memory[32], disk[32];
    for (size_t i = 0; i < cost->need_count; i++) {
        const repro_bytes *need = &cost->needs[i];
        /* A CPU device has the memory of the host. */
        double host = need->memory + speed->program + (speed->on_cpu ? need->device : 0);
        most.device = need->device > most.device ? need->device : most.device;
        most.memory = host > most.memory ? host : most.memory;
        most.disk = need->disk > most.disk ? need->disk : most.disk;
    }
    double seconds = (cost->train_flops + cost->encode_flops) / speed->flops +
                     (double)cost->trainings * speed->start_s +
                     (double)cost->encodings * speed->evaluate_s + cost->host_s;
    printf("%-14s %15s  device %s, memory %s, disk %s", cost->name, duration(seconds / jobs, time),
           amount(most.device, device), amount(jobs * most.memory, memory),
           amount(cost->disk + jobs * most.disk, disk));
    print_download(plan, cost, manifest);
    printf("\n");
}

static bool add_cost(repro_table_cost *all, const repro_table_cost *cost, gb_status *status)
{
    all->train_flops += cost->train_flops;
    all->encode_flops += cost->encode_flops;
    all->host_s += cost->host_s;
    all->trainings += cost->trainings;
    all->encodings += cost->encodings;
    all->disk += cost->disk;
    if (!gb_grow(&all->needs, &all->need_capacity, all->need_count + cost->need_count,
                 sizeof *all->needs, status) ||
        !gb_grow(&all->data, &all->data_capacity, all->data_count + cost->data_count,
                 sizeof *all->data, status))
        return false;
    for (size_t i = 0; i < cost->need_count; i++)
        all->needs[all->need_count++] = cost->needs[i];
    for (size_t i = 0; i < cost->data_count; i++)
        all->data[all->data_count++] = cost->data[i];
    return true;
}

bool repro_plan_print(const repro_plan *plan, const repro_speed *speed, gb_status *status)
{
    repro_table_cost *all = &plan->costs[plan->count];
    gb_manifest manifest = {0};
    char *path = gb_manifest_path(plan->session->params->config, NULL, NULL);
    if (path)
        gb_manifest_read(path, &manifest, NULL); /* without it sizes are left out */
    free(path);
    bool ok = true;
    all->name = "all";
    for (size_t t = 0; ok && t < plan->count; t++) {
        print_line(plan, &plan->costs[t], speed, &manifest);
        ok = add_cost(all, &plan->costs[t], status);
    }
    if (ok) {
        print_line(plan, all, speed, &manifest);
        printf("For one seed; what several tables need is counted in the first of them.");
        if (speed->flops > 1)
            printf(" This device: %.1f GFLOP/s in training.", speed->flops / 1e9);
        printf("\n");
    }
    gb_manifest_free(&manifest);
    return ok;
}
