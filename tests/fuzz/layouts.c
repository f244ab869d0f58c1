/* Folders in the layouts of other kits (docs/reference/formats.md). The first byte chooses the
 * layout (its last four bits) and the variant, the rest are the folder's files. Bit 64 drops
 * titles, 128 repairs the encoding, and with 16, which digits have, answers are regular
 * expressions. */
#include "import.h"

static const char *const layouts[][6] = {
    {"corpus.jsonl", "queries.jsonl", "qrels/dev.tsv", "answers.tsv", "documents.jsonl"}, /* BEIR */
    {"corpus.jsonl", "train.jsonl", "dev.json"},              /* Tevatron */
    {"corpus.jsonl", "dev_queries.jsonl", "dev_qrels.jsonl"}, /* FlagEmbedding */
    {"collection.tsv", "queries.dev.tsv", "qrels.dev.tsv"},   /* MS MARCO */
    {"msmarco-docs.tsv", "queries.dev.tsv", "qrels.dev.tsv"}, /* its documents */
    {"para.txt", "para.title.txt", "train.query.txt", "dev.query.txt", "qrels.train.tsv"},
    {"psgs_w100.tsv", "biencoder-nq-train.json", "nq-dev.qa.csv"}, /* DPR */
    {"passages.jsonl", "topics.dev.tsv", "qrels.dev.txt"},         /* Pyserini */
    {"train.json", "dev.jsonl", "train.triples.tsv"},              /* training files alone */
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    gb_import_variant variant = {.drop_titles = data[0] & 64,
                                 .repair_encoding = data[0] & 128,
                                 .regex_answers = (data[0] & 128) && (data[0] & 16)};
    const char *const *names = layouts[(data[0] & 15) % LAYOUTS]; /* the digits '0' to '8' */
    fuzz_import_path(fuzz_parts("layout", names, data + 1, size - 1), variant, NULL);
    return 0;
}
