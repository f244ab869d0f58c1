/* Page module: writes what all HTML pages of Gabbro have in common: head, the one stylesheet,
 * escaping. A page is light or dark as the reader prefers, and printable. */
#ifndef GABBRO_PAGE_H
#define GABBRO_PAGE_H

#include <gabbro/base.h>

/* The stylesheet of all pages, CSS; src/page/style.css. */
const char *gb_page_style(void);
/* The page of a run, and for how long it is not written before nobody runs any more. */
#define GB_PAGE_PROGRESS "progress.html"
#define GB_PAGE_STALE_S  30
/* Appends everything up to <body> and a link that skips to the heading. sheet: address of a file
 * with gb_page_style, as pages of a site share it; NULL: the page has the stylesheet in it, and is
 * one file that needs no other. more_head (HTML) is put at the end of the head. */
void gb_page_begin(gb_text *out, const char *title, const char *sheet, const char *more_head);
/* Appends the page's one <h1>, where the content begins. Navigation goes before it. */
void gb_page_heading(gb_text *out, const char *title);
/* Appends <div class="wide">, which scrolls where a table is wider than the page, also by keys;
 * `label` names it to those who do not see it. The caller closes it. */
void gb_page_wide(gb_text *out, const char *label);
/* Appends the end of the page. */
void gb_page_end(gb_text *out);
/* Appends text, with the special characters of HTML and XML as entities. */
void gb_page_escaped(gb_text *out, const char *text);
/* Appends <tag class="class">text</tag>, with text escaped; class may be NULL. */
void gb_page_element(gb_text *out, const char *tag, const char *class, const char *text);

#endif
