/* Shared by the commands `gabbro data ...`. */
#ifndef GABBRO_CLI_DATA_H
#define GABBRO_CLI_DATA_H

#include "cli.h"

#include <gabbro/data.h>
#include <gabbro/fetch.h>

/* Import a collection as its files are (no queries or splits made, unknown ids counted) into a
 * temporary folder; the caller gives it to gb_temporary_remove. NULL and status on
 * failure. */
char *cli_data_import(const gb_config *config, const char *path, gb_status *status);
/* Open a collection: an artifact's, or what gabbro collection --from reads, which is imported into
 * *imported as above; otherwise *imported stays NULL. */
gb_collection *cli_data_open(const gb_config *config, const char *path, char **imported,
                             gb_status *status);
/* Print what is in an imported collection and what may be wrong with it, beside the official counts
 * of source (NULL: there are none). *wrong: counts that differ, and splits with unknown ids. */
bool cli_data_report(const char *folder, const gb_source *source, uint32_t *wrong,
                     gb_status *status);
/* How an entry is measured, in words; NULL: as any other. */
const char *cli_data_rule(const gb_source *source);
/* The option --manifest, into a const char *. */
#define DATA_MANIFEST_OPTION(given)                                                                \
    {                                                                                              \
        "manifest", GB_OPTION_TEXT, &(given), 0, "FILE",                                           \
            "manifest of collections (default: $GABBRO_MANIFEST, else the program's own)"          \
    }

#endif
