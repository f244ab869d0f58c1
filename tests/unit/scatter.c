/* The figure of a query and its candidates: files, a well-formed page, frames that the camera
 * gives. */
#include "gabbro/figures.h"
#include "scratch.h"
#include "xml_check.h"

#include <math.h>

enum { N = 5 };
static const char *const ids[N] = {"q<1>", "p1", "p2", "p3", "p4"};
static const char *const texts[N] = {"what is <it>?", "A bell.", "A <bell>.", "A lid.", "A rope."};
static const uint32_t ranks[N] = {0, 1, 2, 3, 0};
static const int32_t grades[N] = {0, 0, 2, 0, 1};
static const double distances[N] = {0, 4, 1, 2, 3};
static const double plane[2 * N] = {0, 0, 1, 1, -1, 1, 1, -1, -1, -1};
static const double components[3 * N] = {0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0};
static const double shares[3] = {.5, .25, .125};

Test(scatter, files)
{
    scratch here = scratch_enter();
    gb_status status = {0};
    gb_scatter scatters[2];
    for (int m = 0; m < 2; m++)
        scatters[m] = (gb_scatter){.model = m ? "B" : "A & co",
                                   .count = N,
                                   .ids = ids,
                                   .texts = texts,
                                   .relevant = 2,
                                   .ranks = ranks,
                                   .grades = grades,
                                   .distances = distances,
                                   .plane = plane,
                                   .components = components,
                                   .shares = shares,
                                   .divergence = .5};
    cr_assert(gb_scatter_write(scatters, 2, "about <this>", ".", &status), "%s", status.what);
    static const char *const files[] = {"tsne.svg", "tsne.png",    "pca.svg",
                                        "pca.png",  "turning.svg", "turning.png"};
    for (size_t i = 0; i < 6; i++)
        cr_expect(gb_file_exists(files[i]), "%s", files[i]);
    char *html = gb_read_file("tsne.html", NULL, &status);
    char *tsv = gb_read_file("tsne.tsv", NULL, &status);
    xml_check_alone(html);
    cr_expect_not(strstr(html, "src=") || strstr(html, "<link"), "the page needs no other file");
    cr_expect(strstr(html, "<td>A &amp; co</td>"));
    /* Distance to the relevant one 1, to those without a grade 3; the relevant one at rank 2. */
    cr_expect(strstr(html, "<td>4</td><td>1</td><td>2</td><td>1.000</td><td>3.000</td><td>0.333"));
    cr_expect(strstr(html, "<title>query q&lt;1&gt;: what is &lt;it&gt;?</title>"));
    cr_expect(
        strstr(html, "<li class=\"relevant\">A &lt;bell&gt;. <b>(relevant, grade 2)</b></li>"));
    cr_expect(strstr(tsv, "\nB\tp2\trelevant\t2\t2\t1\t-1\t1\t-1\t0\t0\n"));
    /* The first frame is what stands in the page; there are 72, of 5 points each. */
    double x[N], y[N], depth[N];
    char place[80];
    gb_plot_rotation((const double(*)[3])components, N, 0, 20, x, y, depth);
    snprintf(place, sizeof place, "<g data-p=\"1\" transform=\"translate(%.0f %.0f)\">",
             200 * (1 + .94 * x[1]), 200 * (1 - .94 * y[1]));
    cr_expect(strstr(html, place), "%s", place);
    const char *frames = strstr(html, "data-frames=\"[[");
    cr_assert(frames);
    size_t brackets = 0, commas = 0;
    for (const char *at = frames + strlen("data-frames=\""); *at != '"'; at++) {
        brackets += *at == '[';
        commas += *at == ',';
    }
    cr_expect_eq(brackets, 1 + 72);
    cr_expect_eq(commas, 71 + 72 * (2 * N - 1));
    free(html);
    free(tsv);
    scratch_leave(&here);
}
