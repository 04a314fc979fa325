/* A workload: the model, its data set, and how data is read, evaluated and checkpointed.
 *
 * The configuration is DLIO's (argonne-lcf/dlio_benchmark, a YAML file of sections), so that its files run
 * unchanged; the keys added by the VLDB study's fork and by MLPerf Storage v3 are read as well. One table,
 * workload_keys(), holds every key's type, default, range and meaning: reading, overriding, "did you mean",
 * printing and the documentation use it.
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

#define WORKLOAD_MAX_INTEGER  (INT64_C(1) << 53) /* in a file: larger ones are not exact as doubles */
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
    WORKLOAD_LOADER_TERABYTE, /* the study's fork: DLRM's binary file */
};
enum workload_emulate { /* the framework whose calls the loader plays */
                        WORKLOAD_EMULATE_NONE,
                        WORKLOAD_EMULATE_PYTORCH,
                        WORKLOAD_EMULATE_DALI,
};
enum workload_shuffle { WORKLOAD_SHUFFLE_OFF, WORKLOAD_SHUFFLE_SEED, WORKLOAD_SHUFFLE_RANDOM };
enum workload_read_type { WORKLOAD_READ_ON_DEMAND, WORKLOAD_READ_MEMORY };
enum workload_sampler { WORKLOAD_SAMPLER_ITERATIVE, WORKLOAD_SAMPLER_INDEX };
enum workload_datatype { /* of model and optimizer */
                         WORKLOAD_DATATYPE_INT8,
                         WORKLOAD_DATATYPE_UINT8,
                         WORKLOAD_DATATYPE_FP16,
                         WORKLOAD_DATATYPE_BF16,
                         WORKLOAD_DATATYPE_FP32,
                         WORKLOAD_DATATYPE_FP64,
};
enum workload_checkpoint_mode { WORKLOAD_CHECKPOINT_DEFAULT, WORKLOAD_CHECKPOINT_SUBSET };
enum workload_checkpoint_format {
    WORKLOAD_CHECKPOINT_RAW,
    WORKLOAD_CHECKPOINT_TORCH,
    WORKLOAD_CHECKPOINT_SAFETENSORS,
};
extern const char *const workload_checkpoint_formats[]; /* ended by NULL */
enum workload_storage_type {
    WORKLOAD_STORAGE_LOCAL_FS,
    WORKLOAD_STORAGE_PARALLEL_FS, /* treated like local_fs: a mounted file system */
    WORKLOAD_STORAGE_S3,
    WORKLOAD_STORAGE_AISTORE, /* not supported */
};
/* The source of a step's compute time (compute_time.h). */
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

/* A group of identical columns of a Parquet file. */
struct workload_column {
    const char *name;
    const char *type; /* NumPy's name: "uint8" */
    int64_t size;     /* elements per row */
    int64_t count;    /* number of such columns */
    bool read;        /* false: stored in the file but not read */
};

struct workload_columns {
    const struct workload_column *values;
    int count;
};

struct workload_split {
    int64_t tensor, pipeline, data, zero_stage;
};

struct workload_model {
    const char *name;
    const char *type;         /* NULL, "cnn", "transformer"… */
    int64_t model_size_bytes; /* for models other than transformers */
    enum workload_datatype model_datatype, optimizer_datatype;
    int64_t num_layers;                           /* -1: not set */
    struct workload_integers optimization_groups; /* elements of 1 byte, per rank */
    struct workload_integers layer_parameters;    /* elements of 1 byte, per layer over all tensor ranks */
    struct workload_split split;                  /* data -1: derived from the ranks */
    int64_t vocab_size, hidden_size, ffn_hidden_size, num_attention_heads, num_kv_heads;
};

struct workload_workflow {
    bool generate_data, train, evaluation, checkpoint, profiling, debug;
};

struct workload_dataset {
    const char *data_folder; /* without a trailing slash */
    const char *format;      /* a word of the table: "npz" */
    int64_t num_files_train, num_files_eval;
    int64_t num_samples_per_file, eval_num_samples_per_file; /* the latter 0: same as the former */
    double record_length_bytes, record_length_bytes_stdev, record_length_bytes_resize; /* bytes */
    int64_t num_subfolders_train, num_subfolders_eval;
    const char *file_prefix;
    const char *compression; /* a word of the table: "gzip" */
    int64_t compression_level;
    bool enable_chunking;
    int64_t chunk_size; /* bytes */
    bool keep_files;
    int64_t generation_buffer_size; /* bytes */
    struct workload_integers record_dims;
    const char *record_element_type; /* NumPy's name: "uint8" */
    int64_t record_element_bytes;
    struct workload_integers chunk_dims, max_shape; /* HDF5 */
    int64_t num_dset_per_record;
    int64_t row_group_size; /* Parquet: rows */
    const char *read_mode;
    int64_t generation_batch_size; /* this and the next two: DLIO's generator of Parquet; unused */
    const char *partition_by;
    bool use_s3dlio_gen;
    struct workload_columns columns;
    double compressibility; /* 0: random bytes; 1: all equal */
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
    int64_t transfer_size;               /* bytes; 0: not set */
    struct distribution preprocess_time; /* seconds per sample */
    double preprocess_time_stdev;        /* merged into preprocess_time after reading */
    bool dont_use_mmap, odirect, pin_memory;
    const char *multiprocessing_context;
    const char *reader_classname, *data_loader_classname;
    enum workload_sampler data_loader_sampler;
    enum workload_emulate emulate;
    bool persistent_workers;
    double worker_start_time; /* seconds */
    struct workload_integers transformed_record_dims;
    const char *transformed_record_element_type;
};

struct workload_train {
    int64_t epochs;
    struct distribution computation_time; /* seconds per step */
    double computation_time_stdev;        /* merged into computation_time after reading */
    enum workload_computation_model computation_model;
    int64_t total_training_steps; /* -1: as many as the data allow */
    int64_t seed;
    bool seed_change_epoch;
};

struct workload_evaluation {
    struct distribution eval_time; /* seconds per step */
    double eval_time_stdev;        /* merged into eval_time after reading */
    int64_t eval_after_epoch, epochs_between_evals;
    int64_t steps_between_evals; /* -1: between epochs only */
    int64_t total_eval_steps;    /* -1: as many as the data allow */
};

struct workload_checkpoint {
    const char *checkpoint_folder; /* without a trailing slash */
    int64_t checkpoint_after_epoch, epochs_between_checkpoints;
    int64_t checkpoint_after_step, steps_between_checkpoints; /* -1: between epochs only */
    const char *type;
    enum workload_checkpoint_mode mode;
    enum workload_checkpoint_format format;
    const char *checkpoint_mechanism_classname;
    bool fsync;
    double time_between_checkpoints;                     /* seconds; -1: none */
    int64_t num_checkpoints_write, num_checkpoints_read; /* -1: not set */
    bool recovery_rank_shift, rank_sync, randomize_tensor;
    int64_t madv_mergeable_id, await_time; /* of KSM; unused: checkpoints are not kept in memory */
    double high_ram_trigger, low_ram_exit;
    double write_size_q1, write_size_mean, write_size_std, write_size_min; /* bytes; the study's fork */
};

struct workload_storage {
    enum workload_storage_type storage_type;
    const char *storage_root;
    const char *access_key_id, *secret_access_key, *endpoint_url, *region; /* S3; NULL: not set */
    bool s3_force_path_style;
    int64_t s3_max_attempts;
};

struct workload_profiling {
    const char *profiler;
    struct workload_texts iostat_devices;
};

struct workload_output {
    const char *folder; /* NULL: chosen by the caller */
    const char *log_file;
    int64_t exclude_start_steps, exclude_end_steps; /* excluded from the metrics */
};

struct workload_metric {
    double au; /* target of the accelerator utilisation, 0 to 1 */
};

struct workload {
    struct arena arena; /* owns every text and list */
    const char *name;   /* of the built-in workload, or the file's path */
    enum workload_framework framework;
    int64_t num_gpus; /* of the compute-time model; 0: the number of accelerators that run */
    bool of_study;    /* from a file of the study's fork of DLIO, which has `model: NAME` */
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

    const char *given
        [WORKLOAD_MAX_KEYS]; /* by the key's index: the place that sets it ("a.yaml:3:5"); NULL: default */
    const char **warnings;   /* one line each: unknown or reinterpreted keys */
    int warning_count;
    int unknown_keys; /* of the file, ignored */
};

struct workload_options {
    const char *const *overrides; /* "reader.read_threads=8", also "++workload.reader.read_threads=8" */
    int override_count;
    bool strict;   /* an unknown key is an error, not a warning */
    int64_t ranks; /* for checks of parallelism; 0: unknown */
};

/* Reads a built-in workload or a file (a name that ends in .yaml, .yml or .json or contains '/'): defaults,
 * the file, the overrides in order, then workload_check. `options` may be NULL. The caller releases it. */
bool workload_open(struct workload *workload, const char *name, const struct workload_options *options,
                   struct error *err);

/* Does the same from text; `path` determines the syntax and appears in errors. */
bool workload_parse(struct workload *workload, const char *path, const char *text, size_t length,
                    const struct workload_options *options, struct error *err);

void workload_release(struct workload *workload);

/* Fails if values contradict each other or, with ranks > 0, do not fit the ranks. workload_open calls it. */
bool workload_check(const struct workload *workload, int64_t ranks, struct error *err);

/* Returns the built-in names in the order of the table; NULL if memory runs out. */
const char *const *workload_builtins(int *count);

bool workload_is_transformer(const struct workload *workload);
int64_t workload_element_bytes(const char *element); /* of NumPy's name */
int64_t workload_datatype_bytes(enum workload_datatype datatype);

/* Returns the samples per file of the evaluation. */
int64_t workload_eval_samples_per_file(const struct workload *workload);

/* ---- the table of keys ---- */

enum workload_type {
    WORKLOAD_TEXT,         /* const char *; if the key has words: one of them */
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
    const char *default_json; /* "null": not set */
    double min, max;          /* range of numbers and of list lengths, inclusive */
    const char *const *words; /* ends in NULL */
    bool secret;              /* printed as "***" */
    const char *meaning;
};

/* Returns all keys in the order of printing: keys of a section are adjacent. */
const struct workload_key *workload_keys(int *count);

/* Finds a key, also by an alias: "data_reader.batch_size", "model.model_size". NULL: unknown. */
const struct workload_key *workload_key_find(const char *path);

/* Returns why the key has no effect; NULL: it has one. */
const char *workload_key_idle(const struct workload_key *key);

/* Returns an override without Hydra's prefix: "reader.batch_size=8" of "++workload.reader.batch_size=8". */
const char *workload_override_plain(const char *text);

/* Returns true if the file or an override set the key. */
bool workload_key_given(const struct workload *workload, const struct workload_key *key);

/* Writes the effective configuration: every key, secrets as "***". The YAML reads back the same. */
void workload_write_yaml(const struct workload *workload, struct text *out);

/* Writes the same as JSON: a document (WORKLOAD_FORMAT), or, without `format`, a part of one under `key`. */
#define WORKLOAD_FORMAT "rehearse-workload/1"
void workload_write_json(const struct workload *workload, struct json *json, const char *key);

/* Writes one value as JSON, as DLIO's `workflow.query` prints it. */
void workload_write_value(const struct workload *workload, const struct workload_key *key, struct json *json,
                          const char *name);

#endif
