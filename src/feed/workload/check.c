/* Checks of values that contradict each other. The range of each value alone is in the table of keys.c. */
#include "feed/loader/emulate.h"
#include "feed/workload/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_SAMPLES 0x1p62
#define MAX_BYTES   0x1p62

/* Sets an error at the place where the key was given, else at the workload's name. */
__attribute__((format(printf, 4, 5))) static bool wrong(const struct workload *workload, const char *path,
                                                        struct error *err, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const struct workload_key *key = workload_key_find(path);
    const char *where = key ? workload->given[workload_key_index(key)] : NULL;
    if (where && text_starts_with(where, "override ")) /* which has no lines */
        return error_set(err, ERROR_USAGE, "override '%s': %s", path, message);
    return error_set(err, ERROR_INPUT, "%s: %s: %s", where ? where : workload->name, path, message);
}

static bool check_files(const struct workload *workload, struct error *err)
{
    const struct workload_dataset *data = &workload->dataset;
    const struct workload_workflow *flow = &workload->workflow;
    double train = (double)data->num_files_train * (double)data->num_samples_per_file;
    double eval = (double)data->num_files_eval * (double)workload_eval_samples_per_file(workload);
    if (flow->train && data->num_files_train == 0)
        return wrong(workload, "dataset.num_files_train", err,
                     "expected at least 1, or workflow.train=false");
    if (flow->evaluation && data->num_files_eval == 0)
        return wrong(workload, "dataset.num_files_eval", err,
                     "expected at least 1, or workflow.evaluation=false");
    if (train + eval > MAX_SAMPLES || (train + eval) * data->record_length_bytes > MAX_BYTES)
        return wrong(workload, "dataset.num_samples_per_file", err, "more than 2^62 bytes in all");
    return true;
}

static bool is_image(const struct workload *workload)
{
    return strcmp(workload->dataset.format, "jpeg") == 0 || strcmp(workload->dataset.format, "png") == 0;
}

static double product_of(const struct workload_integers *dims)
{
    double product = 1;
    for (int i = 0; i < dims->count; i++)
        product *= (double)dims->values[i];
    return product;
}

static bool check_transformed(const struct workload *workload, struct error *err)
{
    const struct workload_reader *reader = &workload->reader;
    if (product_of(&reader->transformed_record_dims) *
            (double)workload_element_bytes(reader->transformed_record_element_type) >
        MAX_BYTES)
        return wrong(workload, "reader.transformed_record_dims", err, "a sample of more than 2^62 bytes");
    return true;
}

static bool check_dims(const struct workload *workload, struct error *err)
{
    const struct workload_dataset *data = &workload->dataset;
    if (data->record_dims.count == 0)
        return true;
    if (data->record_length_bytes_stdev > 0)
        return wrong(workload, "dataset.record_dims", err,
                     "samples of one shape need record_length_bytes_stdev=0");
    if (data->record_dims.values[0] % data->num_dset_per_record != 0)
        return wrong(workload, "dataset.hdf5.num_dset_per_record", err,
                     "%lld does not divide the first of record_dims, %lld",
                     (long long)data->num_dset_per_record, (long long)data->record_dims.values[0]);
    if (is_image(workload) && data->record_dims.count > 2)
        return wrong(workload, "dataset.record_dims", err, "an image has at most 2 dimensions, found %d",
                     data->record_dims.count);
    if (product_of(&data->record_dims) * (double)workload_element_bytes(data->record_element_type) >
        MAX_BYTES)
        return wrong(workload, "dataset.record_dims", err, "a sample of more than 2^62 bytes");
    return true;
}

static bool check_dataset(const struct workload *workload, struct error *err)
{
    const struct workload_dataset *data = &workload->dataset;
    if (is_image(workload) && strcmp(data->record_element_type, "uint8") != 0)
        return wrong(workload, "dataset.record_element_type", err, "%s files need uint8", data->format);
    if (data->enable_chunking && data->chunk_size == 0 && data->chunk_dims.count == 0)
        return wrong(workload, "dataset.enable_chunking", err, "set chunk_size or hdf5.chunk_dims");
    return check_files(workload, err) && check_dims(workload, err) && check_transformed(workload, err);
}

/* The formats of a framework are those of data/names.yaml, of plain files. */
static bool check_emulate(const struct workload *workload, struct error *err)
{
    const struct workload_dataset *data = &workload->dataset;
    const struct workload_reader *reader = &workload->reader;
    struct text formats = {0};
    if (reader->emulate == WORKLOAD_EMULATE_NONE)
        return true;
    emulate_formats(reader->emulate, &formats);
    bool known = emulate_words(reader->emulate, data->format) ||
                 wrong(workload, "reader.emulate", err, "this framework's calls are known of %s, not of %s",
                       formats.failed ? "other formats" : formats.data, data->format);
    text_release(&formats);
    if (known && (strcmp(data->compression, "none") != 0 || data->enable_chunking))
        return wrong(workload, "reader.emulate", err,
                     "needs files that are not compressed and not in chunks");
    if (known && reader->read_type == WORKLOAD_READ_MEMORY)
        return wrong(workload, "reader.emulate", err, "needs read_type=on_demand");
    return known && (workload->storage.storage_type != WORKLOAD_STORAGE_S3 ||
                     wrong(workload, "reader.emulate", err, "reads files, not objects"));
}

static bool check_reader(const struct workload *workload, struct error *err)
{
    enum workload_loader loader = workload->reader.data_loader;
    bool tensorflow = workload->framework == WORKLOAD_TENSORFLOW;
    if (loader == (tensorflow ? WORKLOAD_LOADER_PYTORCH : WORKLOAD_LOADER_TENSORFLOW))
        return wrong(workload, "reader.data_loader", err, "the framework is %s",
                     tensorflow ? "tensorflow" : "pytorch");
    if (workload->storage.storage_type == WORKLOAD_STORAGE_AISTORE)
        return wrong(workload, "storage.storage_type", err,
                     "aistore is not supported: use its S3 interface (s3)");
    return check_emulate(workload, err);
}

/* Of the ranks that there are; the sharding itself is checkpoint_shards.c. */
static bool check_ranks(const struct workload *workload, int64_t ranks, struct error *err)
{
    const struct workload_model *model = &workload->model;
    double replica = (double)model->split.tensor * (double)model->split.pipeline;
    if (workload->checkpoint.mode == WORKLOAD_CHECKPOINT_SUBSET) {
        if ((double)ranks > replica * (double)model->split.data)
            return wrong(workload, "model.parallelism.data", err, "%lld ranks exceed the job's %.0f x %lld",
                         (long long)ranks, replica, (long long)model->split.data);
        return true;
    }
    if (fmod((double)ranks, replica) != 0)
        return wrong(workload, "model.parallelism.tensor", err,
                     "%lld ranks do not divide into replicas of %lld tensor x %lld pipeline ranks",
                     (long long)ranks, (long long)model->split.tensor, (long long)model->split.pipeline);
    return true;
}

bool workload_check_parallelism(const struct workload *workload, int64_t ranks, struct error *err)
{
    const struct workload_model *model = &workload->model;
    bool subset = workload->checkpoint.mode == WORKLOAD_CHECKPOINT_SUBSET;
    if (model->num_layers > 0 && model->num_layers < model->split.pipeline)
        return wrong(workload, "model.parallelism.pipeline", err, "%lld stages exceed the %lld layers",
                     (long long)model->split.pipeline, (long long)model->num_layers);
    if (model->split.zero_stage == 3 && model->split.pipeline > 1)
        return wrong(workload, "model.parallelism.zero_stage", err,
                     "ZeRO stage 3 excludes pipeline parallelism");
    if (model->split.data == 0)
        return wrong(workload, "model.parallelism.data", err, "expected -1 or at least 1");
    if (subset && model->split.data < 1)
        return wrong(workload, "model.parallelism.data", err, "required with checkpoint.mode=subset");
    if (!subset && model->split.data > 0)
        return wrong(workload, "model.parallelism.data", err,
                     "derived from the number of ranks: remove it, or set checkpoint.mode=subset");
    if ((double)model->split.tensor * (double)model->split.pipeline * (double)model->split.data >
        WORKLOAD_MAX_INTEGER)
        return wrong(workload, "model.parallelism.tensor", err, "more than 2^53 ranks");
    if (workload_is_transformer(workload) && model->num_attention_heads > model->hidden_size)
        return wrong(workload, "model.transformer.num_attention_heads", err, "more heads than hidden_size");
    return ranks <= 0 || check_ranks(workload, ranks, err);
}

static bool check_checkpoint(const struct workload *workload, int64_t ranks, struct error *err)
{
    int64_t writes = workload->checkpoint.num_checkpoints_write,
            reads = workload->checkpoint.num_checkpoints_read;
    if (!workload->workflow.checkpoint)
        return true;
    if (!workload->workflow.train && !workload->workflow.evaluation && !workload->workflow.generate_data &&
        writes <= 0 && reads <= 0)
        return wrong(workload, "checkpoint.num_checkpoints_write", err,
                     "nothing is saved, restored or trained: set it, or num_checkpoints_read, to 1 or more");
    if (writes > 0 && reads > writes)
        return wrong(workload, "checkpoint.num_checkpoints_read", err, "%lld, but only %lld are written",
                     (long long)reads, (long long)writes);
    if (workload->checkpoint.format == WORKLOAD_CHECKPOINT_TORCH &&
        workload->framework == WORKLOAD_TENSORFLOW)
        return wrong(workload, "checkpoint.format", err, "torch, but the framework is tensorflow");
    return workload_check_parallelism(workload, ranks, err);
}

bool workload_check(const struct workload *workload, int64_t ranks, struct error *err)
{
    return check_dataset(workload, err) && check_reader(workload, err) &&
           check_checkpoint(workload, ranks, err);
}
