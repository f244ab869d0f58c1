/* The sub-commands of `gabbro data`; each takes its own argv (argv[0] is its name). */
#ifndef GABBRO_CLI_DATA_H
#define GABBRO_CLI_DATA_H

#include <gabbro/fetch.h>

int data_check(int argc, char **argv);
int data_fetch(int argc, char **argv);
int data_list(int argc, char **argv);
int data_show(int argc, char **argv);
int data_slice(int argc, char **argv);

/* Import a collection as its files are (no queries or splits made, unknown ids counted) into a
 * temporary folder; the caller gives it to gb_temporary_remove. NULL and status on
 * failure. */
char *data_import(const char *path, gb_status *status);
/* Read the manifest `given` or the program's own. */
bool data_manifest(const char *given, gb_manifest *manifest, gb_status *status);
/* Print what failed, if anything did, and give the exit code. */
int data_exit(bool ok, const gb_status *status);
/* The option getopt refused. */
int data_bad_option(const char *command, char **argv);

#endif
