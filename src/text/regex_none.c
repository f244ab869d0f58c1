/* In the place of regex.c where ICU's part with regular expressions was not there to build with. */
#include "gabbro/text.h"

gb_regex *gb_regex_create(const char *expression, size_t length, const gb_lines *lines,
                          gb_status *status)
{
    (void)expression, (void)length, (void)lines;
    gb_fail(status, GB_USAGE, NULL, "install libicu-dev (Debian) and build again",
            "this program was built without ICU's regular expressions");
    return NULL;
}

void gb_regex_destroy(gb_regex *regex)
{
    (void)regex;
}

bool gb_regex_search(gb_regex *const *regexes, size_t count, const char *text, size_t length,
                     bool *found, gb_status *status)
{
    (void)regexes, (void)count, (void)text, (void)length, (void)found;
    return gb_fail(status, GB_INTERNAL, NULL, NULL, "there is no regular expression");
}
