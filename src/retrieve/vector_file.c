/* A file of vectors that grows while texts are encoded, and goes on after a kill. */
#include "private.h"
#include <gabbro/os.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1024 };               /* texts encoded at once */
static const double noted_every = 1; /* seconds between two places to go on from */

/* A file while it is written. */
typedef struct vector_file {
    const char *path;       /* .npy */
    int fd;                 /* of it; -1: there is none */
    uint64_t row_bytes;     /* of a vector */
    uint32_t at, rows;      /* row of the first text of the part; of the whole file */
    const uint32_t *starts; /* see retrieve_part */
} vector_file;

/* The files of a part. */
typedef struct part_files {
    const retrieve_part *part; /* what is written */
    vector_file vectors;       /* of texts or tokens */
    vector_file whole;         /* of texts, beside those of tokens */
    vector_file scales;        /* factors of int8 vectors */
    float *floats, *factors;   /* of a chunk of texts; of its vectors */
    size_t capacity, room;     /* of them */
} part_files;

static bool cannot_write(const char *path, gb_status *status)
{
    return gb_fail(status, GB_DATA, path, "free space on the disk, then run again",
                   "cannot write: %s", strerror(errno));
}

static bool write_at(const vector_file *f, uint64_t offset, const void *bytes, size_t size,
                     gb_status *status)
{
    for (size_t done = 0; done < size;) {
        int64_t put = GB_TRY_CALL(
            gb_os_write_at(f->fd, (const char *)bytes + done, size - done, offset + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return cannot_write(f->path, status);
        done += (size_t)put;
    }
    return true;
}

/* Row of a text of the part; behind the last text, the end. */
static uint32_t row_of(const vector_file *f, uint32_t text)
{
    return f->starts ? f->starts[text] : f->at + text;
}

static bool has_rows_of(const vector_file *f, uint32_t texts)
{
    off_t size = f->fd < 0 ? 0 : lseek(f->fd, 0, SEEK_END);
    return f->fd < 0 ||
           (size >= 0 && (uint64_t)size >= GB_NPY_HEADER + row_of(f, texts) * f->row_bytes);
}

/* Texts whose vectors are in the files, by the journal. */
static uint32_t written_before(const part_files *p)
{
    const char *journal = p->part->file->journal;
    char *text = gb_file_exists(journal) ? gb_read_file(journal, NULL, NULL) : NULL;
    unsigned long count = text ? strtoul(text, NULL, 10) : 0;
    free(text);
    bool there = count <= p->part->count && has_rows_of(&p->vectors, (uint32_t)count) &&
                 has_rows_of(&p->whole, (uint32_t)count) &&
                 has_rows_of(&p->scales, (uint32_t)count);
    return there ? (uint32_t)count : 0;
}

/* They are on the disk before the journal says so. */
static bool note(const part_files *p, uint32_t count, gb_status *status)
{
    char text[16];
    int length = snprintf(text, sizeof text, "%u\n", count);
    if (GB_TRY_CALL(gb_os_sync(p->vectors.fd)))
        return cannot_write(p->vectors.path, status);
    if (p->whole.fd >= 0 && GB_TRY_CALL(gb_os_sync(p->whole.fd)))
        return cannot_write(p->whole.path, status);
    if (p->scales.fd >= 0 && GB_TRY_CALL(gb_os_sync(p->scales.fd)))
        return cannot_write(p->scales.path, status);
    return gb_write_file(p->part->file->journal, text, (size_t)length, status);
}

/* The vectors [rows, width] of texts from `first` on of the part, packed in place. */
static bool put_rows(part_files *p, const vector_file *f, uint32_t first, float *values,
                     size_t rows, uint32_t width, gb_status *status)
{
    const gb_number kind = p->part->file->numbers;
    const size_t bytes = (size_t)width * gb_number_bytes(kind);
    bool ok = gb_grow(&p->factors, &p->room, rows + 1, sizeof *p->factors, status);
    for (size_t r = 0; ok && kind != GB_NUMBER_FLOAT32 && r < rows; r++) {
        const float *row = values + r * width;
        ok = gb_number_pack(kind, row, width, (void *)row, &p->factors[r], f->path, status);
        if (ok)
            memmove((char *)values + r * bytes, row, bytes);
    }
    return ok &&
           write_at(f, GB_NPY_HEADER + row_of(f, first) * f->row_bytes, values, rows * bytes,
                    status) &&
           (p->scales.fd < 0 ||
            write_at(&p->scales, GB_NPY_HEADER + row_of(&p->scales, first) * p->scales.row_bytes,
                     p->factors, rows * sizeof *p->factors, status));
}

static bool write_chunk(part_files *p, uint32_t first, uint32_t count, gb_status *status)
{
    const retrieve_part *part = p->part;
    size_t rows = row_of(&p->vectors, first + count) - row_of(&p->vectors, first);
    size_t floats = rows * part->width, more = (size_t)count * part->whole_width;
    return gb_grow(&p->floats, &p->capacity, floats + more + 1, sizeof *p->floats, status) &&
           part->make(part->self, first, count, p->floats, status) &&
           (!more ||
            put_rows(p, &p->whole, first, p->floats + floats, count, part->whole_width, status)) &&
           put_rows(p, &p->vectors, first, p->floats, rows, part->width, status);
}

static bool cut_to_size(const vector_file *f, gb_status *status)
{
    return f->fd < 0 ||
           !GB_TRY_CALL(ftruncate(f->fd, (off_t)(GB_NPY_HEADER + f->rows * f->row_bytes))) ||
           cannot_write(f->path, status);
}

/* Bytes of a file that are not on the disk yet. */
static uint64_t rest_of(const vector_file *f)
{
    uint64_t whole = GB_NPY_HEADER + f->rows * f->row_bytes;
    off_t size = f->fd < 0 ? 0 : lseek(f->fd, 0, SEEK_END);
    return f->fd < 0 || size < 0 || (uint64_t)size >= whole ? 0 : whole - (uint64_t)size;
}

static bool room_for_rest(const part_files *p, gb_status *status)
{
    return gb_store_room(p->vectors.path,
                         rest_of(&p->vectors) + rest_of(&p->whole) + rest_of(&p->scales),
                         "the vectors that are still to come", status);
}

static bool write_rest(part_files *p, gb_status *status)
{
    const retrieve_part *part = p->part;
    uint32_t done = written_before(p), chunk = part->chunk ? part->chunk : CHUNK;
    const char *unit = part->unit ? part->unit : "texts";
    bool ok = true;
    if (!part->at && !room_for_rest(p, status)) /* one rank looks for all */
        return false;
    if (done)
        gb_log(GB_LOG_INFO, "%u of %u %s were encoded before", done, part->count, unit);
    double noted_s = gb_now_s();
    gb_progress progress;
    gb_progress_begin(&progress, part->label, unit, part->count, done);
    while (ok && done < part->count) {
        uint32_t count = part->count - done < chunk ? part->count - done : chunk;
        ok = write_chunk(p, done, count, status);
        done += count;
        if (ok && (done == part->count || gb_now_s() - noted_s >= noted_every)) {
            ok = note(p, done, status);
            noted_s = gb_now_s();
        }
        if (ok)
            gb_progress_update(&progress, done, NULL);
    }
    ok = ok && cut_to_size(&p->vectors, status) && cut_to_size(&p->whole, status) &&
         cut_to_size(&p->scales, status);
    if (ok)
        gb_progress_end(&progress, done, NULL);
    return ok;
}

static bool open_file(vector_file *f, const char header[GB_NPY_HEADER], uint64_t row_bytes,
                      gb_status *status)
{
    f->row_bytes = row_bytes;
    f->fd = GB_TRY_CALL(gb_os_open(f->path, O_RDWR | O_CREAT));
    if (f->fd < 0)
        return gb_fail(status, GB_DATA, f->path, NULL, "cannot open: %s", strerror(errno));
    return write_at(f, 0, header, GB_NPY_HEADER, status);
}

static bool open_vectors(vector_file *f, uint32_t width, gb_number kind, gb_status *status)
{
    char header[GB_NPY_HEADER];
    gb_number_header(kind, f->rows, width, header);
    return open_file(f, header, (uint64_t)width * gb_number_bytes(kind), status);
}

/* scales.npy beside int8 vectors; *path is the caller's to free. */
static bool open_scales(part_files *p, char **path, gb_status *status)
{
    const char *vectors = p->vectors.path, *slash = strrchr(vectors, '/');
    char header[GB_NPY_HEADER];
    if (p->part->file->numbers != GB_NUMBER_INT8)
        return true;
    if (p->part->starts)
        return gb_fail(status, GB_USAGE, "--numbers", "take float16",
                       "vectors of tokens are not written as int8");
    *path = gb_format(status, "%.*sscales.npy", (int)(slash ? slash - vectors + 1 : 0), vectors);
    p->scales.path = *path;
    gb_npy_scales_header(p->scales.rows, header);
    return *path && open_file(&p->scales, header, sizeof(float), status);
}

static bool close_file(const vector_file *f, bool ok, gb_status *status)
{
    if (f->fd >= 0 && close(f->fd) && ok)
        return cannot_write(f->path, status);
    return ok;
}

bool retrieve_write_part(const retrieve_part *part, gb_status *status)
{
    const gb_number kind = part->file->numbers;
    char *scales = NULL;
    part_files p = {
        .part = part,
        .vectors = {.path = part->file->path,
                    .fd = -1,
                    .at = part->at,
                    .rows = part->rows,
                    .starts = part->starts},
        .whole = {.path = part->whole, .fd = -1, .at = part->at, .rows = part->whole_rows},
        .scales = {.fd = -1, .at = part->at, .rows = part->rows}};
    bool ok = open_scales(&p, &scales, status) &&
              open_vectors(&p.vectors, part->width, kind, status) &&
              (!part->whole || open_vectors(&p.whole, part->whole_width, kind, status)) &&
              write_rest(&p, status);
    ok = close_file(&p.vectors, ok, status);
    ok = close_file(&p.whole, ok, status);
    ok = close_file(&p.scales, ok, status);
    free(p.floats);
    free(p.factors);
    free(scales);
    return ok;
}
