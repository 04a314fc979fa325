/* The footer of a Parquet file. All that it says is checked before it is used: a chunk lies in front of the footer, and
 * no more is allocated than the footer has bytes for. */
#include "dataset/parquet/parquet.h"

#include "dataset/parquet/thrift.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WIDTH ((int64_t)1 << 30) /* bytes of a value of fixed size */

struct parquet *parquet_new(int leaves, int64_t groups, size_t name_bytes)
{
    size_t chunks = (size_t)leaves * (size_t)groups;
    struct parquet *parquet = calloc(1, sizeof *parquet + (size_t)leaves * sizeof *parquet->leaves +
                                            chunks * sizeof *parquet->chunks +
                                            ((size_t)groups + 1) * sizeof *parquet->starts + name_bytes);
    if (!parquet)
        return NULL;
    parquet->leaf_count = leaves;
    parquet->groups = groups;
    parquet->leaves = (struct parquet_leaf *)(parquet + 1);
    parquet->chunks = (struct parquet_chunk *)(parquet->leaves + leaves);
    parquet->starts = (int64_t *)(parquet->chunks + chunks);
    parquet->names = (char *)(parquet->starts + groups + 1);
    return parquet;
}

struct footer {
    const char *path;
    struct error *err;
    int64_t at; /* offset in the file, where chunks end */
    struct parquet *parquet;
    size_t names;                 /* bytes of parquet->names, used or needed */
    int leaves;                   /* found so far */
    int64_t rows;                 /* that the file says it has; -1: nothing */
    struct thrift schema, groups; /* from the heads of the lists on */
    enum thrift_type schema_type, groups_type;
};

static bool damaged(const struct footer *footer, const char *what)
{
    return error_set(footer->err, ERROR_INPUT,
                     "%s: damaged footer at byte %" PRId64 ": %s: write the file again", footer->path,
                     footer->at, what);
}

/* ---- the schema: a tree, in the order of its nodes ---- */

struct node {
    int64_t type, width, repetition, children; /* -1: not said */
    const char *name;
    size_t name_length;
};

static bool read_node(struct thrift *in, struct node *node)
{
    struct thrift_field field = {0};
    *node = (struct node){.type = -1, .width = 0, .repetition = -1, .children = 0, .name = ""};
    int64_t *const places[] = {NULL, &node->type, &node->width, &node->repetition, NULL, &node->children};
    while (thrift_next(in, &field))
        if (field.id == 4)
            node->name = (const char *)thrift_bytes(in, field.type, &node->name_length);
        else
            thrift_take(in, &field, places, 6);
    return !in->broken;
}

static bool add_leaf(struct footer *footer, const struct node *node, const struct node *column,
                     int definition, int repetition)
{
    static const int64_t widths[PARQUET_TYPES] = {
        [PARQUET_BOOLEAN] = 1, [PARQUET_INT32] = 4, [PARQUET_INT64] = 8,
        [PARQUET_INT96] = 12,  [PARQUET_FLOAT] = 4, [PARQUET_DOUBLE] = 8};
    bool fixed = node->type == PARQUET_FIXED;
    if (node->type < 0 || node->type >= PARQUET_TYPES ||
        (fixed && (node->width < 1 || node->width > MAX_WIDTH)))
        return damaged(footer, "a column of no known type");
    if (footer->parquet) {
        struct parquet_leaf *leaf = &footer->parquet->leaves[footer->leaves];
        char *name = footer->parquet->names + footer->names;
        memcpy(name, column->name, column->name_length);
        *leaf = (struct parquet_leaf){name,
                                      (enum parquet_type)node->type,
                                      fixed ? node->width : widths[node->type],
                                      definition,
                                      repetition,
                                      true};
    }
    footer->names += column->name_length + 1;
    footer->leaves++;
    return true;
}

/* Walks the tree; its leaves are counted, and kept once there is room. */
static bool read_schema(struct footer *footer)
{
    struct level {
        int64_t left; /* children not yet met */
        int definition, repetition;
    } levels[PARQUET_DEPTH];
    struct thrift in = footer->schema;
    struct node node, column = {0};
    enum thrift_type item;
    int depth = 0;
    size_t count = thrift_list(&in, footer->schema_type, &item);
    footer->leaves = 0;
    footer->names = 0;
    if (count == 0 || item != THRIFT_STRUCT || !read_node(&in, &node) || node.children < 1)
        return damaged(footer, "no schema");
    levels[0] = (struct level){node.children, 0, 0};
    for (size_t i = 1; i < count; i++) {
        while (depth > 0 && levels[depth].left == 0)
            depth--;
        if (levels[depth].left-- <= 0 || !read_node(&in, &node) || node.repetition < 0 ||
            node.repetition > 2 || node.children < 0)
            return damaged(footer, "its schema is no tree");
        int definition = levels[depth].definition + (node.repetition > 0),
            repetition = levels[depth].repetition + (node.repetition == 2);
        if (depth == 0)
            column = node;
        if (node.children == 0) {
            if (!add_leaf(footer, &node, &column, definition, repetition))
                return false;
        } else if (++depth == PARQUET_DEPTH) {
            return damaged(footer, "columns are nested more than 64 deep");
        } else {
            levels[depth] = (struct level){node.children, definition, repetition};
        }
    }
    while (depth > 0 && levels[depth].left == 0)
        depth--;
    return levels[depth].left == 0 || damaged(footer, "its schema ends too early");
}

/* ---- row groups ---- */

/* Reads the metadata of a chunk of this leaf. */
static bool read_chunk_data(struct footer *footer, struct thrift *in, const struct parquet_leaf *leaf,
                            struct parquet_chunk *chunk)
{
    struct thrift_field field = {0};
    int64_t type = -1, codec = -1, data = -1, dictionary = 0;
    int64_t *const places[12] = {[1] = &type,         [4] = &codec, [5] = &chunk->values,
                                 [7] = &chunk->bytes, [9] = &data,  [11] = &dictionary};
    chunk->bytes = chunk->values = -1;
    while (thrift_next(in, &field))
        thrift_take(in, &field, places, 12);
    chunk->codec = (int)codec;
    chunk->offset = dictionary > 0 && dictionary < data ? dictionary : data;
    if (in->broken)
        return damaged(footer, "it ends within a row group");
    if (type != (int64_t)leaf->type || chunk->values < 0)
        return damaged(footer, "a row group does not fit the schema");
    if (chunk->offset < PARQUET_MAGIC || chunk->bytes < 0 || chunk->offset > footer->at ||
        chunk->bytes > footer->at - chunk->offset)
        return error_set(footer->err, ERROR_INPUT,
                         "%s: truncated or damaged: column '%s' would have %" PRId64
                         " bytes from byte %" PRId64 ", but the footer begins at byte %" PRId64
                         ": write the file again",
                         footer->path, leaf->name, chunk->bytes, chunk->offset, footer->at);
    return true;
}

static bool read_chunk(struct footer *footer, struct thrift *in, const struct parquet_leaf *leaf,
                       struct parquet_chunk *chunk)
{
    struct thrift_field field = {0};
    bool found = false;
    while (thrift_next(in, &field)) {
        if (field.id == 3 && field.type == THRIFT_STRUCT) {
            if (found || !read_chunk_data(footer, in, leaf, chunk))
                return found ? damaged(footer, "a column has two descriptions") : false;
            found = true;
        } else if (field.id == 1 || field.id == 8) {
            return error_set(footer->err, ERROR_INPUT, "%s: column '%s' is %s: write it into one plain file",
                             footer->path, leaf->name, field.id == 1 ? "in another file" : "encrypted");
        } else {
            thrift_skip(in, field.type);
        }
    }
    return (found && !in->broken) || damaged(footer, "it ends within a column");
}

static bool read_group(struct footer *footer, struct thrift *in, int64_t group)
{
    struct parquet *parquet = footer->parquet;
    struct thrift_field field = {0};
    enum thrift_type item;
    int64_t rows = -1;
    bool found = false;
    while (thrift_next(in, &field)) {
        if (field.id == 3) {
            rows = thrift_number(in, field.type);
        } else if (field.id != 1) {
            thrift_skip(in, field.type);
        } else {
            size_t count = thrift_list(in, field.type, &item);
            if (found || count != (size_t)parquet->leaf_count || item != THRIFT_STRUCT)
                return damaged(footer, "a row group has other columns than the schema");
            found = true;
            for (int i = 0; i < parquet->leaf_count; i++)
                if (!read_chunk(footer, in, &parquet->leaves[i],
                                &parquet->chunks[group * parquet->leaf_count + i]))
                    return false;
        }
    }
    if (in->broken || !found || rows < 0 || rows > footer->rows - parquet->starts[group])
        return damaged(footer, "row groups with other numbers of rows than the file");
    parquet->starts[group + 1] = parquet->starts[group] + rows;
    return true;
}

static bool read_groups(struct footer *footer, struct thrift in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!read_group(footer, &in, (int64_t)i))
            return false;
    return footer->parquet->starts[count] == footer->rows ||
           damaged(footer, "row groups with other numbers of rows than the file");
}

/* ---- all ---- */

static bool parse(struct footer *footer, const unsigned char *bytes, size_t length)
{
    struct thrift in = {bytes, bytes + length, false};
    struct thrift_field field = {0};
    enum thrift_type item;
    while (thrift_next(&in, &field)) {
        if (field.id == 2) {
            footer->schema = in;
            footer->schema_type = field.type;
        } else if (field.id == 4) {
            footer->groups = in;
            footer->groups_type = field.type;
        }
        if (field.id == 3)
            footer->rows = thrift_number(&in, field.type);
        else
            thrift_skip(&in, field.type);
    }
    if (in.broken || !footer->schema.at || !footer->groups.at || footer->rows < 0)
        return damaged(footer, "it is no description of a file");
    if (!read_schema(footer))
        return false;
    struct thrift groups = footer->groups;
    size_t count = thrift_list(&groups, footer->groups_type, &item);
    if (groups.broken || (count > 0 && item != THRIFT_STRUCT) || count > length / (size_t)footer->leaves)
        return damaged(footer, "more row groups than it has bytes for");
    if (count == 0 || footer->rows == 0)
        return error_set(footer->err, ERROR_INPUT, "%s: has no rows: write the file again", footer->path);
    footer->parquet = parquet_new(footer->leaves, (int64_t)count, footer->names);
    if (!footer->parquet)
        return error_memory(footer->err);
    return read_schema(footer) && read_groups(footer, groups, count);
}

struct parquet *parquet_read(const char *path, const struct dataset_source *source, int64_t *at,
                             struct error *err)
{
    unsigned char tail[PARQUET_TAIL];
    if (source->size < PARQUET_MAGIC + PARQUET_TAIL) {
        error_set(err, ERROR_INPUT,
                  "%s: truncated: %" PRId64 " bytes are no Parquet file: write the file again", path,
                  source->size);
        return NULL;
    }
    if (!dataset_read(source, path, source->size - PARQUET_TAIL, tail, PARQUET_TAIL, "its end", err))
        return NULL;
    if (memcmp(tail + 4, "PAR1", 4) != 0) {
        bool encrypted = memcmp(tail + 4, "PARE", 4) == 0;
        error_set(err, ERROR_INPUT, "%s: %s", path,
                  encrypted
                      ? "its footer is encrypted, which is not read: write it without encryption"
                      : "truncated, or no Parquet file: it does not end with 'PAR1': write the file again");
        return NULL;
    }
    int64_t length = (int64_t)dataset_little(tail, 4);
    struct footer footer = {.path = path, .err = err, .at = source->size - PARQUET_TAIL - length, .rows = -1};
    if (length > PARQUET_FOOTER || footer.at < PARQUET_MAGIC) {
        error_set(err, ERROR_INPUT,
                  "%s: damaged: a footer of %" PRId64 " bytes in a file of %" PRId64 " (at most %" PRId64
                  " are read): write the file again",
                  path, length, source->size, PARQUET_FOOTER);
        return NULL;
    }
    unsigned char *bytes = dataset_load(source, path, footer.at, (size_t)length, "its footer", err);
    bool read = bytes && parse(&footer, bytes, (size_t)length);
    free(bytes);
    if (!read) {
        free(footer.parquet);
        return NULL;
    }
    *at = footer.at;
    return footer.parquet;
}
