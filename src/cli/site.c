/* gabbro site: result folders as a static site. */
#include "cli.h"
#include <gabbro/report.h>

#include <getopt.h>
#include <stdlib.h>

static const char usage[] =
    "usage: gabbro site --out DIR [--store DIR] FOLDER...\n"
    "\n"
    "Write a static site of results: a front page with the verdicts by paper, a page a table, and\n"
    "for every row a page with the commands, settings, hashes and times behind its values. "
    "FOLDERs\n"
    "are what `gabbro report --out` and `reproduce` write, and steps of figures (gabbro "
    "coverage).\n"
    "Open DIR/index.html; it needs no server and no network.\n"
    "\n"
    "  --out DIR     where it goes\n"
    "  --store DIR   run store with the steps (default: where the results say they are)\n"
    "  -h, --help    this text\n";

int gb_cli_site(int argc, char **argv)
{
    static const struct option long_options[] = {{"out", required_argument, NULL, 'o'},
                                                 {"store", required_argument, NULL, 's'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {0}};
    gb_site_params params = {0};
    const char *out = NULL;
    gb_status status = {0};
    optind = 0;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1;) {
        if (option == 'h') {
            printf("%s", usage);
            return GB_OK;
        }
        if (option == 'o')
            out = optarg;
        else if (option == 's')
            params.store = optarg;
        else
            gb_fail(&status, GB_USAGE, NULL, "see gabbro site --help",
                    "site: unknown or incomplete option %s", argv[optind - 1]);
    }
    params.folders = (const char *const *)(argv + optind);
    params.count = (size_t)(argc - optind);
    if (status.code == GB_OK && (!out || !params.count))
        gb_fail(&status, GB_USAGE, NULL, "see gabbro site --help",
                "site needs --out and at least one folder of results");
    if (status.code == GB_OK && gb_site_write(&params, out, &status))
        printf("%s/index.html\n", out);
    else
        gb_status_print(&status);
    return (int)status.code;
}
