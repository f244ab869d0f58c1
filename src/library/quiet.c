/* Linked into the shared library alone: it prints nothing, what it has to say is in statuses. */
#include <gabbro/base.h>

__attribute__((constructor)) static void be_quiet(void)
{
    gb_log_set_level(GB_LOG_NONE);
}
