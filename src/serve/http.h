/* What the files of the HTTP server share. Private to the module. */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include <gabbro/serve.h>

#include <gabbro/json.h>

/* Whose form requests, answers and errors have. */
typedef enum serve_api {
    SERVE_OWN,    /* /search, /health and all that is unknown */
    SERVE_OPENAI, /* OpenAI's */
    SERVE_TEI,    /* text-embeddings-inference's */
} serve_api;

/* What may be wrong with a request, or with the server. */
typedef enum serve_error {
    SERVE_NO_JSON,     /* the body is not JSON */
    SERVE_BAD_VALUE,   /* a member is missing, of another type, or out of bounds */
    SERVE_EMPTY,       /* no text */
    SERVE_TOO_MANY,    /* more texts than a request may have */
    SERVE_TOO_LONG,    /* a text is longer than the model reads */
    SERVE_TOO_LARGE,   /* the body is */
    SERVE_NO_MODEL,    /* another model than the one that is served */
    SERVE_NO_TOKEN,    /* the token is missing or wrong */
    SERVE_FOREIGN,     /* the Host is another's */
    SERVE_NO_PATH,     /* nothing is there */
    SERVE_BAD_METHOD,  /* another method is needed */
    SERVE_OVERLOADED,  /* the queue is full */
    SERVE_LATE,        /* it waited too long, or the server ends */
    SERVE_WRONG_MODEL, /* the model does not do what is asked for */
    SERVE_FAILED,      /* computing failed */
} serve_error;

/* What is served, the same for all requests. */
typedef struct serve_site {
    const gb_serve_params *how; /* as asked for */
    gabbro_model *model;        /* that computes */
    gabbro_index *index;        /* that is searched, or NULL */
    uint32_t width, max_tokens; /* of the model; width 0: it is a cross-encoder */
    const char *name;           /* of the model, as requests may name it */
} serve_site;

/* A request that has been read, until it is answered. */
typedef struct serve_job {
    serve_api api;        /* form of the answer */
    const char *member;   /* that has the texts, for messages */
    json_t *request;      /* texts point into it */
    const char **texts;   /* [count] */
    uint32_t count;       /* texts */
    const char **queries; /* [count] of pairs with the texts, or NULL: these become vectors */
    bool raw;             /* scores of pairs are logits, not their sigmoids */
    gabbro_kind kind;     /* of all of them */
    bool single;          /* one text, not a list of one */
    bool cut;             /* texts that are too long are cut, not refused */
    bool scale;           /* vectors are scaled to length 1 */
    bool base64;          /* vectors are printed so */
    bool with_texts;      /* passages are printed with their texts */
    uint32_t dims;        /* numbers of a vector that are wanted; 0: all */
    uint32_t k;           /* passages that are searched; 0: none */
    double since_s;       /* when it was read */
    /* What is computed. */
    float *vectors;                                               /* [count, width] */
    uint32_t *tokens;                                             /* [count] before they are cut */
    gabbro_hit *hits;                                             /* [count, k] */
    void (*write)(struct serve_job *job, const serve_site *site); /* makes the answer of it */
    /* The answer. */
    unsigned status;  /* of HTTP; 0: there is none yet */
    gb_text body;     /* JSON, or what `type` says */
    const char *type; /* NULL: application/json */
    /* Where it goes. */
    void *connection;       /* to be resumed */
    struct serve_job *next; /* in the queue */
} serve_job;

/* What a request asks for is read into a job: false where an error is its answer. */
typedef bool serve_read_fn(serve_job *job, const serve_site *site);

void serve_job_free(serve_job *job); /* NULL ok */
/* The answer is an error, in the form of the job's API. Returns false. */
bool serve_fail(serve_job *job, serve_error error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The answer is JSON, which is given away; NULL: memory was short. */
void serve_answer(serve_job *job, json_t *json);
/* Members of a request: false, with an error as the answer, for one of another type. A missing or
 * null one leaves *value as it is. */
bool serve_get_flag(serve_job *job, const char *key, bool *value);
bool serve_get_number(serve_job *job, const char *key, uint32_t min, uint32_t max, uint32_t *value);
bool serve_get_word(serve_job *job, const char *key, const char **value);
/* The texts of member `key`: a text or a list of 1 to `most`. */
bool serve_get_texts(serve_job *job, const char *key, uint32_t most);
/* The kind of text that a word names; plain for NULL. */
bool serve_get_kind(serve_job *job, const char *key, gabbro_kind *kind);
/* Appends vector `row` of a job, as it is wanted, as JSON. */
void serve_print_vector(const serve_job *job, const serve_site *site, uint32_t row, gb_text *out);

serve_read_fn serve_openai_read, serve_tei_embed_read, serve_tei_rerank_read, serve_search_read;
void serve_openai_models(serve_job *job, const serve_site *site);
void serve_tei_info(serve_job *job, const serve_site *site);
/* The answer is a file below the folder of a run, its page for "/". */
bool serve_run_read(serve_job *job, const serve_site *site, const char *path);

/* ---- the queue ---- */

typedef struct serve_queue serve_queue;
/* Starts the thread that computes; `done` is called by it for each job that has its answer. */
serve_queue *serve_queue_create(const serve_site *site, void (*done)(serve_job *job),
                                gb_status *status);
/* Adds a job, after `begin` was called with it. False where the queue is full or ends; then nothing
 * was called, and the job has its answer. */
bool serve_queue_add(serve_queue *queue, serve_job *job, void (*begin)(serve_job *job));
bool serve_queue_healthy(serve_queue *queue); /* the last computation went well */
/* Answers what waits, for some seconds, and ends the thread; the queue takes nothing more. NULL ok.
 */
void serve_queue_end(serve_queue *queue);
/* Ends it and frees it: nobody may ask it any more. NULL ok. */
void serve_queue_destroy(serve_queue *queue);

#endif
