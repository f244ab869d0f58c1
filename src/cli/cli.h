/* The sub-commands: each takes its own argv (argv[0] is its name) and returns an exit code. */
#ifndef GABBRO_CLI_H
#define GABBRO_CLI_H

#include <gabbro/options.h>

extern const gb_command gb_cli_agreement;
extern const gb_command gb_cli_ask;
extern const gb_command gb_cli_bench;
extern const gb_command gb_cli_bm25;
extern const gb_command gb_cli_bm25_run;
extern const gb_command gb_cli_bundle;
extern const gb_command gb_cli_collection;
extern const gb_command gb_cli_compare_devices;
extern const gb_command gb_cli_convert_model;
extern const gb_command gb_cli_convert_run;
extern const gb_command gb_cli_coverage;
extern const gb_command gb_cli_data_check;
extern const gb_command gb_cli_data_fetch;
extern const gb_command gb_cli_data_list;
extern const gb_command gb_cli_data_show;
extern const gb_command gb_cli_data_slice;
extern const gb_command gb_cli_curves;
extern const gb_command gb_cli_determinism;
extern const gb_command gb_cli_doctor;
extern const gb_command gb_cli_efficiency;
extern const gb_command gb_cli_eval;
extern const gb_command gb_cli_evaluate;
extern const gb_command gb_cli_export;
extern const gb_command gb_cli_filter_queries;
extern const gb_command gb_cli_finetune;
extern const gb_command gb_cli_finetune_cross;
extern const gb_command gb_cli_fuse;
extern const gb_command gb_cli_generate;
extern const gb_command gb_cli_join_towers;
extern const gb_command gb_cli_kernels;
extern const gb_command gb_cli_mine;
extern const gb_command gb_cli_negatives;
extern const gb_command gb_cli_teacher;
extern const gb_command gb_cli_embed;
extern const gb_command gb_cli_encode;
extern const gb_command gb_cli_search;
extern const gb_command gb_cli_search_sparse;
extern const gb_command gb_cli_mean;
extern const gb_command gb_cli_vectors;
extern const gb_command gb_cli_mlm_loss;
extern const gb_command gb_cli_pretrain;
extern const gb_command gb_cli_pseudo_labels;
extern const gb_command gb_cli_queries;
extern const gb_command gb_cli_relatedness;
extern const gb_command gb_cli_rerank;
extern const gb_command gb_cli_report;
extern const gb_command gb_cli_reproduce;
extern const gb_command gb_cli_noise;
extern const gb_command gb_cli_serve;
extern const gb_command gb_cli_site;
extern const gb_command gb_cli_store;
extern const gb_command gb_cli_tokenize;
extern const gb_command gb_cli_train;
extern const gb_command gb_cli_train_generator;
extern const gb_command gb_cli_tsne;
extern const gb_command gb_cli_tune;
extern const gb_command gb_cli_verify;
extern const gb_command gb_cli_vocabulary;
extern const gb_command gb_cli_weigh_words;

/* All of them. */
extern const gb_command_set gb_cli_commands;

/* Options of the whole program, for its help. */
extern const gb_option gb_program_options[];

/* Takes the program's options out of argv and sets the configuration, and the environment of
 * processes that are started from here, by them. GB_USAGE where a value is missing or unknown. */
bool gb_program_options_take(gb_config *config, int *argc, char **argv, gb_status *status);

#endif
