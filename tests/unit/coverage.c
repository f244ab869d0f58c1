/* Token coverage: ratios against counting by hand and by brute force, the table, the page, the
 * terminal. */
#include "gabbro/figures.h"
#include "scratch.h"
#include "xml_check.h"

#include <math.h>

static const char vocab_text[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##b\nc<&\nd\ne\nf\n";
enum { UNK = 1, CLS = 2, A = 5, B = 6, BB = 7, C = 8, D = 9, E = 10, F = 11, V = 12 };

static scratch here;
static gb_vocab *vocab;

static void enter(void)
{
    here = scratch_enter();
    gb_status status = {0};
    cr_assert(gb_write_file("vocab.txt", vocab_text, strlen(vocab_text), &status));
    vocab = gb_vocab_load("vocab.txt", &status);
    cr_assert(vocab);
}

static void leave(void)
{
    gb_vocab_destroy(vocab);
    scratch_leave(&here);
}

TestSuite(coverage, .init = enter, .fini = leave);

Test(coverage, by_hand)
{
    gb_coverage *c = gb_coverage_create(vocab, 4, NULL, NULL);
    cr_expect(isnan(gb_coverage_at(c, GB_COVERAGE_SET, 1)));
    /* T = {a 3 times, b, ##b}; [UNK] is no part of it. */
    const uint32_t ids[] = {A, B, A, UNK, BB, A}, top[] = {CLS, A, D, BB};
    gb_coverage_add(c, top, ids, 6);
    static const double set[] = {0, 1 / 3., 1 / 3., 2 / 3.},
                        multiset[] = {0, 3 / 5., 3 / 5., 4 / 5.},
                        of_top[] = {0, 1 / 2., 1 / 3., 2 / 4.};
    for (uint32_t k = 1; k <= 4; k++) {
        cr_expect_float_eq(gb_coverage_at(c, GB_COVERAGE_SET, k), set[k - 1], 1e-15);
        cr_expect_float_eq(gb_coverage_at(c, GB_COVERAGE_MULTISET, k), multiset[k - 1], 1e-15);
        cr_expect_float_eq(gb_coverage_at(c, GB_COVERAGE_OF_TOP, k), of_top[k - 1], 1e-15);
    }
    /* Texts without a token count for nothing, and what the last text had is forgotten. */
    const uint32_t special[] = {UNK, UNK}, other[] = {D}, found[] = {D, A, B, C};
    gb_coverage_add(c, top, special, 2);
    gb_coverage_add(c, top, NULL, 0);
    cr_expect_eq(gb_coverage_texts(c), 1);
    gb_coverage_add(c, found, other, 1);
    cr_expect_eq(gb_coverage_texts(c), 2);
    cr_expect_float_eq(gb_coverage_at(c, GB_COVERAGE_SET, 1), (0 + 1) / 2., 1e-15);
    cr_expect_float_eq(gb_coverage_at(c, GB_COVERAGE_OF_TOP, 4), (.5 + .25) / 2, 1e-15);
    gb_coverage_destroy(c);
    gb_coverage_destroy(NULL);
}

Test(coverage, rare_tokens)
{
    const bool rare[V] = {[B] = true, [BB] = true};
    gb_coverage *c = gb_coverage_create(vocab, 3, rare, NULL);
    const uint32_t ids[] = {A, B, BB, B}, common[] = {A, D}, top[] = {A, D, B};
    gb_coverage_add(c, top, ids, 4);
    gb_coverage_add(c, top, common, 2); /* has none, and does not count */
    static const double wanted[] = {0, 0, 1 / 2.};
    for (uint32_t k = 1; k <= 3; k++)
        cr_expect_float_eq(gb_coverage_at(c, GB_COVERAGE_RARE, k), wanted[k - 1], 1e-15);
    cr_expect_eq(gb_coverage_texts(c), 2);
    gb_coverage_destroy(c);
}

/* The definition, one text, one k. */
static double brute(const uint32_t *top, uint32_t k, const uint32_t *ids, size_t length,
                    gb_coverage_reading reading)
{
    double found = 0, all = 0;
    for (uint32_t token = A; token < V; token++) {
        double times = 0;
        bool best = false;
        for (size_t i = 0; i < length; i++)
            times += ids[i] == token;
        for (uint32_t i = 0; i < k; i++)
            best = best || top[i] == token;
        double weight = reading == GB_COVERAGE_MULTISET ? times : times > 0;
        all += weight;
        found += best ? weight : 0;
    }
    return reading == GB_COVERAGE_OF_TOP ? found / k : all > 0 ? found / all : NAN;
}

Test(coverage, by_brute_force)
{
    enum { TEXTS = 50, DEPTH = 9 };
    gb_coverage *c = gb_coverage_create(vocab, DEPTH, NULL, NULL);
    double sums[3][DEPTH] = {0};
    uint32_t counted = 0;
    for (uint32_t t = 0; t < TEXTS; t++) {
        gb_rng rng = gb_rng_make(3, GB_RNG_TEST, t, 0);
        uint32_t top[V], ids[20], length = gb_rng_below(&rng, 20);
        for (uint32_t i = 0; i < V; i++)
            top[i] = i;
        gb_rng_shuffle(&rng, top, V);
        for (uint32_t i = 0; i < length; i++)
            ids[i] = gb_rng_below(&rng, V);
        gb_coverage_add(c, top, ids, length);
        if (isnan(brute(top, 1, ids, length, GB_COVERAGE_SET)))
            continue;
        counted++;
        for (int r = 0; r < 3; r++)
            for (uint32_t k = 1; k <= DEPTH; k++)
                sums[r][k - 1] += brute(top, k, ids, length, (gb_coverage_reading)r);
    }
    cr_assert_eq(gb_coverage_texts(c), counted);
    for (int r = 0; r < 3; r++)
        for (uint32_t k = 1; k <= DEPTH; k++)
            cr_expect_float_eq(gb_coverage_at(c, (gb_coverage_reading)r, k),
                               sums[r][k - 1] / counted, 1e-12);
    gb_coverage_destroy(c);
}

/* ---- what is written ---- */

typedef struct scene {
    gb_coverage *one, *two;     /* of two models */
    const gb_coverage *both[2]; /* the same */
    const uint32_t *top[2];     /* best ids of the text */
    gb_coverage_text text;      /* "a bb c<& d" */
    gb_coverage_view view;      /* all of it */
} scene;

static const uint32_t text_ids[] = {A, B, BB, C, D};
static const uint32_t top_one[] = {C, E, A}, top_two[] = {F, E, D};
static const char *const models[] = {"One & only", "two"};

static void make_scene(scene *s)
{
    s->one = gb_coverage_create(vocab, 3, NULL, NULL);
    s->two = gb_coverage_create(vocab, 3, NULL, NULL);
    gb_coverage_add(s->one, top_one, text_ids, 5);
    gb_coverage_add(s->two, top_two, text_ids, 5);
    s->both[0] = s->one;
    s->both[1] = s->two;
    s->top[0] = top_one;
    s->top[1] = top_two;
    s->text = (gb_coverage_text){.name = "p<1>", .ids = text_ids, .length = 5, .top = s->top};
    s->view = (gb_coverage_view){.vocab = vocab,
                                 .models = models,
                                 .model_count = 2,
                                 .depth = 3,
                                 .coverage = s->both,
                                 .about = "x < y",
                                 .texts = &s->text,
                                 .text_count = 1};
}

static void drop_scene(scene *s)
{
    gb_coverage_destroy(s->one);
    gb_coverage_destroy(s->two);
}

Test(coverage, files)
{
    scene s;
    gb_status status = {0};
    make_scene(&s);
    cr_assert(gb_coverage_write(&s.view, ".", &status), "%s", status.what);
    char *html = gb_read_file("coverage.html", NULL, &status);
    char *tsv = gb_read_file("coverage.tsv", NULL, &status);
    cr_assert(html && tsv && gb_file_exists("curve.svg") && gb_file_exists("curve.png") &&
              gb_file_exists("tokens.png"));
    char *tokens = gb_read_file("tokens.svg", NULL, &status);
    cr_assert(tokens);
    xml_check_alone(tokens);
    /* Two filled boxes for the first model, one for the second. */
    size_t filled = 0;
    for (const char *at = tokens; (at = strstr(at, "rgb(72%")); at++)
        filled++;
    cr_expect_eq(filled, 3, "%zu", filled);
    free(tokens);
    xml_check_alone(html);
    cr_expect_not(strstr(html, "src=") || strstr(html, "<link"), "the page needs no other file");
    cr_expect(strstr(html, "<h3>p&lt;1&gt;</h3>"));
    cr_expect(strstr(html, "2 of 5 tokens in the top 3"));
    cr_expect(strstr(html, "<span class=\"hit\" data-t=\"8\" data-r=\"1\" title=\"number "
                           "1\">c&lt;&amp;</span>"));
    cr_expect(strstr(html, "<span data-t=\"6\">b</span><span data-t=\"7\">b</span>"),
              "pieces of a word are joined");
    cr_expect(strstr(html, "<li class=\"hit\">c&lt;&amp;</li><li class=\"miss\">e</li>"
                           "<li class=\"hit\">a</li>"));
    cr_expect(strstr(tsv, "model\tk\tset\tmultiset\ttop\nOne & only\t1\t0.20000000000000001\t"));
    cr_expect(
        strstr(tsv, "\ntwo\t3\t0.20000000000000001\t0.20000000000000001\t0.33333333333333331\n"));
    free(html);
    free(tsv);
    drop_scene(&s);
}

Test(coverage, terminal)
{
    scene s;
    make_scene(&s);
    gb_text out = {0};
    gb_coverage_terminal(&s.view, false, &out);
    cr_expect_str_eq(out.data, "One & only: of 5 tokens, 2 in the top 3, 2 in the top 3\n"
                               "  text  [a] bb [c<&] d\n"
                               "  top   [c<&] e [a]\n"
                               "\n"
                               "two: of 5 tokens, 1 in the top 3, 1 in the top 3\n"
                               "  text  a bb c<& [d]\n"
                               "  top   f e [d]\n");
    out.length = 0;
    gb_coverage_terminal(&s.view, true, &out);
    cr_expect(strstr(out.data, "\033[1;32ma\033[0m bb"));
    gb_text_free(&out);
    drop_scene(&s);
}
