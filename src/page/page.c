#include "gabbro/page.h"

#include <string.h>

static const char style[] =
#include "style.css.h"
    ;

const char *gb_page_style(void)
{
    return style;
}

void gb_page_escaped(gb_text *out, const char *text)
{
    for (; *text; text++) {
        const char *entity = *text == '&'   ? "&amp;"
                             : *text == '<' ? "&lt;"
                             : *text == '>' ? "&gt;"
                             : *text == '"' ? "&quot;"
                             : (unsigned char)*text < ' ' && !strchr("\t\n\r", *text)
                                 ? "\xef\xbf\xbd" /* U+FFFD: XML has no such characters */
                                 : NULL;
        if (entity)
            gb_text_append(out, entity, strlen(entity));
        else
            gb_text_append(out, text, 1);
    }
}

void gb_page_element(gb_text *out, const char *tag, const char *class, const char *text)
{
    if (class)
        gb_text_printf(out, "<%s class=\"%s\">", tag, class);
    else
        gb_text_printf(out, "<%s>", tag);
    gb_page_escaped(out, text);
    gb_text_printf(out, "</%s>", tag);
}

void gb_page_begin(gb_text *out, const char *title, const char *sheet, const char *more_head)
{
    gb_text_printf(out,
                   "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    gb_page_element(out, "title", NULL, title);
    if (sheet)
        gb_text_printf(out, "\n<link rel=\"stylesheet\" href=\"%s\">\n", sheet);
    else
        gb_text_printf(out, "\n<style>\n%s</style>\n", style);
    gb_text_printf(out,
                   "%s</head>\n<body>\n<a class=\"skip\" href=\"#content\">Skip to the content"
                   "</a>\n",
                   more_head);
}

void gb_page_heading(gb_text *out, const char *title)
{
    gb_text_printf(out, "<main>\n<h1 id=\"content\" tabindex=\"-1\">");
    gb_page_escaped(out, title);
    gb_text_printf(out, "</h1>\n");
}

void gb_page_wide(gb_text *out, const char *label)
{
    gb_text_printf(out, "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"");
    gb_page_escaped(out, label);
    gb_text_printf(out, "\">");
}

void gb_page_end(gb_text *out)
{
    gb_text_printf(out, "</main>\n</body>\n</html>\n");
}
