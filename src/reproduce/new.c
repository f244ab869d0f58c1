/* The skeleton of another paper: a folder with its tables as data and a recipe, which runs as it
 * is. */
#include "new.h"

#include <gabbro/data.h>

#include <stdlib.h>
#include <string.h>

/* A file of the skeleton; @ stands for the paper's name. */
typedef struct skeleton {
    const char *path; /* in the folder */
    const char *text; /* its lines */
} skeleton;

static const skeleton files[] = {
    {"README.md",
     "# @\n\n"
     "What Gabbro needs to reproduce a table of this paper. It can be run at once, with two rows:\n"
     "BM25 and a masked-LM encoder. Gabbro's page docs/reference/new-paper.md explains step by "
     "step\n"
     "what to fill in.\n\n"
     "    reproduce @/table1 --paper .                  makes the table at scale mini\n"
     "    reproduce @/table1 --paper . --dry-run        prints the commands\n"
     "    reproduce judge @/table1 --paper . --runs DIR measures your own runs or models\n\n"
     "| file | what to fill in |\n|---|---|\n"
     "| tables/tables.tsv | the title of each table |\n"
     "| tables/published/@-table1.tsv | the cells as printed |\n"
     "| tables/rows/@-table1.tsv | the rows in print order |\n"
     "| tables/columns/@-table1.tsv | the columns, and which measures fill them |\n"
     "| tables/claims.tsv | what the paper says of its rows |\n"
     "| tables/deviations.tsv | where the reproduction differs, and why |\n"
     "| reproduce/@/table1.lua | the recipe |\n"},
    {"tables/tables.tsv", "table\ttitle\talias\n@/table1\t@: title of the table\ttable1\n"},
    {"tables/published/@-table1.tsv",
     "row\tgroup\tcolumn\tvalue\tunit\tmarks\tsource\tstatus\tnote\n"},
    {"tables/rows/@-table1.tsv", "key\tpublished\trole\tgroup\tlabel\n"
                                 "bm25\t-\textra\tSparse retrieval\tBM25\n"
                                 "mlm\t-\textra\tDense retrieval\tMasked LM\n"},
    {"tables/columns/@-table1.tsv",
     "column\tobtained\theader\tlabel\n"
     "msmarco-dev:MRR@10\tdev:MRR@10\tMRR@10\tMS MARCO dev, MRR@10\n"
     "msmarco-dev:R@1k\tdev:Hit@1000\tR@1k\tMS MARCO dev, R@1000 (share of queries with a positive "
     "in the top 1000)\n"},
    {"tables/claims.tsv", "id\ttable\tkind\tcolumn\tleft\tright\tholds\tgiven\twhere"
                          "\tstatement\n"},
    {"tables/deviations.tsv", "id\ttables\tscales\ttopic\tpaper\there\twhy\n"},
    {"reproduce/@/table1.lua",
     "-- @, Table 1: what it compares.\n"
     "-- cost: a pre-training and a fine-tuning of each row\n\n"
     "use \"main\"\n"
     "bm25_negatives()\n\n"
     "for seed in seeds() do\n"
     "  row(\"bm25\", \"bm25\")\n"
     "  local mlm = begin_seed()\n"
     "  row(\"mlm\", finetune(mlm, here.set.bm25))\n"
     "  -- Another row: its key in tables/rows, an objective of gabbro pretrain, and what the "
     "context "
     "of\n"
     "  -- a passage is (none, span or query).\n"
     "  -- row(\"mine\", finetune(pretrain(\"cotmae\", \"span\", mlm), here.set.bm25))\n"
     "end\n"},
};

/* A measure's @, which is not the paper's name: it has a digit behind it. */
static bool is_measure(const char *at)
{
    return at[1] >= '0' && at[1] <= '9';
}

static bool fill(const char *text, const char *paper, gb_text *out, gb_status *status)
{
    for (; *text; text++)
        if (*text == '@' && !is_measure(text))
            gb_text_printf(out, "%s", paper);
        else
            gb_text_append(out, text, 1);
    return !out->failed || gb_fail_memory(status, "writing a skeleton");
}

static bool write_file(const skeleton *file, const char *paper, const char *folder,
                       gb_status *status)
{
    gb_text name = {0}, text = {0};
    bool ok = fill(file->path, paper, &name, status) && fill(file->text, paper, &text, status);
    char *path = ok ? gb_path_join(status, folder, name.data) : NULL;
    char *parent = path ? gb_strdup(path, status) : NULL;
    if (parent)
        *strrchr(parent, '/') = '\0';
    ok = parent && gb_make_dirs(parent, status) && gb_text_write(&text, path, status);
    free(path);
    free(parent);
    gb_text_free(&name);
    gb_text_free(&text);
    return ok;
}

bool repro_new_paper(const char *paper, const char *folder, gb_status *status)
{
    const char *out = folder ? folder : paper;
    size_t length = strlen(paper);
    if (!length || length > 40 || strspn(paper, "abcdefghijklmnopqrstuvwxyz0123456789") != length)
        return gb_fail(status, GB_USAGE, paper, "as qac, or retromae",
                       "the name of a paper has small letters and digits only");
    if (gb_file_exists(out) || gb_dir_exists(out))
        return gb_fail(status, GB_USAGE, out, "see --out", "there is something already");
    char *draft = gb_draft_create(out, "README.md", status);
    bool ok = draft != NULL;
    for (size_t i = 0; ok && i < sizeof files / sizeof *files; i++)
        ok = write_file(&files[i], paper, draft, status);
    ok = gb_draft_end(draft, ok, out, status);
    if (ok)
        printf("%s/README.md\n", out);
    return ok;
}
