/* gabbro verify: is a model folder complete, and does this device compute what it should? */
#include "cli.h"
#include <gabbro/compare.h>

#include <getopt.h>
#include <stdlib.h>

static const char help[] =
    "usage: gabbro verify [options] MODEL\n"
    "\n"
    "Check a model: MODEL is a Hugging Face folder (config.json, vocab.txt, model.safetensors or\n"
    "pytorch_model.bin, which is read without executing anything) or the folder of a step. Says "
    "what was\n"
    "checked: the files, every tensor, the tokenizer, the pooling, and some texts through the "
    "model on\n"
    "the device against the same computation in float64. Where there are numbers of another "
    "program\n"
    "for this model (golden.safetensors in the folder, or --golden), those too.\n"
    "\n"
    "  --golden FILE    safetensors with any of: text (bytes, one text a line), ids, hidden.0 "
    "...,\n"
    "                   cls, mean, sentence, logits; tests/peers shows how to make it\n"
    "  --bound X        largest difference allowed from those numbers, relative (1e-4)\n"
    "  --device SELECT  as in gabbro doctor\n"
    "  --trust          print measured differences as "
    "trust:<TAB>what<TAB>against<TAB>worst<TAB>bound\n"
    "  -h, --help       this text\n"
    "\n"
    "Exit code 0: all held; 1: a difference is too large; others as for every command.\n";

static bool parse(int argc, char **argv, gb_verify_params *o, int *code)
{
    static const struct option long_options[] = {
        {"golden", required_argument, NULL, 'g'}, {"bound", required_argument, NULL, 'b'},
        {"device", required_argument, NULL, 'd'}, {"trust", no_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},         {0}};
    int option;
    char *end = NULL;
    bool sound = true;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (option == 'g') {
            o->golden = optarg;
        } else if (option == 'b') {
            o->bound = strtod(optarg, &end);
            sound = sound && *optarg && !*end && o->bound > 0;
        } else if (option == 'd') {
            o->select = optarg;
        } else if (option == 't') {
            o->trust = true;
        } else {
            fputs(help, option == 'h' ? stdout : stderr);
            *code = option == 'h' ? 0 : GB_USAGE;
            return false;
        }
    }
    if (sound && argc - optind == 1) {
        o->model = argv[optind];
        return true;
    }
    fputs(help, stderr);
    *code = GB_USAGE;
    return false;
}

int gb_cli_verify(int argc, char **argv)
{
    gb_status status = {0};
    gb_verify_params params = {.bound = 1e-4, .out = stdout};
    int code = 0;
    bool held;
    if (!parse(argc, argv, &params, &code))
        return code;
    if (!gb_verify(&params, &held, &status)) {
        gb_status_print(&status);
        return status.code;
    }
    printf("%s\n", held ? "All of it holds." : "Something differs: see above.");
    return held ? 0 : GB_MISMATCH;
}
