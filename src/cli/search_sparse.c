/* gabbro search-sparse: ranks passages for queries by their sparse vectors. */
#include "cli.h"

#include <gabbro/lexical.h>

typedef struct settings {
    gb_impacts_params search; /* files and depth */
    uint32_t memory_mib;      /* of the postings of a part */
    const char *run, *tag;    /* file that is written; of its lines */
} settings;

static bool search(settings *o, gb_status *status)
{
    gb_run run = {0};
    gb_run_names names = {0};
    const gb_run_style style = {.tag = o->tag};
    uint32_t parts = 0;
    o->search.memory_bytes = (uint64_t)o->memory_mib << 20;
    bool ok = gb_run_names_create(&names, status) &&
              gb_impacts_search(&o->search, &names, &run, &parts, status) &&
              gb_run_write(&run, &names, &style, o->run, status);
    if (ok)
        printf("%u passages in %u %s, %zu queries\n", gb_names_count(names.passages), parts,
               parts == 1 ? "part" : "parts", run.list_count);
    gb_run_free(&run);
    gb_run_names_free(&names);
    return ok;
}

static int run(const gb_call *call)
{
    settings o = {.search = {.depth = 1000}, .memory_mib = 1024, .tag = "gabbro-sparse"};
    const gb_option options[] = {
        {"passages", GB_OPTION_TEXT, &o.search.passages, GB_OPTION_REQUIRED, "FILE",
         "vectors of the passages, JSON lines, plain, gzip or zstd"},
        {"queries", GB_OPTION_TEXT, &o.search.queries, GB_OPTION_REQUIRED, "FILE",
         "vectors of the queries"},
        {"run", GB_OPTION_TEXT, &o.run, GB_OPTION_REQUIRED, "FILE", "file of the run (TREC)"},
        {"depth", GB_OPTION_U32, &o.search.depth, 0, NULL, "passages a query", .min = 1,
         .max = INT32_MAX},
        {"memory", GB_OPTION_U32, &o.memory_mib, 0, "MIB",
         "memory of the postings of a part; what does not fit is searched in further parts",
         .min = 1, .max = 1 << 22},
        {"tag", GB_OPTION_TEXT, &o.tag, 0, "NAME", "tag of the run, one word"},
        {0}};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_search_sparse, options, call, NULL, &code))
        return code;
    gb_install_signals();
    if (gb_run_tag_check(o.tag, &status))
        search(&o, &status);
    return gb_command_end(&status);
}

const gb_command gb_cli_search_sparse = {
    .name = "search-sparse",
    .summary = "rank passages by sparse vectors",
    .description =
        "Rank passages exactly by the inner products of sparse vectors, such as those of SPLADE, "
        "from an inverted index of impacts. A line of a file is {\"id\": \"p1\", \"vector\": "
        "{\"term\": 1.5, ...}}, as Anserini's JsonVectorCollection has it; other members are not "
        "read. Weights are numbers from 0 on, whole or not. Of equal scores the earlier passage is "
        "first; a passage without a term of the query is not ranked.",
    .run = run};
