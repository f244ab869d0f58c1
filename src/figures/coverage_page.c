/* Token coverage: curves, tables, the page and the terminal. */
#include "coverage.h"
#include "gabbro/page.h"
#include "gabbro/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char script[] =
    "(function(){'use strict';var d=document,all=[].slice.call(d.querySelectorAll('article')),\n"
    "k=d.getElementById('k'),shown=d.getElementById('k-value'),search=d.getElementById('search'),\n"
    "found=d.getElementById('found'),at=-1;d.documentElement.classList.add('scripted');\n"
    "function mark(){var n=+k.value;shown.textContent=n;all.forEach(function(a){\n"
    " [].forEach.call(a.querySelectorAll('section'),function(s){var has={},hits={};\n"
    "  [].forEach.call(s.querySelectorAll('[data-t]'),function(w){var t=w.dataset.t,\n"
    "   hit=+w.dataset.r<=n;has[t]=1;if(hit)hits[t]=1;w.classList.toggle('hit',hit);});\n"
    "  var h=Object.keys(hits).length,m=Object.keys(has).length;\n"
    "  s.querySelector('.ratio').textContent=h+' of '+m+' tokens in the top '+n;});});}\n"
    "function visible(){return all.filter(function(a){return !a.hidden;});}\n"
    "function filter(){var q=search.value.trim().toLowerCase();all.forEach(function(a){\n"
    " a.hidden=q!==''&&a.textContent.toLowerCase().indexOf(q)<0;});at=-1;\n"
    " found.textContent=visible().length+' of '+all.length+' texts';}\n"
    "function go(by){var v=visible();if(!v.length)return;\n"
    " at=Math.max(0,Math.min(v.length-1,at+by));v[at].focus();}\n"
    "k.addEventListener('input',mark);search.addEventListener('input',filter);\n"
    "d.addEventListener('keydown',function(e){if(e.ctrlKey||e.metaKey||e.altKey)return;\n"
    " if(e.target===search){if(e.key==='Escape'){search.value='';filter();search.blur();}return;}\n"
    " if(e.key==='/'){e.preventDefault();search.focus();}\n"
    " else if(e.key==='j')go(1);else if(e.key==='k')go(-1);\n"
    " else if(e.key==='+'||e.key==='-'){k.value=+k.value+(e.key==='+'?1:-1);mark();}});\n"
    "mark();filter();})();\n";

/* ---- curves ---- */

static const char frequent_name[] = "most frequent tokens";

/* The models, and behind them, where it was counted, the list that is the same for all texts. */
static size_t curve_count(const gb_coverage_view *view)
{
    return view->model_count + (view->frequent != NULL);
}

static const gb_coverage *curve_at(const gb_coverage_view *view, size_t index)
{
    return index < view->model_count ? view->coverage[index] : view->frequent;
}

static const char *curve_name(const gb_coverage_view *view, size_t index)
{
    return index < view->model_count ? view->models[index] : frequent_name;
}

static bool has_rare(const gb_coverage_view *view)
{
    return !isnan(gb_coverage_at(view->coverage[0], GB_COVERAGE_RARE, 1));
}

/* Values of all curves; one block, free() it. */
static double *curve_values(const gb_coverage_view *view, gb_status *status)
{
    size_t count = curve_count(view);
    double *values = gb_alloc((count + 1) * view->depth, sizeof *values, status);
    for (uint32_t k = 0; values && k < view->depth; k++) {
        values[k] = k + 1;
        for (size_t m = 0; m < count; m++)
            values[(m + 1) * view->depth + k] =
                gb_coverage_at(curve_at(view, m), view->reading, k + 1);
    }
    return values;
}

static bool curves(const gb_coverage_view *view, const char *folder, gb_text *inlined,
                   gb_status *status)
{
    static const char *const labels[] = {"share of the text's distinct tokens in the top k",
                                         "share of the text's tokens in the top k",
                                         "share of the top k that the text has",
                                         "share of the text's rare tokens in the top k"};
    double *values = curve_values(view, status);
    size_t count = curve_count(view);
    gb_series *series = gb_alloc(count, sizeof *series, status);
    for (size_t m = 0; values && series && m < count; m++)
        series[m] =
            (gb_series){.label = curve_name(view, m),
                        .x = values,
                        .y = values + (m + 1) * view->depth,
                        .count = view->depth,
                        .line = true,
                        .dashed = m >= GB_PLOT_COLORS || m >= view->model_count,
                        .color = m < view->model_count ? (int)(m % GB_PLOT_COLORS) : GB_PLOT_GREY};
    gb_plot plot = {.title = "Token coverage of [CLS]",
                    .x_label = "k, best tokens of the projected vector",
                    .y_label = labels[view->reading],
                    .series = series,
                    .series_count = count};
    gb_figure figure = {.plots = &plot,
                        .count = 1,
                        .width = 620,
                        .height = 400,
                        .alt = "Share of tokens recovered over k, a curve for each model"};
    bool ok = values && series && gb_figure_files(&figure, folder, "curve", inlined, status);
    free(series);
    free(values);
    return ok;
}

static void coverage_tsv(const gb_coverage_view *view, gb_text *out)
{
    int readings = has_rare(view) ? GB_COVERAGE_READINGS : GB_COVERAGE_RARE;
    gb_text_printf(out, "model\tk");
    for (int r = 0; r < readings; r++)
        gb_text_printf(out, "\t%s", gb_coverage_reading_name((gb_coverage_reading)r));
    gb_text_printf(out, "\n");
    for (size_t m = 0; m < curve_count(view); m++)
        for (uint32_t k = 1; k <= view->depth; k++) {
            gb_text_printf(out, "%s\t%u", curve_name(view, m), k);
            for (int r = 0; r < readings; r++)
                gb_text_printf(out, "\t%.17g",
                               gb_coverage_at(curve_at(view, m), (gb_coverage_reading)r, k));
            gb_text_printf(out, "\n");
        }
}

const char *gb_coverage_variant_name(size_t variant)
{
    static const char *const names[GB_COVERAGE_VARIANTS] = {"plain, own", "full, own",
                                                            "plain, reference", "full, reference"};
    return names[variant];
}

static void variants_tsv(const gb_coverage_view *view, gb_text *out)
{
    gb_text_printf(out, "model\tprojection\tk\tset\tmultiset\ttop\n");
    for (size_t m = 0; m < view->model_count; m++)
        for (size_t v = 0; v < GB_COVERAGE_VARIANTS; v++)
            for (uint32_t k = 1; view->variants[m][v] && k <= view->depth; k++) {
                const gb_coverage *one = view->variants[m][v];
                gb_text_printf(out, "%s\t%s\t%u\t%.17g\t%.17g\t%.17g\n", view->models[m],
                               gb_coverage_variant_name(v), k,
                               gb_coverage_at(one, GB_COVERAGE_SET, k),
                               gb_coverage_at(one, GB_COVERAGE_MULTISET, k),
                               gb_coverage_at(one, GB_COVERAGE_OF_TOP, k));
            }
}

/* ---- one text and one model ---- */

uint32_t figures_coverage_rank(const gb_coverage_view *view, const uint32_t *top, uint32_t id)
{
    for (uint32_t k = 0; k < view->depth && !gb_vocab_is_special(view->vocab, id); k++)
        if (top[k] == id)
            return k + 1;
    return 0;
}

bool figures_coverage_has(const gb_coverage_view *view, const gb_coverage_text *text, uint32_t id)
{
    for (size_t i = 0; i < text->length && !gb_vocab_is_special(view->vocab, id); i++)
        if (text->ids[i] == id)
            return true;
    return false;
}

/* Distinct tokens of a text, and those among the best k. */
static uint32_t distinct(const gb_coverage_view *view, const gb_coverage_text *text,
                         const uint32_t *top, uint32_t k, uint32_t *hits)
{
    uint32_t count = 0;
    *hits = 0;
    for (size_t i = 0; i < text->length; i++) {
        bool before = gb_vocab_is_special(view->vocab, text->ids[i]);
        for (size_t j = 0; j < i && !before; j++)
            before = text->ids[j] == text->ids[i];
        if (before)
            continue;
        uint32_t rank = figures_coverage_rank(view, top, text->ids[i]);
        count++;
        *hits += rank && rank <= k;
    }
    return count;
}

uint32_t figures_coverage_listed(const gb_coverage_view *view)
{
    return view->depth < GB_COVERAGE_LISTED ? view->depth : GB_COVERAGE_LISTED;
}

/* ---- the page ---- */

static bool is_rare(const gb_coverage_view *view, uint32_t id)
{
    return view->rare && view->rare[id];
}

/* Class of a token: of a hit, of one that is rare, of both, or `otherwise`. */
static const char *class_of(const gb_coverage_view *view, uint32_t id, bool hit,
                            const char *otherwise)
{
    bool rare = is_rare(view, id);
    return hit && rare ? "hit rare" : hit ? "hit" : rare ? "rare" : otherwise;
}

/* A token in a list: "-er" continues a word. */
static void token_html(const gb_coverage_view *view, uint32_t id, bool hit, gb_text *out)
{
    bool inside = gb_vocab_is_continuation(view->vocab, id);
    gb_text_printf(out, "<li class=\"%s\">%s", class_of(view, id, hit, "miss"), inside ? "-" : "");
    gb_page_escaped(out, gb_vocab_token(view->vocab, id) + (inside ? 2 : 0));
    gb_text_printf(out, "</li>");
}

static void words_html(const gb_coverage_view *view, const gb_coverage_text *text,
                       const uint32_t *top, gb_text *out)
{
    gb_text_printf(out, "<p>");
    for (size_t i = 0; i < text->length; i++) {
        uint32_t id = text->ids[i], rank = figures_coverage_rank(view, top, id);
        bool inside = gb_vocab_is_continuation(view->vocab, id);
        if (i && !inside)
            gb_text_append(out, " ", 1);
        bool hit = rank && rank <= figures_coverage_listed(view);
        gb_text_printf(out, "<span");
        if (hit || is_rare(view, id))
            gb_text_printf(out, " class=\"%s\"", class_of(view, id, hit, ""));
        if (!gb_vocab_is_special(view->vocab, id))
            gb_text_printf(out, " data-t=\"%u\"", id);
        if (rank)
            gb_text_printf(out, " data-r=\"%u\" title=\"number %u\"", rank, rank);
        gb_text_printf(out, ">");
        gb_page_escaped(out, gb_vocab_token(view->vocab, id) + (inside ? 2 : 0));
        gb_text_printf(out, "</span>");
    }
    gb_text_printf(out, "</p>\n");
}

static void text_html(const gb_coverage_view *view, size_t index, gb_text *out)
{
    const gb_coverage_text *text = &view->texts[index];
    gb_text_printf(out, "<article id=\"text-%zu\"%s tabindex=\"0\">\n<h3>", index + 1,
                   view->rare ? " class=\"graded\"" : "");
    gb_page_escaped(out, text->name);
    gb_text_printf(out, "</h3>\n<div class=\"models\">\n");
    for (size_t m = 0; m < view->model_count; m++) {
        uint32_t hits,
            all = distinct(view, text, text->top[m], figures_coverage_listed(view), &hits);
        gb_text_printf(out, "<section>\n<h4>");
        gb_page_escaped(out, view->models[m]);
        gb_text_printf(out, "</h4>\n<p class=\"ratio dim\">%u of %u tokens in the top %u</p>\n",
                       hits, all, figures_coverage_listed(view));
        words_html(view, text, text->top[m], out);
        gb_text_printf(out, "<ol class=\"tokens\">\n");
        for (uint32_t k = 0; k < figures_coverage_listed(view); k++)
            token_html(view, text->top[m][k], figures_coverage_has(view, text, text->top[m][k]),
                       out);
        gb_text_printf(out, "\n</ol>\n</section>\n");
    }
    gb_text_printf(out, "</div>\n</article>\n");
}

static void numbers_html(const gb_coverage_view *view, gb_text *out)
{
    static const uint32_t wanted[] = {1, 5, 10, 20, 50, 100, 200, 500};
    gb_page_wide(out, "shares of tokens by model");
    gb_text_printf(out, "<table>\n<thead><tr><th>model</th><th class=\"left\">reading</th>");
    for (size_t i = 0; i < 8 && wanted[i] <= view->depth; i++)
        gb_text_printf(out, "<th>k = %u</th>", wanted[i]);
    gb_text_printf(out, "</tr></thead>\n<tbody>\n");
    int readings = has_rare(view) ? GB_COVERAGE_READINGS : GB_COVERAGE_RARE;
    for (size_t m = 0; m < curve_count(view); m++)
        for (int r = 0; r < readings; r++) {
            static const char *const names[] = {"of the text's distinct tokens",
                                                "of all tokens of the text", "of the top k",
                                                "of the text's rare tokens"};
            gb_text_printf(out, "<tr>");
            gb_page_element(out, "td", NULL, r ? "" : curve_name(view, m));
            gb_page_element(out, "td", "left", names[r]);
            for (size_t i = 0; i < 8 && wanted[i] <= view->depth; i++)
                gb_text_printf(
                    out, "<td>%.1f%%</td>",
                    100 * gb_coverage_at(curve_at(view, m), (gb_coverage_reading)r, wanted[i]));
            gb_text_printf(out, "</tr>\n");
        }
    gb_text_printf(out, "</tbody></table></div>\n");
}

/* The ways to project side by side, in the reading of the curve. */
static void variants_html(const gb_coverage_view *view, gb_text *out)
{
    uint32_t k = figures_coverage_listed(view);
    gb_text_printf(out,
                   "<h2>Ways to project</h2>\n<p>At k = %u, in the reading of the curve: bare "
                   "word embeddings or the full masked-LM head, of the model itself or of the "
                   "reference. variants.tsv has all.</p>\n",
                   k);
    gb_page_wide(out, "ways to project");
    gb_text_printf(out, "<table>\n<thead><tr><th>model</th>");
    for (size_t v = 0; v < GB_COVERAGE_VARIANTS; v++)
        gb_page_element(out, "th", NULL, gb_coverage_variant_name(v));
    gb_text_printf(out, "</tr></thead>\n<tbody>\n");
    for (size_t m = 0; m < view->model_count; m++) {
        gb_text_printf(out, "<tr>");
        gb_page_element(out, "td", NULL, view->models[m]);
        for (size_t v = 0; v < GB_COVERAGE_VARIANTS; v++) {
            gb_text_printf(out, "<td>");
            if (view->variants[m][v])
                gb_text_printf(out, "%.1f%%",
                               100 * gb_coverage_at(view->variants[m][v], view->reading, k));
            gb_text_printf(out, "</td>");
        }
        gb_text_printf(out, "</tr>\n");
    }
    gb_text_printf(out, "</tbody></table></div>\n");
}

static void coverage_html(const gb_coverage_view *view, const char *svg, gb_text *out)
{
    gb_page_begin(out, "Token coverage", NULL, "");
    gb_page_heading(out, "Token coverage");
    gb_page_element(
        out, "p", NULL,
        "A retriever makes one vector of a text, and searches with nothing else. Here that vector "
        "is turned back into a list of words, the ones that fit it best first: those that the "
        "text has are what the vector still knows of it. The curve counts them, the texts below "
        "show which they are.");
    gb_page_element(out, "p", "dim", view->about);
    gb_text_printf(out, "\n<figure>%s</figure>\n", svg);
    if (view->frequent)
        gb_page_element(
            out, "p", NULL,
            "Who knows nothing of a text can still name the words that most texts have: the "
            "dashed curve is one list, the most frequent tokens of the collection, held "
            "against every text. Below it a vector says less of its text than that list. "
            "Rare tokens are those that at most one passage in a hundred has: names, and "
            "most of what is told of them.");
    numbers_html(view, out);
    if (view->variants)
        variants_html(view, out);
    gb_text_printf(out,
                   "<h2>Texts</h2>\n<p>Marked: tokens of the text that a model recovers%s. "
                   "The lists below are each model's best tokens, the best one first; those "
                   "that the text has are marked with a tick, and \"-er\" continues a word."
                   "</p>\n",
                   view->rare
                       ? ", in green the rare ones, which tell this text from others, framed "
                         "those that many texts have"
                       : "");
    gb_text_printf(
        out,
        "<div class=\"tools\"><label>Search <input type=\"search\" id=\"search\"></label>\n"
        "<span id=\"found\" class=\"dim\"></span>\n<label>Top <output id=\"k-value\">%u"
        "</output> <input type=\"range\" id=\"k\" min=\"1\" max=\"%u\" value=\"%u\">"
        "</label>\n<span class=\"dim\">Keys: / search, j and k next and previous text, "
        "+ and - more and fewer tokens</span></div>\n",
        figures_coverage_listed(view), view->depth, figures_coverage_listed(view));
    for (size_t i = 0; i < view->text_count; i++)
        text_html(view, i, out);
    gb_text_printf(out, "<script>\n%s</script>\n", script);
    gb_page_end(out);
}

bool gb_coverage_write(const gb_coverage_view *view, const char *folder, gb_status *status)
{
    gb_text svg = {0}, html = {0}, tsv = {0};
    bool ok = curves(view, folder, &svg, status) && figures_coverage_tokens(view, folder, status);
    if (ok) {
        coverage_html(view, svg.data, &html);
        coverage_tsv(view, &tsv);
        ok = gb_text_write_in(&html, folder, "coverage.html", status) &&
             gb_text_write_in(&tsv, folder, "coverage.tsv", status);
    }
    if (ok && view->variants) {
        tsv.length = 0;
        variants_tsv(view, &tsv);
        ok = gb_text_write_in(&tsv, folder, "variants.tsv", status);
    }
    gb_text_free(&svg);
    gb_text_free(&html);
    gb_text_free(&tsv);
    return ok;
}

/* ---- the terminal ---- */

static void token_terminal(const gb_coverage_view *view, uint32_t id, bool hit, bool colors,
                           bool joined, gb_text *out)
{
    const char *token = gb_vocab_token(view->vocab, id);
    if (hit)
        gb_text_printf(out, colors ? "\033[1;32m%s\033[0m" : "[%s]", token + (joined ? 2 : 0));
    else
        gb_text_printf(out, "%s", token + (joined ? 2 : 0));
}

void gb_coverage_terminal(const gb_coverage_view *view, bool colors, gb_text *out)
{
    for (size_t t = 0; t < view->text_count; t++) {
        const gb_coverage_text *text = &view->texts[t];
        for (size_t m = 0; m < view->model_count; m++) {
            const uint32_t *top = text->top[m];
            uint32_t near, far,
                all = distinct(view, text, top, figures_coverage_listed(view), &near);
            distinct(view, text, top, view->depth, &far);
            gb_text_printf(out, "%s%s: of %u tokens, %u in the top %u, %u in the top %u\n",
                           t || m ? "\n" : "", view->models[m], all, near,
                           figures_coverage_listed(view), far, view->depth);
            gb_text_printf(out, "  text  ");
            for (size_t i = 0; i < text->length; i++) {
                uint32_t rank = figures_coverage_rank(view, top, text->ids[i]);
                bool joined = gb_vocab_is_continuation(view->vocab, text->ids[i]);
                gb_text_printf(out, "%s", i && !joined ? " " : "");
                token_terminal(view, text->ids[i], rank && rank <= figures_coverage_listed(view),
                               colors, joined, out);
            }
            gb_text_printf(out, "\n  top   ");
            for (uint32_t k = 0; k < figures_coverage_listed(view); k++) {
                gb_text_printf(out, "%s", k ? " " : "");
                token_terminal(view, top[k], figures_coverage_has(view, text, top[k]), colors,
                               false, out);
            }
            gb_text_printf(out, "\n");
        }
    }
}
