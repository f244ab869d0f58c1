/* The losses of a training, for curves. */
#include "private.h"

#include <stdlib.h>

bool train_save_losses(const gb_maker *maker, const char *const *names, uint32_t steps,
                       double (*log)[GB_MAX_LOSSES], gb_status *status)
{
    char *path = gb_maker_file(maker, "losses.tsv", status);
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    free(path);
    if (!out)
        return false;
    fprintf(gb_out_stream(out), "step");
    for (int l = 0; l < GB_MAX_LOSSES && names[l]; l++)
        fprintf(gb_out_stream(out), "\t%s", names[l]);
    for (uint32_t i = 0; i < steps; i++) {
        fprintf(gb_out_stream(out), "\n%u", i);
        for (int l = 0; l < GB_MAX_LOSSES && names[l]; l++)
            fprintf(gb_out_stream(out), "\t%.7g", log[i][l]);
    }
    fprintf(gb_out_stream(out), "\n");
    return gb_out_commit(out, status);
}
