/* Bytes of what commands of a plan hand on: runs, and vectors of passages. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

double repro_argv_number(const repro_argv *argv, const char *option)
{
    const char *text = repro_argv_option(argv, option);
    return text ? strtod(text, NULL) : 0;
}

void repro_plan_run(repro_plan *plan, const repro_node *node, double hits, repro_table_cost *table)
{
    enum { LINE_BYTES = 40 };
    plan->hits[node->index] = hits;
    table->disk += hits * LINE_BYTES;
}

double repro_plan_run_memory(const repro_plan *plan, const repro_node *node,
                             const repro_sizes *sizes)
{
    enum { ID_BYTES = 80 }; /* of a passage's id in the map by which a run is read */
    double hits = 0;
    for (size_t i = 0; i < node->count; i++)
        hits += node->words[i].node ? plan->hits[node->words[i].node->index] : 0;
    return hits > 0 ? hits * REPRO_RUN_BYTES + sizes->passages * ID_BYTES : 0;
}

bool repro_plan_passage(const repro_node *node, const repro_cost *cost, repro_passage_cost *each,
                        gb_status *status)
{
    enum { TOKEN_WIDTH = 128, QUERY_LENGTH = 32, COIL_WIDTH = 32 }; /* where nothing is said */
    const repro_node *model = repro_node_option(node, "--model").node;
    repro_argv argv = {0};
    bool ok = !model || repro_argv_of(model, &argv, status);
    const char *scoring = repro_argv_option(&argv, "--scoring");
    double width = repro_cost_get(cost, "width"), tokens = repro_cost_get(cost, "passage_tokens");
    *each = (repro_passage_cost){.flops = 2 * width, .bytes = 4 * width};
    if (scoring && !strcmp(scoring, "tokens")) {
        double of_query = repro_argv_number(&argv, "--query-length"),
               of_token = repro_argv_number(&argv, "--token-width");
        of_token = of_token > 0 ? of_token : TOKEN_WIDTH;
        each->flops = 2 * tokens * (of_query > 0 ? of_query : QUERY_LENGTH) * of_token;
        each->bytes = 4 * tokens * of_token;
    } else if (scoring && !strcmp(scoring, "coil")) { /* beside the vectors of whole texts */
        double of_token = repro_argv_number(&argv, "--coil-width");
        each->bytes += 4 * tokens * (of_token > 0 ? of_token : COIL_WIDTH);
    }
    repro_argv_free(&argv);
    return ok;
}
