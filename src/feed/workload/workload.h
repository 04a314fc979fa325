/* Workloads: what is trained, on which data, how it is read, evaluated and checkpointed.
 *
 * The configuration is DLIO's (argonne-lcf/dlio_benchmark, a YAML file of sections), so that its files run
 * unchanged; the keys that the VLDB study's fork and MLPerf Storage v3 added are read as well. One table,
 * workload_keys(), says of every key its type, default, range and meaning: reading, overriding, "did you mean",
 * printing and the documentation come from it.
 *
 *     struct workload workload;
 *     struct workload_options options = {.overrides = (const char *const[]){"reader.read_threads=8"},
 *                                        .override_count = 1};
 *     if (!workload_open(&workload, "unet3d_h100", &options, err))
 *         return false;
 *     …
 *     workload_release(&workload);
 */
#ifndef REHEARSE_FEED_WORKLOAD_WORKLOAD_H
#define REHEARSE_FEED_WORKLOAD_WORKLOAD_H

#include "core/arena.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "feed/workload/distribution.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKLOAD_MAX_INTEGER  (INT64_C(1) << 53) /* of a file: larger ones are no doubles */
#define WORKLOAD_MAX_LIST     65536              /* items */
#define WORKLOAD_MAX_KEYS     192                /* in the table */
#define WORKLOAD_MAX_WARNINGS 64

enum workload_framework { WORKLOAD_TENSORFLOW, WORKLOAD_PYTORCH };
enum workload_loader {
    WORKLOAD_LOADER_TENSORFLOW,
    WORKLOAD_LOADER_PYTORCH,
    WORKLOAD_LOADER_DALI,
    WORKLOAD_LOADER_NATIVE_DALI,
    WORKLOAD_LOADER_SYNTHETIC,
    WORKLOAD_LOADER_TERABYTE, /* of the study's fork: DLRM's binary file */
};
enum workload_shuffle { WORKLOAD_SHUFFLE_OFF, WORKLOAD_SHUFFLE_SEED, WORKLOAD_SHUFFLE_RANDOM };
enum workload_read_type { WORKLOAD_READ_ON_DEMAND, WORKLOAD_READ_MEMORY };
enum workload_sampler { WORKLOAD_SAMPLER_ITERATIVE, WORKLOAD_SAMPLER_INDEX };
enum workload_compression {
    WORKLOAD_COMPRESSION_NONE,
    WORKLOAD_COMPRESSION_GZIP,
    WORKLOAD_COMPRESSION_LZF,
    WORKLOAD_COMPRESSION_BZ2,
    WORKLOAD_COMPRESSION_ZIP,
    WORKLOAD_COMPRESSION_XZ,
    WORKLOAD_COMPRESSION_SNAPPY, /* this and the next two: Parquet's */
    WORKLOAD_COMPRESSION_LZ4,
    WORKLOAD_COMPRESSION_ZSTD,
};
enum workload_element { /* NumPy's types */
                        WORKLOAD_UINT8,
                        WORKLOAD_INT8,
                        WORKLOAD_UINT16,
                        WORKLOAD_INT16,
                        WORKLOAD_UINT32,
                        WORKLOAD_INT32,
                        WORKLOAD_UINT64,
                        WORKLOAD_INT64,
                        WORKLOAD_FLOAT16,
                        WORKLOAD_FLOAT32,
                        WORKLOAD_FLOAT64,
};
enum workload_datatype { /* of model and optimizer */
                         WORKLOAD_DATATYPE_INT8,
                         WORKLOAD_DATATYPE_UINT8,
                         WORKLOAD_DATATYPE_FP16,
                         WORKLOAD_DATATYPE_BF16,
                         WORKLOAD_DATATYPE_FP32,
                         WORKLOAD_DATATYPE_FP64,
};
enum workload_checkpoint_type { WORKLOAD_CHECKPOINT_RANK_ZERO, WORKLOAD_CHECKPOINT_ALL_RANKS };
enum workload_checkpoint_mode { WORKLOAD_CHECKPOINT_DEFAULT, WORKLOAD_CHECKPOINT_SUBSET };
enum workload_storage_type {
    WORKLOAD_STORAGE_LOCAL_FS,
    WORKLOAD_STORAGE_PARALLEL_FS, /* the same to us: a mounted file system */
    WORKLOAD_STORAGE_S3,
    WORKLOAD_STORAGE_AISTORE, /* not supported */
};
enum workload_profiler {
    WORKLOAD_PROFILER_NONE,
    WORKLOAD_PROFILER_IOSTAT,
    WORKLOAD_PROFILER_DARSHAN,
    WORKLOAD_PROFILER_TENSORBOARD,
};
/* Where a step's compute time comes from (compute_time.h). */
enum workload_computation_model {
    WORKLOAD_COMPUTATION_TIME, /* train.computation_time */
    WORKLOAD_COMPUTATION_VLDB_UNET3D,
    WORKLOAD_COMPUTATION_VLDB_BERT,
    WORKLOAD_COMPUTATION_VLDB_DLRM,
    WORKLOAD_COMPUTATION_VLDB_DLRM_TABLE,
};

struct workload_integers {
    const int64_t *values;
    int count;
};

struct workload_texts {
    const char *const *values;
    int count;
};

/* Columns of a Parquet file that are alike. */
struct workload_column {
    const char *name;
    enum workload_element type;
    int64_t size;  /* elements per row */
    int64_t count; /* so many such columns */
    bool read;     /* else it is in the file only */
};

struct workload_columns {
    const struct workload_column *values;
    int count;
};

struct workload_model {
    const char *name;
    const char *type;         /* NULL, "cnn", "transformer"… */
    int64_t model_size_bytes; /* of a model that is no transformer */
    enum workload_datatype model_datatype, optimizer_datatype;
    int64_t num_layers;                           /* -1: not given */
    struct workload_integers optimization_groups; /* elements of 1 byte, of each rank */
    struct workload_integers layer_parameters;    /* the same, of each layer over all tensor ranks */
    int64_t tensor, pipeline, data, zero_stage;   /* parallelism; data -1: from the ranks */
    int64_t vocab_size, hidden_size, ffn_hidden_size, num_attention_heads, num_kv_heads;
};

struct workload_workflow {
    bool generate_data, train, evaluation, checkpoint, profiling, debug;
};

struct workload_dataset {
    const char *data_folder; /* without a final slash */
    const char *format;      /* a word of the table: "npz" */
    int64_t num_files_train, num_files_eval;
    int64_t num_samples_per_file, eval_num_samples_per_file; /* the latter 0: as the former */
    double record_length_bytes, record_length_bytes_stdev, record_length_bytes_resize; /* bytes */
    int64_t num_subfolders_train, num_subfolders_eval;
    const char *file_prefix;
    enum workload_compression compression;
    int64_t compression_level;
    bool enable_chunking;
    int64_t chunk_size; /* bytes */
    bool keep_files;
    int64_t generation_buffer_size; /* bytes */
    struct workload_integers record_dims;
    enum workload_element record_element_type;
    int64_t record_element_bytes;
    struct workload_integers chunk_dims, max_shape; /* HDF5 */
    int64_t num_dset_per_record;
    int64_t row_group_size; /* Parquet: rows */
    const char *read_mode;
    struct workload_columns columns;
    double compressibility; /* 0: random bytes; 1: all alike */
    int64_t seed;
};

struct workload_reader {
    enum workload_loader data_loader;
    int64_t batch_size, batch_size_eval;
    int64_t read_threads, computation_threads;
    int64_t prefetch_size; /* batches */
    enum workload_shuffle file_shuffle, sample_shuffle;
    int64_t shuffle_size;
    enum workload_read_type read_type;
    const char *file_access;
    int64_t transfer_size;               /* bytes; 0: not given */
    struct distribution preprocess_time; /* seconds per sample */
    double preprocess_time_stdev;        /* taken into preprocess_time once all is read */
    bool dont_use_mmap, odirect, pin_memory;
    const char *multiprocessing_context;
    const char *reader_classname, *data_loader_classname;
    enum workload_sampler data_loader_sampler;
    struct workload_integers transformed_record_dims;
    enum workload_element transformed_record_element_type;
};

struct workload_train {
    int64_t epochs;
    struct distribution computation_time; /* seconds per step */
    double computation_time_stdev;        /* taken into computation_time once all is read */
    enum workload_computation_model computation_model;
    int64_t total_training_steps; /* -1: all that the data give */
    int64_t seed;
    bool seed_change_epoch;
};

struct workload_evaluation {
    struct distribution eval_time; /* seconds per step */
    double eval_time_stdev;        /* taken into eval_time once all is read */
    int64_t eval_after_epoch, epochs_between_evals;
    int64_t steps_between_evals; /* -1: between epochs only */
    int64_t total_eval_steps;    /* -1: all that the data give */
};

struct workload_checkpoint {
    const char *checkpoint_folder; /* without a final slash */
    int64_t checkpoint_after_epoch, epochs_between_checkpoints;
    int64_t checkpoint_after_step, steps_between_checkpoints; /* -1: between epochs only */
    enum workload_checkpoint_type type;
    enum workload_checkpoint_mode mode;
    const char *checkpoint_mechanism_classname;
    bool fsync;
    double time_between_checkpoints;                     /* seconds; -1: none */
    int64_t num_checkpoints_write, num_checkpoints_read; /* -1: not given */
    bool recovery_rank_shift, rank_sync, randomize_tensor;
    int64_t madv_mergeable_id, await_time; /* of KSM, which we have no use for: nothing is kept in memory */
    double high_ram_trigger, low_ram_exit;
    double write_size_q1, write_size_mean, write_size_std, write_size_min; /* bytes; the study's fork */
};

struct workload_storage {
    enum workload_storage_type storage_type;
    const char *storage_root;
    const char *access_key_id, *secret_access_key, *endpoint_url, *region; /* S3; NULL: not given */
    bool s3_force_path_style;
    int64_t s3_max_attempts;
};

struct workload_profiling {
    enum workload_profiler profiler;
    struct workload_texts iostat_devices;
};

struct workload_output {
    const char *folder; /* NULL: the caller's choice */
    const char *log_file;
    int64_t exclude_start_steps, exclude_end_steps; /* of the metrics */
};

struct workload_metric {
    double au; /* accelerator utilisation to meet, 0 to 1 */
};

struct workload {
    struct arena arena; /* owns every text and list */
    const char *name;   /* of the built-in, or the file's path */
    enum workload_framework framework;
    int64_t num_gpus; /* of the compute-time model; 0: the accelerators that run */
    bool of_study;    /* a file of the study's fork of DLIO, which says `model: NAME` */
    struct workload_model model;
    struct workload_workflow workflow;
    struct workload_dataset dataset;
    struct workload_reader reader;
    struct workload_train train;
    struct workload_evaluation evaluation;
    struct workload_checkpoint checkpoint;
    struct workload_storage storage;
    struct workload_profiling profiling;
    struct workload_output output;
    struct workload_metric metric;

    const char
        *given[WORKLOAD_MAX_KEYS]; /* by the key's index: where it was given ("a.yaml:3:5"); NULL: default */
    const char **warnings;         /* one line each: unknown keys, keys that had to be understood */
    int warning_count;
};

struct workload_options {
    const char *const *overrides; /* "reader.read_threads=8", also "++workload.reader.read_threads=8" */
    int override_count;
    bool strict;   /* an unknown key is an error, not a warning */
    int64_t ranks; /* for checks of parallelism; 0: not known yet */
};

/* A built-in workload, or a file: a name that ends in .yaml, .yml or .json or has a '/' in it. Defaults, the file,
 * then the overrides in order; then everything is checked. `options` may be NULL. */
bool workload_open(struct workload *workload, const char *name, const struct workload_options *options,
                   struct error *err);

/* The same from text; `path` says the syntax and appears in messages. */
bool workload_parse(struct workload *workload, const char *path, const char *text, size_t length,
                    const struct workload_options *options, struct error *err);

void workload_release(struct workload *workload);

/* What contradicts itself; with ranks > 0 also what does not fit so many. Done by workload_open. */
bool workload_check(const struct workload *workload, int64_t ranks, struct error *err);

/* "unet3d_h100"… in the order of the table; NULL when memory runs out. */
const char *const *workload_builtins(int *count);

/* --- what follows from the configuration ---------------------------------------------------------------------- */

bool workload_is_transformer(const struct workload *workload);
int64_t workload_element_bytes(enum workload_element element);
int64_t workload_datatype_bytes(enum workload_datatype datatype);

/* Samples of one file of the evaluation. */
int64_t workload_eval_samples_per_file(const struct workload *workload);

/* --- the table of keys ---------------------------------------------------------------------------------------- */

enum workload_type {
    WORKLOAD_TEXT,         /* const char *; with words: one of them */
    WORKLOAD_BOOL,         /* bool */
    WORKLOAD_INTEGER,      /* int64_t */
    WORKLOAD_NUMBER,       /* double */
    WORKLOAD_WORD,         /* an enum: the index in `words` */
    WORKLOAD_INTEGERS,     /* struct workload_integers */
    WORKLOAD_TEXTS,        /* struct workload_texts */
    WORKLOAD_DISTRIBUTION, /* struct distribution */
    WORKLOAD_COLUMNS,      /* struct workload_columns */
};

enum workload_unit { WORKLOAD_NO_UNIT, WORKLOAD_BYTES, WORKLOAD_SECONDS };

struct workload_key {
    const char *path; /* "reader.batch_size" */
    enum workload_type type;
    enum workload_unit unit;  /* a number of bytes may be written "64 KiB" */
    size_t offset;            /* of the field in struct workload */
    const char *default_json; /* "null": not given */
    double least, most;       /* of numbers and items of lists; both included */
    const char *const *words; /* ends in NULL */
    bool secret;              /* not shown */
    const char *meaning;
};

/* In the order in which they are printed: keys of a section are together. */
const struct workload_key *workload_keys(int *count);

/* Also by another name: "data_reader.batch_size", "model.model_size". NULL: there is none. */
const struct workload_key *workload_key_find(const char *path);

/* Do both have the same value? */
bool workload_key_equal(const struct workload *a, const struct workload *b, const struct workload_key *key);

/* An override without what Hydra has before it: "reader.read_threads=8" of "++workload.reader.read_threads=8". */
const char *workload_override_plain(const char *text);

/* Was it given in the file or an override? */
bool workload_key_given(const struct workload *workload, const struct workload_key *key);

/* --- printing ------------------------------------------------------------------------------------------------- */

/* The effective configuration: every key, secrets as "***". What workload_write_yaml writes reads back the same. */
void workload_write_yaml(const struct workload *workload, struct text *out);

/* The same as JSON: a document (WORKLOAD_FORMAT), or without `format` a part of one, where `key` is its key. */
#define WORKLOAD_FORMAT "rehearse-workload/1"
void workload_write_json(const struct workload *workload, struct json *json, const char *key);

/* One value alone, as JSON: what DLIO's `workflow.query` prints. */
void workload_write_value(const struct workload *workload, const struct workload_key *key, struct json *json,
                          const char *name);

/* The table of keys in Markdown, for docs/workloads.md. */
void workload_write_keys(struct text *out);

#endif
