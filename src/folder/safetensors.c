/* Reading safetensors. A file is
 *   u64 N, little endian; N bytes of JSON, which may end in spaces; the tensors' bytes
 * and the JSON maps each name to {"dtype", "shape", "data_offsets": [begin, end]}, counted from the
 * end of the JSON. The bytes of the tensors follow each other without hole and fill the file. */
#include "folder/internal.h"
#include <gabbro/os.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The reference implementation's limit: a longer header is a damaged length. */
#define HEADER_LIMIT_BYTES 100000000u

/* Types of the format. */
static const struct {
    const char *name; /* in the header */
    uint64_t bytes;   /* of one value */
} dtypes[] = {
    {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F64", 8},     {"BOOL", 1},
    {"U8", 1},  {"I8", 1},  {"U16", 2},  {"I16", 2},     {"U32", 4},
    {"I32", 4}, {"U64", 8}, {"I64", 8},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
};

typedef struct mapping {
    char *path;                 /* file */
    const unsigned char *bytes; /* its contents, or NULL */
    size_t size;                /* bytes */
} mapping;

struct gb_safetensors {
    gb_arena *names;      /* names of tensors */
    mapping *files;       /* one, or the shards */
    size_t file_count;    /* files in use */
    size_t file_capacity; /* files allocated */
    gb_stored *tensors;   /* in byte order of names once open */
    size_t count;         /* tensors in use */
    size_t capacity;      /* tensors allocated */
};

static const char damaged[] = "the file is damaged or cut short; fetch or write it again";

void gb_safetensors_close(gb_safetensors *tensors)
{
    if (!tensors)
        return;
    for (size_t i = 0; i < tensors->file_count; i++) {
        if (tensors->files[i].bytes)
            gb_os_unmap(tensors->files[i].bytes, tensors->files[i].size);
        free(tensors->files[i].path);
    }
    free(tensors->files);
    free(tensors->tensors);
    gb_arena_destroy(tensors->names);
    free(tensors);
}

size_t gb_safetensors_count(const gb_safetensors *tensors)
{
    return tensors->count;
}

const gb_stored *gb_safetensors_at(const gb_safetensors *tensors, size_t index)
{
    return &tensors->tensors[index];
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const gb_stored *)a)->name, ((const gb_stored *)b)->name);
}

const gb_stored *gb_safetensors_find(const gb_safetensors *tensors, const char *name)
{
    gb_stored key = {.name = name};
    return tensors->count ? bsearch(&key, tensors->tensors, tensors->count, sizeof key, by_name)
                          : NULL;
}

/* ---- one file ---- */

static bool map_file(mapping *file, gb_status *status)
{
    struct stat info;
    int fd = GB_TRY_CALL(gb_os_open(file->path, O_RDONLY));
    if (fd < 0 || fstat(fd, &info) != 0) {
        gb_fail(status, GB_DATA, file->path, "check the path and its permissions",
                "cannot open: %s", strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        gb_fail(status, GB_DATA, file->path, "give a safetensors file", "not a regular file");
    } else if (info.st_size < 8) {
        gb_fail(status, GB_DATA, file->path, damaged,
                "%lld bytes are too few for a safetensors file", (long long)info.st_size);
    } else {
        const void *bytes = GB_TRY_OPEN(gb_os_map(fd, (size_t)info.st_size));
        if (!bytes) {
            gb_fail(status, GB_DATA, file->path, NULL, "cannot map the file: %s", strerror(errno));
        } else {
            file->bytes = bytes;
            file->size = (size_t)info.st_size;
        }
    }
    if (fd >= 0)
        close(fd);
    return file->bytes != NULL;
}

/* A whole number >= 0 of a JSON array. */
static bool array_item(const json_t *array, size_t index, uint64_t *value)
{
    const json_t *item = json_array_get(array, index);
    if (!json_is_integer(item) || json_integer_value(item) < 0)
        return false;
    *value = (uint64_t)json_integer_value(item);
    return true;
}

/* Fill dtype and shape, and the bytes that they ask for. */
static bool parse_shape(const json_t *json, gb_stored *tensor, gb_status *status)
{
    const char *dtype = json_string_value(json_object_get(json, "dtype"));
    const json_t *shape = json_object_get(json, "shape");
    if (!dtype || !json_is_array(shape))
        return gb_fail(status, GB_DATA, tensor->path, damaged,
                       "tensor %s has no \"dtype\" or no \"shape\"", tensor->name);
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(dtype, dtypes[i].name) == 0) {
            tensor->dtype = dtypes[i].name;
            tensor->bytes = dtypes[i].bytes;
        }
    if (!tensor->dtype)
        return gb_fail(status, GB_DATA, tensor->path, "store the model as F32, F16 or BF16",
                       "tensor %s has the unknown type \"%.40s\"", tensor->name, dtype);
    if (json_array_size(shape) > GB_STORED_RANK)
        return gb_fail(status, GB_DATA, tensor->path, damaged,
                       "tensor %s has %zu dimensions; at most %d are read", tensor->name,
                       json_array_size(shape), GB_STORED_RANK);
    tensor->rank = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (!array_item(shape, i, &tensor->shape[i]) ||
            __builtin_mul_overflow(tensor->bytes, tensor->shape[i], &tensor->bytes))
            return gb_fail(status, GB_DATA, tensor->path, damaged,
                           "the shape of tensor %s is no list of sizes", tensor->name);
    return true;
}

/* One member of the header. `data` are the `size` bytes behind it. */
static bool parse_tensor(const json_t *json, const unsigned char *data, uint64_t size,
                         gb_stored *tensor, gb_status *status)
{
    if (!json_is_object(json))
        return gb_fail(status, GB_DATA, tensor->path, damaged,
                       "the header's entry of tensor %s is no object", tensor->name);
    if (!parse_shape(json, tensor, status))
        return false;
    const json_t *offsets = json_object_get(json, "data_offsets");
    uint64_t begin, end;
    if (json_array_size(offsets) != 2 || !array_item(offsets, 0, &begin) ||
        !array_item(offsets, 1, &end) || begin > end)
        return gb_fail(status, GB_DATA, tensor->path, damaged,
                       "tensor %s has no sound \"data_offsets\"", tensor->name);
    if (end > size)
        return gb_fail(status, GB_DATA, tensor->path, damaged,
                       "tensor %s ends at byte %llu of the data, of which there are %llu",
                       tensor->name, (unsigned long long)end, (unsigned long long)size);
    char shape[FOLDER_SHAPE_TEXT];
    if (end - begin != tensor->bytes)
        return gb_fail(status, GB_DATA, tensor->path, damaged,
                       "tensor %s has %llu bytes; %s of %s are %llu", tensor->name,
                       (unsigned long long)(end - begin),
                       folder_shape_text(tensor->shape, tensor->rank, shape), tensor->dtype,
                       (unsigned long long)tensor->bytes);
    tensor->data = data + begin;
    return true;
}

static int by_place(const void *a, const void *b)
{
    const gb_stored *x = a, *y = b;
    uintptr_t p = (uintptr_t)x->data, q = (uintptr_t)y->data;
    if (p != q)
        return p < q ? -1 : 1;
    if (x->bytes != y->bytes) /* empty tensors before the one that begins there */
        return x->bytes < y->bytes ? -1 : 1;
    return by_name(a, b);
}

/* The tensors of one file, sorted by place, must fill its data. */
static bool check_layout(gb_stored *tensors, size_t count, const mapping *file,
                         const unsigned char *data, gb_status *status)
{
    if (count)
        qsort(tensors, count, sizeof *tensors, by_place);
    const unsigned char *end = data;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *begin = tensors[i].data;
        if (begin < end)
            return gb_fail(status, GB_DATA, file->path, damaged,
                           "tensors %s and %s overlap in the file", tensors[i - 1].name,
                           tensors[i].name);
        if (begin > end)
            return gb_fail(status, GB_DATA, file->path, damaged,
                           "%zu bytes before tensor %s belong to no tensor", (size_t)(begin - end),
                           tensors[i].name);
        end = begin + tensors[i].bytes;
    }
    size_t rest = (size_t)(file->bytes + file->size - end);
    if (rest)
        return gb_fail(status, GB_DATA, file->path, damaged,
                       "%zu bytes at the end of the file belong to no tensor", rest);
    return true;
}

static bool check_metadata(const json_t *metadata, const char *path, gb_status *status)
{
    const char *key;
    json_t *value;
    bool sound = json_is_object(metadata);
    json_object_foreach((json_t *)metadata, key, value) sound = sound && json_is_string(value);
    return sound ||
           gb_fail(status, GB_DATA, path, damaged, "\"__metadata__\" is not an object of strings");
}

/* Add the tensors that the header of a file names. */
static bool parse_header(gb_safetensors *to, const mapping *file, const json_t *header,
                         const unsigned char *data, gb_status *status)
{
    size_t first = to->count;
    uint64_t size = (uint64_t)(file->bytes + file->size - data);
    const char *name;
    json_t *value;
    if (!gb_grow(&to->tensors, &to->capacity, first + json_object_size(header), sizeof *to->tensors,
                 status))
        return false;
    json_object_foreach((json_t *)header, name, value)
    {
        if (strcmp(name, "__metadata__") == 0) {
            if (!check_metadata(value, file->path, status))
                return false;
            continue;
        }
        if (!folder_name_is_sound(name))
            return gb_fail(status, GB_DATA, file->path, damaged,
                           "the tensor name \"%.60s\" is empty, too long or has control characters",
                           name);
        gb_stored tensor = {.path = file->path};
        tensor.name = gb_arena_strdup(to->names, name, strlen(name), status);
        if (!tensor.name || !parse_tensor(value, data, size, &tensor, status))
            return false;
        to->tensors[to->count++] = tensor;
    }
    return check_layout(to->tensors + first, to->count - first, file, data, status);
}

static bool read_file(gb_safetensors *to, const char *path, gb_status *status)
{
    if (!gb_grow(&to->files, &to->file_capacity, to->file_count + 1, sizeof *to->files, status))
        return false;
    mapping *file = &to->files[to->file_count];
    *file = (mapping){.path = gb_strdup(path, status)};
    if (!file->path)
        return false;
    to->file_count++;
    if (!map_file(file, status))
        return false;
    static const char pointer[] = "version https://git-lfs";
    if (file->size >= strlen(pointer) && !memcmp(file->bytes, pointer, strlen(pointer)))
        return gb_fail(status, GB_DATA, file->path,
                       "run git lfs pull in the folder, or fetch the file itself",
                       "only Git LFS's pointer to the weights");
    if (gb_ends_with(path, strlen(path), ".bin"))
        return folder_torch_read(file->path, file->bytes, file->size, to->names, &to->tensors,
                                 &to->count, &to->capacity, status);
    uint64_t length;
    memcpy(&length, file->bytes, sizeof length);
    if (length > HEADER_LIMIT_BYTES || length > file->size - sizeof length)
        return gb_fail(status, GB_DATA, file->path, damaged,
                       "the header has %llu bytes, more than the file's %zu or the limit of %u",
                       (unsigned long long)length, file->size, HEADER_LIMIT_BYTES);
    const char *text = (const char *)file->bytes + sizeof length;
    if (length == 0 || text[0] != '{')
        return gb_fail(status, GB_DATA, file->path, "give a safetensors file",
                       "the header does not begin with '{'");
    json_t *header = gb_json_parse(text, (size_t)length, 0, file->path, status);
    if (!header)
        return false;
    bool ok = parse_header(to, file, header, file->bytes + sizeof length + length, status);
    json_decref(header);
    return ok;
}

/* ---- shards ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Every file that the index names, once. */
static bool read_shards(gb_safetensors *to, const char *path, const json_t *map, gb_status *status)
{
    size_t count = json_object_size(map), used = 0;
    const char **shards = gb_alloc(count, sizeof *shards, status);
    if (!shards)
        return false;
    const char *name;
    json_t *value;
    bool ok = true;
    json_object_foreach((json_t *)map, name, value)
    {
        const char *shard = json_string_value(value);
        /* Only files beside the index: it must not reach elsewhere. */
        if (!shard || !*shard || strchr(shard, '/')) {
            ok = gb_fail(status, GB_DATA, path, "fetch the index again",
                         "the file named for tensor %.120s is no plain file name", name);
            break;
        }
        shards[used++] = shard;
    }
    if (used)
        qsort(shards, used, sizeof *shards, by_text);
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; ok && i < used; i++) {
        if (i > 0 && strcmp(shards[i], shards[i - 1]) == 0)
            continue;
        int folder = slash ? (int)(slash + 1 - path) : 0;
        char *full = gb_format(status, "%.*s%s", folder, path, shards[i]);
        ok = full && read_file(to, full, status);
        free(full);
    }
    free(shards);
    return ok;
}

/* The index and the shards must name the same tensors in the same files. */
static bool check_index(const gb_safetensors *tensors, const char *path, const json_t *map,
                        gb_status *status)
{
    static const char hint[] = "index and shards are not of one model; fetch them again";
    for (size_t i = 0; i < tensors->count; i++) {
        const gb_stored *tensor = &tensors->tensors[i];
        const char *shard = json_string_value(json_object_get(map, tensor->name));
        const char *slash = strrchr(tensor->path, '/');
        if (!shard || strcmp(shard, slash ? slash + 1 : tensor->path) != 0)
            return gb_fail(status, GB_DATA, path, hint,
                           "tensor %s lies in %s, but the index does not say so", tensor->name,
                           tensor->path);
    }
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)map, name, value)
    {
        if (!gb_safetensors_find(tensors, name))
            return gb_fail(status, GB_DATA, path, hint, "tensor %.120s is not in %.120s", name,
                           json_string_value(value));
    }
    return true;
}

static bool sort_names(gb_safetensors *tensors, gb_status *status)
{
    if (tensors->count)
        qsort(tensors->tensors, tensors->count, sizeof *tensors->tensors, by_name);
    for (size_t i = 1; i < tensors->count; i++) {
        const gb_stored *a = &tensors->tensors[i - 1], *b = &tensors->tensors[i];
        if (strcmp(a->name, b->name) == 0)
            return gb_fail(status, GB_DATA, b->path, damaged, "tensor %s is also in %s", b->name,
                           a->path);
    }
    return true;
}

static bool read_index(gb_safetensors *to, const char *path, gb_status *status)
{
    json_t *index = gb_json_load(path, GB_JSON_REALS, status);
    if (!index)
        return false;
    const json_t *map = json_object_get(index, "weight_map");
    bool ok = json_is_object(map)
                  ? read_shards(to, path, map, status) && sort_names(to, status) &&
                        check_index(to, path, map, status)
                  : gb_fail(status, GB_DATA, path, "fetch the index again", "no \"weight_map\"");
    json_decref(index);
    return ok;
}

gb_safetensors *gb_safetensors_open(const char *path, gb_status *status)
{
    gb_safetensors *tensors = gb_alloc(1, sizeof *tensors, status);
    if (!tensors)
        return NULL;
    tensors->names = gb_arena_create(1 << 14, status);
    bool ok = tensors->names != NULL;
    if (ok && gb_ends_with(path, strlen(path), ".index.json"))
        ok = read_index(tensors, path, status);
    else if (ok)
        ok = read_file(tensors, path, status) && sort_names(tensors, status);
    if (ok)
        return tensors;
    gb_safetensors_close(tensors);
    return NULL;
}

/* ---- values ---- */

static void convert(const gb_stored *stored, uint64_t count, float *out)
{
    const unsigned char *data = stored->data;
    if (strcmp(stored->dtype, "F32") == 0) {
        if (count)
            memcpy(out, data, count * sizeof *out);
        return;
    }
    bool half = strcmp(stored->dtype, "F16") == 0, wide = strcmp(stored->dtype, "F64") == 0;
    for (uint64_t i = 0; i < count; i++) {
        if (wide) {
            double value;
            memcpy(&value, data + 8 * i, sizeof value);
            out[i] = (float)value;
        } else {
            uint16_t value;
            memcpy(&value, data + 2 * i, sizeof value);
            out[i] = half ? gb_half_value(value) : gb_bits_float((uint32_t)value << 16);
        }
    }
}

bool gb_stored_read(const gb_stored *stored, uint64_t rows, uint64_t cols, float *out,
                    gb_status *status)
{
    static const char *const read[] = {"F32", "F16", "BF16", "F64"};
    bool known = false;
    for (size_t i = 0; i < sizeof read / sizeof read[0]; i++)
        known = known || strcmp(stored->dtype, read[i]) == 0;
    if (!known)
        return gb_fail(status, GB_DATA, stored->path, "store the model as F32, F16 or BF16",
                       "tensor %s is of type %s, not floating point", stored->name, stored->dtype);
    char have[FOLDER_SHAPE_TEXT], want[FOLDER_SHAPE_TEXT];
    if (!folder_shape_is(stored, rows, cols))
        return gb_fail(status, GB_DATA, stored->path, "is it another model's file?",
                       "tensor %s is %s, but %s is wanted", stored->name,
                       folder_shape_text(stored->shape, stored->rank, have),
                       folder_spec_text(rows, cols, want));
    convert(stored, cols ? rows * cols : rows, out);
    return true;
}
