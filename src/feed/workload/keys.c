/* The table of keys: DLIO main's, those of the VLDB study's fork and of MLPerf Storage v3, and our own. */
#include "feed/workload/internal.h"

#include "dataset/types.h"

#include <stdio.h>
#include <string.h>

#define MAX_INTEGER 9007199254740992.0 /* WORKLOAD_MAX_INTEGER */
#define LIST        ((double)WORKLOAD_MAX_LIST)
#define RANKS       16777216.0
#define TIME        1e9 /* seconds */

#define AT(field) offsetof(struct workload, field)
#define KEY(path, type, unit, field, json, low, high, words, secret, meaning)                                \
    {                                                                                                        \
        path, WORKLOAD_##type, unit, AT(field), json, low, high, words, secret, meaning                      \
    }
#define TEXT(path, field, json, meaning)         KEY(path, TEXT, 0, field, json, 0, 0, NULL, false, meaning)
#define SECRET(path, field, meaning)             KEY(path, TEXT, 0, field, "null", 0, 0, NULL, true, meaning)
#define NAMED(path, field, json, words, meaning) KEY(path, TEXT, 0, field, json, 0, 0, words, false, meaning)
#define WORD(path, field, json, words, meaning)  KEY(path, WORD, 0, field, json, 0, 0, words, false, meaning)
#define BOOL(path, field, json, meaning)         KEY(path, BOOL, 0, field, json, 0, 0, NULL, false, meaning)
#define WHOLE(path, field, json, low, high, meaning)                                                         \
    KEY(path, INTEGER, 0, field, json, low, high, NULL, false, meaning)
#define BYTES(path, field, json, low, meaning)                                                               \
    KEY(path, INTEGER, WORKLOAD_BYTES, field, json, low, MAX_INTEGER, NULL, false, meaning)
#define NUMBER(path, unit, field, json, low, high, meaning)                                                  \
    KEY(path, NUMBER, unit, field, json, low, high, NULL, false, meaning)
#define WHOLES(path, field, low, high, meaning)                                                              \
    KEY(path, INTEGERS, 0, field, "[]", low, high, NULL, false, meaning)
#define TIMES(path, field, meaning)                                                                          \
    KEY(path, DISTRIBUTION, WORKLOAD_SECONDS, field, "0", 0, TIME, NULL, false, meaning)

/* In the order of the enums. */
static const char *const frameworks[] = {"tensorflow", "pytorch", NULL};
static const char *const loaders[] = {"tensorflow", "pytorch",  "dali", "native_dali",
                                      "synthetic",  "terabyte", NULL};
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
static const char *const read_modes[] = {"row_group", "file", NULL};
static const char *const file_accesses[] = {"multi", "shared", "collective", NULL};
static const char *const contexts[] = {"fork", "spawn", "forkserver", NULL};

static const struct workload_key keys[] = {
    WORD("framework", framework, "\"tensorflow\"", frameworks,
         "selects the default `data_loader` and the ending of checkpoint files"),
    WHOLE("num_gpus", num_gpus, "0", 0, RANKS,
          "the study's: number of GPUs for `train.computation_model`; 0: the accelerators that run"),

    TEXT("model.name", model.name, "\"default\"",
         "a name for reports; a file with `model: NAME` is the study's"),
    TEXT("model.type", model.type, "null",
         "`transformer`: the checkpoint is made of layers; else it has `model_size_bytes`"),
    BYTES("model.model_size_bytes", model.model_size_bytes, "10240", 0,
          "size of a checkpoint, except of a transformer; also `model_size`, which DLIO ignores"),
    WORD("model.model_datatype", model.model_datatype, "\"fp16\"", datatypes, "of the parameters"),
    WORD("model.optimizer_datatype", model.optimizer_datatype, "\"fp32\"", datatypes,
         "of the optimizer's state"),
    WHOLE("model.num_layers", model.num_layers, "-1", -1, 100000, "blocks; 0 or less: none"),
    WHOLES("model.optimization_groups", model.optimization_groups, 0, MAX_INTEGER,
           "bytes of the groups of the optimizer, of each rank; each is saved three times"),
    WHOLES("model.layer_parameters", model.layer_parameters, 0, MAX_INTEGER,
           "bytes of each layer, split among the tensor ranks"),
    WHOLE("model.parallelism.tensor", model.split.tensor, "1", 1, RANKS, "ranks that share each layer"),
    WHOLE("model.parallelism.pipeline", model.split.pipeline, "1", 1, RANKS, "stages"),
    WHOLE("model.parallelism.data", model.split.data, "-1", -1, RANKS,
          "with `checkpoint.mode: subset` the degree of the whole job; else it follows from the ranks"),
    WHOLE("model.parallelism.zero_stage", model.split.zero_stage, "0", 0, 3,
          "1 and 2: the optimizer is sharded over the data parallel ranks; 3: the model, too"),
    WHOLE("model.transformer.vocab_size", model.vocab_size, "32000", 1, 1e9, ""),
    WHOLE("model.transformer.hidden_size", model.hidden_size, "2048", 1, 1e7, ""),
    WHOLE("model.transformer.ffn_hidden_size", model.ffn_hidden_size, "8192", 1, 1e8, "of the gated MLP"),
    WHOLE("model.transformer.num_attention_heads", model.num_attention_heads, "32", 1, 1e6, ""),
    WHOLE("model.transformer.num_kv_heads", model.num_kv_heads, "8", 1, 1e6, ""),

    BOOL("workflow.generate_data", workflow.generate_data, "false", "make the data set first"),
    BOOL("workflow.train", workflow.train, "true",
         "false with `checkpoint`: checkpoints only; with `generate_data`: data only"),
    BOOL("workflow.evaluation", workflow.evaluation, "false", "evaluate between epochs"),
    BOOL("workflow.checkpoint", workflow.checkpoint, "false", "write checkpoints"),
    BOOL("workflow.profiling", workflow.profiling, "false",
         "no effect: the profilers' figures are always measured"),
    BOOL("workflow.debug", workflow.debug, "false", "no effect: there is no log"),

    TEXT("dataset.data_folder", dataset.data_folder, "\"./data\"", "with `train/` and `valid/` in it"),
    NAMED("dataset.format", dataset.format, "\"tfrecord\"", formats,
          "of the files; the last five are the study's"),
    WHOLE("dataset.num_files_train", dataset.num_files_train, "8", 0, 1e12, ""),
    WHOLE("dataset.num_files_eval", dataset.num_files_eval, "0", 0, 1e12, ""),
    WHOLE("dataset.num_samples_per_file", dataset.num_samples_per_file, "1", 1, 1e12, ""),
    WHOLE("dataset.eval_num_samples_per_file", dataset.eval_num_samples_per_file, "0", 0, 1e12,
          "the study's; 0: as `num_samples_per_file`"),
    NUMBER("dataset.record_length_bytes", WORKLOAD_BYTES, dataset.record_length_bytes, "65536", 1,
           MAX_INTEGER, "mean of a sample; also `record_length`"),
    NUMBER("dataset.record_length_bytes_stdev", WORKLOAD_BYTES, dataset.record_length_bytes_stdev, "0", 0,
           MAX_INTEGER, "between files; also `record_length_stdev`"),
    NUMBER("dataset.record_length_bytes_resize", WORKLOAD_BYTES, dataset.record_length_bytes_resize, "0", 0,
           MAX_INTEGER, "of a sample after preprocessing; 0: as it is read"),
    WHOLE("dataset.num_subfolders_train", dataset.num_subfolders_train, "0", 0, 1e9, "0: none"),
    WHOLE("dataset.num_subfolders_eval", dataset.num_subfolders_eval, "0", 0, 1e9, "0: none"),
    TEXT("dataset.file_prefix", dataset.file_prefix, "\"img\"", "of the files' names"),
    NAMED("dataset.compression", dataset.compression, "\"none\"", compressions,
          "`zip` deflates the members of npz, which DLIO does not; the last three are Parquet's"),
    WHOLE("dataset.compression_level", dataset.compression_level, "4", 0, 22, ""),
    BOOL("dataset.enable_chunking", dataset.enable_chunking, "false", "HDF5"),
    BYTES("dataset.chunk_size", dataset.chunk_size, "0", 0, "HDF5"),
    BOOL("dataset.keep_files", dataset.keep_files, "true", "no effect: data stay"),
    BYTES("dataset.generation_buffer_size", dataset.generation_buffer_size, "2147483648", 1,
          "no effect: files are made in small pieces"),
    WHOLES("dataset.record_dims", dataset.record_dims, 1, MAX_INTEGER,
           "of a sample, instead of the square that `record_length_bytes` gives"),
    NAMED("dataset.record_element_type", dataset.record_element_type, "\"uint8\"", elements,
          "of a sample's numbers"),
    WHOLE("dataset.record_element_bytes", dataset.record_element_bytes, "0", 0, 8,
          "no effect: follows from `record_element_type`"),
    WHOLES("dataset.hdf5.chunk_dims", dataset.chunk_dims, 1, MAX_INTEGER, ""),
    WHOLES("dataset.hdf5.max_shape", dataset.max_shape, -1, MAX_INTEGER, "-1: without limit"),
    WHOLE("dataset.hdf5.num_dset_per_record", dataset.num_dset_per_record, "1", 1, 100000,
          "divides the first of `record_dims`"),
    WHOLE("dataset.parquet.row_group_size", dataset.row_group_size, "0", 0, 1e12,
          "no effect: Parquet is not modelled"),
    NAMED("dataset.parquet.read_mode", dataset.read_mode, "\"row_group\"", read_modes,
          "no effect: Parquet is not modelled"),
    {"dataset.parquet.columns", WORKLOAD_COLUMNS, 0, AT(dataset.columns), "[]", 1, LIST, NULL, false,
     "no effect: Parquet is not modelled; list of {name, dtype, size, read, count}; `count`: number of equal "
     "columns"},
    NUMBER("dataset.compressibility", 0, dataset.compressibility, "0", 0, 1,
           "ours: share of the content that a compressor can remove; 0: random bytes"),
    WHOLE("dataset.seed", dataset.seed, "123", 0, MAX_INTEGER, "ours: of sizes and content"),

    WORD("reader.data_loader", reader.data_loader, "null", loaders, "default: that of the framework"),
    WHOLE("reader.batch_size", reader.batch_size, "1", 1, 1e9, "samples per step and accelerator"),
    WHOLE("reader.batch_size_eval", reader.batch_size_eval, "1", 1, 1e9,
          "samples per evaluation step and accelerator"),
    WHOLE("reader.read_threads", reader.read_threads, "1", 0, 65536,
          "per accelerator; processes in DLIO; 0 counts as 1"),
    WHOLE("reader.computation_threads", reader.computation_threads, "1", 0, 65536,
          "with TensorFlow: threads that preprocess, per accelerator; with others `read_threads` preprocess"),
    WHOLE("reader.prefetch_size", reader.prefetch_size, "2", 0, 1e6, "batches read ahead per accelerator"),
    WORD("reader.file_shuffle", reader.file_shuffle, "\"off\"", shuffles,
         "`seed`: the same order in every run; `random`: another in each; DLIO's PyTorch loader never "
         "shuffles"),
    WORD("reader.sample_shuffle", reader.sample_shuffle, "\"off\"", shuffles,
         "order of samples; values as for `file_shuffle`"),
    WHOLE("reader.shuffle_size", reader.shuffle_size, "1024", 0, 1e9, "no effect: all samples are shuffled"),
    WORD("reader.read_type", reader.read_type, "\"on_demand\"", read_types, "`memory`: read once, then kept"),
    NAMED("reader.file_access", reader.file_access, "\"multi\"", file_accesses,
          "no effect: each thread opens its files, in DLIO too"),
    BYTES("reader.transfer_size", reader.transfer_size, "0", 0,
          "of one read request, without `--request`; 0: the storage's choice"),
    TIMES("reader.preprocess_time", reader.preprocess_time, "of a sample"),
    NUMBER("reader.preprocess_time_stdev", WORKLOAD_SECONDS, reader.preprocess_time_stdev, "0", 0, TIME,
           "makes a constant `preprocess_time` a normal one"),
    BOOL("reader.dont_use_mmap", reader.dont_use_mmap, "false", "no effect: `--method` decides"),
    BOOL("reader.odirect", reader.odirect, "false",
         "bypass the page cache; for every format, not only npy and npz"),
    BOOL("reader.pin_memory", reader.pin_memory, "true", "no effect: there is no device to copy to"),
    NAMED("reader.multiprocessing_context", reader.multiprocessing_context, "\"fork\"", contexts,
          "no effect: readers are threads"),
    TEXT("reader.reader_classname", reader.reader_classname, "null", "no effect: a class of Python"),
    TEXT("reader.data_loader_classname", reader.data_loader_classname, "null",
         "no effect: a class of Python"),
    WORD("reader.data_loader_sampler", reader.data_loader_sampler, "null", samplers,
         "`iterative`: files are dealt to the accelerators; `index`: samples are dealt; default: iterative "
         "with TensorFlow, else index"),
    WHOLES("reader.transformed_record_dims", reader.transformed_record_dims, 1, MAX_INTEGER,
           "of a sample after preprocessing"),
    NAMED("reader.transformed_record_element_type", reader.transformed_record_element_type, "\"uint8\"",
          elements, ""),

    WHOLE("train.epochs", train.epochs, "1", 0, 1e9, ""),
    TIMES("train.computation_time", train.computation_time, "of a step"),
    NUMBER("train.computation_time_stdev", WORKLOAD_SECONDS, train.computation_time_stdev, "0", 0, TIME,
           "makes a constant `computation_time` a normal one"),
    WORD("train.computation_model", train.computation_model, "\"none\"", computation_models,
         "ours: the study's formula for GPUs and batch, or its table, instead of `computation_time`"),
    WHOLE("train.total_training_steps", train.total_training_steps, "-1", -1, MAX_INTEGER,
          "maximum steps of an epoch; -1: all"),
    WHOLE("train.seed", train.seed, "123", 0, MAX_INTEGER, "of shuffling and random times"),
    BOOL("train.seed_change_epoch", train.seed_change_epoch, "true", "shuffle differently in every epoch"),

    TIMES("evaluation.eval_time", evaluation.eval_time, "of a step"),
    NUMBER("evaluation.eval_time_stdev", WORKLOAD_SECONDS, evaluation.eval_time_stdev, "0", 0, TIME,
           "makes a constant `eval_time` a normal one"),
    WHOLE("evaluation.eval_after_epoch", evaluation.eval_after_epoch, "1", -1, 1e9, "the first evaluation"),
    WHOLE("evaluation.epochs_between_evals", evaluation.epochs_between_evals, "1", -1, 1e9, ""),
    WHOLE("evaluation.steps_between_evals", evaluation.steps_between_evals, "-1", -1, MAX_INTEGER,
          "the study's; -1: none within epochs"),
    WHOLE("evaluation.total_eval_steps", evaluation.total_eval_steps, "-1", -1, MAX_INTEGER,
          "the study's, also below `train`, also `num_eval_steps`; -1: all"),

    TEXT("checkpoint.checkpoint_folder", checkpoint.checkpoint_folder, "\"./checkpoints\"", ""),
    WHOLE("checkpoint.checkpoint_after_epoch", checkpoint.checkpoint_after_epoch, "1", -1, 1e9,
          "the first checkpoint"),
    WHOLE("checkpoint.epochs_between_checkpoints", checkpoint.epochs_between_checkpoints, "1", -1, 1e9, ""),
    WHOLE("checkpoint.checkpoint_after_step", checkpoint.checkpoint_after_step, "-1", -1, MAX_INTEGER,
          "the study's"),
    WHOLE("checkpoint.steps_between_checkpoints", checkpoint.steps_between_checkpoints, "-1", -1, MAX_INTEGER,
          "-1: none within epochs"),
    NAMED("checkpoint.type", checkpoint.type, "\"rank_zero\"", checkpoint_types,
          "no effect: `zero_stage` and parallelism determine the ranks that write"),
    WORD("checkpoint.mode", checkpoint.mode, "\"default\"", checkpoint_modes,
         "`subset`: the ranks that run are the first of `parallelism` tensor x pipeline x data"),
    TEXT("checkpoint.checkpoint_mechanism_classname", checkpoint.checkpoint_mechanism_classname, "null",
         "no effect: a class of Python"),
    BOOL("checkpoint.fsync", checkpoint.fsync, "false",
         "wait until the data are on the device; DLIO never does"),
    NUMBER("checkpoint.time_between_checkpoints", WORKLOAD_SECONDS, checkpoint.time_between_checkpoints, "-1",
           -1, TIME, "compute before each checkpoint, if the run has only checkpoints"),
    WHOLE("checkpoint.num_checkpoints_write", checkpoint.num_checkpoints_write, "-1", -1, 1e9,
          "checkpoints to write, if the run has only checkpoints"),
    WHOLE("checkpoint.num_checkpoints_read", checkpoint.num_checkpoints_read, "-1", -1, 1e9,
          "checkpoints to restore, if the run has only checkpoints"),
    BOOL("checkpoint.recovery_rank_shift", checkpoint.recovery_rank_shift, "false",
         "a rank restores the state that a rank of the next node wrote; without effect in DLIO"),
    BOOL("checkpoint.rank_sync", checkpoint.rank_sync, "false",
         "no effect: ranks always meet after a checkpoint"),
    BOOL("checkpoint.randomize_tensor", checkpoint.randomize_tensor, "true", "false: all bytes are equal"),
    WHOLE("checkpoint.ksm.madv_mergeable_id", checkpoint.madv_mergeable_id, "12", 0, MAX_INTEGER,
          "no effect: nothing is kept in memory"),
    NUMBER("checkpoint.ksm.high_ram_trigger", 0, checkpoint.high_ram_trigger, "30", 0, 100,
           "no effect: nothing is kept in memory"),
    NUMBER("checkpoint.ksm.low_ram_exit", 0, checkpoint.low_ram_exit, "15", 0, 100,
           "no effect: nothing is kept in memory"),
    WHOLE("checkpoint.ksm.await_time", checkpoint.await_time, "200", 0, MAX_INTEGER,
          "no effect: nothing is kept in memory"),
    NUMBER("checkpoint.ckpt_write_sz_q1", WORKLOAD_BYTES, checkpoint.write_size_q1, "0", 0, MAX_INTEGER,
           "no effect: writes are of one size"),
    NUMBER("checkpoint.ckpt_write_sz_mean", WORKLOAD_BYTES, checkpoint.write_size_mean, "0", 0, MAX_INTEGER,
           "no effect: writes are of one size"),
    NUMBER("checkpoint.ckpt_write_sz_std", WORKLOAD_BYTES, checkpoint.write_size_std, "0", 0, MAX_INTEGER,
           "no effect: writes are of one size"),
    NUMBER("checkpoint.ckpt_write_sz_min", WORKLOAD_BYTES, checkpoint.write_size_min, "0", 0, MAX_INTEGER,
           "no effect: writes are of one size"),

    WORD("storage.storage_type", storage.storage_type, "\"local_fs\"", storage_types,
         "`parallel_fs`: the same as `local_fs`"),
    TEXT("storage.storage_root", storage.storage_root, "\"./\"", "S3: the bucket"),
    TEXT("storage.storage_options.access_key_id", storage.access_key_id, "null",
         "left out: AWS_ACCESS_KEY_ID"),
    SECRET("storage.storage_options.secret_access_key", storage.secret_access_key,
           "left out: AWS_SECRET_ACCESS_KEY"),
    TEXT("storage.storage_options.endpoint_url", storage.endpoint_url, "null", "`http://host:port`"),
    TEXT("storage.storage_options.region", storage.region, "null",
         "left out: AWS_REGION, AWS_DEFAULT_REGION, us-east-1"),
    BOOL("storage.storage_options.s3_force_path_style", storage.s3_force_path_style, "false",
         "the bucket in the path, not in the host's name"),
    WHOLE("storage.storage_options.s3_max_attempts", storage.s3_max_attempts, "5", 1, 1000,
          "attempts for each request"),

    NAMED("profiling.profiler", profiling.profiler, "\"iostat\"", profilers,
          "no effect: device counters are always read"),
    {"profiling.iostat_devices", WORKLOAD_TEXTS, 0, AT(profiling.iostat_devices), "[]", 0, LIST, NULL, false,
     "no effect: the device of the data is reported"},

    TEXT("output.folder", output.folder, "null", "default: the command's `--results`"),
    TEXT("output.log_file", output.log_file, "\"dlio.log\"", "no effect: there is no log"),
    WHOLE("output.metric.exclude_start_steps", output.exclude_start_steps, "1", 0, MAX_INTEGER,
          "first steps of an epoch that are not counted (warm-up)"),
    WHOLE("output.metric.exclude_end_steps", output.exclude_end_steps, "0", 0, MAX_INTEGER,
          "last steps of an epoch that are not counted"),

    NUMBER("metric.au", 0, metric.au, "0.9", 0, 1, "target of the accelerator utilisation"),
};
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
