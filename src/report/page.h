/* HTML pages of the report room: one file each, light and dark, printable. */
#ifndef GABBRO_REPORT_PAGE_H
#define GABBRO_REPORT_PAGE_H

#include "gabbro/base.h"

/* Everything up to <body>; more_style (CSS) comes behind the common style. */
void page_begin(gb_text *out, const char *title, const char *more_style);
void page_end(gb_text *out);
void page_escaped(gb_text *out, const char *text);
/* <tag class="class">text</tag>; class may be NULL. */
void page_element(gb_text *out, const char *tag, const char *class, const char *text);

#endif
