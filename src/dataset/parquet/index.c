/* What of a Parquet file is read: the chunks of the columns that are chosen, group by group. */
#include "dataset/parquet/parquet.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TAIL_READ                                                                                            \
    ((int64_t)64 << 10) /* that pyarrow reads of a file's end before it knows the footer's size */

/* Lists the chunks that are read, those that touch as one. With `extents` NULL it only counts the most of a group. */
static int64_t list(const struct parquet *parquet, struct dataset_extent *extents, int64_t per_group)
{
    int64_t most = 0;
    for (int64_t group = 0; group < parquet->groups; group++) {
        struct dataset_extent at = {0}, *to = extents ? extents + group * per_group : NULL;
        int64_t count = 0;
        for (int i = 0; i < parquet->leaf_count; i++) {
            const struct parquet_chunk *chunk = &parquet->chunks[group * parquet->leaf_count + i];
            if (!parquet->leaves[i].read)
                continue;
            if (count > 0 && chunk->offset == at.offset + at.length) {
                at.length += chunk->bytes;
            } else {
                at = (struct dataset_extent){0, chunk->offset, chunk->bytes};
                count++;
            }
            if (to)
                to[count - 1] = at;
        }
        for (int64_t i = count; to && i < per_group; i++)
            to[i] = (struct dataset_extent){0, at.offset + at.length, 0};
        most = count > most ? count : most;
    }
    return most;
}

static bool set_extents(struct dataset_index *index, struct error *err)
{
    const struct parquet *parquet = index->detail;
    free(index->extents);
    index->per_sample = list(parquet, NULL, 0);
    index->per_sample = index->per_sample > 0 ? index->per_sample : 1;
    index->extents = calloc((size_t)(parquet->groups * index->per_sample) + 1, sizeof *index->extents);
    if (!index->extents)
        return error_memory(err);
    list(parquet, index->extents, index->per_sample);
    return true;
}

/* Takes over what was read or expected of a file whose footer begins at `footer`. */
static bool take(struct dataset_index *index, struct parquet *parquet, int64_t footer, int64_t size,
                 struct error *err)
{
    int64_t tail = size < TAIL_READ ? size : TAIL_READ;
    dataset_index_bytes(index, 0);
    index->detail = parquet;
    index->units = parquet->groups;
    index->starts = parquet->starts;
    index->samples = parquet->starts[parquet->groups];
    index->sample_bytes = 0;
    index->open[index->open_count++] = (struct dataset_extent){0, size - tail, tail};
    if (footer < size - tail)
        index->open[index->open_count++] = (struct dataset_extent){0, footer, size - PARQUET_TAIL - footer};
    return set_extents(index, err);
}

bool parquet_locate(struct dataset_index *index, const char *path, const struct dataset_source *const *parts,
                    struct error *err)
{
    int64_t footer;
    struct parquet *parquet = parquet_read(path, parts[0], &footer, err);
    return parquet && take(index, parquet, footer, parts[0]->size, err);
}

/* Is a leaf of the type by which a column of the layout is written? */
static bool is_of_type(const struct parquet_leaf *leaf, const struct parquet_column *column, const char *path,
                       struct error *err)
{
    static const char *const names[PARQUET_TYPES] = {
        "BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};
    int64_t width;
    enum parquet_type type = parquet_type_of(column->element, &width);
    return (leaf->type == type && (type != PARQUET_FIXED || leaf->width == width)) ||
           error_set(err, ERROR_INPUT,
                     "%s: column '%s' is %s, and %s by its dtype, %s: give the file's in "
                     "dataset.parquet.columns; without these, columns of all types are read",
                     path, column->name, names[leaf->type], names[type],
                     dataset_element_words[column->element]);
}

bool parquet_choose(struct dataset_index *index, const struct dataset_layout *layout, const char *path,
                    struct error *err)
{
    struct parquet *parquet = index->detail;
    struct dataset_file file = {.layout = layout};
    struct parquet_column column;
    if (layout->column_count == 0)
        return true;
    for (int i = 0; i < parquet->leaf_count; i++)
        parquet->leaves[i].read = false;
    for (int64_t at = 0; parquet_column(&file, at, &column); at++) {
        bool found = !column.read;
        /* Most files have the columns in the layout's order. */
        for (int i = 0; i < parquet->leaf_count && !found; i++) {
            struct parquet_leaf *leaf = &parquet->leaves[(at + i) % parquet->leaf_count];
            found = strcmp(leaf->name, column.name) == 0;
            leaf->read |= found;
            if (found && !is_of_type(leaf, &column, path, err))
                return false;
            for (int64_t same = (at + i) % parquet->leaf_count + 1; /* all leaves of a column with several */
                 found && same < parquet->leaf_count && strcmp(parquet->leaves[same].name, column.name) == 0;
                 same++)
                parquet->leaves[same].read = true;
        }
        if (!found)
            return error_set(err, ERROR_INPUT,
                             "%s: has no column '%s': name those of the file in dataset.parquet.columns",
                             path, column.name);
    }
    return set_extents(index, err);
}

bool parquet_schema(const struct dataset_file *file, const char *path,
                    const struct dataset_source *const *parts, struct error *err)
{
    int64_t footer;
    struct parquet_column column;
    struct parquet *parquet = parquet_read(path, parts[0], &footer, err);
    bool same = parquet && (parquet->leaf_count == parquet_columns(file->layout) ||
                            error_set(err, ERROR_INPUT, "%s: %d columns, expected %" PRId64, path,
                                      parquet->leaf_count, parquet_columns(file->layout)));
    for (int64_t at = 0; same && parquet_column(file, at, &column); at++) {
        const struct parquet_leaf *leaf = &parquet->leaves[at];
        if (strcmp(leaf->name, column.name) != 0)
            same = error_set(err, ERROR_INPUT, "%s: column '%.80s', expected '%s'", path, leaf->name,
                             column.name);
        else if (leaf->repetition != (column.size > 1))
            same = error_set(err, ERROR_INPUT, "%s: column '%s' is %s list", path, column.name,
                             leaf->repetition ? "a" : "no");
        else
            same = is_of_type(leaf, &column, path, err);
    }
    free(parquet);
    return same;
}

bool parquet_expect(const struct dataset_file *file, struct dataset_index *index)
{
    struct parquet_column column;
    struct error err;
    int64_t leaves = parquet_columns(file->layout), each = parquet_group_rows(file->layout), dictionary;
    int64_t groups = (file->samples + each - 1) / each, size = file->layout->format->bytes(file);
    struct parquet *parquet = size < 0 ? NULL : parquet_new((int)leaves, groups, 1);
    if (!parquet)
        return false;
    for (int64_t group = 0; group <= groups; group++)
        parquet->starts[group] = group < groups ? group * each : file->samples;
    /* Equal groups have equal chunks: the sizes of the first, and of the last if it is shorter, are counted. */
    for (int64_t i = 0; i < leaves && parquet_column(file, i, &column); i++) {
        int64_t left = file->samples % each,
                full = left < file->samples ? parquet_chunk_bytes(&column, each, &dictionary) : 0;
        parquet->leaves[i] = (struct parquet_leaf){.name = "", .read = column.read};
        for (int64_t group = 0; group < groups; group++)
            parquet->chunks[group * leaves + i].bytes =
                group == groups - 1 && left > 0 ? parquet_chunk_bytes(&column, left, &dictionary) : full;
    }
    int64_t offset = PARQUET_MAGIC;
    for (int64_t i = 0; i < groups * leaves; i++) {
        parquet->chunks[i].offset = offset;
        offset += parquet->chunks[i].bytes;
    }
    if (take(index, parquet, offset, size, &err))
        return true;
    dataset_index_release(index);
    return false;
}
