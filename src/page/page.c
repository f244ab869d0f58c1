#include "gabbro/page.h"

#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--line:#8886;--soft:#8881;--dim:#777;--yes:#1a7f37;--no:#c4320a;"
    "--open:#9a6700}\n"
    "@media "
    "(prefers-color-scheme:dark){:root{--dim:#999;--yes:#4ac26b;--no:#ff8a65;--open:#d4a72c}}"
    "\n"
    "body{font:15px/1.45 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em}\n"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:13px}\n"
    "th,td{padding:.25em .5em;border-bottom:1px solid var(--line);text-align:right;"
    "vertical-align:top}\n"
    "th:first-child,td:first-child,td.left,th.left{text-align:left}\n"
    "thead th{border-bottom:2px solid var(--line)}\n"
    "tr.group td{font-weight:600;background:var(--soft)}\n"
    "td.first,th.first{border-left:1px solid var(--line)}\n"
    ".published,.dim{color:var(--dim)}.here{font-weight:600}\n"
    ".supported{color:var(--yes)}.contradicted{color:var(--no)}.undecided{color:var(--open)}\n"
    ".wide{overflow-x:auto}\n"
    "@media print{body{max-width:none;margin:0;font-size:10px}table{font-size:8px}"
    ".wide{overflow:visible}tr{break-inside:avoid}}\n";

void gb_page_escaped(gb_text *out, const char *text)
{
    for (; *text; text++) {
        const char *entity = *text == '&'   ? "&amp;"
                             : *text == '<' ? "&lt;"
                             : *text == '>' ? "&gt;"
                             : *text == '"' ? "&quot;"
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

void gb_page_begin(gb_text *out, const char *title, const char *more_style)
{
    gb_text_printf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width\">\n");
    gb_page_element(out, "title", NULL, title);
    gb_text_printf(out, "\n<style>\n%s%s</style>\n</head>\n<body>\n", style, more_style);
}

void gb_page_end(gb_text *out)
{
    gb_text_printf(out, "</body>\n</html>\n");
}
