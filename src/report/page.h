/* HTML pages of the report room: one file each, light and dark, printable. */
#ifndef GABBRO_REPORT_PAGE_H
#define GABBRO_REPORT_PAGE_H

#include "gabbro/base.h"

/* Everything up to <body>; more_style (CSS) comes behind the common style. */
void page_begin(gb_text *out, const char *title, const char *more_style);
void page_end(gb_text *out);
void page_escaped(gb_text *out, const char *text);
/* Writes folder/name. */
bool page_write(const char *folder, const char *name, const gb_text *text, gb_status *status);
/* A text put together before, to go into out; where memory was short for it, out has failed too. */
const char *text_words(const gb_text *part, gb_text *out);
/* <tag class="class">text</tag>; class may be NULL. */
void page_element(gb_text *out, const char *tag, const char *class, const char *text);

#endif
