/* Statuses of the public interface, and its version. */
#include "private.h"

#include <gabbro/os.h>

#include <stdio.h>
#include <string.h>

_Static_assert((int)GABBRO_USAGE == GB_USAGE && (int)GABBRO_DATA == GB_DATA &&
                   (int)GABBRO_DEVICE == GB_DEVICE && (int)GABBRO_MEMORY == GB_MEMORY &&
                   (int)GABBRO_INTERNAL == GB_INTERNAL && (int)GABBRO_INTERRUPTED == GB_INTERRUPTED,
               "codes are the same inside and outside");

const char *gabbro_version(void)
{
    return GABBRO_VERSION;
}

library_call library_begin(void)
{
    return (library_call){.locale = gb_os_c_locale_begin()};
}

bool library_end(bool ok, library_call *call, gabbro_status *status)
{
    const gb_status *own = &call->status;
    gb_os_locale_end(call->locale);
    if (ok || !status)
        return ok;
    status->code = own->code == GB_OK ? GABBRO_INTERNAL : (int32_t)own->code;
    snprintf(status->what, sizeof status->what, "%s", own->what);
    snprintf(status->where, sizeof status->where, "%s", own->where);
    snprintf(status->hint, sizeof status->hint, "%s", own->hint);
    return false;
}

bool gb_library_failed(const gabbro_status *from, gb_status *status)
{
    return gb_fail(status, (gb_code)from->code, from->where, *from->hint ? from->hint : NULL, "%s",
                   from->what);
}

void library_params(void *params, size_t size, const void *given)
{
    memset(params, 0, size);
    if (!given)
        return;
    size_t known;
    memcpy(&known, given, sizeof known);
    memcpy(params, given, known < size ? known : size);
}
