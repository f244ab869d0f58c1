/* Prompts of passages as tokens, cut to the length that they may have. */
#include "private.h"

static bool encode(gb_querygen *g, uint32_t passage, size_t max_bytes, gb_status *status)
{
    g->text.length = 0;
    g->ids.count = 0;
    return gb_prompt_template_fill(&g->prompt, g->collection, passage, max_bytes, &g->text,
                                   status) &&
           gb_coder_encode(g->coder, g->text.data, g->text.length, &g->ids, status);
}

bool querygen_make_prompt(gb_querygen *g, uint32_t passage, gb_status *status)
{
    uint32_t most = g->params->prompt_tokens, end = gb_coder_special_ids(g->coder).end;
    if (!encode(g, passage, SIZE_MAX, status))
        return false;
    if (g->ids.count > most && gb_prompt_template_ends_with_passage(&g->prompt)) {
        bool ends = g->ids.data[g->ids.count - 1] == end;
        g->ids.count = most;
        if (ends)
            g->ids.data[most - 1] = end;
    }
    for (size_t bytes = g->text.length; g->ids.count > most;) {
        size_t fewer = bytes * most / g->ids.count;
        bytes = fewer < bytes ? fewer : bytes - 1;
        if (!bytes)
            return gb_fail(status, GB_USAGE, g->prompt.name, "give more --prompt-tokens",
                           "the prompt alone has more than %u tokens", most);
        if (!encode(g, passage, bytes, status))
            return false;
    }
    return true;
}
