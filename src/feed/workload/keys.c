/* The table of keys: DLIO main's, those of the VLDB study's fork and of MLPerf Storage v3, and our own. Its rows stand in
 * data/texts.yaml, with names of here for words and limits. */
#include "feed/workload/internal.h"

#include "dataset/types.h"
#include "texts.h"

#include <stdio.h>
#include <string.h>

#define MAX_INTEGER 9007199254740992.0 /* WORKLOAD_MAX_INTEGER */
#define LIST        ((double)WORKLOAD_MAX_LIST)
#define RANKS       16777216.0
#define TIME        1e9 /* seconds */

#define ROW_workload_key(its_path, field, ...)                                                               \
    {                                                                                                        \
        .path = its_path, .offset = offsetof(struct workload, field), __VA_ARGS__                            \
    }

/* In the order of the enums. */
static const char *const frameworks[] = {"tensorflow", "pytorch", NULL};
static const char *const loaders[] = {"tensorflow", "pytorch",  "dali", "native_dali",
                                      "synthetic",  "terabyte", NULL};
static const char *const emulations[] = {"none", "pytorch", "dali", NULL};
static const char *const shuffles[] = {"off", "seed", "random", NULL};
static const char *const read_types[] = {"on_demand", "memory", NULL};
static const char *const samplers[] = {"iterative", "index", NULL};
static const char *const compressions[] = {"none", "gzip",   "lzf", "bz2",  "zip",
                                           "xz",   "snappy", "lz4", "zstd", NULL};
static const char *const elements[] = {"uint8",  "int8",  "uint16",  "int16",   "uint32",  "int32",
                                       "uint64", "int64", "float16", "float32", "float64", NULL};
static const char *const datatypes[] = {"int8", "uint8", "fp16", "bf16", "fp32", "fp64", NULL};
static const char *const checkpoint_types[] = {"rank_zero", "all_ranks", NULL};
static const char *const checkpoint_modes[] = {"default", "subset", NULL};
const char *const workload_checkpoint_formats[] = {"raw", "torch", "safetensors", NULL};
static const char *const storage_types[] = {"local_fs", "parallel_fs", "s3", "aistore", NULL};
static const char *const profilers[] = {"none", "iostat", "darshan", "tensorboard", NULL};
static const char *const computation_models[] = {"none",      "vldb_unet3d",     "vldb_bert",
                                                 "vldb_dlrm", "vldb_dlrm_table", NULL};
/* Words that are kept as text. */
static const char *const formats[] = {"tfrecord",
                                      "hdf5",
                                      "csv",
                                      "npz",
                                      "npy",
                                      "jpeg",
                                      "png",
                                      "indexed_binary",
                                      "mmap_indexed_binary",
                                      "parquet",
                                      "synthetic",
                                      "raw",
                                      "bin",
                                      "unet3d_npy",
                                      "bert_tfrecord",
                                      "dlrm_binary",
                                      "criteo_text",
                                      NULL};
static const char *const read_modes[] = {"row_group", "file", "default", NULL};
static const char *const file_accesses[] = {"multi", "shared", "collective", NULL};
static const char *const contexts[] = {"fork", "spawn", "forkserver", NULL};

static const struct workload_key keys[] = {ROWS_workload_key};
#define KEY_COUNT ((int)(sizeof keys / sizeof *keys))
_Static_assert(sizeof keys / sizeof *keys <= WORKLOAD_MAX_KEYS, "too many keys");
_Static_assert(sizeof(enum workload_shuffle) == sizeof(int), "enums are read and written as int");

/* Other names of keys and of sections. */
static const char *const other_names[][2] = {
    {"data_reader.", "reader."},
    {"model.model_size", "model.model_size_bytes"},
    {"checkpoint.model_size", "model.model_size_bytes"},
    {"dataset.record_length", "dataset.record_length_bytes"},
    {"dataset.record_length_stdev", "dataset.record_length_bytes_stdev"},
    {"dataset.record_length_resize", "dataset.record_length_bytes_resize"},
    {"evaluation.num_eval_steps", "evaluation.total_eval_steps"},
    {"train.total_eval_steps", "evaluation.total_eval_steps"},
};

const struct workload_key *workload_keys(int *count)
{
    *count = KEY_COUNT;
    return keys;
}

const char *workload_key_idle(const struct workload_key *key)
{
    static const char idle[] = "no effect: ";
    return text_starts_with(key->meaning, idle) ? key->meaning + sizeof idle - 1 : NULL;
}

double workload_columns_bytes(const struct workload *workload)
{
    const struct workload_columns *columns = &workload->dataset.columns;
    double bytes = 0;
    for (int i = 0; i < columns->count && strcmp(workload->dataset.format, "parquet") == 0; i++)
        bytes += (double)columns->values[i].size * (double)columns->values[i].count *
                 (double)workload_element_bytes(columns->values[i].type);
    return bytes;
}

const char *workload_key_idle_with(const struct workload *workload, const struct workload_key *key)
{
    bool parquet = strcmp(workload->dataset.format, "parquet") == 0;
    if (!parquet && text_starts_with(key->path, "dataset.parquet."))
        return "the format is another one";
    double bytes = workload_columns_bytes(workload);
    if (bytes > 0 && bytes != workload->dataset.record_length_bytes &&
        strcmp(key->path, "dataset.record_length_bytes") == 0)
        return "the columns make up the record";
    return parquet && strcmp(key->path, "reader.sample_shuffle") == 0
               ? "row groups are read in order, as DLIO reads them"
               : NULL;
}

int workload_key_index(const struct workload_key *key)
{
    return (int)(key - keys);
}

static const struct workload_key *find(const char *path)
{
    for (int i = 0; i < KEY_COUNT; i++)
        if (strcmp(keys[i].path, path) == 0)
            return &keys[i];
    return NULL;
}

const struct workload_key *workload_key_find(const char *path)
{
    const struct workload_key *key = find(path);
    for (size_t i = 0; !key && i < sizeof other_names / sizeof *other_names; i++) {
        const char *other = other_names[i][0], *ours = other_names[i][1];
        size_t length = strlen(other);
        char whole[128];
        if (strcmp(path, other) == 0)
            return find(ours);
        if (other[length - 1] != '.' || strncmp(path, other, length) != 0)
            continue;
        int written = snprintf(whole, sizeof whole, "%s%s", ours, path + length);
        if (written > 0 && (size_t)written < sizeof whole)
            key = find(whole);
    }
    return key;
}

bool workload_key_given(const struct workload *workload, const struct workload_key *key)
{
    return workload->given[workload_key_index(key)] != NULL;
}

/* --- sizes -------------------------------------------------------------------------------------------------- */

int64_t workload_element_bytes(const char *element)
{
    enum dataset_element found;
    return dataset_element_find(element, &found) ? dataset_element_bytes(found) : 1;
}

int64_t workload_datatype_bytes(enum workload_datatype datatype)
{
    static const int64_t bytes[] = {
        [WORKLOAD_DATATYPE_INT8] = 1, [WORKLOAD_DATATYPE_UINT8] = 1, [WORKLOAD_DATATYPE_FP16] = 2,
        [WORKLOAD_DATATYPE_BF16] = 2, [WORKLOAD_DATATYPE_FP32] = 4,  [WORKLOAD_DATATYPE_FP64] = 8,
    };
    return bytes[datatype];
}
