#include <gabbro/options.h>

#include <errno.h>
#include <stdlib.h>

bool gb_parse_u64(const char *option, const char *text, uint64_t least, uint64_t most,
                  uint64_t *value, gb_status *status)
{
    char *end;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || number < least || number > most)
        return gb_fail(status, GB_USAGE, NULL, "see --help",
                       "%s: \"%.40s\" is no whole number from %llu to %llu", option, text,
                       (unsigned long long)least, (unsigned long long)most);
    *value = number;
    return true;
}

bool gb_parse_u32(const char *option, const char *text, uint32_t least, uint32_t most,
                  uint32_t *value, gb_status *status)
{
    uint64_t number = 0;
    if (!gb_parse_u64(option, text, least, most, &number, status))
        return false;
    *value = (uint32_t)number;
    return true;
}

bool gb_parse_real(const char *option, const char *text, double least, double most, double *value,
                   gb_status *status)
{
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    if (end == text || *end || errno || !(number >= least && number <= most))
        return gb_fail(status, GB_USAGE, NULL, "see --help",
                       "%s: \"%.40s\" is no number from %g to %g", option, text, least, most);
    *value = number;
    return true;
}
