/* Second opinion on barriers, by another method than the one that sets them: every byte range
 * remembers the kernel that last wrote and last read it, and a barrier makes the past harmless. */
#include "tape.h"

#include <stdlib.h>

/* One use of a byte range by a kernel. */
typedef struct use {
    tensor_place place; /* which bytes */
    size_t kernel;      /* by whom */
    bool writes;        /* read otherwise */
} use;

bool gb_hazard_check(const gb_tape *tape, const gb_kernel *kernels, size_t count, gb_status *status)
{
    use *uses = gb_alloc(count * GB_KERNEL_BINDINGS, sizeof *uses, status);
    if (!uses)
        return false;
    size_t used = 0;
    bool ok = true;
    for (size_t k = 0; k < count && ok; k++) {
        if (kernels[k].barrier)
            used = 0;
        size_t before = used;
        for (int i = 0; i < GB_KERNEL_BINDINGS && ok; i++) {
            use now = {tape_place_of(tape, kernels[k].bind[i]), k, kernels[k].access[i] & GB_WRITE};
            if (!now.place.bytes || !kernels[k].access[i])
                continue;
            for (size_t u = 0; u < before && ok; u++) {
                const use *past = &uses[u];
                bool touch = past->place.space == now.place.space &&
                             past->place.start < now.place.start + now.place.bytes &&
                             now.place.start < past->place.start + past->place.bytes;
                if (touch && (past->writes || now.writes))
                    ok = gb_fail(status, GB_INTERNAL, tape->name, NULL,
                                 "no barrier between kernel %zu (%s) and kernel %zu (%s) on %s",
                                 past->kernel, kernels[past->kernel].label, k, kernels[k].label,
                                 tape->tensors[kernels[k].bind[i]].name);
            }
            uses[used++] = now;
        }
    }
    free(uses);
    return ok;
}
