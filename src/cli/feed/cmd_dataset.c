#include "cli/command.h"
#include "cli/feed/dataset_work.h"
#include "cli/feed/workload_given.h"
#include "cli/output.h"
#include "comm/comm.h"
#include "core/json.h"
#include "dataset/format.h"
#include "dataset/scale.h"
#include "dataset/verify.h"
#include "feed/space.h"
#include "feed/workload/layout.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- generate ---- */

struct generate_options {
    struct workload_given workload;
    const char *folder;
    double size, compressibility;
    int64_t seed, threads;
    bool dlio_sizes, sync, force, dry_run, json;
    const bool *given;
};

enum { GENERATE_FOLDER, GENERATE_SIZE, GENERATE_SEED, GENERATE_COMPRESSIBILITY };

/* What every command that writes files has. */
#define WRITE_OPTIONS(type, what)                                                                            \
    OPTION(type, sync, OPTION_FLAG, "sync",                                                                  \
           .help = "sync every file to the device before it gets its name (fsync)"),                         \
        OPTION(type, force, OPTION_FLAG, "force", .help = "write even if there is too little free space"),   \
        OPTION_THREADS(struct type),                                                                         \
        OPTION(type, json, OPTION_FLAG, "json", .help = "print a summary of the " what " as JSON")

static const struct option_spec generate_table[] = {
    [GENERATE_FOLDER] =
        OPTION(generate_options, folder, OPTION_FILE, "output", .letter = 'o', .argument = "FOLDER",
               .help = "where to write: a folder or s3://BUCKET/PREFIX, instead of the workload's\n"
                       "dataset.data_folder"),
    [GENERATE_SIZE] =
        OPTION(generate_options, size, OPTION_QUANTITY, "size", .unit = UNIT_BYTES, .argument = "BYTES",
               .min = 1, .max = 0x1p60,
               .help = "size of all training files, instead of dataset.num_files_train; exact for the\n"
                       "formats of the VLDB study, else rounded up to a whole file"),
    [GENERATE_SEED] = OPTION(generate_options, seed, OPTION_INTEGER, "seed", .argument = "N", .max = 0x1p53,
                             .help = "seed of the content, instead of dataset.seed"),
    [GENERATE_COMPRESSIBILITY] =
        OPTION(generate_options, compressibility, OPTION_NUMBER, "compressibility", .argument = "SHARE",
               .max = 1, .help = "the share of the content that a compressor can remove, from 0 to 1"),
    OPTION(generate_options, dlio_sizes, OPTION_FLAG, "dlio-sizes",
           .help = "round sizes as DLIO does, instead of writing exactly the requested bytes"),
    OPTION(generate_options, dry_run, OPTION_FLAG, "dry-run",
           .help = "print the files that would be written, without writing them"),
    OPTION_WORKLOAD_SET(struct generate_options),
    OPTION_WORKLOAD_STRICT(struct generate_options),
    WRITE_OPTIONS(generate_options, "written files"),
    OPTION_END,
};

/* Returns the number of files of mean size for --size. */
static int64_t files_for(const struct workload *workload, double size)
{
    double file = workload->dataset.record_length_bytes * (double)workload->dataset.num_samples_per_file;
    return (int64_t)fmin(fmax(ceil(size / fmax(file, 1.0)), 1.0), (double)DATASET_MAX_FILES);
}

static bool make_layout(struct dataset_layout *layout, const struct generate_options *given,
                        struct workload *workload, struct error *err)
{
    if (given->given[GENERATE_SEED])
        workload->dataset.seed = given->seed;
    if (given->given[GENERATE_COMPRESSIBILITY])
        workload->dataset.compressibility = given->compressibility;
    struct workload_layout_choice choice = {.dlio_sizes = given->dlio_sizes};
    if (given->given[GENERATE_SIZE]) {
        const struct dataset_format *format = dataset_format_find(workload->dataset.format);
        if (format && format->fit)
            choice.total_bytes = (int64_t)given->size;
        else
            workload->dataset.num_files_train = files_for(workload, given->size);
    }
    return workload_layout(workload, &choice, layout, err);
}

static void print_layout(const struct dataset_layout *layout, const char *root, struct text *out)
{
    struct unit_texts texts = {0};
    struct dataset_file first;
    int64_t bytes = dataset_layout_bytes(layout);
    dataset_file_init(&first, layout, 0);
    text_format(out, "%s: %" PRId64 " training and %" PRId64 " evaluation files of %" PRId64 " sample%s, %s",
                root, layout->files_train, layout->files_eval, first.samples, plural(first.samples),
                layout->format->name);
    if (bytes >= 0)
        text_format(out, ", %" PRId64 " bytes (%s)", bytes, unit_text(&texts, (double)bytes, UNIT_BYTES));
    text_add(out, "\n");
}

static void print_generated(const struct dataset_generated *made, double seconds, struct text *out)
{
    struct unit_texts texts = {0};
    text_format(out, "%" PRId64 " file%s written, %s", made->files_written, plural(made->files_written),
                unit_text(&texts, (double)made->bytes_written, UNIT_BYTES));
    if (made->files_written > 0)
        text_format(out, " in %s, %s", unit_text(&texts, seconds, UNIT_TIME),
                    unit_text(&texts, (double)made->bytes_written / seconds, UNIT_RATE));
    if (made->files_kept > 0)
        text_format(out, "; %" PRId64 " existing kept, %s", made->files_kept,
                    unit_text(&texts, (double)made->bytes_kept, UNIT_BYTES));
    text_add(out, "\n");
}

static void write_generated(const struct dataset_layout *layout, const char *root,
                            const struct dataset_generated *made, double seconds, struct text *out)
{
    struct json json = {.out = out};
    json_open_document(&json, "rehearse-dataset-generation/1");
    json_string(&json, "folder", root);
    json_string(&json, "dataset_format", layout->format->name);
    json_integer(&json, "files_train", layout->files_train);
    json_integer(&json, "files_eval", layout->files_eval);
    json_integer(&json, "samples_per_file", layout->samples_per_file);
    json_integer(&json, "bytes", dataset_layout_bytes(layout));
    if (made) {
        json_integer(&json, "files_written", made->files_written);
        json_integer(&json, "files_kept", made->files_kept);
        json_integer(&json, "bytes_written", made->bytes_written);
        json_integer(&json, "bytes_kept", made->bytes_kept);
        json_number(&json, "seconds", seconds);
    }
    json_close(&json);
}

static bool print_result(const struct generate_options *given, const struct dataset_layout *layout,
                         const char *root, const struct dataset_generated *made, double seconds,
                         struct error *err)
{
    struct text text = {0};
    if (given->json)
        write_generated(layout, root, made, seconds, &text);
    else
        print_layout(layout, root, &text);
    if (made && !given->json)
        print_generated(made, seconds, &text);
    return output_and_release(NULL, &text, err);
}

/* Every process writes its share; rank 0 prints the sums. */
static bool generate_all(const struct generate_options *given, const struct dataset_layout *layout,
                         struct data_place *data, struct comm *comm, struct error *err)
{
    struct data_work job = {0};
    struct dataset_generated made;
    bool begun = data_work_begin(&job, "writing", given->threads, err);
    if (!comm_agree(comm, begun, "the start of generating", err)) {
        if (begun)
            data_work_end(&job);
        return false;
    }
    job.work.rank = comm_rank(comm);
    job.work.ranks = comm_size(comm);
    job.all = dataset_layout_bytes(layout) / job.work.ranks;
    if (job.work.rank > 0)
        job.work.progress = NULL;
    bool done = feed_generate(layout, &data->place, &job.work, comm, given->force, &made, err);
    double seconds = data_work_end(&job);
    int64_t sums[] = {made.files_written, made.files_kept, made.bytes_written, made.bytes_kept};
    if (!done || !comm_reduce_integers(comm, COMM_SUM, sums, 4, "the count of files", err))
        return false;
    made = (struct dataset_generated){sums[0], sums[1], sums[2], sums[3]};
    return comm_rank(comm) > 0 || print_result(given, layout, data->root, &made, seconds, err);
}

static bool generate_layout(const struct generate_options *given, const struct workload *workload,
                            const struct dataset_layout *layout, struct comm *comm, struct error *err)
{
    struct data_place data = {0};
    bool open = given->folder ? data_place_of_folder(&data, given->folder, given->sync, err)
                              : data_place_of_workload(&data, workload, given->sync, err);
    bool done = comm_agree(comm, open, "the data set's place", err);
    if (done && given->dry_run)
        done = comm_rank(comm) > 0 || print_result(given, layout, data.root, NULL, 0.0, err);
    else if (done)
        done = generate_all(given, layout, &data, comm, err);
    data_place_release(&data);
    return done;
}

static bool open_workload(struct workload *workload, const struct generate_options *given, bool warn,
                          struct error *err)
{
    struct workload_overrides overrides = {0};
    struct workload_options options = {.strict = given->workload.strict};
    const char *name;
    bool open = workload_overrides_of(&overrides, &given->workload, &name, err);
    options.overrides = overrides.items;
    options.override_count = overrides.count;
    open = open && workload_given_open(workload, name, &options, warn, err);
    workload_overrides_release(&overrides);
    return open;
}

static bool generate(void *context, struct error *err)
{
    const struct generate_options *given = context;
    struct workload workload = {0};
    struct dataset_layout layout = {0};
    struct comm *comm = comm_open(0.0, err);
    if (!comm)
        return false;
    bool made = open_workload(&workload, given, comm_rank(comm) == 0, err) &&
                make_layout(&layout, given, &workload, err);
    bool done = feed_same_layout(comm, &layout, made, err) && made &&
                generate_layout(given, &workload, &layout, comm, err);
    dataset_layout_release(&layout);
    workload_release(&workload);
    comm_close(comm);
    return done;
}

static const struct command_example generate_examples[] = {
    {"rehearse dataset generate unet3d_h100 --set dataset.num_files_train=32 -o data", "32 files of UNET3D"},
    {"rehearse dataset generate resnet50_h100 --size '10 GB' --compressibility 0.5 -o data",
     "10 GB that a compressor halves"},
    {"mpirun -n 4 rehearse dataset generate cosmoflow_h100", "by four processes"},
    {NULL, NULL},
};

const struct command command_dataset_generate = {
    .name = "dataset generate",
    .summary = "make the data set of a workload",
    .description =
        "Writes the files that a workload reads: docs/formats.md lists the formats, docs/workloads.md the "
        "workloads. Every byte follows from the seed, the file and the offset, so any number of threads and "
        "processes writes the same files, and 'rehearse dataset verify' needs no copy.\n\n"
        "A file gets its name only when it is whole. A stopped run can be started again: it keeps the files "
        "that are there. FOLDER/dataset.json holds the parameters of the data set.",
    .options = generate_table,
    .options_size = sizeof(struct generate_options),
    .given_at = offsetof(struct generate_options, given),
    .operands = OPERANDS_WORKLOAD(struct generate_options, 1),
    .examples = generate_examples,
    .run = generate,
};

/* ---- verify ---- */

struct verify_options {
    struct rh_list folders;
    int64_t threads;
    bool quick, json;
};

static const struct option_spec verify_table[] = {
    OPTION(verify_options, quick, OPTION_FLAG, "quick", .help = "check only names and sizes, not content"),
    OPTION_THREADS(struct verify_options),
    OPTION_JSON(struct verify_options),
    OPTION_END,
};

static const char *const fault_names[] = {
    [DATASET_MISSING] = "missing",
    [DATASET_WRONG_SIZE] = "size",
    [DATASET_WRONG_CONTENT] = "content",
    [DATASET_UNREADABLE] = "unreadable",
};

static void print_verified(const struct dataset_verified *verified, const char *root, double seconds,
                           struct text *out)
{
    struct unit_texts texts = {0};
    for (int i = 0; i < verified->listed; i++)
        text_format(out, "%s\n", verified->faults[i].text);
    if (verified->fault_count > verified->listed)
        text_format(out, "… and %" PRId64 " more\n", verified->fault_count - verified->listed);
    text_format(out, "%s: %" PRId64 " files, %s checked in %s: %" PRId64 " fault%s\n", root, verified->files,
                unit_text(&texts, (double)verified->bytes, UNIT_BYTES), unit_text(&texts, seconds, UNIT_TIME),
                verified->fault_count, plural(verified->fault_count));
}

static void write_verified(const struct dataset_verified *verified, const char *root, struct text *out)
{
    struct json json = {.out = out};
    json_open_document(&json, "rehearse-dataset-verification/1");
    json_string(&json, "folder", root);
    json_integer(&json, "files", verified->files);
    json_integer(&json, "bytes", verified->bytes);
    json_integer(&json, "faults", verified->fault_count);
    json_open(&json, "listed", '[');
    for (int i = 0; i < verified->listed; i++) {
        const struct dataset_fault *fault = &verified->faults[i];
        json_open_flat(&json, NULL, '{');
        json_string(&json, "path", fault->path);
        json_string(&json, "fault", fault_names[fault->kind]);
        if (fault->kind == DATASET_WRONG_CONTENT)
            json_integer(&json, "offset", fault->offset);
        json_string(&json, "text", fault->text);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}

static bool verify_layout(const struct verify_options *given, const struct dataset_layout *layout,
                          struct data_place *data, struct error *err)
{
    struct data_work job;
    struct dataset_verified verified;
    struct text text = {0};
    if (!data_work_begin(&job, "reading", given->threads, err))
        return false;
    job.all = given->quick ? -1 : dataset_layout_bytes(layout);
    bool done = dataset_verify(layout, &data->place, &job.work, !given->quick, &verified, err);
    double seconds = data_work_end(&job);
    if (done) {
        if (given->json)
            write_verified(&verified, data->root, &text);
        else
            print_verified(&verified, data->root, seconds, &text);
        done = output_and_release(NULL, &text, err);
        if (done && verified.fault_count > 0)
            done = error_set(err, ERROR_FAILED,
                             "%s: %" PRId64 " of %" PRId64 " files differ from what was generated",
                             data->root, verified.fault_count, verified.files);
    }
    dataset_verified_release(&verified);
    return done;
}

static bool verify(void *context, struct error *err)
{
    const struct verify_options *given = context;
    struct dataset_layout layout;
    struct data_place data;
    bool done = data_place_of_folder(&data, given->folders.items[0], false, err) &&
                dataset_manifest_read(&layout, &data.place, err);
    if (done) {
        done = verify_layout(given, &layout, &data, err);
        dataset_layout_release(&layout);
    }
    data_place_release(&data);
    return done;
}

static const struct command_example verify_examples[] = {
    {"rehearse dataset verify data", "is every byte still as it was generated?"},
    {NULL, NULL},
};

const struct command command_dataset_verify = {
    .name = "dataset verify",
    .summary = "compare a data set with its generated content, byte by byte",
    .description =
        "Reads FOLDER/dataset.json, generates every byte again and compares it with the file. The "
        "first 100 files that differ are listed, all are counted; if there are any the exit status "
        "is 1.",
    .options = verify_table,
    .options_size = sizeof(struct verify_options),
    .operands = {.name = "FOLDER",
                 .help = "a data set of 'rehearse dataset generate', or s3://BUCKET/PREFIX",
                 .min = 1,
                 .max = 1,
                 .at = offsetof(struct verify_options, folders)},
    .examples = verify_examples,
    .run = verify,
};

/* ---- scale ---- */

struct scale_options {
    struct rh_list folders;
    const char *to;
    double size;
    int64_t threads;
    bool sync, force, json;
};

static const struct option_spec scale_table[] = {
    OPTION(scale_options, to, OPTION_FILE, "output", .letter = 'o', .argument = "FOLDER", .required = true,
           .help = "where the copies go, a folder or s3://BUCKET/PREFIX"),
    OPTION(scale_options, size, OPTION_QUANTITY, "size", .unit = UNIT_BYTES, .argument = "BYTES",
           .required = true, .min = 1, .max = 0x1p60, .help = "make copies until they reach this total size"),
    WRITE_OPTIONS(scale_options, "copies"),
    OPTION_END,
};

static bool report_scaled(const struct scale_options *given, const struct dataset_scaled *scaled,
                          double seconds, struct error *err)
{
    struct text text = {0};
    struct unit_texts texts = {0};
    if (given->json) {
        struct json json = {.out = &text};
        json_open_document(&json, "rehearse-dataset-scaling/1");
        json_string(&json, "folder", given->to);
        json_integer(&json, "items", scaled->items);
        json_integer(&json, "files", scaled->files);
        json_integer(&json, "bytes", scaled->bytes);
        json_integer(&json, "bytes_kept", scaled->bytes_kept);
        json_number(&json, "seconds", seconds);
        json_close(&json);
    } else {
        text_format(&text, "%s: %" PRId64 " files, %" PRId64 " bytes (%s) in %s\n", given->to, scaled->files,
                    scaled->bytes, unit_text(&texts, (double)scaled->bytes, UNIT_BYTES),
                    unit_text(&texts, seconds, UNIT_TIME));
    }
    return output_and_release(NULL, &text, err);
}

static bool scale_fits(const struct scale_options *given, const atomic_bool *stop, struct error *err)
{
    const struct space_need need = {given->to, (int64_t)given->size, 0, true};
    struct comm *comm = comm_open(0.0, err);
    bool fit = comm && space_fits(comm, &need, stop, err);
    comm_close(comm);
    return fit;
}

static bool scale(void *context, struct error *err)
{
    const struct scale_options *given = context;
    struct arena arena = {0};
    struct dataset_item *items;
    int64_t count;
    struct data_place from = {0}, to = {0};
    struct data_work job;
    struct dataset_scaled scaled;
    if (storage_is_s3(given->folders.items[0]))
        return error_set(err, ERROR_USAGE, "%s: files are copied from a folder, not from S3",
                         given->folders.items[0]);
    bool done = dataset_items_list(given->folders.items[0], &arena, &items, &count, err) &&
                data_place_of_folder(&from, given->folders.items[0], false, err) &&
                data_place_of_folder(&to, given->to, given->sync, err) &&
                data_work_begin(&job, "copying", given->threads, err);
    if (done) {
        job.all = (int64_t)given->size;
        done = (given->force || scale_fits(given, job.work.stop, err)) &&
               dataset_scale(&from.place, items, count, &to.place, (int64_t)given->size, &job.work, &scaled,
                             err);
        double seconds = data_work_end(&job);
        done = done && report_scaled(given, &scaled, seconds, err);
    }
    data_place_release(&from);
    data_place_release(&to);
    arena_release(&arena);
    return done;
}

static const struct command_example scale_examples[] = {
    {"rehearse dataset scale kits19 -o data --size '500 GB'", "real cases, copied in turn"},
    {NULL, NULL},
};

const struct command command_dataset_scale = {
    .name = "dataset scale",
    .summary = "grow a data set of real files by copies",
    .description =
        "Copies the files below FOLDER in turn until they have the requested size: real content, which "
        "caches "
        "and compressors treat differently from generated bytes. Numbers in names are continued "
        "(case_00210_x.npy follows case_00209_x.npy); files that share a number are copied together.",
    .options = scale_table,
    .options_size = sizeof(struct scale_options),
    .operands = {.name = "FOLDER",
                 .help = "real files",
                 .min = 1,
                 .max = 1,
                 .at = offsetof(struct scale_options, folders)},
    .examples = scale_examples,
    .run = scale,
};
