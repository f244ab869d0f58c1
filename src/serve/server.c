/* The HTTP server, by libmicrohttpd: connections, bodies, paths, tokens, and its life. */
#include "http.h"

#include <microhttpd.h>

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG      1024
#define HEADER_BYTES (32 << 10) /* of a request's line and headers */
#define LOOK_MS      250        /* between two looks at connections that are slow */
#define SEND_S       1.0        /* that answers may take to be sent at the end */
#define READ_BODIES  8          /* times the largest body that are read of one that is refused */

/* A connection. */
typedef struct client {
    int socket;
    double since_s;              /* since when the client is to send or to take something */
    bool working;                /* it waits for us */
    struct client *next, **link; /* of all */
} client;

typedef struct server {
    serve_site site;    /* what is served */
    serve_queue *queue; /* computes */
    char *token;        /* that requests must have, or NULL */
    struct MHD_Daemon *daemon;
    int socket;           /* it listens on */
    pthread_mutex_t lock; /* of the following */
    client *clients;      /* that are connected */
    uint32_t unsent;      /* requests that were read and whose answers have not gone yet */
} server;

/* A request. */
typedef struct request {
    serve_job *job;      /* what it asks for */
    serve_read_fn *read; /* reads its body; NULL: it has none */
    client *from;        /* its connection */
    gb_text body;        /* received so far */
    uint64_t received;   /* bytes, also of those that were not kept */
    const char *allow;   /* methods that its path takes, if there is one */
} request;

/* ---- paths ---- */

static const struct {
    const char *path;
    serve_api api;
    serve_read_fn *read; /* of a POST; NULL: GET and HEAD */
    void (*answer)(serve_job *job, const serve_site *site);
} paths[] = {
    {"/v1/embeddings", SERVE_OPENAI, serve_openai_read, NULL},
    {"/v1/models", SERVE_OPENAI, NULL, serve_openai_models},
    {"/embed", SERVE_TEI, serve_tei_embed_read, NULL},
    {"/rerank", SERVE_TEI, serve_tei_rerank_read, NULL},
    {"/info", SERVE_TEI, NULL, serve_tei_info},
    {"/search", SERVE_OWN, serve_search_read, NULL},
};

/* Equal or not in the same time, so that it cannot be found out letter by letter. */
static bool is_token(const char *header, const char *token)
{
    static const char scheme[] = "Bearer ";
    if (!header || strncasecmp(header, scheme, sizeof scheme - 1) != 0)
        return false;
    const char *given = header + sizeof scheme - 1;
    size_t length = strlen(token), other = strlen(given);
    unsigned char differ = length != other;
    for (size_t i = 0; i < length; i++)
        differ |= (unsigned char)(token[i] ^ (i < other ? given[i] : 0));
    return !differ;
}

/* Whether the server is called by a name that is its own. Where it listens on this computer alone
 * and asks for no token, a web page that a browser shows here could have a name of its own point to
 * it (DNS rebinding) and read what it answers. */
static bool is_own_host(const server *s, const char *host)
{
    const char *own = s->site.how->host;
    bool inside = !strncmp(own, "127.", 4) || !strcmp(own, "::1") || !strcmp(own, "localhost");
    if (s->token || !inside || !host)
        return true;
    size_t length = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    return *host == '[' || strspn(host, "0123456789.") >= length ||
           (length == strlen("localhost") && !strncasecmp(host, "localhost", length)) ||
           (length == strlen(own) && !strncasecmp(host, own, length));
}

/* Undoes %XX. A NUL would end the path for whoever reads it: it becomes another control character,
 * and route() refuses them all. */
static size_t unescape(void *self, struct MHD_Connection *connection, char *text)
{
    (void)self, (void)connection;
    size_t length = MHD_http_unescape(text);
    for (size_t i = 0; i < length; i++)
        if (!text[i])
            text[i] = '\1';
    return length;
}

static bool has_control(const char *path)
{
    while ((unsigned char)*path >= ' ' && *path != 0x7f)
        path++;
    return *path;
}

static void health(const server *s, serve_job *job)
{
    if (!s->queue || serve_queue_healthy(s->queue))
        serve_answer(job, json_pack("{s:s}", "status", "ok"));
    else
        serve_fail(job, SERVE_LATE, "the last computation failed");
}

/* What can be said without a body. Afterwards the job has an answer, or r->read reads the body. */
static void route(const server *s, request *r, const char *path, const char *method,
                  const char *authorization, const char *host)
{
    size_t i = 0, count = sizeof paths / sizeof *paths;
    bool run = s->site.how->run, is_health = !strcmp(path, "/health");
    while (i < count && (run || strcmp(paths[i].path, path) != 0))
        i++;
    bool has_body = i < count && paths[i].read;
    bool looks = !strcmp(method, "GET") || !strcmp(method, "HEAD");
    r->allow = has_body ? "POST" : "GET, HEAD";
    r->job->api = i < count ? paths[i].api : !strncmp(path, "/v1/", 4) ? SERVE_OPENAI : SERVE_OWN;
    if (has_control(path))
        serve_fail(r->job, SERVE_BAD_VALUE, "a control character is in the path");
    else if (!is_own_host(s, host))
        serve_fail(r->job, SERVE_FOREIGN, "this server is not %.100s: call it localhost", host);
    else if (s->token && !is_health && !is_token(authorization, s->token))
        serve_fail(r->job, SERVE_NO_TOKEN, "the token is %s", authorization ? "wrong" : "missing");
    else if (i == count && !run && !is_health)
        serve_fail(r->job, SERVE_NO_PATH, "there is no %.200s", path);
    else if (has_body ? strcmp(method, "POST") != 0 : !looks)
        serve_fail(r->job, SERVE_BAD_METHOD, "%.200s needs %s", path, r->allow);
    else if (is_health)
        health(s, r->job);
    else if (run)
        serve_run_read(r->job, &s->site, path);
    else if (has_body)
        r->read = paths[i].read;
    else
        paths[i].answer(r->job, &s->site);
}

/* ---- a request ---- */

static client *client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void count_unsent(server *s, int more)
{
    pthread_mutex_lock(&s->lock);
    s->unsent += (uint32_t)more;
    pthread_mutex_unlock(&s->lock);
}

/* The client is to send or to take something from now on, or waits for us. */
static void note(server *s, client *c, bool working)
{
    pthread_mutex_lock(&s->lock);
    if (c) {
        c->working = working;
        c->since_s = gb_now_s();
    }
    pthread_mutex_unlock(&s->lock);
}

static enum MHD_Result respond(server *s, request *r, struct MHD_Connection *connection)
{
    serve_job *job = r->job;
    /* The job keeps the bytes until the request is completed. */
    struct MHD_Response *response =
        MHD_create_response_from_buffer(job->body.length, job->body.data, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                            job->type ? job->type : "application/json");
    if (s->site.how->run) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
        MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
        MHD_add_response_header(response, "Content-Security-Policy",
                                "default-src 'none'; img-src 'self'; style-src 'self' "
                                "'unsafe-inline'; script-src 'unsafe-inline'");
    }
    if (job->status == 405)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, r->allow);
    if (job->status == 401)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    if (job->status == 429 || job->status == 503)
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    note(s, r->from, false);
    enum MHD_Result result = MHD_queue_response(connection, job->status, response);
    MHD_destroy_response(response);
    return result;
}

static void suspend(serve_job *job)
{
    MHD_suspend_connection(job->connection);
}

static void resume(serve_job *job)
{
    MHD_resume_connection(job->connection);
}

/* While a request waits, nothing of it is kept but what texts point into: its members, which nobody
 * asked for, may be many times as large in memory as they were in the body. */
static void drop_unread(serve_job *job)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(job->request, next, key, value)
    {
        if (job->status || (strcmp(key, job->member) != 0 && strcmp(key, "query") != 0))
            json_object_del(job->request, key);
    }
}

/* The body is there: it is read, and the job waits for its turn, or has an answer. */
static enum MHD_Result handle(server *s, request *r, struct MHD_Connection *connection)
{
    serve_job *job = r->job;
    gb_status status = {0};
    if (r->received > s->site.how->max_bytes)
        serve_fail(job, SERVE_TOO_LARGE, "the body is larger than %u bytes",
                   s->site.how->max_bytes);
    else if (r->body.failed)
        serve_fail(job, SERVE_FAILED, "out of memory");
    else if (!(job->request = gb_json_parse(r->body.data ? r->body.data : "", r->body.length, 0,
                                            "body", &status)))
        serve_fail(job, SERVE_NO_JSON, "the body is no JSON object: %.200s", status.what);
    else {
        r->read(job, &s->site);
        drop_unread(job);
    }
    gb_text_free(&r->body);
    if (job->status)
        return respond(s, r, connection);
    job->connection = connection;
    count_unsent(s, 1);
    job->since_s = gb_now_s();
    note(s, r->from, true);
    return serve_queue_add(s->queue, job, suspend) ? MHD_YES : respond(s, r, connection);
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Bytes that are announced; 0: none, or it is not known. */
static uint64_t body_bytes(struct MHD_Connection *connection)
{
    const char *length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return length ? strtoull(length, NULL, 10) : 0;
}

/* An answer before the body ends the connection, and who is still sending may see only that. So it
 * is for clients that wait for it, and for bodies that are far too large to be read. */
static bool is_answered_early(const server *s, struct MHD_Connection *connection)
{
    return header(connection, MHD_HTTP_HEADER_EXPECT) ||
           body_bytes(connection) > (uint64_t)READ_BODIES * s->site.how->max_bytes;
}

static request *begin(server *s, struct MHD_Connection *connection, const char *path,
                      const char *method)
{
    request *r = gb_alloc(1, sizeof *r, NULL);
    serve_job *job = r ? gb_alloc(1, sizeof *job, NULL) : NULL;
    if (!job) {
        free(r);
        return NULL;
    }
    r->job = job;
    r->from = client_of(connection);
    note(s, r->from, false); /* the time between two requests is not that of the second */
    route(s, r, path, method, header(connection, MHD_HTTP_HEADER_AUTHORIZATION),
          header(connection, MHD_HTTP_HEADER_HOST));
    if (!job->status && body_bytes(connection) > s->site.how->max_bytes)
        serve_fail(job, SERVE_TOO_LARGE, "the body is larger than %u bytes",
                   s->site.how->max_bytes);
    return r;
}

/* Called when the headers are there, for each piece of the body, behind it, and again when the
 * connection is resumed. */
static enum MHD_Result on_request(void *self, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **context)
{
    server *s = self;
    request *r = *context;
    (void)version;
    if (!r) {
        if (!(*context = r = begin(s, connection, path, method)))
            return MHD_NO;
        return r->job->status && is_answered_early(s, connection) ? respond(s, r, connection)
                                                                  : MHD_YES;
    }
    if (*size) {
        r->received += *size;
        if (!r->job->status && r->received <= s->site.how->max_bytes)
            gb_text_append(&r->body, data, *size);
        *size = 0;
        return r->received > (uint64_t)READ_BODIES * s->site.how->max_bytes ? MHD_NO : MHD_YES;
    }
    return r->job->status ? respond(s, r, connection) : handle(s, r, connection);
}

static void on_completed(void *self, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    server *s = self;
    request *r = *context;
    (void)code;
    note(s, client_of(connection), false);
    if (!r)
        return;
    if (r->job->connection)
        count_unsent(s, -1);
    serve_job_free(r->job);
    gb_text_free(&r->body);
    free(r);
    *context = NULL;
}

/* ---- connections ---- */

static void on_connection(void *self, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    server *s = self;
    client *c = *context;
    pthread_mutex_lock(&s->lock);
    if (code == MHD_CONNECTION_NOTIFY_STARTED && (*context = c = gb_alloc(1, sizeof *c, NULL))) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *c = (client){.socket = info ? info->connect_fd : -1,
                      .since_s = gb_now_s(),
                      .next = s->clients,
                      .link = &s->clients};
        if (c->next)
            c->next->link = &c->next;
        s->clients = c;
    } else if (code == MHD_CONNECTION_NOTIFY_CLOSED && c) {
        *c->link = c->next;
        if (c->next)
            c->next->link = c->link;
        free(c);
        *context = NULL;
    }
    pthread_mutex_unlock(&s->lock);
}

/* Whoever sends or takes too slowly is cut off; libmicrohttpd's own limit is between two bytes. */
static void cut_off_slow(server *s)
{
    double now = gb_now_s();
    pthread_mutex_lock(&s->lock);
    for (client *c = s->clients; c; c = c->next)
        if (!c->working && now - c->since_s > s->site.how->seconds && c->socket >= 0) {
            shutdown(c->socket, SHUT_RDWR);
            c->since_s = now; /* closed soon; once is enough */
        }
    pthread_mutex_unlock(&s->lock);
}

/* ---- its life ---- */

static bool listen_on(server *s, const char *host, uint32_t port, gb_status *status)
{
    char service[12];
    struct addrinfo *found = NULL,
                    hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_PASSIVE};
    snprintf(service, sizeof service, "%u", port);
    if (getaddrinfo(host, service, &hints, &found) || !found)
        return gb_fail(status, GB_USAGE, host, "such as 127.0.0.1, 0.0.0.0 or ::1",
                       "--host is no address");
    int one = 1;
    s->socket = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = s->socket >= 0 &&
              !setsockopt(s->socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) &&
              !bind(s->socket, found->ai_addr, found->ai_addrlen) && !listen(s->socket, BACKLOG);
    if (!ok)
        gb_fail(status, GB_USAGE, service, "--port takes another", "cannot listen on %s: %s", host,
                strerror(errno));
    freeaddrinfo(found);
    return ok;
}

/* The line that says where; scripts wait for it. */
static void announce(const server *s)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    char host[64] = "?", port[12] = "?";
    if (!getsockname(s->socket, (struct sockaddr *)&address, &size))
        getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV);
    bool six = strchr(host, ':') != NULL;
    printf("http://%s%s%s:%s\n", six ? "[" : "", host, six ? "]" : "", port);
    fflush(stdout);
    if (!s->token && strncmp(host, "127.", 4) != 0 && strcmp(host, "::1") != 0)
        gb_log(GB_LOG_WARN, "anybody who reaches %s can ask: --token-file names a token", host);
}

static bool read_token(server *s, const char *path, gb_status *status)
{
    if (!path)
        return true;
    if (!(s->token = gb_read_file(path, NULL, status)))
        return false;
    s->token[strcspn(s->token, "\r\n")] = '\0';
    return *s->token || gb_fail(status, GB_DATA, path, "one line", "there is no token in it");
}

static bool open_site(server *s, const gb_serve_params *params, gb_status *status)
{
    gabbro_status said = {0};
    serve_site *site = &s->site;
    *site = (serve_site){.how = params, .name = params->name ? params->name : params->model};
    if (params->run)
        return gb_dir_exists(params->run) ||
               gb_fail(status, GB_DATA, params->run, "the folder that reproduce --out names",
                       "no such folder");
    gabbro_model_params open = params->open;
    open.compare = params->index != NULL;
    if (!(site->model = gb_library_open_model(params->config, params->model, &open, &said)))
        return gb_library_failed(&said, status);
    site->width = gabbro_model_width(site->model);
    site->max_tokens = gabbro_model_max_tokens(site->model);
    if (params->index && !site->width)
        return gb_fail(status, GB_USAGE, params->model, "leave --index out",
                       "a cross-encoder does not search");
    const gabbro_index_params how = {.size = sizeof how, .model = site->model};
    if (params->index &&
        !(site->index = gb_library_open_index(params->config, params->index, &how, &said)))
        return gb_library_failed(&said, status);
    if (site->index && gabbro_index_width(site->index) != site->width)
        return gb_fail(status, GB_DATA, params->index,
                       "make it by this model (gabbro ask), with the same --dims",
                       "its vectors have %u numbers, those of the model %u",
                       gabbro_index_width(site->index), site->width);
    return true;
}

static bool start(server *s, gb_status *status)
{
    const gb_serve_params *how = s->site.how;
    s->daemon = MHD_start_daemon(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
        on_request, s, MHD_OPTION_LISTEN_SOCKET, s->socket, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, s, MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, s, MHD_OPTION_CONNECTION_LIMIT, how->connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        how->seconds, MHD_OPTION_END);
    return s->daemon ||
           gb_fail(status, GB_MEMORY, NULL, "fewer --connections", "the server cannot be started");
}

static void wait_until_sent(server *s)
{
    bool sent = false;
    for (double until = gb_now_s() + SEND_S; !sent && gb_now_s() < until;) {
        pthread_mutex_lock(&s->lock);
        sent = !s->unsent;
        pthread_mutex_unlock(&s->lock);
        if (!sent)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void end(server *s)
{
    if (s->daemon) /* no new connections; the queue answers what waits */
        MHD_quiesce_daemon(s->daemon);
    serve_queue_end(s->queue);
    if (s->daemon) { /* which would close connections in the midst of an answer */
        wait_until_sent(s);
        MHD_stop_daemon(s->daemon);
    }
    serve_queue_destroy(s->queue); /* until then requests on old connections ask it */
    if (s->socket >= 0)
        close(s->socket);
    gabbro_index_close(s->site.index);
    gabbro_model_close(s->site.model);
    pthread_mutex_destroy(&s->lock);
    free(s->token);
}

bool gb_serve(const gb_serve_params *params, gb_status *status)
{
    server s = {.socket = -1};
    pthread_mutex_init(&s.lock, NULL);
    bool ok = read_token(&s, params->token_file, status) &&
              listen_on(&s, params->host, params->port, status) && open_site(&s, params, status) &&
              (params->run || (s.queue = serve_queue_create(&s.site, resume, status))) &&
              start(&s, status);
    if (ok)
        announce(&s);
    while (ok && !gb_interrupted()) {
        nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
        cut_off_slow(&s);
    }
    end(&s);
    return ok;
}
