#include "feed/checkpoint/header.h"

#include "core/doc.h"
#include "core/text.h"
#include "core/vector.h"
#include "dataset/format/zip.h"
#include "dataset/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PICKLE ((int64_t)64 << 20)

const char *const checkpoint_torch_types[] = {"torch\nCharStorage",
                                              "torch\nByteStorage",
                                              "torch\nHalfStorage",
                                              "torch\nBFloat16Storage",
                                              "torch\nFloatStorage",
                                              "torch\nDoubleStorage",
                                              NULL};
const char *const checkpoint_safetensors_types[] = {"I8", "U8", "F16", "BF16", "F32", "F64", NULL};

static bool find_type(const char *const *words, const char *text, size_t length, enum workload_datatype *type)
{
    int i = 0;
    while (words[i] && (strlen(words[i]) != length || memcmp(words[i], text, length) != 0))
        i++;
    *type = (enum workload_datatype)i;
    return words[i] != NULL;
}

/* --- pickle --------------------------------------------------------------------------------------------------- */

/* An opcode with its text or number; of those with the same meaning only one: 'X' a text, 'I' a whole number. */
struct token {
    unsigned char opcode;
    const unsigned char *text; /* of a global: "module\nname" */
    size_t length;
    int64_t number;
};

struct pickle {
    const unsigned char *begin, *at, *end;
    struct token last, *memo;
    size_t memo_count, memo_capacity;
    const char *path;
    struct error *err;
};

static bool wrong(const struct pickle *pickle)
{
    return error_set(pickle->err, ERROR_INPUT,
                     "%s: data.pkl: byte %zu: not a dict of whole tensors as torch.save writes it: save a "
                     "state_dict(), views as tensor.clone()",
                     pickle->path, (size_t)(pickle->at - pickle->begin));
}

/* Reads an opcode that is not about the memo: what was remembered is as if it stood here. */
static bool next(struct pickle *pickle, struct token *token)
{
    static const char widths[] = "q1r4h1j4X4K1M2J4\x8a"
                                 "1"; /* of the number behind an opcode */
    while (pickle->at < pickle->end) {
        const unsigned char opcode = *pickle->at++, *text = pickle->at;
        const char *known = strchr(widths, opcode);
        int width = known && opcode > '9' ? known[1] - '0' : 0;
        size_t left = (size_t)(pickle->end - text);
        int64_t n = width <= (int)left ? (int64_t)dataset_little(text, width) : -1;
        if (opcode == 0x8a && n >= 0) /* an integer of so many bytes */
            n = n <= 8 && n < (int64_t)left ? (int64_t)dataset_little(text + 1, width = (int)n) : -1, width++;
        if (n < 0 || (opcode == 'X' && n > (int64_t)left - width))
            return wrong(pickle);
        pickle->at += width + (opcode == 'X' ? n : 0);
        if (opcode == 'q' || opcode == 'r') {
            if (n != (int64_t)pickle->memo_count)
                return wrong(pickle);
            if (!VECTOR_ADD(pickle->memo, pickle->memo_count, pickle->memo_capacity, pickle->last))
                return error_memory(pickle->err);
            continue;
        }
        *token = (struct token){width && opcode != 'X' ? 'I' : opcode, text + width, (size_t)n, n};
        if (opcode == 'h' || opcode == 'j') {
            if (n >= (int64_t)pickle->memo_count)
                return wrong(pickle);
            *token = pickle->memo[n];
        } else if (opcode == 'c') {
            const unsigned char *end = memchr(text, '\n', left);
            end = end ? memchr(end + 1, '\n', left - (size_t)(end + 1 - text)) : NULL;
            if (!end)
                return wrong(pickle);
            token->length = (size_t)(end - text);
            pickle->at = end + 1;
        }
        pickle->last = *token;
        return true;
    }
    return wrong(pickle);
}

/* Reads these opcodes into the tokens. */
static bool match(struct pickle *pickle, const char *opcodes, struct token *tokens)
{
    for (size_t i = 0; opcodes[i]; i++)
        if (!next(pickle, &tokens[i]))
            return false;
        else if (tokens[i].opcode != (unsigned char)opcodes[i])
            return wrong(pickle);
    return true;
}

static bool is_text(const struct token *token, const char *text)
{
    return token->length == strlen(text) && memcmp(token->text, text, token->length) == 0;
}

/* Reads a tuple of whole numbers, which has an opcode of its own up to three. */
static bool read_tuple(struct pickle *pickle, int64_t *numbers, int *count)
{
    struct token token;
    bool marked = false;
    *count = 0;
    while (next(pickle, &token)) {
        if (token.opcode == 'I' && *count < CHECKPOINT_MAX_DIMS)
            numbers[(*count)++] = token.number;
        else if (token.opcode == '(' && *count == 0 && !marked)
            marked = true;
        else
            return token.opcode == (marked ? 't' : *count ? 0x84 + *count : ')') || wrong(pickle);
    }
    return false;
}

/* Reads a tensor behind its name: all of a storage, whose own name is *key. */
static bool read_tensor(struct pickle *pickle, struct checkpoint_tensor *tensor, struct token *key)
{
    enum { FUNCTION, STORAGE = 3, TYPE, KEY, ELEMENTS = 7, FIRST = 10, COUNT };
    struct token t[COUNT], rest[6];
    int64_t strides[CHECKPOINT_MAX_DIMS], elements = 1;
    int count;
    if (!match(pickle, "c((XcXXItQI", t) || !read_tuple(pickle, tensor->shape, &tensor->dims) ||
        !read_tuple(pickle, strides, &count) ||
        !match(pickle,
               "\x89"
               "c)RtR",
               rest))
        return false;
    bool whole = count == tensor->dims && t[FIRST].number == 0;
    for (int i = count - 1; i >= 0 && whole; i--)
        whole = (tensor->shape[i] == 1 || strides[i] == elements) &&
                !__builtin_mul_overflow(elements, tensor->shape[i], &elements);
    *key = t[KEY];
    return (whole && elements == t[ELEMENTS].number &&
            is_text(&t[FUNCTION], "torch._utils\n_rebuild_tensor_v2") && is_text(&t[STORAGE], "storage") &&
            find_type(checkpoint_torch_types, (const char *)t[TYPE].text, t[TYPE].length, &tensor->type)) ||
           wrong(pickle);
}

/* --- torch ---------------------------------------------------------------------------------------------------- */

struct torch_file {
    struct checkpoint_tensors *tensors;
    struct zip_archive *archive;
    const char *stem; /* of its members' names */
};

static bool add_tensor(struct pickle *pickle, const struct torch_file *file, const struct token *name)
{
    struct checkpoint_tensor tensor = {0};
    struct zip_member member;
    struct token key;
    char text[256], data[ZIP_MAX_NAME + 32];
    if (!read_tensor(pickle, &tensor, &key))
        return false;
    if (name->length >= sizeof text || memchr(name->text, 0, name->length) || key.length > 20)
        return wrong(pickle);
    snprintf(text, sizeof text, "%.*s", (int)name->length, name->text);
    snprintf(data, sizeof data, "%s/data/%.*s", file->stem, (int)key.length, key.text);
    tensor.name = text;
    if (!checkpoint_tensors_add(file->tensors, pickle->path, tensor, pickle->err) ||
        !zip_take(file->archive, data, false, &member, pickle->err))
        return false;
    struct checkpoint_tensor *added = &file->tensors->items[file->tensors->count - 1];
    added->offset = member.data;
    return (!member.deflated && member.size == added->bytes) ||
           error_set(pickle->err, ERROR_INPUT, "%s: %s: %lld bytes%s, but tensor '%s' has %lld", pickle->path,
                     data, (long long)member.size, member.deflated ? ", packed" : "", text,
                     (long long)added->bytes);
}

/* Behind the items may stand attributes of the dict, such as the versions of modules. */
static bool read_dict(struct pickle *pickle, const struct torch_file *file)
{
    struct token token, rest[2];
    bool marked = false;
    if (!match(pickle, "\x80\x02", rest) || !next(pickle, &token))
        return false;
    if (token.opcode != '}' && !(token.opcode == 'c' && is_text(&token, "collections\nOrderedDict")))
        return wrong(pickle);
    if (token.opcode == 'c' && !match(pickle, ")R", rest))
        return false;
    while (next(pickle, &token)) {
        if (token.opcode == 'X') {
            if (!add_tensor(pickle, file, &token) || (!marked && !match(pickle, "s", rest)))
                return false;
        } else if (token.opcode == (marked ? 'u' : '(')) {
            marked = !marked;
        } else {
            return (!marked && (token.opcode == '.' || token.opcode == '}')) || wrong(pickle);
        }
    }
    return false;
}

static bool read_torch(struct checkpoint_tensors *tensors, const char *path,
                       const struct dataset_source *source, struct error *err)
{
    static const char ending[] = "/data.pkl";
    struct zip_member member;
    struct torch_file file = {tensors, zip_open(source, path, err), member.name};
    if (!file.archive)
        return false;
    struct pickle pickle = {.path = path, .err = err};
    unsigned char *bytes = NULL;
    bool ok = zip_take(file.archive, ending, true, &member, err); /* the first: none has this name */
    if (ok && (!text_ends_with(member.name, ending) || member.deflated || member.size > MAX_PICKLE))
        ok = error_set(err, ERROR_INPUT,
                       "%s: begins with '%s', not with a data.pkl of at most %lld bytes as files "
                       "of torch.save do",
                       path, member.name, (long long)MAX_PICKLE);
    if (ok) {
        bytes = dataset_load(source, path, member.data, (size_t)member.size, "data.pkl", err);
        member.name[strlen(member.name) - strlen(ending)] = '\0';
        pickle.begin = pickle.at = bytes;
        pickle.end = bytes + (bytes ? member.size : 0);
        ok = bytes && read_dict(&pickle, &file);
    }
    free(pickle.memo);
    free(bytes);
    zip_close(file.archive);
    return ok;
}

/* --- safetensors ---------------------------------------------------------------------------------------------- */

static bool read_entry(const struct doc *doc, const struct doc_node *node, int64_t begin, int64_t size,
                       struct checkpoint_tensors *tensors, struct error *err)
{
    struct checkpoint_tensor tensor = {.name = node->key};
    const struct doc_node *type = doc_need(doc, node, "dtype", err);
    const struct doc_node *shape = type ? doc_need(doc, node, "shape", err) : NULL;
    const struct doc_node *place = shape ? doc_need(doc, node, "data_offsets", err) : NULL;
    int64_t end;
    if (!place || !doc_is_list(doc, shape, err) || !doc_is_list(doc, place, err))
        return false;
    if (!find_type(checkpoint_safetensors_types, type->text, type->length, &tensor.type))
        return doc_error(doc, type, err, "a type that is not read; types: I8, U8, F16, BF16, F32, F64");
    if (shape->count > CHECKPOINT_MAX_DIMS || place->count != 2)
        return doc_error(doc, node, err, "expected at most %d dimensions and two offsets",
                         CHECKPOINT_MAX_DIMS);
    for (const struct doc_node *of = shape->first_child; of; of = of->next)
        if (!doc_integer(doc, of, 0, WORKLOAD_MAX_INTEGER, &tensor.shape[tensor.dims++], err))
            return false;
    if (!doc_integer(doc, place->first_child, 0, WORKLOAD_MAX_INTEGER, &tensor.offset, err) ||
        !doc_integer(doc, place->first_child->next, tensor.offset, WORKLOAD_MAX_INTEGER, &end, err))
        return false;
    if (end > size)
        return error_set(err, ERROR_INPUT, "%s: truncated: tensor '%s' ends at byte %lld, the file at %lld",
                         doc->path, tensor.name, (long long)(begin + end), (long long)(begin + size));
    int64_t bytes = end - tensor.offset;
    tensor.offset += begin;
    if (!checkpoint_tensors_add(tensors, doc->path, tensor, err))
        return false;
    return bytes == tensors->items[tensors->count - 1].bytes ||
           doc_error(doc, place, err, "%lld bytes, but shape and type make %lld", (long long)bytes,
                     (long long)tensors->items[tensors->count - 1].bytes);
}

static int by_offset(const void *a, const void *b)
{
    const struct checkpoint_tensor *x = a, *y = b;
    return x->offset != y->offset ? (x->offset > y->offset) - (x->offset < y->offset)
                                  : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static bool read_entries(const struct doc *doc, int64_t begin, int64_t size,
                         struct checkpoint_tensors *tensors, struct error *err)
{
    int64_t at = begin;
    size_t i = 0;
    if (!doc_is_map(doc, doc->root, err))
        return false;
    for (const struct doc_node *node = doc->root->first_child; node; node = node->next)
        if (strcmp(node->key, "__metadata__") != 0 && !read_entry(doc, node, begin, size, tensors, err))
            return false;
    if (tensors->count > 0)
        qsort(tensors->items, tensors->count, sizeof *tensors->items, by_offset);
    while (i < tensors->count && tensors->items[i].offset == at)
        at += tensors->items[i++].bytes;
    return (i == tensors->count && at == begin + size) ||
           error_set(err, ERROR_INPUT,
                     "%s: byte %lld of %lld belongs to no tensor, or to two: cut, or damaged", doc->path,
                     (long long)at, (long long)(begin + size));
}

static bool read_safetensors(struct checkpoint_tensors *tensors, const char *path,
                             const struct dataset_source *source, struct error *err)
{
    unsigned char first[8];
    struct doc doc;
    if (!dataset_read(source, path, 0, first, sizeof first, "the header's length", err))
        return false;
    uint64_t length = dataset_little(first, 8);
    if (length > DOC_MAX_BYTES || (int64_t)length > source->size - 8)
        return error_set(err, ERROR_INPUT,
                         "%s: a header of %llu bytes in a file of %lld: cut, or not a safetensors file", path,
                         (unsigned long long)length, (long long)source->size);
    unsigned char *header = dataset_load(source, path, 8, (size_t)length, "the header", err);
    bool ok = header && doc_parse(&doc, DOC_JSON, path, (const char *)header, (size_t)length, err);
    if (ok) {
        ok = read_entries(&doc, 8 + (int64_t)length, source->size - 8 - (int64_t)length, tensors, err);
        doc_release(&doc);
    }
    free(header);
    return ok;
}

bool checkpoint_header_read(struct checkpoint_tensors *tensors, enum workload_checkpoint_format format,
                            const char *path, const struct dataset_source *source, struct error *err)
{
    *tensors = (struct checkpoint_tensors){0};
    return format == WORKLOAD_CHECKPOINT_TORCH ? read_torch(tensors, path, source, err)
                                               : read_safetensors(tensors, path, source, err);
}
