#include "feed/workload/layout.h"

#include "dataset/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool take_dims(int64_t *dims, int *count, const struct workload_integers *list, const char *path,
                      struct error *err)
{
    if (list->count > DATASET_MAX_DIMS)
        return error_set(err, ERROR_INPUT, "%s: at most %d numbers, found %d", path, DATASET_MAX_DIMS,
                         list->count);
    for (int i = 0; i < list->count; i++)
        dims[i] = list->values[i];
    *count = list->count;
    return true;
}

/* DLRM's `bin` of the study's fork is rows and nothing else. */
static bool take_format(struct dataset_layout *layout, const struct workload_dataset *data, struct error *err)
{
    layout->format = dataset_format_find(strcmp(data->format, "bin") == 0 ? "raw" : data->format);
    return layout->format ||
           error_set(err, ERROR_FAILED, "dataset.format: '%s' files are not supported", data->format);
}

static bool take_words(struct dataset_layout *layout, const struct workload_dataset *data, struct error *err)
{
    if (strlen(data->file_prefix) >= sizeof layout->prefix)
        return error_set(err, ERROR_INPUT, "dataset.file_prefix: at most %zu bytes",
                         sizeof layout->prefix - 1);
    snprintf(layout->prefix, sizeof layout->prefix, "%s", data->file_prefix);
    if (!dataset_element_find(data->record_element_type, &layout->element))
        return error_set(err, ERROR_INPUT, "dataset.record_element_type: '%s' is not supported",
                         data->record_element_type);
    return dataset_compression_find(data->compression, &layout->compression) ||
           error_set(
               err, ERROR_INPUT,
               "dataset.compression: '%s' is not supported: parquet files take none, gzip, snappy or zstd",
               data->compression);
}

static void take_numbers(struct dataset_layout *layout, const struct workload_dataset *data)
{
    layout->files_train = data->num_files_train;
    layout->files_eval = data->num_files_eval;
    layout->subfolders_train = data->num_subfolders_train;
    layout->subfolders_eval = data->num_subfolders_eval;
    layout->samples_per_file = data->num_samples_per_file;
    layout->eval_samples_per_file = data->eval_num_samples_per_file;
    layout->record_bytes = data->record_length_bytes;
    layout->record_bytes_stdev = data->record_length_bytes_stdev;
    layout->compression_level = (int)data->compression_level;
    layout->chunked = data->enable_chunking;
    layout->chunk_bytes = data->chunk_size;
    layout->records_per_sample = data->num_dset_per_record;
    layout->seed = (uint64_t)data->seed;
    layout->compressibility = data->compressibility;
    layout->row_group = data->row_group_size;
    layout->read_whole = strcmp(data->read_mode, "row_group") != 0;
}

/* Columns make up the record, whatever its length is said to be, as in DLIO. */
static bool take_columns(struct dataset_layout *layout, const struct workload_columns *list,
                         struct error *err)
{
    if (strcmp(layout->format->name, "parquet") != 0 || list->count == 0)
        return true;
    layout->columns = calloc((size_t)list->count, sizeof *layout->columns);
    if (!layout->columns)
        return error_memory(err);
    layout->column_count = list->count;
    for (int i = 0; i < list->count; i++) {
        const struct workload_column *from = &list->values[i];
        struct dataset_column *to = &layout->columns[i];
        *to = (struct dataset_column){.size = from->size, .count = from->count, .read = from->read};
        dataset_element_find(from->type, &to->element); /* a word of the same list */
        if (strlen(from->name) >= sizeof to->name)
            return error_set(err, ERROR_INPUT, "dataset.parquet.columns[%d]: a name has at most %zu bytes", i,
                             sizeof to->name - 1);
        snprintf(to->name, sizeof to->name, "%s", from->name);
    }
    return true;
}

bool workload_layout(const struct workload *workload, const struct workload_layout_choice *choice,
                     struct dataset_layout *layout, struct error *err)
{
    const struct workload_dataset *data = &workload->dataset;
    dataset_layout_init(layout);
    take_numbers(layout, data);
    if (choice) {
        layout->dlio_sizes = choice->dlio_sizes;
        layout->total_bytes = choice->total_bytes;
    }
    if (take_format(layout, data, err) && take_words(layout, data, err) &&
        take_columns(layout, &data->columns, err) &&
        take_dims(layout->dims, &layout->dims_count, &data->record_dims, "dataset.record_dims", err) &&
        take_dims(layout->chunk_dims, &layout->chunk_dims_count, &data->chunk_dims, "dataset.hdf5.chunk_dims",
                  err) &&
        take_dims(layout->max_shape, &layout->max_shape_count, &data->max_shape, "dataset.hdf5.max_shape",
                  err) &&
        dataset_layout_check(layout, err))
        return true;
    dataset_layout_release(layout);
    return false;
}
