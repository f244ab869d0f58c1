/* How many steps run at once, by the device that they run on. */
#include "process.h"
#include "schedule.h"
#include "session.h"

#include <gabbro/os.h>

#include <string.h>

/* Asks gabbro doctor what the device in use is; *code is its exit code. quiet: it does not say what
 * is wrong. */
static bool ask_type(const repro_session *session, bool quiet, bool *cpu, int *code,
                     gb_status *status)
{
    static const char *const words[] = {"doctor", "--type", NULL};
    repro_command command = {.program = session->program,
                             .words = words,
                             .environment = session->environment,
                             .catch_errors = quiet};
    gb_text type = {0};
    bool ok = repro_process_run(&command, &type, code, status);
    *cpu = ok && type.data && !strcmp(type.data, "cpu");
    gb_text_free(&type);
    return ok;
}

bool repro_session_on_cpu(const repro_session *session)
{
    bool cpu;
    int code;
    return ask_type(session, true, &cpu, &code, NULL) && cpu;
}

/* A device that was named has to be there, before the first command that needs it has its turn. */
static bool look_at_device(const repro_session *session, bool *cpu, gb_status *status)
{
    int code = 0;
    if (!session->params->device) {
        *cpu = repro_session_on_cpu(session);
        return true;
    }
    return ask_type(session, false, cpu, &code, status) && repro_process_ok("doctor", code, status);
}

bool repro_session_choose_jobs(repro_session *session, gb_status *status)
{
    enum { MAX_AUTOMATIC = 8 }; /* at a gigabyte each */
    const gb_reproduce_params *params = session->params;
    uint32_t cores = gb_os_processors();
    /* One, where its times are wanted or ranks fill the machine. */
    bool ranked = params->ranks || params->devices || params->simulate_ranks;
    bool one = params->profile || (!params->jobs && ranked), cpu = false;
    if ((params->device || (!one && !params->jobs)) && !look_at_device(session, &cpu, status))
        return false;
    if (one)
        session->jobs = 1;
    else if (params->jobs)
        session->jobs = params->jobs;
    else
        session->jobs = !cpu ? 1 : cores < MAX_AUTOMATIC ? cores : MAX_AUTOMATIC;
    if (session->jobs > REPRO_MAX_JOBS)
        session->jobs = REPRO_MAX_JOBS;
    if (session->jobs == 1)
        return true;
    /* Threads of Mesa's CPU driver; results do not depend on them. */
    if (params->config->lavapipe_threads)
        return true;
    session->threads = repro_session_keep(session, status, "LP_NUM_THREADS=%u",
                                          (cores + session->jobs - 1) / session->jobs);
    session->threads_alone = repro_session_keep(session, status, "LP_NUM_THREADS=%u", cores);
    return session->threads && session->threads_alone;
}
