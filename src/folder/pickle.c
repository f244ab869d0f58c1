/* Tensors of a pytorch_model.bin: a zip with the pickle <name>/data.pkl and the tensors' bytes in
 * <name>/data/<key>. A pickle is a program; this reads those that build a dictionary of tensors and
 * nothing else, in a small machine that knows no other functions than the constructors of tensors.
 * Nothing is executed: whatever else a file asks for is refused by its name. */
#include "folder/internal.h"

#include <stdlib.h>
#include <string.h>

#define PICKLE_LIMIT_BYTES (64u << 20) /* names and shapes of any model are far smaller */

static const char damaged[] = "the file is damaged or cut short; fetch or write it again";
static const char refused[] =
    "only tensors are read, nothing is executed; store it as safetensors where it can be trusted";

/* ---- values ---- */

typedef enum value_kind {
    OTHER, /* None, a truth value or a float: read and not used */
    MARK,  /* on the stack only */
    NUMBER,
    TEXT,
    TUPLE,
    DICTIONARY,
    NAMED, /* a constructor or a type */
    BYTES, /* the bytes of a tensor in the zip */
    TENSOR,
} value_kind;

/* What may be named, and what it makes. */
typedef enum maker { MAKES_DICTIONARY, MAKES_TENSOR, MAKES_PARAMETER, IS_TYPE } maker;
typedef struct named {
    const char *name;  /* module and name */
    maker maker;       /* what it is */
    const char *dtype; /* of a type, as in safetensors */
    uint64_t bytes;    /* of one value of it */
} named;

static const named known[] = {
    {"collections OrderedDict", MAKES_DICTIONARY, NULL, 0},
    {"torch._utils _rebuild_tensor_v2", MAKES_TENSOR, NULL, 0},
    {"torch._utils _rebuild_parameter", MAKES_PARAMETER, NULL, 0},
    {"torch FloatStorage", IS_TYPE, "F32", 4},
    {"torch HalfStorage", IS_TYPE, "F16", 2},
    {"torch BFloat16Storage", IS_TYPE, "BF16", 2},
    {"torch DoubleStorage", IS_TYPE, "F64", 8},
    {"torch LongStorage", IS_TYPE, "I64", 8},
    {"torch IntStorage", IS_TYPE, "I32", 4},
    {"torch ShortStorage", IS_TYPE, "I16", 2},
    {"torch CharStorage", IS_TYPE, "I8", 1},
    {"torch ByteStorage", IS_TYPE, "U8", 1},
    {"torch BoolStorage", IS_TYPE, "BOOL", 1},
};

typedef struct value value;
struct value {
    value_kind kind;    /* which of the fields are set */
    int64_t number;     /* NUMBER; TENSOR: first element of its bytes */
    const char *text;   /* TEXT, not NUL-terminated; BYTES: key, NUL-terminated */
    size_t length;      /* of text */
    value **items;      /* TUPLE; TENSOR: the sizes; DICTIONARY: keys and values by turns */
    size_t count;       /* items */
    size_t capacity;    /* DICTIONARY: items allocated */
    const named *named; /* NAMED, and the type of BYTES */
    value *bytes;       /* TENSOR */
    value *strides;     /* TENSOR */
};

typedef struct machine {
    const char *path;          /* file, for messages */
    const unsigned char *at;   /* next byte of the pickle */
    uint64_t limit;            /* bytes of the pickle, and so the most that it can remember */
    const unsigned char *end;  /* its end */
    gb_arena *arena;           /* owns all values */
    value **stack, **memo;     /* values at hand, and remembered ones */
    size_t height, memo_count; /* in use */
    size_t stack_capacity, memo_capacity; /* allocated */
    gb_status *status;                    /* of the caller */
} machine;

static bool broken(machine *m, const char *what)
{
    return gb_fail(m->status, GB_DATA, m->path, damaged, "the pickle in it %s", what);
}

static bool push(machine *m, value *v)
{
    if (!v || !gb_grow(&m->stack, &m->stack_capacity, m->height + 1, sizeof *m->stack, m->status))
        return false;
    m->stack[m->height++] = v;
    return true;
}

static value *make(machine *m, value_kind kind)
{
    value *v = gb_arena_alloc(m->arena, sizeof *v, m->status);
    if (v)
        v->kind = kind;
    return v;
}

static bool push_kind(machine *m, value_kind kind)
{
    return push(m, make(m, kind));
}

static bool push_number(machine *m, int64_t number)
{
    value *v = make(m, NUMBER);
    if (v)
        v->number = number;
    return push(m, v);
}

static value *pop(machine *m)
{
    if (m->height && m->stack[m->height - 1]->kind != MARK)
        return m->stack[--m->height];
    broken(m, "takes a value that is not there");
    return NULL;
}

/* Where the values behind the last mark begin; the mark lies before them. */
static bool find_mark(machine *m, size_t *first)
{
    for (*first = m->height; *first > 0; (*first)--)
        if (m->stack[*first - 1]->kind == MARK)
            return true;
    return broken(m, "takes a mark that is not there");
}

/* ---- reading ---- */

static const unsigned char *take(machine *m, size_t bytes)
{
    if ((size_t)(m->end - m->at) < bytes) {
        broken(m, "ends too soon");
        return NULL;
    }
    m->at += bytes;
    return m->at - bytes;
}

/* Little endian, up to 8 bytes. */
static bool take_number(machine *m, int bytes, bool sign, int64_t *number)
{
    const unsigned char *at = take(m, (size_t)bytes);
    if (!at)
        return false;
    uint64_t all = sign && bytes > 0 && at[bytes - 1] & 0x80 ? UINT64_MAX : 0;
    for (int i = bytes - 1; i >= 0; i--)
        all = all << 8 | at[i];
    memcpy(number, &all, sizeof all);
    return true;
}

static bool push_text(machine *m, int length_bytes)
{
    int64_t length = 0;
    value *v = make(m, TEXT);
    if (!v || !take_number(m, length_bytes, false, &length))
        return false;
    v->length = (size_t)length;
    v->text = (const char *)take(m, v->length);
    return v->text && push(m, v);
}

/* A line without its end. */
static bool take_line(machine *m, const char **line, size_t *length)
{
    const unsigned char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
    if (!end)
        return broken(m, "ends too soon");
    *line = (const char *)m->at;
    *length = (size_t)(end - m->at);
    m->at = end + 1;
    return true;
}

static bool push_named(machine *m, const char *module, size_t module_length, const char *name,
                       size_t length)
{
    value *v = make(m, NAMED);
    if (!v)
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *space = strchr(known[i].name, ' ');
        if ((size_t)(space - known[i].name) == module_length && strlen(space + 1) == length &&
            memcmp(known[i].name, module, module_length) == 0 &&
            memcmp(space + 1, name, length) == 0)
            v->named = &known[i];
    }
    if (v->named)
        return push(m, v);
    char shown[100]; /* what a file says of itself is printed without control characters */
    snprintf(shown, sizeof shown, "%.*s.%.*s", (int)(module_length < 45 ? module_length : 45),
             module, (int)(length < 45 ? length : 45), name);
    for (char *c = shown; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return gb_fail(m->status, GB_DATA, m->path, refused, "the file asks for %s", shown);
}

static bool push_global(machine *m)
{
    const char *module = NULL, *name = NULL;
    size_t module_length = 0, length = 0;
    return take_line(m, &module, &module_length) && take_line(m, &name, &length) &&
           push_named(m, module, module_length, name, length);
}

static bool push_stack_global(machine *m)
{
    value *name = pop(m), *module = name ? pop(m) : NULL;
    if (!module)
        return false;
    if (name->kind != TEXT || module->kind != TEXT)
        return broken(m, "names something without text");
    return push_named(m, module->text, module->length, name->text, name->length);
}

/* ---- building ---- */

/* The values from `first` on become one tuple, in place of `below` more before them. */
static bool make_tuple(machine *m, size_t first, size_t below)
{
    value *v = make(m, TUPLE);
    size_t count = m->height - first;
    if (!v || !(v->items = gb_arena_alloc(m->arena, count * sizeof *v->items + 1, m->status)))
        return false;
    if (count)
        memcpy(v->items, m->stack + first, count * sizeof *v->items);
    v->count = count;
    m->height = first - below;
    return push(m, v);
}

static bool tuple_of(machine *m, size_t count)
{
    if (m->height < count)
        return broken(m, "takes a value that is not there");
    for (size_t i = 0; i < count; i++)
        if (m->stack[m->height - 1 - i]->kind == MARK)
            return broken(m, "takes a value that is not there");
    return make_tuple(m, m->height - count, 0);
}

/* Keys and values from `first` on, into the dictionary before them (and before a mark). */
static bool set_items(machine *m, size_t first, size_t below)
{
    size_t count = m->height - first;
    if (first < below + 1 || m->stack[first - below - 1]->kind != DICTIONARY || count % 2)
        return broken(m, "fills something that is no dictionary");
    value *to = m->stack[first - below - 1];
    if (to->count + count > to->capacity) { /* twice as large each time */
        size_t capacity = 2 * (to->count + count);
        value **items = gb_arena_alloc(m->arena, capacity * sizeof *items, m->status);
        if (!items)
            return false;
        if (to->count)
            memcpy(items, to->items, to->count * sizeof *items);
        to->items = items;
        to->capacity = capacity;
    }
    memcpy(to->items + to->count, m->stack + first, count * sizeof *to->items);
    to->count += count;
    m->height = first - below;
    return true;
}

/* ("storage", type, key, place, elements): torch's way to say which bytes. */
static bool push_bytes(machine *m)
{
    value *id = pop(m), *v = make(m, BYTES);
    if (!id || !v)
        return false;
    bool sound = id->kind == TUPLE && id->count >= 5 && id->items[0]->kind == TEXT &&
                 id->items[0]->length == 7 && !memcmp(id->items[0]->text, "storage", 7) &&
                 id->items[1]->kind == NAMED && id->items[1]->named->maker == IS_TYPE &&
                 id->items[2]->kind == TEXT && id->items[2]->length < 64 &&
                 id->items[4]->kind == NUMBER && id->items[4]->number >= 0;
    if (!sound)
        return broken(m, "asks for bytes in an unknown way");
    v->named = id->items[1]->named;
    v->text = gb_arena_strdup(m->arena, id->items[2]->text, id->items[2]->length, m->status);
    v->number = id->items[4]->number;
    return v->text && push(m, v);
}

static bool are_sizes(const value *v)
{
    bool sizes = v->kind == TUPLE && v->count <= GB_STORED_RANK;
    for (size_t i = 0; sizes && i < v->count; i++)
        sizes = v->items[i]->kind == NUMBER && v->items[i]->number >= 0;
    return sizes;
}

/* (bytes, first element, sizes, strides, ...) */
static bool push_tensor(machine *m, const value *with)
{
    value *v = make(m, TENSOR);
    if (!v)
        return false;
    if (with->count < 4 || with->items[0]->kind != BYTES || with->items[1]->kind != NUMBER ||
        with->items[1]->number < 0 || !are_sizes(with->items[2]) || !are_sizes(with->items[3]) ||
        with->items[2]->count != with->items[3]->count)
        return broken(m, "makes a tensor in an unknown way");
    v->bytes = with->items[0];
    v->number = with->items[1]->number;
    v->items = with->items[2]->items;
    v->count = with->items[2]->count;
    v->strides = with->items[3];
    return push(m, v);
}

/* A constructor and its arguments become what it makes. */
static bool reduce(machine *m)
{
    value *with = pop(m), *what = with ? pop(m) : NULL;
    if (!what)
        return false;
    if (with->kind != TUPLE || what->kind != NAMED || what->named->maker == IS_TYPE)
        return broken(m, "calls what cannot be called");
    if (what->named->maker == MAKES_TENSOR)
        return push_tensor(m, with);
    if (what->named->maker == MAKES_DICTIONARY)
        return with->count == 0 ? push_kind(m, DICTIONARY)
                                : broken(m, "makes a dictionary in an unknown way");
    if (with->count < 1 || with->items[0]->kind != TENSOR)
        return broken(m, "makes a parameter of something else");
    return push(m, with->items[0]);
}

/* Attributes of a dictionary (torch notes versions of modules there): not used. */
static bool build(machine *m)
{
    value *state = pop(m);
    if (!state)
        return false;
    return (m->height && m->stack[m->height - 1]->kind == DICTIONARY) ||
           broken(m, "gives attributes to something that is no dictionary");
}

static bool remember(machine *m, uint64_t index)
{
    if (!m->height)
        return broken(m, "remembers nothing");
    if (index >= m->limit)
        return broken(m, "remembers more than it holds");
    if (!gb_grow(&m->memo, &m->memo_capacity, index + 1, sizeof *m->memo, m->status))
        return false;
    while (m->memo_count <= index)
        m->memo[m->memo_count++] = NULL;
    m->memo[index] = m->stack[m->height - 1];
    return true;
}

static bool recall(machine *m, uint64_t index)
{
    if (index >= m->memo_count || !m->memo[index])
        return broken(m, "recalls what it did not remember");
    return push(m, m->memo[index]);
}

/* ---- running ---- */

/* Opcodes with a number behind them. */
static bool run_numbered(machine *m, unsigned char code)
{
    static const struct {
        unsigned char code; /* opcode */
        int bytes;          /* of its number */
        bool sign;          /* which may be negative */
    } widths[] = {{'J', 4, true},   {'K', 1, false}, {'M', 2, false}, {'q', 1, false},
                  {'r', 4, false},  {'h', 1, false}, {'j', 4, false}, {0x80, 1, false},
                  {0x95, 8, false}, {'G', 8, false}, {0x8a, 1, false}};
    int64_t number = 0;
    size_t i = 0, count = sizeof widths / sizeof *widths;
    while (i < count && widths[i].code != code)
        i++;
    if (i == count)
        return gb_fail(m->status, GB_DATA, m->path, refused,
                       "the pickle in it uses the unknown operation 0x%02x", code);
    if (!take_number(m, widths[i].bytes, widths[i].sign, &number))
        return false;
    switch (code) {
    case 'q':
    case 'r':
        return remember(m, (uint64_t)number);
    case 'h':
    case 'j':
        return recall(m, (uint64_t)number);
    case 0x80: /* protocol */
    case 0x95: /* frame */
        return true;
    case 'G': /* a float */
        return push_kind(m, OTHER);
    case 0x8a: /* a long number */
        if (number > 8)
            return broken(m, "has a number that is too long");
        if (!take_number(m, (int)number, true, &number))
            return false;
        break;
    }
    return push_number(m, number);
}

/* One operation; *done at the end of the program. */
static bool run_one(machine *m, bool *done)
{
    size_t first = 0;
    const unsigned char *code = take(m, 1);
    switch (code ? *code : 0) {
    case 0:
        return code ? broken(m, "has an operation 0") : false;
    case '.':
        *done = true;
        return true;
    case '(':
        return push_kind(m, MARK);
    case '}':
        return push_kind(m, DICTIONARY);
    case ')':
        return tuple_of(m, 0);
    case 0x85:
    case 0x86:
    case 0x87:
        return tuple_of(m, (size_t)(*code - 0x84));
    case 't':
        return find_mark(m, &first) && make_tuple(m, first, 1);
    case 'N':
    case 0x88: /* true */
    case 0x89: /* false */
        return push_kind(m, OTHER);
    case 'X':
        return push_text(m, 4);
    case 0x8c:
        return push_text(m, 1);
    case 0x94:
        return remember(m, m->memo_count);
    case 'c':
        return push_global(m);
    case 0x93:
        return push_stack_global(m);
    case 'R':
        return reduce(m);
    case 'b':
        return build(m);
    case 's':
        return m->height >= 3 ? set_items(m, m->height - 2, 0)
                              : broken(m, "takes a value that is not there");
    case 'u':
        return find_mark(m, &first) && set_items(m, first, 1);
    case 'Q':
        return push_bytes(m);
    default:
        return run_numbered(m, *code);
    }
}

/* ---- tensors ---- */

/* What is taken from where. */
typedef struct reading {
    machine m;          /* the program */
    folder_zip zip;     /* the file */
    const char *prefix; /* of its members, with the slash */
    size_t prefix_length;
} reading;

static bool is_dense(const value *v)
{
    uint64_t stride = 1;
    for (size_t i = v->count; i-- > 0; stride *= (uint64_t)v->items[i]->number)
        if (v->items[i]->number > 1 && (uint64_t)v->strides->items[i]->number != stride)
            return false;
    return true;
}

/* A tensor of the program and its name, as a stored tensor. */
static bool store(reading *r, const value *name, const value *v, gb_stored *out)
{
    machine *m = &r->m;
    /* One long name could be recalled any number of times. */
    size_t length = name->length < GB_WEIGHT_NAME ? name->length : GB_WEIGHT_NAME;
    char *text = gb_arena_strdup(m->arena, name->text, length, m->status);
    if (!text)
        return false;
    if (length != name->length || strlen(text) != length || !folder_name_is_sound(text))
        return broken(m, "has a tensor name that is empty, too long or has control characters");
    if (v->kind != TENSOR)
        return gb_fail(m->status, GB_DATA, m->path, "store the state_dict of the model alone",
                       "%.100s is no tensor", text);
    *out = (gb_stored){.name = text, .dtype = v->bytes->named->dtype, .path = m->path};
    uint64_t count = 1, last, bytes;
    out->rank = (uint32_t)v->count;
    for (size_t i = 0; i < v->count; i++) {
        out->shape[i] = (uint64_t)v->items[i]->number;
        if (__builtin_mul_overflow(count, out->shape[i], &count))
            return broken(m, "has a tensor without end");
    }
    char *key =
        gb_format(m->status, "%.*sdata/%s", (int)r->prefix_length, r->prefix, v->bytes->text);
    const folder_member *member = key ? folder_zip_find(&r->zip, key) : NULL;
    free(key);
    if (!key)
        return false;
    uint64_t each = v->bytes->named->bytes;
    if (!member || __builtin_add_overflow(count, (uint64_t)v->number, &last) ||
        __builtin_mul_overflow(last, each, &bytes) || bytes > member->bytes)
        return gb_fail(m->status, GB_DATA, m->path, damaged,
                       "the bytes of tensor %.100s are not in the file", text);
    if (!is_dense(v))
        return gb_fail(m->status, GB_DATA, m->path, "store it with .contiguous()",
                       "the values of tensor %.100s do not lie one after the other", text);
    out->data = member->data + (uint64_t)v->number * each;
    out->bytes = count * each;
    return true;
}

static bool store_all(reading *r, gb_stored **tensors, size_t *count, size_t *capacity)
{
    machine *m = &r->m;
    const value *all = m->height == 1 ? m->stack[0] : NULL;
    if (!all || all->kind != DICTIONARY)
        return gb_fail(m->status, GB_DATA, m->path, "store the state_dict of the model alone",
                       "the file holds something else than tensors by name");
    if (!gb_grow(tensors, capacity, *count + all->count / 2, sizeof **tensors, m->status))
        return false;
    for (size_t i = 0; i < all->count; i += 2) {
        if (all->items[i]->kind != TEXT)
            return broken(m, "has a tensor whose name is no text");
        if (!store(r, all->items[i], all->items[i + 1], *tensors + *count))
            return false;
        ++*count;
    }
    return true;
}

/* The program's member gives the prefix of all; every member must be whole. */
static bool find_program(reading *r, const folder_member **program)
{
    static const char name[] = "data.pkl", order[] = "byteorder";
    machine *m = &r->m;
    *program = NULL;
    for (size_t i = 0; i < r->zip.count; i++) {
        const folder_member *member = &r->zip.members[i];
        const char *slash = strchr(member->name, '/');
        if (slash && strcmp(slash + 1, name) == 0)
            *program = member;
        if (slash && strcmp(slash + 1, order) == 0 &&
            (member->bytes != 6 || memcmp(member->data, "little", 6) != 0))
            return gb_fail(m->status, GB_DATA, m->path, "store it on a little-endian machine",
                           "the values are not little endian");
        if (!folder_member_check(member, m->path, m->status))
            return false;
    }
    if (!*program || (*program)->bytes > PICKLE_LIMIT_BYTES)
        return gb_fail(m->status, GB_DATA, m->path, "give a file of torch.save",
                       "the zip has no data.pkl, or too large a one");
    r->prefix = (*program)->name;
    r->prefix_length = strlen(r->prefix) - strlen(name);
    return true;
}

bool folder_torch_read(const char *path, const unsigned char *bytes, size_t size, gb_arena *arena,
                       gb_stored **tensors, size_t *count, size_t *capacity, gb_status *status)
{
    if (size < 4 || memcmp(bytes, "PK\3\4", 4) != 0)
        return gb_fail(status, GB_DATA, path, "load and save it once with a newer torch",
                       "not a zip: damaged, or written by torch before 1.6");
    reading r = {.m = {.path = path, .arena = gb_arena_create(1 << 16, status), .status = status}};
    const folder_member *program = NULL;
    bool done = false;
    bool ok = r.m.arena && folder_zip_read(path, bytes, size, r.m.arena, &r.zip, status) &&
              find_program(&r, &program);
    if (ok) {
        r.m.at = program->data;
        r.m.end = program->data + program->bytes;
        r.m.limit = program->bytes;
    }
    while (ok && !done)
        ok = run_one(&r.m, &done);
    size_t first = *count;
    ok = ok && store_all(&r, tensors, count, capacity);
    for (size_t i = first; ok && i < *count; i++) { /* names outlive the machine */
        (*tensors)[i].name =
            gb_arena_strdup(arena, (*tensors)[i].name, strlen((*tensors)[i].name), status);
        ok = (*tensors)[i].name != NULL;
    }
    *count = ok ? *count : first;
    free(r.m.stack);
    free(r.m.memo);
    gb_arena_destroy(r.m.arena);
    return ok;
}
