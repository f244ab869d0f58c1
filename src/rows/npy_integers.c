/* Lists of whole numbers in NumPy's .npy files: where texts start, tags of tokens. */
#include "rows/npy.h"
#include <gabbro/rows.h>

#include <stdlib.h>
#include <string.h>

typedef struct integer_list {
    const unsigned char *at; /* first number */
    uint64_t count;          /* numbers */
    uint32_t bytes;          /* of each, 4 or 8 */
    bool is_signed;          /* its highest bit says whether a number is negative */
} integer_list;

/* The header is ended by a zero where the numbers begin. */
static bool parse(const char *header, integer_list *list)
{
    const char *descr = rows_npy_value(header, "'descr'");
    unsigned long long count;
    if (strlen(descr) < 5 || descr[0] != '\'' || descr[1] != '<' || !strchr("iu", descr[2]) ||
        !strchr("48", descr[3]) || descr[4] != '\'' ||
        sscanf(rows_npy_value(header, "'shape'"), "(%llu,)", &count) != 1 || count >= UINT32_MAX)
        return false;
    list->count = count;
    list->bytes = descr[3] == '4' ? 4 : 8;
    list->is_signed = descr[2] == 'i';
    return true;
}

static bool locate(unsigned char *file, size_t size, integer_list *list)
{
    if (size < 12 || memcmp(file, "\x93NUMPY", 6) || file[6] < 1 || file[6] > 3)
        return false;
    size_t bytes = file[6] == 1 ? 2 : 4, length = 0;
    for (size_t i = bytes; i > 0; i--)
        length = length << 8 | file[8 + i - 1];
    size_t begin = 8 + bytes + length;
    if (length == 0 || begin > size)
        return false;
    file[begin - 1] = '\0'; /* a line end */
    list->at = file + begin;
    return parse((const char *)file + 8 + bytes, list) && size - begin == list->count * list->bytes;
}

static uint64_t number_at(const integer_list *list, uint64_t i)
{
    uint64_t value = 0;
    for (uint32_t b = list->bytes; b > 0; b--)
        value = value << 8 | list->at[i * list->bytes + b - 1];
    return value;
}

uint32_t *gb_npy_integers(const char *path, size_t *count, gb_status *status)
{
    size_t size = 0;
    unsigned char *file = (unsigned char *)gb_read_file(path, &size, status);
    integer_list list = {0};
    uint32_t *values = NULL;
    bool ok = file != NULL;
    if (ok && !locate(file, size, &list))
        ok =
            gb_fail(status, GB_DATA, path, "numpy.save of a list of int32, uint32, int64 or uint64",
                    "not a whole file of such a list");
    ok = ok && (values = gb_alloc(list.count + 1, sizeof *values, status));
    for (uint64_t i = 0; ok && i < list.count; i++) {
        uint64_t value = number_at(&list, i);
        bool negative = list.is_signed && value >> (8 * list.bytes - 1);
        if (negative || value > UINT32_MAX)
            ok = gb_fail(status, GB_DATA, path, "numbers from 0 to 4294967295", "number %llu is %s",
                         (unsigned long long)i, negative ? "negative" : "beyond 32 bits");
        values[i] = (uint32_t)value;
    }
    free(file);
    if (!ok) {
        free(values);
        return NULL;
    }
    *count = list.count;
    return values;
}
