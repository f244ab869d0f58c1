/* The sub-commands: each takes its own argv (argv[0] is its name) and returns an exit code. */
#ifndef GABBRO_CLI_H
#define GABBRO_CLI_H

int gb_cli_bm25(int argc, char **argv);
int gb_cli_eval(int argc, char **argv);
int gb_cli_report(int argc, char **argv);
int gb_cli_store(int argc, char **argv);

#endif
