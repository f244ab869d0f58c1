#include "fields.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

size_t eval_split_fields(char *line, size_t length, eval_field fields[EVAL_MAX_FIELDS])
{
    size_t count = 0, i = 0;
    while (count < EVAL_MAX_FIELDS) {
        while (i < length && is_blank(line[i]))
            i++;
        if (i == length || (count == 0 && line[i] == '#'))
            break;
        size_t start = i;
        while (i < length && !is_blank(line[i]))
            i++;
        fields[count++] = (eval_field){line + start, i - start};
        if (i < length)
            line[i++] = '\0';
    }
    return count;
}

bool eval_parse_int(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end || errno)
        return false;
    *value = number;
    return true;
}

bool eval_parse_score(const char *text, double *value)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || isnan(number))
        return false;
    *value = number;
    return true;
}
