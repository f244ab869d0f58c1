/* Whether cost grows as it should: steps of more and more tokens, searches in more and more
 * passages. Rates that stay where they are mean that it does. */
#include "bench.h"

static const uint32_t tokens[] = {1024, 4096, 16384, 65536},
                      passages[] = {10000, 40000, 160000, 640000};
#define TIMES (sizeof tokens / sizeof *tokens)

bool bench_growth(bench *b, gb_status *status)
{
    for (size_t i = 0; i < BENCH_SIZES; i++)
        for (size_t t = 0; b->sizes[i] && t < 2 * TIMES; t++) {
            bench_size size = bench_sizes[i];
            bool step = t < TIMES;
            char name[80];
            size.texts = tokens[t % TIMES] / size.longest;
            size.search_texts = passages[t % TIMES];
            if (step)
                snprintf(name, sizeof name, "%s masked LM, %u tokens", size.name, tokens[t]);
            else
                snprintf(name, sizeof name, "%s search in %u", size.name, size.search_texts);
            if (!(step ? bench_masked_lm : bench_search_in)(b, &size, name, status))
                return false;
        }
    return true;
}
