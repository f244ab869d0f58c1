/* "rope_parameters" of config.json, in which transformers 5 says how positions become angles. */
#include "folder/internal.h"

#include <string.h>

bool folder_read_rope(const json_t *parameters, const char *path, double *theta, gb_status *status)
{
    const char *type = "default";
    double share = 1;
    if (!parameters || json_is_null(parameters))
        return true;
    if (!json_is_object(parameters))
        return gb_fail(status, GB_DATA, path, "correct the model's configuration",
                       "\"rope_parameters\" are no JSON object");
    if (!gb_json_get_string(parameters, "type", path, &type, status) ||
        !gb_json_get_string(parameters, "rope_type", path, &type, status) ||
        !gb_json_get_real(parameters, "partial_rotary_factor", path, &share, status))
        return false;
    if (strcmp(type, "default") != 0)
        return gb_fail(status, GB_DATA, path, "only plain rotary positions are computed",
                       "\"rope_type\" is \"%.60s\"", type);
    if (share != 1)
        return gb_fail(status, GB_DATA, path, "only rotary positions of a whole head are computed",
                       "\"partial_rotary_factor\" is %g", share);
    return gb_json_get_real(parameters, "rope_theta", path, theta, status);
}
