/* Steps that several ranks make together: rank 0 has the store, all of them train, encode, search.
 */
#include <gabbro/experiment.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a rank waits before it says why it failed: where all fail alike, rank 0 has said it and
 * ended the others by then. */
#define AFTER_RANK_0_S 2

bool step_leads(const step_run *run)
{
    return gb_ranks_rank(run->ranks) == 0;
}

bool step_there(const step_run *run)
{
    return run->ranks ? run->there : gb_step_done(run->step);
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
static bool next_device(step_run *run, gb_status *status)
{
    gb_device_caps *caps;
    size_t count;
    gb_device_type best = GB_DEVICE_OTHER;
    uint32_t good = 0, wanted;
    if (!gb_device_list(&caps, &count, status))
        return false;
    for (size_t i = 0; i < count; i++)
        if (caps[i].usable && (!good || caps[i].type >= best)) {
            good = caps[i].type > best ? 1 : good + 1;
            best = caps[i].type;
        }
    wanted = good ? gb_ranks_local(run->ranks) % good : 0;
    for (size_t i = 0; i < count && good > 1 && !run->own_device; i++)
        if (caps[i].usable && caps[i].type == best && !wanted--)
            run->own_device = gb_format(status, "%u", caps[i].index);
    free(caps);
    return good < 2 || run->own_device;
}

static bool take_device(step_run *run, gb_status *status)
{
    const char *list = run->how.devices, *set = getenv("GABBRO_DEVICE");
    if (list)
        run->own_device = word_of(list, gb_ranks_local(run->ranks) % words_in(list), status);
    else if (run->ranks && !run->device_name && !(set && *set) && !next_device(run, status))
        return false;
    if (run->own_device)
        run->device_name = run->own_device;
    return !list || run->own_device;
}

/* ---- beginning ---- */

bool step_ranks_join(step_run *run, char *const argv[], gb_status *status)
{
    step_ranks *how = &run->how;
    uint32_t launched = gb_ranks_launched();
    if (how->devices && !how->count && launched == 1)
        how->count = words_in(how->devices);
    if (how->simulated && (how->count > 1 || launched > 1))
        return gb_fail(status, GB_USAGE, NULL, "leave one of them out",
                       "--simulate-ranks is about one process, not about several");
    if (how->count && launched > 1 && how->count != launched)
        return gb_fail(status, GB_USAGE, NULL, "leave --ranks out under a launcher",
                       "--ranks %u, but the launcher started %u processes", how->count, launched);
    uint32_t ranks = how->simulated ? how->simulated : launched > 1 ? launched : how->count;
    if (run->trains && ranks && !how->shares)
        how->shares = STEP_SHARES;
    if (run->trains && ranks > how->shares)
        return gb_fail(status, GB_USAGE, NULL,
                       "give --shares of at least that number; it is part of the step's key",
                       "%u ranks cannot divide %u shares of a batch", ranks, how->shares);
    if (run->cost)
        return true;
    if (how->count > 1 && launched == 1)
        return gb_ranks_start(how->count, argv, status);
    if (launched > 1 && !(run->ranks = gb_ranks_join(status)))
        return false;
    gb_ranks_at(run->ranks, "%s", run->kind);
    if (!step_leads(run))
        gb_log_set_level(GB_LOG_WARN);
    else if (run->ranks && run->trains)
        gb_log(GB_LOG_INFO, "%u ranks, %u shares of a batch", ranks, how->shares);
    else if (run->ranks)
        gb_log(GB_LOG_INFO, "%u ranks", ranks);
    return take_device(run, status);
}

bool step_ranks_begun(step_run *run, const char *device, gb_status *status)
{
    if (!run->ranks || (!step_leads(run) && status->code != GB_OK))
        return status->code == GB_OK;
    struct {
        gb_code code; /* of rank 0 */
        bool there;   /* the step was */
        char folder[PATH_MAX];
    } word = {status->code, run->step && gb_step_done(run->step), ""};
    if (run->step)
        snprintf(word.folder, sizeof word.folder, "%s", gb_step_path(run->step));
    gb_status lost = {0};
    if (!gb_ranks_broadcast(run->ranks, &word, sizeof word, &lost)) {
        *status = lost;
        return false;
    }
    run->there = word.there;
    if (!step_leads(run) && !(run->folder = gb_strdup(word.folder, status)))
        return false;
    if (word.code != GB_OK && !step_leads(run)) {
        run->with_rank_0 = true;
        return gb_fail(status, word.code, NULL, NULL, "rank 0 does not begin");
    }
    return word.code == GB_OK && (word.there || !device || /* bits are promised for one device */
                                  gb_ranks_agree(run->ranks, "the device", device, status));
}

char *step_rank_file(const step_run *run, const char *name, gb_status *status)
{
    char *own = gb_format(status, "%s.%u-of-%u", name, gb_ranks_rank(run->ranks),
                          gb_ranks_count(run->ranks));
    char *path = own ? step_resume_file(run, own, status) : NULL;
    free(own);
    return path;
}

bool step_ranks_wait(step_run *run, gb_status *status)
{
    bool nothing = false;
    return gb_ranks_any(run->ranks, &nothing, status);
}

/* ---- the end ---- */

void step_ranks_close(step_run *run, const gb_status *status)
{
    bool failed = status->code != GB_OK && status->code != GB_BUSY;
    bool launched = gb_ranks_launched_rank() > 0;
    /* Asked to stop, all do so together, but for one that others keep waiting. */
    bool together = run->with_rank_0 || (status->code == GB_INTERRUPTED && run->ranks &&
                                         strcmp(status->where, gb_ranks_name(run->ranks)) != 0);
    free(run->own_device);
    free(run->folder);
    if (failed && launched && !together)
        sleep(AFTER_RANK_0_S);
    if (failed && (!launched || (run->ranks && !together))) {
        gb_status said = *status;
        const char *name = gb_ranks_name(run->ranks);
        if (run->ranks && !together && strcmp(said.where, name) != 0)
            snprintf(said.where, sizeof said.where, "%s%s%.200s", name, *status->where ? ": " : "",
                     status->where);
        gb_status_print(&said);
    }
    if (failed && run->ranks && !together)
        gb_ranks_abort(run->ranks, status->code);
    gb_ranks_leave(run->ranks);
}
