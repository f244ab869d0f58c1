/* Serve module: what people and programs ask of a model: vectors of their texts, and passages that
 * answer their questions. */
#ifndef GABBRO_SERVE_H
#define GABBRO_SERVE_H

#include <gabbro/library.h>
#include <gabbro/rows.h>

/* ---- vectors of a file's texts ---- */

/* Which texts become vectors, and where these go. */
typedef struct gb_embed_params {
    const gb_config *config; /* of the program */
    const char *model;       /* as gabbro_model_open takes it */
    gabbro_model_params how; /* to open it */
    const char *input;       /* file of texts, one a line or lines of JSON; "-": standard input */
    const char *out;         /* file .npy or .jsonl; NULL: standard output */
    gb_number numbers;       /* of vectors in .npy; int8 has its factors in scales.npy beside it */
    bool queries;            /* the texts are queries, otherwise passages */
    bool preview;            /* show the first numbers of each vector, for people */
    const char *label;       /* of a progress line; NULL: none */
} gb_embed_params;
/* Makes the vectors of all texts of a file, some hundred at a time. */
bool gb_embed_texts(const gb_embed_params *params, gb_status *status);

/* ---- questions ---- */

/* What is asked, and how the answers look. */
typedef struct gb_ask_params {
    const gb_config *config; /* of the program */
    const char *model;       /* as gabbro_model_open takes it */
    gabbro_model_params how; /* to open it */
    const char *index;       /* folder of an index of that model */
    const char *question;    /* one; NULL: the lines of standard input */
    uint32_t passages;       /* passages of an answer */
    bool whole;              /* print the texts whole, not their beginnings */
    bool json;               /* print a line of JSON for each question */
} gb_ask_params;
/* Prints the best passages for each question to standard output, the first one first: rank, score,
 * id, title, text. GB_DATA where index and model have vectors of different widths. */
bool gb_ask(const gb_ask_params *params, gb_status *status);

/* ---- over HTTP ---- */

/* What is served, to whom, and how much of it. */
typedef struct gb_serve_params {
    const gb_config *config;  /* of the program */
    const char *model;        /* as gabbro_model_open takes it; NULL: a run is served */
    const char *run;          /* folder of a run's results, to be looked at; NULL: a model is */
    gabbro_model_params open; /* to open it */
    const char *name;         /* of the model, as requests name it; NULL: `model` */
    const char *index;        /* folder that /search searches, or NULL */
    const char *host;         /* address to listen on */
    uint32_t port;            /* 0: any that is free */
    const char *token_file;   /* whose first line requests must have as their token; NULL: none */
    uint32_t max_bytes;       /* of a body */
    uint32_t max_texts;       /* of a request, but for OpenAI's API, which has its own limit */
    uint32_t queue;           /* requests that wait */
    uint32_t connections;     /* at once */
    uint32_t seconds;         /* for a request to come, to wait, and for an answer to go */
} gb_serve_params;
/* Prints the address, and answers until a signal asks to stop; then what waits is answered. A
 * request never ends it. GB_USAGE where the address is none or taken, or where the program was
 * built without libmicrohttpd. */
bool gb_serve(const gb_serve_params *params, gb_status *status);

#endif
