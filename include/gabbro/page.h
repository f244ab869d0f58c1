/* Page module: writes what all HTML pages of Gabbro have in common: head, style and escaping. A
 * page is one file that needs no other, is light or dark as the reader prefers, and printable. */
#ifndef GABBRO_PAGE_H
#define GABBRO_PAGE_H

#include <gabbro/base.h>

/* Appends everything up to <body>. more_style (CSS) is put behind the common style. */
void gb_page_begin(gb_text *out, const char *title, const char *more_style);
/* Appends the end of the page. */
void gb_page_end(gb_text *out);
/* Appends text, with the special characters of HTML and XML as entities. */
void gb_page_escaped(gb_text *out, const char *text);
/* Appends <tag class="class">text</tag>, with text escaped; class may be NULL. */
/* <tag class="class">text</tag>; class may be NULL. */
void gb_page_element(gb_text *out, const char *tag, const char *class, const char *text);

#endif
