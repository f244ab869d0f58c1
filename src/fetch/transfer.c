/* One HTTP request for the rest of a file that has been fetched in part. */
#include "fetch/private.h"
#include <gabbro/os.h>

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_REDIRECTS = 10, CONNECT_S = 20 };

/* What is known while a reply comes in. */
typedef struct reply {
    gb_part *part;       /* being filled */
    CURL *curl;          /* the request */
    gb_remote remote;    /* from the headers of the last reply (redirects have their own) */
    uint64_t start;      /* Content-Range: first byte sent */
    uint64_t range_size; /* Content-Range: size of the whole file; 0: not said */
    bool ranged;         /* there was a Content-Range */
    bool asked_range;    /* the request had a Range */
    bool decided;        /* the body was accepted or refused */
    bool refused;        /* `outcome` tells the reason */
    gb_outcome outcome;  /* of a refused reply */
    char *why;           /* [300] a sentence for it */
    gb_status *status;   /* for GB_STOP */
} reply;

bool fetch_part_empty(gb_part *part, gb_status *status)
{
    fflush(part->stream);
    if (GB_TRY_CALL(ftruncate(fileno(part->stream), 0)) != 0)
        return gb_fail(status, GB_DATA, part->path, "check the disk", "cannot empty: %s",
                       strerror(errno));
    gb_os_remove(part->state);
    part->bytes = 0;
    part->remote = (gb_remote){0};
    return fetch_sums_reset(part->sums, status);
}

/* ---- headers ---- */

/* The value of a header line if its name is `name`: trimmed, cut at the size of `value`. */
static bool header_value(const char *line, size_t length, const char *name, char *value,
                         size_t size)
{
    size_t skip = strlen(name);
    if (length <= skip || strncasecmp(line, name, skip) != 0 || line[skip] != ':')
        return false;
    const char *from = line + skip + 1, *end = line + length;
    while (from < end && (*from == ' ' || *from == '\t'))
        from++;
    while (end > from && strchr("\r\n \t", end[-1]))
        end--;
    snprintf(value, size, "%.*s", (int)(end - from), from);
    return true;
}

static void read_range(reply *r, const char *value)
{
    unsigned long long start = 0, end = 0, size = 0;
    if (sscanf(value, "bytes %llu-%llu/%llu", &start, &end, &size) >= 2 ||
        sscanf(value, "bytes */%llu", &size) == 1) {
        r->ranged = true;
        r->start = start;
        r->range_size = size;
    }
}

static size_t on_header(char *line, size_t one, size_t length, void *ctx)
{
    reply *r = ctx;
    char value[300];
    if (length > 5 && !strncmp(line, "HTTP/", 5)) { /* a new reply: forget that of a redirect */
        r->remote.etag[0] = r->remote.modified[0] = '\0';
        r->remote.total = r->start = r->range_size = 0;
        r->ranged = false;
    } else if (header_value(line, length, "ETag", value, sizeof value)) {
        if (strncmp(value, "W/", 2) != 0) /* a weak one does not promise the same bytes */
            snprintf(r->remote.etag, sizeof r->remote.etag, "%s", value);
    } else if (header_value(line, length, "Last-Modified", value, sizeof value)) {
        snprintf(r->remote.modified, sizeof r->remote.modified, "%.79s", value);
    } else if (header_value(line, length, "Content-Length", value, sizeof value)) {
        r->remote.total = strtoull(value, NULL, 10);
    } else if (header_value(line, length, "Content-Range", value, sizeof value)) {
        read_range(r, value);
    }
    return one * length;
}

/* ---- body ---- */

static bool refuse(reply *r, gb_outcome outcome, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static bool refuse(reply *r, gb_outcome outcome, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->why, 300, fmt, args);
    va_end(args);
    r->refused = true;
    r->outcome = outcome;
    return false;
}

/* The whole file comes, whatever was asked for. */
static bool accept_whole(reply *r)
{
    gb_part *part = r->part;
    if (!part->any_version && r->remote.total && !fetch_size_fits(part->file, r->remote.total))
        return refuse(r, GB_GIVE_UP, "has a file of %llu bytes, which no accepted version has",
                      (unsigned long long)r->remote.total);
    if (part->bytes) {
        bool same = fetch_remote_same(&part->remote, &r->remote);
        gb_log(GB_LOG_WARN, "%s: %s; from the beginning", part->file->name,
               same ? "the server sends no ranges" : "the server has another file now");
        if (!fetch_part_empty(part, r->status))
            return refuse(r, GB_STOP, "cannot begin anew");
    }
    return true;
}

/* The rest comes: it must be the rest of the same file. */
static bool accept_rest(reply *r)
{
    gb_part *part = r->part;
    r->remote.total = r->range_size;
    if (!r->asked_range || !r->ranged)
        return refuse(r, GB_GIVE_UP, "answers with a range that was not asked for");
    if (r->start != part->bytes)
        return refuse(r, GB_START_OVER, "sends from byte %llu instead of %llu",
                      (unsigned long long)r->start, (unsigned long long)part->bytes);
    if (!fetch_remote_same(&part->remote, &r->remote))
        return refuse(r, GB_START_OVER, "has another file now");
    return true;
}

/* Once a reply, before its first byte. False: the body is not wanted. */
static bool decide(reply *r)
{
    long code = 0;
    curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &code);
    r->decided = true;
    if (code != 200 && code != 206)
        return true; /* judged when it has ended */
    if (!(code == 200 ? accept_whole(r) : accept_rest(r)))
        return false;
    r->part->remote = r->remote;
    if (r->remote.total)
        r->part->progress.total = r->remote.total / 1000;
    if (!fetch_remote_save(r->part->state, &r->remote, r->status))
        return refuse(r, GB_STOP, "cannot note where the file comes from");
    return true;
}

/* More bytes than any accepted version has. */
static bool too_many(const gb_part *part, uint64_t bytes)
{
    uint64_t most = 0;
    for (size_t i = 0; i < part->file->version_count; i++) {
        if (!part->file->versions[i].bytes)
            return false;
        if (part->file->versions[i].bytes > most)
            most = part->file->versions[i].bytes;
    }
    return most && bytes > most && !part->any_version;
}

static size_t on_body(char *bytes, size_t one, size_t length, void *ctx)
{
    reply *r = ctx;
    gb_part *part = r->part;
    long code = 0;
    if (!r->decided && !decide(r))
        return 0;
    curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &code);
    if (code != 200 && code != 206)
        return one * length; /* an error page */
    if (too_many(part, part->bytes + length)) {
        refuse(r, GB_GIVE_UP, "sends more bytes than any accepted version has");
        return 0;
    }
    if (gb_fault(GB_FAULT_FILE) || fwrite(bytes, 1, length, part->stream) != length) {
        gb_fail(r->status, GB_DATA, part->path, "free space and run again: it goes on there",
                "cannot write: %s", strerror(errno));
        refuse(r, GB_STOP, "cannot write");
        return 0;
    }
    fetch_sums_add(part->sums, bytes, length);
    part->bytes += length;
    if (part->bytes > part->highest)
        part->highest = part->bytes;
    return one * length;
}

static int on_progress(void *ctx, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up)
{
    reply *r = ctx;
    (void)down_total, (void)down, (void)up_total, (void)up;
    gb_progress_update(&r->part->progress, r->part->bytes / 1000, NULL);
    return gb_interrupted();
}

/* ---- the request ---- */

/* Whether the rest may be asked for: either the server can tell whether its file is still the same,
 * or a known sum will. */
static bool may_resume(const gb_part *part, const char *url)
{
    if (part->bytes == 0)
        return false;
    for (size_t i = 0; i < part->file->version_count; i++)
        if (part->file->versions[i].md5[0] || part->file->versions[i].sha256[0])
            return true;
    return !strcmp(part->remote.url, url) && (part->remote.etag[0] || part->remote.modified[0]);
}

static bool add_line(struct curl_slist **lines, const char *line)
{
    struct curl_slist *longer = gb_fault(GB_FAULT_MEMORY) ? NULL : curl_slist_append(*lines, line);
    if (longer)
        *lines = longer;
    return longer != NULL;
}

static bool set_up(reply *r, const char *url, struct curl_slist **lines)
{
    const gb_part *part = r->part;
    CURL *curl = r->curl;
    char line[400];
    bool ok = !part->file->header || add_line(lines, part->file->header);
    if (r->asked_range) {
        const gb_remote *remote = &part->remote;
        bool validator = remote->etag[0] || remote->modified[0];
        snprintf(line, sizeof line, "%llu-", (unsigned long long)part->bytes);
        ok = ok && curl_easy_setopt(curl, CURLOPT_RANGE, line) == CURLE_OK;
        snprintf(line, sizeof line, "If-Range: %s",
                 remote->etag[0] ? remote->etag : remote->modified);
        if (validator && !strcmp(remote->url, url))
            ok = ok && add_line(lines, line);
    }
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "gabbro/" GABBRO_VERSION);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, *lines);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)MAX_REDIRECTS);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)(part->stall_s < 1 ? 1 : part->stall_s));
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, r);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, r);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, r);
    return ok && curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR,
                            strncmp(url, "https:", 6) ? "http,https" : "https") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK;
}

/* What an HTTP status other than 200 and 206 means. */
static gb_outcome judge_code(reply *r, long code, double *retry_s)
{
    const gb_part *part = r->part;
    curl_off_t wait = 0;
    curl_easy_getinfo(r->curl, CURLINFO_RETRY_AFTER, &wait);
    *retry_s = (double)wait;
    if (code == 416 && part->bytes) {
        uint64_t whole = r->range_size ? r->range_size : part->remote.total;
        if (whole == part->bytes && (!part->remote.total || part->remote.total == whole))
            return GB_GOT_ALL;
        refuse(r, GB_START_OVER, "has no such range: its file has %llu bytes, not %llu",
               (unsigned long long)whole, (unsigned long long)part->remote.total);
        return GB_START_OVER;
    }
    refuse(r, GB_GIVE_UP, "answers %ld", code);
    return code == 408 || code == 425 || code == 429 || code == 500 || (code >= 502 && code <= 504)
               ? GB_TRY_AGAIN
               : GB_GIVE_UP;
}

/* What has come when the transfer itself ended well. */
static gb_outcome judge_end(reply *r)
{
    const gb_part *part = r->part;
    if (!r->decided && !decide(r)) /* an empty file */
        return r->outcome;
    if (part->remote.total ? part->bytes < part->remote.total
                           : !part->any_version && !fetch_size_fits(part->file, part->bytes)) {
        refuse(r, GB_TRY_AGAIN, "ended after %llu bytes", (unsigned long long)part->bytes);
        return GB_TRY_AGAIN;
    }
    return GB_GOT_ALL;
}

static gb_outcome judge(reply *r, CURLcode result, double *retry_s)
{
    long code = 0;
    curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &code);
    if (gb_interrupted()) {
        gb_fail(r->status, GB_INTERRUPTED, r->part->path, "the same command goes on from there",
                "interrupted after %llu bytes", (unsigned long long)r->part->bytes);
        return GB_STOP;
    }
    if (r->refused)
        return r->outcome;
    if (result == CURLE_OUT_OF_MEMORY) {
        gb_fail_memory(r->status, "fetching a file");
        return GB_STOP;
    }
    if (result == CURLE_OK)
        return code == 200 || code == 206 ? judge_end(r) : judge_code(r, code, retry_s);
    if (result == CURLE_PARTIAL_FILE)
        refuse(r, GB_TRY_AGAIN, "broke off after %llu of %llu bytes",
               (unsigned long long)r->part->bytes, (unsigned long long)r->part->remote.total);
    else
        refuse(r, GB_TRY_AGAIN, "%s", curl_easy_strerror(result));
    static const CURLcode hopeless[] = {CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT,
                                        CURLE_TOO_MANY_REDIRECTS, CURLE_PEER_FAILED_VERIFICATION};
    for (size_t i = 0; i < sizeof hopeless / sizeof *hopeless; i++)
        if (result == hopeless[i])
            return GB_GIVE_UP;
    return GB_TRY_AGAIN;
}

gb_outcome fetch_transfer(gb_part *part, const char *url, char why[300], double *retry_s,
                          gb_status *status)
{
    reply r = {.part = part, .why = why, .status = status, .asked_range = may_resume(part, url)};
    struct curl_slist *lines = NULL;
    gb_outcome outcome = GB_STOP;
    *retry_s = 0;
    why[0] = '\0';
    if (part->bytes && !r.asked_range && !fetch_part_empty(part, status))
        return GB_STOP;
    snprintf(r.remote.url, sizeof r.remote.url, "%s", url);
    r.curl = gb_fault(GB_FAULT_MEMORY) ? NULL : curl_easy_init();
    if (r.curl && set_up(&r, url, &lines))
        outcome = judge(&r, curl_easy_perform(r.curl), retry_s);
    else
        gb_fail_memory(status, "asking for a file");
    if (r.curl)
        curl_easy_cleanup(r.curl);
    curl_slist_free_all(lines);
    if (outcome == GB_START_OVER && !fetch_part_empty(part, status))
        outcome = GB_STOP;
    return outcome;
}
