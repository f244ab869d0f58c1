/* Whether cost grows as it should: steps of more and more tokens, searches in more and more
 * passages. Rates that stay where they are mean that it does. */
#include "private.h"

static const uint32_t tokens[] = {1024, 4096, 16384, 65536},
                      passages[] = {10000, 40000, 160000, 640000};

static bool grow(bench *b, const bench_size *given, gb_status *status)
{
    bench_size size = *given;
    char name[80];
    b->texts = 0; /* these are what is varied here */
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        size.texts = tokens[i] / size.max_length;
        snprintf(name, sizeof name, "%s masked LM, %u tokens", size.name, tokens[i]);
        if (!bench_masked_lm(b, &size, name, status))
            return false;
    }
    for (size_t i = 0; i < sizeof passages / sizeof *passages; i++) {
        size.search_texts = passages[i];
        snprintf(name, sizeof name, "%s search in %u", size.name, passages[i]);
        if (!bench_search_in(b, &size, name, status))
            return false;
    }
    return true;
}

bool bench_growth(bench *b, gb_status *status)
{
    for (size_t i = 0; i < BENCH_SIZES; i++)
        if (b->sizes[i] && !grow(b, &bench_sizes[i], status))
            return false;
    return true;
}
