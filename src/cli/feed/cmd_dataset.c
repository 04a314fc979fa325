#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"
#include "cli/feed/operands.h"

#include <inttypes.h>

/* ---- generate ---- */

struct generate_command {
    struct rh_dataset_generate_request request;
    struct rh_list words;
    int64_t threads;
    bool json;
};

static bool run_generate(void *context, struct error *err)
{
    struct generate_command *given = context;
    struct rh_error error;
    struct rh_call call;
    if (!answer_stoppable(&call, given->threads, err))
        return false;
    given->request.size = sizeof given->request;
    given->request.workload = given->words;
    rh_report *report = rh_dataset_generate(&given->request, &call, &error);
    return answer_print(report, given->json ? "json" : "text", &error, err);
}

static const struct option_spec generate_table[] = {
    OPTION_REQUEST(generate_command, request, api_dataset_generate_options),
    OPTION_THREADS(struct generate_command),
    OPTION(generate_command, json, OPTION_FLAG, "json",
           .help = "print a summary of the written files as JSON"),
    OPTION_END,
};

static const struct command_example generate_examples[] = {
    {"rehearse dataset generate unet3d_h100 --set dataset.num_files_train=32 -o data", "32 files of UNET3D"},
    {"rehearse dataset generate resnet50_h100 --size '10 GB' --compressibility 0.5 -o data",
     "10 GB that a compressor halves"},
    {"rehearse dataset generate -w unet3d -s 30786160607 -o data",
     "the VLDB study's data, as its datagen is called"},
    {"mpirun -n 4 rehearse dataset generate cosmoflow_h100", "by four processes"},
    {NULL, NULL},
};

const struct command command_dataset_generate = {
    .name = "dataset generate",
    .summary = "make the data set of a workload",
    .description =
        "Writes the files that a workload reads: docs/formats.md lists the formats, docs/workloads.md the "
        "workloads. Every byte follows from the seed, the file and the offset, so any number of threads and "
        "processes writes the same files, and 'rehearse dataset verify' needs no copy.\n\nA file gets its "
        "name only when it is complete. A stopped run can be started again: it keeps complete files. "
        "FOLDER/dataset.json holds the parameters of the data set.",
    .options = generate_table,
    .options_size = sizeof(struct generate_command),
    .operands = OPERANDS_WORKLOAD(generate_command, 0, WORKLOAD_WORDS),
    .examples = generate_examples,
    .run = run_generate,
};

/* ---- verify ---- */

struct verify_command {
    struct rh_dataset_verify_request request;
    struct rh_list folders;
    int64_t threads;
    bool json;
};

static bool run_verify(void *context, struct error *err)
{
    struct verify_command *given = context;
    struct rh_error error;
    struct rh_call call;
    if (!answer_stoppable(&call, given->threads, err))
        return false;
    given->request.size = sizeof given->request;
    given->request.folder = given->folders.items[0];
    rh_report *report = rh_dataset_verify(&given->request, &call, &error);
    if (!report)
        return answer_error(&error, err);
    int64_t faults = (int64_t)rh_number(report, "faults"), files = (int64_t)rh_number(report, "files");
    bool done = answer_write(report, given->json ? "json" : "text", NULL, err);
    if (done && faults > 0)
        done = error_set(err, ERROR_FAILED,
                         "%s: %" PRId64 " of %" PRId64 " files differ from what was generated",
                         rh_string(report, "folder"), faults, files);
    rh_free(report);
    return done;
}

static const struct option_spec verify_table[] = {
    OPTION_REQUEST(verify_command, request, api_dataset_verify_options),
    OPTION_THREADS(struct verify_command),
    OPTION_JSON(struct verify_command),
    OPTION_END,
};

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
    .options_size = sizeof(struct verify_command),
    .operands = {.name = "FOLDER",
                 .help = "a data set of 'rehearse dataset generate', or s3://BUCKET/PREFIX",
                 .min = 1,
                 .max = 1,
                 .at = offsetof(struct verify_command, folders)},
    .examples = verify_examples,
    .run = run_verify,
};

/* ---- scale ---- */

struct scale_command {
    struct rh_dataset_scale_request request;
    struct rh_list folders;
    int64_t threads;
    bool json;
};

static bool run_scale(void *context, struct error *err)
{
    struct scale_command *given = context;
    struct rh_error error;
    struct rh_call call;
    if (!answer_stoppable(&call, given->threads, err))
        return false;
    given->request.size = sizeof given->request;
    given->request.folder = *given->folders.items;
    rh_report *report = rh_dataset_scale(&given->request, &call, &error);
    return answer_print(report, given->json ? "json" : "text", &error, err);
}

static const struct option_spec scale_table[] = {
    OPTION_REQUEST(scale_command, request, api_dataset_scale_options),
    OPTION_THREADS(struct scale_command),
    OPTION(scale_command, json, OPTION_FLAG, "json", .help = "print a summary of the copies as JSON"),
    OPTION_END,
};

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
    .options_size = sizeof(struct scale_command),
    .operands = {.name = "FOLDER",
                 .help = "real files",
                 .min = 1,
                 .max = 1,
                 .at = offsetof(struct scale_command, folders)},
    .examples = scale_examples,
    .run = run_scale,
};
