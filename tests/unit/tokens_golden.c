/* WordPiece ids of 100,000 lines of real text and of hostile strings, against Hugging Face's:
 * tests/golden/tokenizer.tsv has a hash for every thousand, tests/peers/tokenizer.py made it. */
#include "gabbro/os.h"
#include "gabbro/text.h"
#include "../parity/trust.h"
#include "scratch.h"

#include <jansson.h>

enum { LINES = 100000, BLOCK = 1000, HOSTILE = 5000, WORDS = 16 };

/* ---- hostile strings: the same code as in tests/peers/tokenizer.py ---- */

static const uint32_t ranges[][2] = {
    {0x61, 0x7A},       {0x20, 0x7E},       {0xC0, 0x24F},       {0x300, 0x36F},
    {0x370, 0x3FF},     {0x400, 0x481},     {0x483, 0x489},      {0x591, 0x5EA},
    {0x621, 0x669},     {0x901, 0x939},     {0xE01, 0xE3A},      {0x1100, 0x11FF},
    {0x1E00, 0x1EFF},   {0x2000, 0x206F},   {0x20D0, 0x20F0},    {0x2160, 0x2188},
    {0x2600, 0x27BF},   {0x3000, 0x30FF},   {0x3400, 0x4DB5},    {0x4E00, 0x9FA5},
    {0xAC00, 0xD7A3},   {0xE000, 0xF8FF},   {0xF900, 0xFAD9},    {0xFB00, 0xFB06},
    {0xFE00, 0xFE0F},   {0xFE20, 0xFE2F},   {0xFF01, 0xFFEE},    {0xFFF9, 0xFFFF},
    {0x00, 0x1F},       {0x7F, 0x9F},       {0x10300, 0x1034A},  {0x1D400, 0x1D7FF},
    {0x1F300, 0x1F64F}, {0x20000, 0x2A6D6}, {0x2F800, 0x2FA1D},  {0xE0001, 0xE007F},
    {0xE0100, 0xE01EF}, {0xF0000, 0xF00FF}, {0x10FF00, 0x10FFFF}};
static const char *const broken[] = {"\xff",         "\xc3",     "\xe4\xb8", "\xf0\x9f\x98",
                                     "\xed\xa0\x80", "\xc0\xaf", "\x80",     "\xf4\x90\x80\x80"};

static uint32_t below(uint64_t *state, uint32_t bound)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % bound);
}

static void append_utf8(gb_text *text, uint32_t c)
{
    char bytes[4];
    size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--, c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3F));
    bytes[0] = (char)(leads[length] | c);
    gb_text_append(text, bytes, length);
}

static void hostile(uint32_t number, gb_text *text)
{
    uint64_t state = number;
    text->length = 0;
    for (uint32_t parts = 1 + below(&state, 12); parts > 0; parts--) {
        uint32_t kind = below(&state, 16);
        if (kind == 0) {
            const char *bytes = broken[below(&state, sizeof broken / sizeof *broken)];
            gb_text_append(text, bytes, strlen(bytes));
        } else if (kind == 1) { /* about the longest word */
            char letter = (char)('a' + below(&state, 26));
            for (uint32_t n = 96 + below(&state, 9); n > 0; n--)
                gb_text_append(text, &letter, 1);
        } else if (kind == 2) {
            gb_text_append(text, " ", 1);
        } else {
            const uint32_t *range = ranges[below(&state, sizeof ranges / sizeof *ranges)];
            for (uint32_t n = 1 + below(&state, 6); n > 0; n--)
                append_utf8(text, range[0] + below(&state, range[1] - range[0] + 1));
        }
    }
}

/* ---- hashes of blocks ---- */

typedef struct blocks {
    gb_vocab *vocab;         /* bert-base-uncased */
    gb_tokenizer *tokenizer; /* over it */
    gb_os_sum *hash;         /* of the block so far */
    const char *name;        /* "real" or "hostile" */
    const char *golden;      /* the file's text */
    gb_ids ids;              /* of the line */
    uint32_t lines, limit;   /* taken, wanted */
    uint32_t microbatched;   /* blocks with another hash */
} blocks;

static void end_block(blocks *b)
{
    unsigned char digest[GB_OS_SUM_BYTES];
    char line[100];
    int end = snprintf(line, sizeof line, "\n%s\t%u\t", b->name, b->lines);
    gb_os_sum_end(b->hash, digest);
    for (int i = 0; i < 8; i++)
        end += snprintf(line + end, sizeof line - (size_t)end, "%02x", digest[i]);
    snprintf(line + end, sizeof line - (size_t)end, "\n");
    bool same = strstr(b->golden, line) != NULL;
    b->microbatched += !same;
    cr_expect(same, "%s lines up to %u have other ids", b->name, b->lines);
    cr_assert(b->hash = gb_os_sum_begin(GB_OS_SHA256));
}

static void show(const blocks *b, const char *text, size_t length)
{
    printf("%s %u: %.*s\n   ", b->name, b->lines - 1, (int)length, text);
    for (size_t i = 0; i < b->ids.count; i++)
        printf(" %u", b->ids.data[i]);
    printf("\n");
}

/* GABBRO_TEST_SHOW=N shows the N-th hostile string. */
static void take_line(blocks *b, const char *text, size_t length)
{
    static const uint32_t end = UINT32_MAX;
    const char *shown = getenv("GABBRO_TEST_SHOW");
    gb_status status = {0};
    if (b->lines == b->limit)
        return;
    b->ids.count = 0;
    cr_assert(gb_tokenize(b->tokenizer, text, length, &b->ids, &status), "%s", status.what);
    gb_os_sum_add(b->hash, b->ids.data, b->ids.count * sizeof *b->ids.data);
    gb_os_sum_add(b->hash, &end, sizeof end);
    b->lines++;
    if (shown && b->name[0] == 'h' && strtoul(shown, NULL, 10) == b->lines - 1)
        show(b, text, length);
    if (b->lines % BLOCK == 0)
        end_block(b);
}

/* Lines of WORDS words, cut at spaces. */
static void take_text(blocks *b, const char *text, size_t length)
{
    const char *start = text, *end = text + length;
    int words = 1;
    for (const char *at = text; at < end; at++)
        if (*at == ' ' && words++ == WORDS) {
            take_line(b, start, (size_t)(at - start));
            start = at + 1;
            words = 1;
        }
    take_line(b, start, (size_t)(end - start));
}

static void take_file(blocks *b, const char *data, const char *name, bool json)
{
    gb_status status = {0};
    char *path = gb_path_join(&status, data, name), *line;
    gb_lines *lines = gb_lines_open(path, &status);
    cr_assert_not_null(lines, "%s: %s", status.where, status.what);
    size_t length;
    while (b->lines < b->limit && gb_lines_next(lines, &line, &length, &status) == 1) {
        json_t *object = json ? json_loadb(line, length, JSON_ALLOW_NUL, NULL) : NULL;
        json_t *text = json_object_get(object, "text");
        char *tab = json ? NULL : strchr(line, '\t');
        cr_assert(text || tab, "%s: line %llu", path, (unsigned long long)gb_lines_number(lines));
        if (text)
            take_text(b, json_string_value(text), json_string_length(text));
        else
            take_text(b, tab + 1, strlen(tab + 1));
        json_decref(object);
    }
    gb_lines_close(lines);
    free(path);
}

static blocks open_blocks(const char *data, const char *name, uint32_t limit)
{
    blocks b = {.name = name, .limit = limit, .hash = gb_os_sum_begin(GB_OS_SHA256)};
    gb_status status = {0};
    char *path = gb_path_join(NULL, data, "bert-base-uncased/vocab.txt");
    b.vocab = gb_vocab_load(path, &status);
    cr_assert_not_null(b.vocab, "%s: %s", status.where, status.what);
    b.tokenizer = gb_tokenizer_create(b.vocab, GB_TOKENIZER_DEFAULTS, &status);
    cr_assert(b.tokenizer && b.hash);
    cr_assert_not_null(b.golden = gb_read_file(GB_GOLDEN "/tokenizer.tsv", NULL, NULL));
    free(path);
    return b;
}

static void close_blocks(blocks *b, const char *what)
{
    cr_expect_eq(b->lines, b->limit, "%u lines", b->lines);
    trust(what, "Hugging Face tokenizers (blocks that differ)", b->microbatched, 0);
    gb_tokenizer_destroy(b->tokenizer);
    gb_vocab_destroy(b->vocab);
    gb_os_sum_drop(b->hash);
    free((char *)b->golden);
    free(b->ids.data);
}

static const char *test_data(void)
{
    const char *data = getenv("GABBRO_TEST_DATA");
    if (!data)
        cr_skip_test("skipped: GABBRO_TEST_DATA is not set");
    return data;
}

Test(tokens_golden, real_text)
{
    const char *data = test_data();
    blocks b = open_blocks(data, "real", LINES);
    take_file(&b, data, "scifact/corpus.jsonl", true);
    take_file(&b, data, "msmarco-sample/collection.tsv", false);
    take_file(&b, data, "cacm/corpus.jsonl", true);
    close_blocks(&b, "WordPiece ids of 100,000 lines of real text");
}

Test(tokens_golden, hostile_strings)
{
    blocks b = open_blocks(test_data(), "hostile", HOSTILE);
    gb_text text = {0};
    for (uint32_t i = 0; i < HOSTILE; i++) {
        hostile(i, &text);
        take_line(&b, text.data, text.length);
    }
    gb_text_free(&text);
    close_blocks(&b, "WordPiece ids of 5,000 hostile strings");
}
