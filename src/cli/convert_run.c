/* gabbro convert-run: a run in the layout of other programs. */
#include "data.h"

#include <gabbro/eval.h>

typedef struct settings {
    const char *run, *out, *collection, *tag; /* files; of TREC's lines */
    uint32_t from, form;                      /* indices of gb_run_words and of forms */
    uint32_t depth;                           /* passages a query, 0: all */
} settings;

static const char *const forms[] = {"trec", "msmarco", "scores", "dpr", "pyserini", NULL};
static const gb_run_format format_of[] = {GB_RUN_TREC, GB_RUN_MSMARCO, GB_RUN_SCORES, GB_RUN_DPR,
                                          GB_RUN_PYSERINI};

static bool convert(const settings *o, const gb_collection *collection, gb_status *status)
{
    gb_run_names names = {0};
    gb_run run = {0};
    const gb_run_style style = {.format = format_of[o->form], .tag = o->tag, .depth = o->depth};
    const bool json = style.format == GB_RUN_DPR || style.format == GB_RUN_PYSERINI;
    if (o->tag && style.format != GB_RUN_TREC)
        return gb_fail(status, GB_USAGE, "--tag", "leave it out", "the form %s has no tag",
                       forms[o->form]);
    bool ok = (collection ? gb_run_names_of(collection, &names, status)
                          : gb_run_names_create(&names, status)) &&
              gb_run_read(o->run, gb_run_word_formats[o->from], &names, &run, NULL, status) &&
              gb_run_sort(&run, status) &&
              (json ? gb_run_write_dpr(&run, collection, &names, &style, o->out, status)
                    : gb_run_write(&run, &names, &style, o->out, status));
    size_t written = 0;
    for (size_t l = 0; ok && l < run.list_count; l++)
        written += o->depth && o->depth < run.lists[l].count ? o->depth : run.lists[l].count;
    if (ok)
        printf("%zu queries, %zu passages\n", run.list_count, written);
    gb_run_free(&run);
    gb_run_names_free(&names);
    return ok;
}

static int run(const gb_call *call)
{
    settings o = {0};
    const gb_option options[] = {
        {"to", GB_OPTION_TEXT, &o.out, GB_OPTION_REQUIRED, "FILE", "file that is written"},
        {"from", GB_OPTION_CHOICE, &o.from, 0, NULL, gb_run_words_help, gb_run_words},
        {"form", GB_OPTION_CHOICE, &o.form, 0, NULL,
         "layout of FILE: TREC's; MS MARCO's (qid pid rank); qid pid score; JSON of DPR; JSON of "
         "Pyserini's evaluation of DPR",
         forms},
        {"collection", GB_OPTION_TEXT, &o.collection, 0, "PATH",
         "artifact of gabbro collection, or what gabbro collection --from reads: its texts and "
         "answers go into JSON, and it knows the ids of DPR's questions"},
        {"depth", GB_OPTION_U32, &o.depth, 0, NULL, "passages a query; 0: all"},
        {"tag", GB_OPTION_TEXT, &o.tag, 0, "NAME",
         "tag of TREC's lines, one word (default: gabbro)"},
        {0}};
    gb_words files = {0};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_convert_run, options, call, &files, &code))
        return code;
    char *imported = NULL;
    gb_collection *collection =
        o.collection ? cli_data_open(call->config, o.collection, &imported, &status) : NULL;
    o.run = files.items[0];
    if (!o.collection && format_of[o.form] >= GB_RUN_DPR)
        gb_fail(&status, GB_USAGE, NULL, "name it: --collection PATH",
                "the texts of passages are in a collection");
    else if (!o.collection || collection)
        convert(&o, collection, &status);
    gb_collection_close(collection);
    gb_temporary_remove(imported);
    return gb_command_end(&status);
}

const gb_command gb_cli_convert_run = {
    .name = "convert-run",
    .summary = "write a run in the layout of other programs",
    .operands = "RUN",
    .needs = "a run",
    .operands_min = 1,
    .operands_max = 1,
    .description =
        "Read a run in any layout that gabbro eval reads, DPR's and Pyserini's JSON among them, "
        "and write it in another one. DPR's JSON has no ids of questions: with --collection they "
        "are found by their texts, else questions are numbered from 0, as Pyserini's are.",
    .run = run};
