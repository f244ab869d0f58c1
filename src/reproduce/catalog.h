/* Which tables there are: recipes, and what tables.tsv and the recipes' heads say of them. */
#ifndef GABBRO_REPRODUCE_CATALOG_H
#define GABBRO_REPRODUCE_CATALOG_H

#include <gabbro/base.h>

typedef struct repro_entry {
    const char *name;    /* "qac/table1" */
    const char *title;   /* of the table; of a figure or study the recipe's first line */
    const char *aliases; /* other names, with blanks between */
    const char *cost;    /* what it takes, by its recipe */
    bool published;      /* tables.tsv has it */
    bool ready;          /* it has a recipe, and is whole where tables.tsv has it */
    bool measures_time;  /* nothing may run beside it */
    gb_status fault; /* what is wrong with its files; code GB_OK: nothing, or they are not there */
} repro_entry;

typedef struct repro_catalog {
    gb_arena *arena;      /* owns all text */
    repro_entry *entries; /* [count]: of tables.tsv in its order, other figures, studies */
    size_t count;         /* of them */
    size_t capacity;      /* allocated */
} repro_catalog;
/* tables_dir: gb_tables_find; paper: folder of another paper, whose recipes alone are read, or
 * NULL. Free with repro_catalog_free, also on failure. */
bool repro_catalog_read(repro_catalog *catalog, const char *tables_dir, const char *paper,
                        gb_status *status);
void repro_catalog_free(repro_catalog *catalog);
/* By name or alias; GB_USAGE where there is none. */
const repro_entry *repro_catalog_find(const repro_catalog *catalog, const char *name,
                                      gb_status *status);
bool repro_entry_is_study(const repro_entry *entry);  /* not of a paper, no part of all */
bool repro_entry_is_figure(const repro_entry *entry); /* fig3, fig4 ... */
void repro_catalog_print(const repro_catalog *catalog);

#endif
