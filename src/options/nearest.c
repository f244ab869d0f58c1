/* Which name a mistyped word may have meant. */
#include "private.h"

#include <string.h>

/* Names are short; of longer ones the beginning decides. */
#define MAX_LENGTH 63

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to change, add or leave out, or neighbours to exchange, until two words are equal
 * (Damerau's distance, in which no letter is moved twice). */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][MAX_LENGTH + 1], length_a = strnlen(a, MAX_LENGTH),
                                    length_b = strnlen(b, MAX_LENGTH);
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= length_b; j++)
        last[j] = j;
    for (size_t i = 1; i <= length_a; i++) {
        row[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            size_t changed = last[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = min(changed, min(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min(row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[length_b];
}

void gb_nearest_compare(gb_nearest *nearest, const char *name)
{
    /* A third of the letters may be wrong, else the word meant something else. */
    size_t edits = distance(nearest->word, name), allowed = strlen(name) / 3 + (strlen(name) < 3);
    if (edits > allowed || (nearest->name && edits >= nearest->distance))
        return;
    nearest->name = name;
    nearest->distance = edits;
}
