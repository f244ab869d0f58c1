/* Artifacts that several ranks make together: rank 0 has the store, all of them train, encode,
 * search. */
#include "private.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a rank waits, in seconds, before it says why it failed: where all fail alike, rank 0 has
 * said it and ended the others by then. */
#define AFTER_RANK_0_S 2

bool gb_maker_leads(const gb_maker *maker)
{
    return gb_ranks_rank(maker->ranks) == 0;
}

/* ---- devices ---- */

static uint32_t words_in(const char *list)
{
    uint32_t count = 1;
    for (; *list; list++)
        count += *list == ',';
    return count;
}

/* The n-th word of a list; caller frees. */
static char *word_of(const char *list, uint32_t n, gb_status *status)
{
    while (n-- > 0)
        list = strchr(list, ',') + 1;
    char *word = gb_strdup(list, status);
    if (word)
        word[strcspn(word, ",")] = '\0';
    return word;
}

/* Of several equally good devices each rank of a machine takes the next; one is shared. */
static bool next_device(gb_maker *maker, gb_status *status)
{
    gb_device_caps *caps;
    size_t count;
    gb_device_type best = GB_DEVICE_OTHER;
    uint32_t good = 0, wanted;
    gb_device_params params = gb_ops_device(maker->config, NULL);
    if (!gb_device_list(&params, &caps, &count, status))
        return false;
    for (size_t i = 0; i < count; i++)
        if (caps[i].usable && (!good || caps[i].type >= best)) {
            good = caps[i].type > best ? 1 : good + 1;
            best = caps[i].type;
        }
    wanted = good ? gb_ranks_local(maker->ranks) % good : 0;
    for (size_t i = 0; i < count && good > 1 && !maker->own_device; i++)
        if (caps[i].usable && caps[i].type == best && !wanted--)
            maker->own_device = gb_format(status, "%u", caps[i].index);
    free(caps);
    return good < 2 || maker->own_device;
}

static bool take_device(gb_maker *maker, gb_status *status)
{
    const char *list = maker->how.devices;
    if (list)
        maker->own_device = word_of(list, gb_ranks_local(maker->ranks) % words_in(list), status);
    else if (maker->ranks && !maker->device_name && !maker->config->device &&
             !next_device(maker, status))
        return false;
    if (maker->own_device)
        maker->device_name = maker->own_device;
    return !list || maker->own_device;
}

/* ---- beginning ---- */

/* The same command in several processes, with whose exit code this one ends; only returns where
 * they cannot be started. */
static bool start(const gb_maker *maker, char *const argv[], gb_status *status)
{
    static char option[] = "--shaders";
    size_t count = 0;
    while (argv[count])
        count++;
    char *folder = maker->config->shaders ? gb_strdup(maker->config->shaders, status) : NULL;
    char **words = gb_alloc(count + 3, sizeof *words, status);
    if (words) {
        memcpy(words, argv, count * sizeof *words);
        if (folder) { /* the program has taken it out of argv */
            words[count++] = option;
            words[count++] = folder;
        }
        int code;
        if (gb_ranks_run(maker->config, maker->how.count, words, &code, status))
            exit(code);
    }
    free(words);
    free(folder);
    return false;
}

bool experiment_maker_ranks_join(gb_maker *maker, char *const argv[], gb_status *status)
{
    gb_rank_options *how = &maker->how;
    bool trains = maker->flags & GB_MAKES_TRAINING;
    uint32_t launched = gb_ranks_launched(maker->config);
    if (how->devices && !how->count && launched == 1)
        how->count = words_in(how->devices);
    if (how->simulated && (how->count > 1 || launched > 1))
        return gb_fail(status, GB_USAGE, NULL, "leave one of them out",
                       "--simulate-ranks is about one process, not about several");
    if (how->count && launched > 1 && how->count != launched)
        return gb_fail(status, GB_USAGE, NULL, "leave --ranks out under a launcher",
                       "--ranks %u, but the launcher started %u processes", how->count, launched);
    uint32_t ranks = how->simulated ? how->simulated : launched > 1 ? launched : how->count;
    if (trains && ranks && !how->gradient_shards)
        how->gradient_shards = GB_SHARDS_DEFAULT;
    if (trains && ranks > how->gradient_shards)
        return gb_fail(
            status, GB_USAGE, NULL,
            "give --gradient-shards of at least that number; it is part of the artifact's key",
            "%u ranks cannot divide %u gradient shards", ranks, how->gradient_shards);
    if (maker->cost)
        return true;
    if (how->count > 1 && launched == 1)
        return start(maker, argv, status);
    if (launched > 1 && !(maker->ranks = gb_ranks_join(maker->config, status)))
        return false;
    gb_ranks_at(maker->ranks, "%s", experiment_maker_kind(maker));
    if (!gb_maker_leads(maker))
        gb_log_set_level(GB_LOG_OWN);
    else if (maker->ranks && trains)
        gb_log(GB_LOG_INFO, "%u ranks, %u gradient shards", ranks, how->gradient_shards);
    else if (maker->ranks)
        gb_log(GB_LOG_INFO, "%u ranks", ranks);
    return take_device(maker, status);
}

bool experiment_maker_ranks_begun(gb_maker *maker, const char *device, const char *name,
                                  gb_status *status)
{
    if (!maker->ranks || (!gb_maker_leads(maker) && status->code != GB_OK))
        return status->code == GB_OK;
    struct {
        gb_code code; /* of rank 0 */
        bool there;   /* the artifact was */
        char folder[PATH_MAX];
    } word = {status->code, maker->step && gb_artifact_done(maker->step), ""};
    if (maker->step)
        snprintf(word.folder, sizeof word.folder, "%s", gb_artifact_path(maker->step));
    gb_status lost = {0};
    if (!gb_ranks_broadcast(maker->ranks, &word, sizeof word, &lost)) {
        *status = lost;
        return false;
    }
    maker->there = word.there;
    if (!gb_maker_leads(maker) && !(maker->folder = gb_strdup(word.folder, status)))
        return false;
    if (word.code != GB_OK && !gb_maker_leads(maker)) {
        maker->ends_with_first = true;
        return gb_fail(status, word.code, NULL, NULL, "rank 0 does not begin");
    }
    if (word.code != GB_OK || word.there)
        return word.code == GB_OK;
    /* Bits are promised for one device, one set of kernels, and one command. */
    return (!device || gb_ranks_agree(maker->ranks, "the device", device, status)) &&
           gb_ranks_agree(maker->ranks, "what it makes (program, options, inputs)", name, status);
}

char *gb_maker_rank_file(const gb_maker *maker, const char *name, uint32_t rank, gb_status *status)
{
    char *own = gb_format(status, "%s.%u-of-%u", name, rank, gb_ranks_count(maker->ranks));
    char *path = own ? gb_maker_resume_file(maker, own, status) : NULL;
    free(own);
    return path;
}

bool gb_maker_wait(gb_maker *maker, gb_status *status)
{
    bool nothing = false;
    return gb_ranks_any(maker->ranks, &nothing, status);
}

/* ---- the end ---- */

void experiment_maker_ranks_close(gb_maker *maker, const gb_status *status)
{
    bool failed = status->code != GB_OK && status->code != GB_BUSY;
    bool launched = gb_ranks_launched_rank(maker->config) > 0;
    /* Asked to stop, all do so together, but for one that others keep waiting. */
    bool together =
        maker->ends_with_first || (status->code == GB_INTERRUPTED && maker->ranks &&
                                   strcmp(status->where, gb_ranks_name(maker->ranks)) != 0);
    free(maker->own_device);
    free(maker->folder);
    if (failed && launched && !together)
        sleep(AFTER_RANK_0_S);
    if (failed && (!launched || (maker->ranks && !together))) {
        gb_status said = *status;
        const char *name = gb_ranks_name(maker->ranks);
        if (maker->ranks && !together && strcmp(said.where, name) != 0)
            snprintf(said.where, sizeof said.where, "%s%s%.200s", name, *status->where ? ": " : "",
                     status->where);
        gb_status_print(&said);
    }
    if (failed && maker->ranks && !together)
        gb_ranks_abort(maker->ranks, status->code);
    gb_ranks_leave(maker->ranks);
}
