/* Parquet in the table of formats: which columns a file has, and how large it is. */
#include "dataset/parquet/parquet.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_ROW    ((int64_t)1 << 30) /* bytes of a column's row: a page is below 2^31 */
#define MAX_LEAVES 65536

int64_t parquet_group_rows(const struct dataset_layout *layout)
{
    return layout->row_group > 0 ? layout->row_group : PARQUET_GROUP;
}

int64_t parquet_columns(const struct dataset_layout *layout)
{
    int64_t count = 0;
    for (int i = 0; i < layout->column_count; i++)
        count += layout->columns[i].count;
    return layout->column_count > 0 ? count : 1;
}

bool parquet_column(const struct dataset_file *file, int64_t at, struct parquet_column *column)
{
    const struct dataset_layout *layout = file->layout;
    const struct dataset_column *of = layout->columns;
    for (int i = 0; i < layout->column_count && at >= of->count; i++)
        at -= of++->count;
    if (layout->column_count == 0 && at == 0) {
        *column = (struct parquet_column){.name = "data", .element = file->element, .read = true};
        column->size = file->record_bytes / dataset_element_bytes(file->element);
    } else if (layout->column_count == 0 || of == layout->columns + layout->column_count) {
        return false;
    } else {
        *column = (struct parquet_column){.element = of->element, .size = of->size, .read = of->read};
        snprintf(column->name, sizeof column->name, of->count > 1 ? "%s_%" PRId64 : "%s", of->name, at);
    }
    column->row_bytes = column->size * dataset_element_bytes(column->element);
    return true;
}

static void parquet_shape(struct dataset_file *file)
{
    struct parquet_column column;
    if (file->layout->column_count == 0)
        return;
    file->element = DATASET_UINT8;
    file->record_bytes = 0;
    for (int64_t i = 0; parquet_column(file, i, &column); i++)
        file->record_bytes += column.row_bytes;
    file->dims_count = 1;
    file->dims[0] = file->record_bytes;
}

static bool check_columns(const struct dataset_layout *layout, struct error *err)
{
    int64_t leaves = 0;
    for (int i = 0; i < layout->column_count; i++) {
        const struct dataset_column *column = &layout->columns[i];
        if (column->count < 1 || column->count > MAX_LEAVES || (leaves += column->count) > MAX_LEAVES)
            return error_set(err, ERROR_INPUT, "dataset.parquet.columns: at most %d columns", MAX_LEAVES);
        if (column->size < 1 || column->size > MAX_ROW / 8)
            return error_set(err, ERROR_INPUT,
                             "dataset.parquet.columns: '%s' has %" PRId64
                             " elements per row: a page holds 1 to %" PRId64,
                             column->name, column->size, MAX_ROW / 8);
        for (int j = 0; j < i; j++)
            if (strcmp(layout->columns[j].name, column->name) == 0)
                return error_set(err, ERROR_INPUT, "dataset.parquet.columns: two are named '%s'",
                                 column->name);
    }
    return true;
}

/* Finds what all files of a kind share: the size of their footer, which takes as long as to make one. */
static bool parquet_prepare(const struct dataset_file *file, int64_t *footer, struct error *err)
{
    const struct dataset_layout *layout = file->layout;
    struct parquet_column column;
    int64_t groups = file->samples / parquet_group_rows(layout);
    if (!check_columns(layout, err))
        return false;
    if (layout->record_bytes_stdev > 0)
        return error_set(err, ERROR_INPUT,
                         "dataset.record_length_bytes_stdev: rows of parquet files are of one size");
    if (groups > PARQUET_FOOTER / 40 / parquet_columns(layout))
        return error_set(err, ERROR_INPUT,
                         "dataset.parquet.row_group_size: %" PRId64 " row groups of %" PRId64
                         " columns make a footer of more than %" PRId64 " bytes: take more rows per group",
                         groups, parquet_columns(layout), PARQUET_FOOTER);
    if (!parquet_column(file, 0, &column) || column.row_bytes > MAX_ROW)
        return error_set(err, ERROR_INPUT,
                         "dataset.record_length_bytes: a row of a parquet file has at most %" PRId64 " bytes",
                         MAX_ROW);
    return parquet_footer_size(file, footer, err);
}

static int64_t parquet_bytes(const struct dataset_file *file)
{
    struct parquet_column column;
    int64_t each = parquet_group_rows(file->layout), dictionary;
    int64_t bytes = PARQUET_MAGIC + file->layout->footer_bytes[file->eval] + PARQUET_TAIL;
    if (file->layout->compression != DATASET_NONE)
        return -1;
    for (int64_t i = 0; parquet_column(file, i, &column); i++) {
        if (file->samples >= each)
            bytes += file->samples / each * parquet_chunk_bytes(&column, each, &dictionary);
        if (file->samples % each > 0)
            bytes += parquet_chunk_bytes(&column, file->samples % each, &dictionary);
    }
    return bytes;
}

static int64_t parquet_together(const struct dataset_layout *layout)
{
    return layout->read_whole ? INT64_MAX : parquet_group_rows(layout);
}

const struct dataset_format dataset_format_parquet = {
    DATASET_FORMAT_OF(parquet),
    .parts = 1,
    .codecs = true,
    .shape = parquet_shape,
    .prepare = parquet_prepare,
    .choose = parquet_choose,
    .together = parquet_together,
    .scan = parquet_scan,
    .compare = parquet_compare,
    .beside = parquet_schema,
    .container = true,
    .exact = true,
};
