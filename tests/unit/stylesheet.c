/* The stylesheet of all pages: one place for colours, and texts that stand out from what is behind
 * them, in both colour schemes. */
#include "gabbro/page.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The light and the dark block of variables. */
static const char *block_of(int dark)
{
    const char *at = gb_page_style();
    for (int i = 0; i <= dark; i++)
        cr_assert(at = strstr(at + 1, ":root{"), "block %d", i);
    return at;
}

/* Relative luminance of WCAG 2.1 of a variable with the value #rrggbb. */
static double luminance_of(const char *name, int dark)
{
    static const double weights[] = {.2126, .7152, .0722};
    char wanted[32];
    double sum = 0;
    const char *block = block_of(dark), *end = strchr(block, '}');
    snprintf(wanted, sizeof wanted, "--%s:#", name);
    const char *at = strstr(block, wanted);
    cr_assert(at && at < end, "%s is in block %d", wanted, dark);
    for (int i = 0; i < 3; i++) {
        char byte[3] = {at[strlen(wanted) + 2 * i], at[strlen(wanted) + 2 * i + 1]};
        cr_assert(isxdigit(byte[0]) && isxdigit(byte[1]), "%s has six digits", wanted);
        double part = (double)strtoul(byte, NULL, 16) / 255;
        sum += weights[i] * (part <= .04045 ? part / 12.92 : pow((part + .055) / 1.055, 2.4));
    }
    return sum;
}

static double contrast(const char *text, const char *behind, int dark)
{
    double a = luminance_of(text, dark), b = luminance_of(behind, dark);
    return (fmax(a, b) + .05) / (fmin(a, b) + .05);
}

Test(stylesheet, texts_stand_out)
{
    static const char *const texts[] = {"ink", "dim", "yes", "no", "open", "link"};
    static const char *const behind[] = {"paper", "soft"};
    for (int dark = 0; dark < 2; dark++) {
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            for (size_t j = 0; j < 2; j++)
                cr_expect_geq(contrast(texts[i], behind[j], dark), 4.5, "%s on %s, block %d: %.2f",
                              texts[i], behind[j], dark, contrast(texts[i], behind[j], dark));
        cr_expect_geq(contrast("hit-ink", "hit", dark), 4.5);
        /* What is no text, but must be seen. */
        cr_expect_geq(contrast("focus", "paper", dark), 3);
        cr_expect_geq(contrast("mark", "paper", dark), 3);
    }
    cr_expect_float_eq(contrast("paper", "paper", 0), 1, 1e-12);
}

/* Rules name colours by variables, so that the test above is about all of them. */
Test(stylesheet, colours_are_variables)
{
    const char *at = strchr(block_of(1), '}'), *word = at;
    while ((word = strchr(word, '#'))) {
        size_t digits = strspn(word + 1, "0123456789abcdefABCDEF");
        cr_expect(digits < 3 || isalnum(word[1 + digits]), "%.20s", word);
        word++;
    }
    static const char *const none[] = {"rgb(", "hsl(", "color:black", "color:gray", "opacity"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_expect_null(strstr(at, none[i]), "%s", none[i]);
    cr_expect_null(strstr(gb_page_style(), "url("), "nothing is fetched");
    cr_expect_null(strstr(gb_page_style(), "@import"), "nothing is fetched");
}

/* A page alone has the sheet in it, a page of a site names it. */
Test(stylesheet, is_in_every_page)
{
    gb_text alone = {0}, site = {0};
    gb_page_begin(&alone, "a < b", NULL, "");
    gb_page_begin(&site, "a < b", "../style.css", "<meta name=\"x\">\n");
    cr_expect(strstr(alone.data, gb_page_style()) && !strstr(alone.data, "<link"));
    cr_expect(
        !strstr(site.data, "<style>") &&
        strstr(site.data, "<link rel=\"stylesheet\" href=\"../style.css\">\n<meta name=\"x\">"));
    cr_expect(strstr(site.data, "<title>a &lt; b</title>"));
    gb_text_free(&alone);
    gb_text_free(&site);
}
