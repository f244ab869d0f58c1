/* gabbro serve: answers requests over HTTP. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/serve.h>

#include <stdlib.h>

static int run(const gb_call *call)
{
    static const char *const poolings[] = {"cls", "mean", "last", NULL};
    gb_serve_params o = {.config = call->config,
                         .open = {.size = sizeof o.open},
                         .host = "127.0.0.1",
                         .port = 8080,
                         .max_texts = 32,
                         .queue = 512,
                         .connections = 512,
                         .seconds = 30};
    uint32_t pooling = GB_OPEN, max_kilobytes = 2048;
    const char *index = NULL;
    bool quiet = false;
    const gb_option options[] = {
        {"run", GB_OPTION_TEXT, &o.run, 0, "DIR",
         "in the place of a model: results of reproduce, whose page follows the run"},
        {"index", GB_OPTION_TEXT, &index, 0, "DIR",
         "what /search searches: an index of gabbro ask, or any folder of vectors with ids"},
        {"name", GB_OPTION_TEXT, &o.name, 0, NULL,
         "what requests call the model (default: MODEL, or its last part)"},
        {"host", GB_OPTION_TEXT, &o.host, 0, "ADDRESS", "address to listen on"},
        {"port", GB_OPTION_U32, &o.port, 0, NULL, "port; 0: any that is free", .max = 65535},
        {"token-file", GB_OPTION_TEXT, &o.token_file, 0, "FILE",
         "its first line is the token that requests must have (Authorization: Bearer TOKEN)"},
        {"max-texts", GB_OPTION_U32, &o.max_texts, 0, NULL,
         "texts of a request (OpenAI's API always allows 2048)", .min = 1, .max = 4096},
        {"max-kilobytes", GB_OPTION_U32, &max_kilobytes, 0, NULL, "size of a request", .min = 1,
         .max = 1 << 18},
        {"queue", GB_OPTION_U32, &o.queue, 0, NULL, "requests that may wait", .min = 1,
         .max = 1 << 16},
        {"connections", GB_OPTION_U32, &o.connections, 0, NULL, "connections at once", .min = 1,
         .max = 1 << 16},
        {"seconds", GB_OPTION_U32, &o.seconds, 0, NULL,
         "time for a request to come, to wait, and for its answer to go", .min = 1, .max = 3600},
        {"pooling", GB_OPTION_CHOICE, &pooling, 0, NULL,
         "how states become a vector (default: as the model's folder says)", poolings},
        {"dims", GB_OPTION_U32, &o.open.dims, 0, NULL,
         "dimensions of a vector that are kept, as of the index; 0: all"},
        {"device", GB_OPTION_TEXT, &o.open.device, 0, "NAME",
         "device to compute on: index, name, UUID or cpu (default: the best)", .letter = 'd'},
        {"quiet", GB_OPTION_FLAG, &quiet, 0, NULL, "no warnings", .letter = 'q'},
        {0}};
    gb_words words = {0};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_serve, options, call, &words, &code))
        return code;
    if (quiet)
        gb_log_set_level(GB_LOG_ERROR);
    if (!words.count == !o.run)
        gb_fail(&status, GB_USAGE, NULL, "see --help", "give a model, or --run");
    if (o.run && (index || pooling != GB_OPEN || o.open.dims || o.open.device))
        gb_fail(&status, GB_USAGE, NULL, "see --help",
                "--index, --pooling, --dims and --device go with a model");
    o.model = words.count ? words.items[0] : NULL;
    o.max_bytes = max_kilobytes << 10;
    o.open.pooling = pooling == GB_OPEN ? NULL : poolings[pooling];
    gb_install_signals();
    char *found =
        index && status.code == GB_OK ? gb_find_folder(call->config, index, &status) : NULL;
    o.index = found;
    if (status.code == GB_OK)
        gb_serve(&o, &status);
    free(found);
    return gb_command_end(&status);
}

const gb_command gb_cli_serve = {
    .name = "serve",
    .summary = "answer requests for vectors and passages over HTTP",
    .operands = "[MODEL]",
    .operands_max = 1,
    .description =
        "Serve a model over HTTP until a signal asks to stop. MODEL is as in gabbro embed. Prints "
        "the address; requests and answers are JSON (docs/reference/server.md):\n\n"
        "  POST /v1/embeddings   OpenAI's API; GET /v1/models\n"
        "  POST /embed           that of text-embeddings-inference; /rerank, GET /info\n"
        "  POST /search          passages of the index: {\"query\": \"...\", \"k\": 10}\n"
        "  GET  /health          200 while all is well\n\n"
        "Requests that wait are computed together. It listens on 127.0.0.1 alone unless --host "
        "gives another address. A request that is too large, too late, damaged, or beyond a limit "
        "is answered with the status that its API has for it.\n\n"
        "With --run, which takes no model, it shows the page of a run and the files beside it, and "
        "changes nothing: GET / (docs/reference/pages.md).",
    .run = run};
