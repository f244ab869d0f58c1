/* gabbro bm25: index a collection, search its queries, measure. */
#include "cli.h"
#include <gabbro/options.h>
#include "ranking.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro bm25 --collection DIR [options]\n"
    "\n"
    "Search with BM25 as Lucene scores it (Porter stems, Lucene's stop words, one-byte lengths) "
    "and\n"
    "measure. DIR is what gabbro collection prints, or a folder with corpus.jsonl[.gz] as BEIR's;\n"
    "a passage is its title, a blank and its text.\n"
    "\n"
    "  --split NAME     judgements of DIR: qrels/NAME.tsv (default test, else dev)\n"
    "  --queries FILE   queries instead of DIR's: JSON lines, qid<TAB>text, or TREC topics\n"
    "                   (<DOC> <DOCNO>1</DOCNO> text </DOC>)\n"
    "  --qrels FILE     judgements instead of DIR's: TREC, MS MARCO or BEIR layout\n"
    "  --k1 X --b X     BM25's parameters (default 0.9 and 0.4)\n"
    "  --vocab FILE     terms are WordPieces of this vocab.txt instead of stemmed words\n"
    "  --depth N        passages a query (default 1000)\n"
    "  --level N        a passage is relevant from grade N on (default 1)\n"
    "  --drop-identical drop a passage whose id is the query's (ArguAna, Quora)\n"
    "  --run FILE       write the run\n"
    "  --format F       of the run: trec (default), msmarco, scores\n"
    "  --tag NAME       of the run (default gabbro-bm25)\n"
    "  --threads N      searching threads (default: all processors)\n"
    "  -h, --help       this text\n";

/* The command line. */
typedef struct options {
    const char *collection; /* --collection */
    const char *split;      /* --split, or NULL */
    const char *queries;    /* --queries, or NULL */
    const char *qrels;      /* --qrels, or NULL */
    const char *vocab;      /* --vocab, or NULL */
    const char *run;        /* --run, or NULL */
    const char *tag;        /* --tag */
    gb_run_format format;   /* --format */
    double k1, b;           /* --k1, --b */
    uint32_t depth;         /* --depth */
    uint32_t level;         /* --level */
    uint32_t threads;       /* --threads; 0: all */
    bool drop_identical;    /* --drop-identical */
} options;

/* What is searched and how. */
typedef struct session {
    gb_collection *collection; /* DIR when it is a stored collection, else NULL */
    gb_vocab *vocab;           /* of --vocab */
    gb_tokenizer *tokenizer;   /* of --vocab */
    gb_bm25 *index;            /* of all passages */
    gb_names *passages;        /* ids of rows of the index */
    gb_names *stored_queries;  /* ids of the collection's queries */
    gb_topics topics;          /* queries of files */
    gb_names *queries;         /* ids of the queries: one of the two above */
    gb_query_fn *text;         /* their texts */
    const void *text_ctx;      /* for text */
    char *split;               /* settled split, or NULL */
    gb_qrels qrels;            /* judgements; count 0: none */
    gb_text joined;            /* scratch: title and text */
    gb_progress progress;      /* of indexing */
} session;

/* ---- options -----------------------------------------------------------------------------------
 */

enum {
    OPT_COLLECTION = 256,
    OPT_SPLIT,
    OPT_QUERIES,
    OPT_QRELS,
    OPT_K1,
    OPT_B,
    OPT_VOCAB,
    OPT_DEPTH,
    OPT_LEVEL,
    OPT_IDENTICAL,
    OPT_RUN,
    OPT_FORMAT,
    OPT_TAG,
    OPT_THREADS
};

static const struct option long_options[] = {
    {"collection", required_argument, NULL, OPT_COLLECTION},
    {"split", required_argument, NULL, OPT_SPLIT},
    {"queries", required_argument, NULL, OPT_QUERIES},
    {"qrels", required_argument, NULL, OPT_QRELS},
    {"k1", required_argument, NULL, OPT_K1},
    {"b", required_argument, NULL, OPT_B},
    {"vocab", required_argument, NULL, OPT_VOCAB},
    {"depth", required_argument, NULL, OPT_DEPTH},
    {"level", required_argument, NULL, OPT_LEVEL},
    {"drop-identical", no_argument, NULL, OPT_IDENTICAL},
    {"run", required_argument, NULL, OPT_RUN},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"tag", required_argument, NULL, OPT_TAG},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static bool parse_format(const char *text, gb_run_format *format, gb_status *status)
{
    if (strcmp(text, "trec") == 0)
        *format = GB_RUN_TREC;
    else if (strcmp(text, "msmarco") == 0)
        *format = GB_RUN_MSMARCO;
    else if (strcmp(text, "scores") == 0)
        *format = GB_RUN_SCORES;
    else
        return gb_fail(status, GB_USAGE, NULL, "trec, msmarco or scores",
                       "unknown format \"%.40s\"", text);
    return true;
}

static bool parse_tag(const char *text, const char **tag, gb_status *status)
{
    if (!*text || strpbrk(text, " \t\r\n"))
        return gb_fail(status, GB_USAGE, NULL, NULL, "--tag needs one word");
    *tag = text;
    return true;
}

static bool parse_option(options *o, int option, const char *value, gb_status *status)
{
    switch (option) {
    case OPT_COLLECTION:
        o->collection = value;
        return true;
    case OPT_SPLIT:
        o->split = value;
        return true;
    case OPT_QUERIES:
        o->queries = value;
        return true;
    case OPT_QRELS:
        o->qrels = value;
        return true;
    case OPT_K1:
        return gb_parse_real("--k1", value, 0, 1e30, &o->k1, status);
    case OPT_B:
        return gb_parse_real("--b", value, 0, 1, &o->b, status);
    case OPT_VOCAB:
        o->vocab = value;
        return true;
    case OPT_DEPTH:
        return gb_parse_u32("--depth", value, 1, INT32_MAX, &o->depth, status);
    case OPT_LEVEL:
        return gb_parse_u32("--level", value, 1, INT32_MAX, &o->level, status);
    case OPT_IDENTICAL:
        o->drop_identical = true;
        return true;
    case OPT_RUN:
        o->run = value;
        return true;
    case OPT_FORMAT:
        return parse_format(value, &o->format, status);
    case OPT_TAG:
        return parse_tag(value, &o->tag, status);
    case OPT_THREADS:
        return gb_parse_u32("--threads", value, 1, INT32_MAX, &o->threads, status);
    default:
        return gb_fail(status, GB_USAGE, NULL, "see gabbro bm25 --help",
                       "unknown or incomplete option %s", value);
    }
}

static bool parse(int argc, char **argv, options *o, bool *help, gb_status *status)
{
    int option;
    optind = 0; /* a fresh scan */
    opterr = 0;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (option == 'h') {
            *help = true;
            return false;
        }
        if (!parse_option(o, option, option == '?' ? argv[optind - 1] : optarg, status))
            return false;
    }
    if (optind < argc)
        return gb_fail(status, GB_USAGE, NULL, "see gabbro bm25 --help", "what is \"%.60s\"?",
                       argv[optind]);
    if (!o->collection)
        return gb_fail(status, GB_USAGE, NULL, "see gabbro bm25 --help", "--collection is missing");
    return true;
}

/* ---- reading and indexing ----------------------------------------------------------------------
 */

static bool create_index(session *s, const options *o, gb_status *status)
{
    gb_bm25_params params = gb_bm25_defaults();
    params.k1 = o->k1;
    params.b = o->b;
    if (o->vocab) {
        s->vocab = gb_vocab_load(o->vocab, status);
        s->tokenizer =
            s->vocab ? gb_tokenizer_create(s->vocab, GB_TOKENIZER_DEFAULTS, status) : NULL;
        if (!s->tokenizer)
            return false;
        params.source = gb_terms_wordpiece(s->tokenizer);
    }
    s->index = gb_bm25_create(params, status);
    return s->index;
}

/* Index the text in s->joined as the next row. */
static bool index_joined(session *s, gb_status *status)
{
    if (s->joined.failed)
        return gb_fail_memory(status, "reading passages");
    if (gb_interrupted())
        return gb_fail(status, GB_INTERRUPTED, NULL, "run it again", "stopped by a signal");
    if (!gb_bm25_add(s->index, s->joined.length ? s->joined.data : "", s->joined.length, status))
        return false;
    gb_progress_update(&s->progress, gb_bm25_count(s->index), NULL);
    return true;
}

static bool index_line(void *ctx, const char *id, const char *title, const char *text,
                       gb_status *status)
{
    session *s = ctx;
    uint32_t row;
    if (!gb_names_row(s->passages, id, strlen(id), &row, status))
        return false;
    if (row != gb_bm25_count(s->index))
        return gb_fail(status, GB_DATA, NULL, "ids must be unique", "passage \"%.80s\" comes twice",
                       id);
    s->joined.length = 0;
    if (*title)
        gb_text_printf(&s->joined, "%s ", title);
    gb_text_append(&s->joined, text, strlen(text));
    return index_joined(s, status);
}

/* Path of a file of DIR, or of its .gz; NULL when there is neither (or no memory). */
static char *find_file(const char *dir, const char *name, gb_status *status)
{
    char *plain = gb_path_join(status, dir, name);
    if (!plain || gb_file_exists(plain))
        return plain;
    char *packed = gb_format(status, "%s.gz", plain);
    free(plain);
    if (packed && gb_file_exists(packed))
        return packed;
    free(packed);
    gb_fail(status, GB_DATA, dir, "name the folder of a stored collection or of a BEIR data set",
            "no %s in the folder", name);
    return NULL;
}

static bool index_folder(session *s, const char *dir, gb_status *status)
{
    char *corpus = find_file(dir, "corpus.jsonl", status);
    s->passages = corpus ? gb_names_create(status) : NULL;
    gb_progress_begin(&s->progress, "bm25 index", "passages", 0, 0);
    bool ok = s->passages && gb_read_jsonl(corpus, index_line, s, status);
    free(corpus);
    return ok;
}

static bool index_collection(session *s, const char *dir, gb_status *status)
{
    s->collection = gb_collection_open(dir, status);
    s->passages = s->collection ? gb_names_from_table(s->collection->passage_ids, status) : NULL;
    if (!s->passages)
        return false;
    gb_progress_begin(&s->progress, "bm25 index", "passages", s->collection->passages, 0);
    for (uint32_t row = 0; row < s->collection->passages; row++) {
        s->joined.length = 0;
        gb_collection_passage(s->collection, row, &s->joined);
        if (!index_joined(s, status))
            return false;
    }
    return true;
}

static bool load_queries(session *s, const options *o, gb_status *status)
{
    if (!o->queries && s->collection) {
        s->stored_queries = gb_names_from_table(s->collection->query_ids, status);
        s->queries = s->stored_queries;
        s->text = gb_collection_query;
        s->text_ctx = s->collection;
        return s->queries;
    }
    char *found = o->queries ? NULL : find_file(o->collection, "queries.jsonl", status);
    if (!o->queries && !found)
        return false;
    bool ok = gb_topics_read(o->queries ? o->queries : found, &s->topics, status);
    free(found);
    s->queries = s->topics.names;
    s->text = gb_topics_text;
    s->text_ctx = &s->topics;
    return ok;
}

/* Path of the judgements of a split of a folder; NULL without a message when they are absent. */
static char *split_path(const char *dir, const char *split, gb_status *status)
{
    char *path = gb_format(status, "%s/qrels/%s.tsv", dir, split);
    if (path && gb_file_exists(path))
        return path;
    free(path);
    return NULL;
}

static bool load_qrels(session *s, const options *o, gb_status *status)
{
    char *path = NULL;
    if (o->qrels) {
        path = gb_strdup(o->qrels, status);
        if (!path)
            return false;
    } else {
        static const char *const defaults[] = {"test", "dev"};
        for (int i = 0; i < (o->split ? 1 : 2) && !path; i++) {
            const char *split = o->split ? o->split : defaults[i];
            path = split_path(o->collection, split, status);
            if (path)
                s->split = gb_strdup(split, status);
        }
        if (!path && !o->split && o->queries)
            return true; /* own queries without judgements: search only */
        if (!path)
            return gb_fail(status, GB_DATA, o->collection, "name one with --split or --qrels",
                           "no judgements qrels/%s.tsv", o->split ? o->split : "test");
    }
    uint32_t queries = gb_names_count(s->queries), passages = gb_names_count(s->passages);
    bool ok = gb_qrels_read(path, s->queries, s->passages, &s->qrels, status);
    if (ok && gb_names_count(s->queries) > queries)
        gb_log(GB_LOG_WARN, "%s: %u judged queries have no text; they count as not answered", path,
               gb_names_count(s->queries) - queries);
    if (ok && gb_names_count(s->passages) > passages)
        gb_log(GB_LOG_WARN,
               "%s: %u judged passages are not in the collection; they count as not found", path,
               gb_names_count(s->passages) - passages);
    free(path);
    return ok;
}

static void free_session(session *s)
{
    gb_bm25_destroy(s->index);
    gb_tokenizer_destroy(s->tokenizer);
    gb_vocab_destroy(s->vocab);
    gb_names_destroy(s->passages);
    gb_names_destroy(s->stored_queries);
    gb_topics_free(&s->topics);
    gb_collection_close(s->collection);
    gb_text_free(&s->joined);
    free(s->split);
    free(s->qrels.rows);
}

/* ---- searching and measuring -------------------------------------------------------------------
 */

/* Rows to search: the judged ones, or all without judgements; only those with a text. */
static uint32_t *pick_queries(const session *s, uint32_t texts, size_t *count, gb_status *status)
{
    uint32_t *rows = gb_alloc(texts, sizeof *rows, status);
    *count = 0;
    for (uint32_t row = 0; rows && s->qrels.count == 0 && row < texts; row++)
        rows[(*count)++] = row;
    for (size_t i = 0; rows && i < s->qrels.count; i++) {
        uint32_t query = s->qrels.rows[i].query;
        if (query < texts && (*count == 0 || rows[*count - 1] != query))
            rows[(*count)++] = query;
    }
    return rows;
}

static bool print_form(const session *s, const options *o, const gb_run *run, const char *form,
                       gb_eval_params params, const char *const *measures, uint32_t *tied,
                       gb_status *status)
{
    gb_metrics metrics = {0};
    gb_evaluation evaluation = {0};
    bool ok = true;
    params.level = (int32_t)o->level;
    params.drop_identical = o->drop_identical;
    for (; ok && *measures; measures++)
        ok = gb_metrics_add(&metrics, *measures, status);
    ok = ok && gb_evaluate(run, &s->qrels, s->queries, s->passages, &params, &metrics, &evaluation,
                           status);
    for (size_t m = 0; ok && m < metrics.count; m++) {
        char label[GB_METRIC_LABEL];
        gb_metric_label(&metrics.items[m], params.level, label);
        printf("%-12s %-22s %.4f\n", form, label, evaluation.totals[m]);
    }
    *tied = evaluation.tied_queries;
    gb_evaluation_free(&evaluation);
    free(metrics.items);
    return ok;
}

/* The forms apart: their numbers differ, and so do their names. */
static bool print_measures(const session *s, const options *o, const gb_run *run, gb_status *status)
{
    static const char *const trec[] = {"map",         "recip_rank", "P.10,30", "recall.100,1000",
                                       "ndcg_cut.10", "Judged@10",  NULL};
    static const char *const msmarco[] = {"MRR@10", "Hit@50,1000", NULL};
    gb_eval_params complete = GB_EVAL_TREC;
    complete.complete = true;
    uint32_t tied;
    printf("\nform         measure                value (all judged queries)\n");
    if (!print_form(s, o, run, "trec_eval -c", complete, trec, &tied, status) ||
        !print_form(s, o, run, "msmarco", GB_EVAL_MSMARCO, msmarco, &tied, status))
        return false;
    printf(
        "\n%u queries have equal scores within the first 10 ranks: trec_eval orders them by id,\n"
        "descending; the msmarco form by row\n",
        tied);
    return true;
}

static bool search(session *s, const options *o, gb_run *run, gb_status *status)
{
    if (!load_queries(s, o, status))
        return false;
    uint32_t texts = gb_names_count(s->queries);
    if (!load_qrels(s, o, status))
        return false;
    size_t count;
    uint32_t *rows = pick_queries(s, texts, &count, status);
    double start = gb_now_s();
    bool ok = rows && gb_bm25_run(s->index, rows, count, s->text, s->text_ctx, o->depth, o->threads,
                                  run, status);
    if (ok) {
        printf("queries      %zu", count);
        if (s->split)
            printf(" of split %s", s->split);
        if (s->qrels.count)
            printf(", %zu judgements", s->qrels.count);
        printf(", depth %u, %.1f s\n", o->depth, gb_now_s() - start);
    }
    free(rows);
    return ok;
}

static bool run_bm25(session *s, const options *o, gb_status *status)
{
    gb_run run = {0};
    double start = gb_now_s();
    char *description = gb_path_join(status, o->collection, "collection.json");
    bool stored = description && gb_file_exists(description);
    free(description);
    bool ok = create_index(s, o, status) &&
              (stored ? index_collection(s, o->collection, status)
                      : index_folder(s, o->collection, status)) &&
              gb_bm25_finish(s->index, status);
    if (ok && !gb_bm25_count(s->index))
        ok = gb_fail(status, GB_DATA, o->collection, "check that it was fetched whole",
                     "the collection has no passages");
    if (ok) {
        gb_progress_end(&s->progress, gb_bm25_count(s->index), NULL);
        printf("collection   %s: %u passages, title + \" \" + text\n", o->collection,
               gb_bm25_count(s->index));
        printf("index        BM25 k1 %g b %g, %s, %u terms, %.1f s\n", o->k1, o->b,
               o->vocab ? "WordPiece" : "Porter stems without Lucene's stop words",
               gb_bm25_terms(s->index), gb_now_s() - start);
    }
    ok = ok && search(s, o, &run, status);
    if (ok && o->run)
        ok = gb_run_write(&run, o->format, s->queries, s->passages, o->tag, o->run, status);
    if (ok && s->qrels.count)
        ok = print_measures(s, o, &run, status);
    gb_run_free(&run);
    return ok;
}

/* A step of gabbro collection holds the collection in a folder of its own. */
static bool find_collection(options *o, char **inside, gb_status *status)
{
    *inside = gb_path_join(status, o->collection, "collection");
    char *description = *inside ? gb_path_join(status, *inside, "collection.json") : NULL;
    if (description && gb_file_exists(description))
        o->collection = *inside;
    free(description);
    return description != NULL;
}

int gb_cli_bm25(int argc, char **argv)
{
    options o = {.k1 = 0.9,
                 .b = 0.4,
                 .depth = 1000,
                 .level = 1,
                 .tag = "gabbro-bm25",
                 .format = GB_RUN_TREC};
    session s = {0};
    gb_status status = {0};
    bool help = false;
    char *inside = NULL;
    gb_install_signals();
    bool ok = parse(argc, argv, &o, &help, &status) && find_collection(&o, &inside, &status) &&
              run_bm25(&s, &o, &status);
    if (help)
        fputs(usage, stdout);
    else if (!ok)
        gb_status_print(&status);
    free_session(&s);
    free(inside);
    return help || ok ? GB_OK : (int)status.code;
}
