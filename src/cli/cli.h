/* The sub-commands: each takes its own argv (argv[0] is its name) and returns an exit code. */
#ifndef GABBRO_CLI_H
#define GABBRO_CLI_H

#include <gabbro/options.h>

extern const gb_command gb_cli_bench;
extern const gb_command gb_cli_bm25;
extern const gb_command gb_cli_bm25_run;
extern const gb_command gb_cli_collection;
int gb_cli_compare_devices(int argc, char **argv);
extern const gb_command gb_cli_coverage;
extern const gb_command gb_cli_data_check;
extern const gb_command gb_cli_data_fetch;
extern const gb_command gb_cli_data_list;
extern const gb_command gb_cli_data_show;
extern const gb_command gb_cli_data_slice;
extern const gb_command gb_cli_curves;
extern const gb_command gb_cli_determinism;
extern const gb_command gb_cli_doctor;
int gb_cli_efficiency(int argc, char **argv);
extern const gb_command gb_cli_eval;
extern const gb_command gb_cli_evaluate;
extern const gb_command gb_cli_filter_queries;
int gb_cli_finetune(int argc, char **argv);
int gb_cli_generate(int argc, char **argv);
extern const gb_command gb_cli_mine;
extern const gb_command gb_cli_negatives;
extern const gb_command gb_cli_encode;
extern const gb_command gb_cli_search;
extern const gb_command gb_cli_mean;
extern const gb_command gb_cli_vectors;
int gb_cli_mlm_loss(int argc, char **argv);
int gb_cli_pretrain(int argc, char **argv);
extern const gb_command gb_cli_queries;
extern const gb_command gb_cli_relatedness;
extern const gb_command gb_cli_report;
extern const gb_command gb_cli_reproduce;
extern const gb_command gb_cli_noise;
extern const gb_command gb_cli_site;
extern const gb_command gb_cli_store;
extern const gb_command gb_cli_tokenize;
int gb_cli_train_generator(int argc, char **argv);
int gb_cli_tsne(int argc, char **argv);
extern const gb_command gb_cli_tune;
extern const gb_command gb_cli_verify;
extern const gb_command gb_cli_vocabulary;

#endif
