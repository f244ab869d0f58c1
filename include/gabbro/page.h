/* Page module: the head, the style and the escaping that all HTML pages of Gabbro share. A page is
 * one file that needs no other, light or dark as the reader prefers, and printable. */
#ifndef GABBRO_PAGE_H
#define GABBRO_PAGE_H

#include <gabbro/base.h>

/* Everything up to <body>; more_style (CSS) comes behind the common style. */
void gb_page_begin(gb_text *out, const char *title, const char *more_style);
void gb_page_end(gb_text *out);
/* Text with the characters that mean something in HTML and XML written as entities. */
void gb_page_escaped(gb_text *out, const char *text);
/* <tag class="class">text</tag>; class may be NULL. */
void gb_page_element(gb_text *out, const char *tag, const char *class, const char *text);

#endif
