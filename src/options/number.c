#include <gabbro/options.h>

#include <errno.h>
#include <stdlib.h>

bool gb_parse_u64(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *value,
                  gb_status *status)
{
    char *end;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || number < min || number > max)
        return gb_fail(status, GB_USAGE, NULL, "see --help",
                       "%s: \"%.40s\" is no whole number from %llu to %llu", option, text,
                       (unsigned long long)min, (unsigned long long)max);
    *value = number;
    return true;
}

bool gb_parse_u32(const char *option, const char *text, uint32_t min, uint32_t max, uint32_t *value,
                  gb_status *status)
{
    uint64_t number = 0;
    if (!gb_parse_u64(option, text, min, max, &number, status))
        return false;
    *value = (uint32_t)number;
    return true;
}

bool gb_parse_real(const char *option, const char *text, double min, double max, double *value,
                   gb_status *status)
{
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    if (end == text || *end || errno || !(number >= min && number <= max))
        return gb_fail(status, GB_USAGE, NULL, "see --help",
                       "%s: \"%.40s\" is no number from %g to %g", option, text, min, max);
    *value = number;
    return true;
}
