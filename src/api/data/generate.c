/* rh_dataset_generate: the files that a workload reads. */
#include "api/command.h"
#include "api/data/replay.h"
#include "api/data/work.h"
#include "api/data/workload.h"
#include "comm/comm.h"
#include "core/caller.h"
#include "core/fields.h"
#include "core/json.h"
#include "dataset/format.h"
#include "feed/workload/layout.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { GENERATE_WORKLOAD, GENERATE_FOLDER, GENERATE_SIZE, GENERATE_SEED, GENERATE_COMPRESSIBILITY };

static const char *const applications[] = {"unet3d", "bert", "dlrm", NULL};

/* Sets the files of mean size for --size. Files that are larger each get as many samples as fit into it. */
static bool fit_files(struct workload *workload, double size, struct error *err)
{
    struct workload_dataset *data = &workload->dataset;
    double record = fmax(data->record_length_bytes, 1.0), file = record * (double)data->num_samples_per_file;
    struct unit_texts texts = {0};
    if (size < record)
        return error_set(err, ERROR_USAGE, "--size: %s is less than one sample of '%s', %s",
                         unit_text(&texts, size, UNIT_BYTES), workload->name,
                         unit_text(&texts, record, UNIT_BYTES));
    if (size < file) {
        data->num_samples_per_file = (int64_t)(size / record);
        if (data->eval_num_samples_per_file > data->num_samples_per_file)
            data->eval_num_samples_per_file = data->num_samples_per_file;
        file = size;
    }
    data->num_files_train = (int64_t)fmin(ceil(size / file), (double)DATASET_MAX_FILES);
    return true;
}

static bool make_layout(struct dataset_layout *layout, const struct rh_dataset_generate_request *asked,
                        const bool *given, struct workload *workload, struct error *err)
{
    if (given[GENERATE_SEED])
        workload->dataset.seed = asked->seed;
    if (given[GENERATE_COMPRESSIBILITY])
        workload->dataset.compressibility = asked->compressibility;
    struct workload_layout_choice choice = {.dlio_sizes = asked->dlio_sizes};
    if (given[GENERATE_SIZE]) {
        const struct dataset_format *format = dataset_format_find(workload->dataset.format);
        if (format && format->fit)
            choice.total_bytes = (int64_t)asked->data_size;
        else if (!fit_files(workload, asked->data_size, err))
            return false;
    }
    return workload_layout(workload, &choice, layout, err);
}

static void print_layout(const struct dataset_layout *layout, const char *root, struct text *out)
{
    struct unit_texts texts = {0};
    struct dataset_file first, eval;
    int64_t bytes = dataset_layout_bytes(layout), train_files = layout->files_train,
            eval_files = layout->files_eval;
    dataset_file_init(&first, layout, 0);
    dataset_file_init(&eval, layout, train_files);
    if (eval_files > 0 && layout->eval_samples_per_file > 0)
        text_format(out,
                    "%s: %" PRId64 " training file%s of %" PRId64 " sample%s and %" PRId64
                    " evaluation file%s of %" PRId64 ", %s",
                    root, train_files, data_plural(train_files), first.samples, data_plural(first.samples),
                    eval_files, data_plural(eval_files), eval.samples, layout->format->name);
    else
        text_format(
            out, "%s: %" PRId64 " training and %" PRId64 " evaluation files of %" PRId64 " sample%s, %s",
            root, train_files, eval_files, first.samples, data_plural(first.samples), layout->format->name);
    if (bytes >= 0)
        text_format(out, ", %" PRId64 " bytes (%s)", bytes, unit_text(&texts, (double)bytes, UNIT_BYTES));
    text_add(out, "\n");
}

static void print_generated(const struct dataset_generated *made, double seconds, struct text *out)
{
    struct unit_texts texts = {0};
    text_format(out, "%" PRId64 " file%s written, %s", made->files_written, data_plural(made->files_written),
                unit_text(&texts, (double)made->bytes_written, UNIT_BYTES));
    if (made->files_written > 0)
        text_format(out, " in %s, %s", unit_text(&texts, seconds, UNIT_TIME),
                    unit_text(&texts, (double)made->bytes_written / seconds, UNIT_RATE));
    if (made->files_kept > 0)
        text_format(out, "; %" PRId64 " existing file%s kept, %s", made->files_kept,
                    data_plural(made->files_kept), unit_text(&texts, (double)made->bytes_kept, UNIT_BYTES));
    text_add(out, "\n");
}

static const struct field layout_fields[] = {
    FIELD_OUT(struct dataset_layout, "files_train", files_train, FIELD_INT64),
    FIELD_OUT(struct dataset_layout, "files_eval", files_eval, FIELD_INT64),
    FIELD_OUT(struct dataset_layout, "samples_per_file", samples_per_file, FIELD_INT64),
};

static const struct field made_fields[] = {
    FIELD_OUT(struct dataset_generated, "files_written", files_written, FIELD_INT64),
    FIELD_OUT(struct dataset_generated, "files_kept", files_kept, FIELD_INT64),
    FIELD_OUT(struct dataset_generated, "bytes_written", bytes_written, FIELD_INT64),
    FIELD_OUT(struct dataset_generated, "bytes_kept", bytes_kept, FIELD_INT64),
};

static void write_generated(const struct dataset_layout *layout, const char *root,
                            const struct dataset_generated *made, double seconds, struct json *json)
{
    json_open_document(json, "rehearse-dataset-generation/1");
    json_string(json, "folder", root);
    json_string(json, "dataset_format", layout->format->name);
    FIELDS_WRITE(layout, layout_fields, json);
    json_integer(json, "eval_samples_per_file", dataset_samples_per_file(layout, true));
    json_integer(json, "bytes", dataset_layout_bytes(layout));
    if (made) {
        FIELDS_WRITE(made, made_fields, json);
        json_number(json, "seconds", seconds);
    }
    json_close(json);
}

/* All that a call has. */
struct generating {
    const struct rh_dataset_generate_request *asked;
    const struct api_call *call;
    struct api_report *report;
    struct workload workload;
    struct dataset_layout layout;
    struct data_place data;
    struct comm *comm;
};

/* Of rank 0; the other processes of a run have the same numbers, and no text. `made` NULL: nothing was written. */
static void answer(const struct generating *job, const struct dataset_generated *made, double seconds)
{
    const struct dataset_layout *layout = &job->layout;
    write_generated(layout, job->data.root, made, seconds, &job->report->json);
    if (comm_rank(job->comm) > 0) {
        text_release(&job->report->json_text);
        return;
    }
    print_layout(layout, job->data.root, &job->report->text);
    if (made)
        print_generated(made, seconds, &job->report->text);
}

/* Every process writes its share; the sums are those of all. */
static bool generate_all(struct generating *job, struct error *err)
{
    struct data_work work = {0};
    struct dataset_generated made;
    struct comm *comm = job->comm;
    bool begun = data_work_begin(&work, "writing", job->call, err);
    if (!comm_agree(comm, begun, "the start of generating", err)) {
        if (begun)
            data_work_end(&work);
        return false;
    }
    work.work.rank = comm_rank(comm);
    work.work.ranks = comm_size(comm);
    work.all = dataset_layout_bytes(&job->layout) / work.work.ranks;
    if (work.work.rank > 0)
        work.work.progress = NULL;
    bool done =
        feed_generate(&job->layout, &job->data.place, &work.work, comm, job->asked->force, &made, err);
    double seconds = data_work_end(&work);
    int64_t sums[] = {made.files_written, made.files_kept, made.bytes_written, made.bytes_kept};
    if (!done || !comm_reduce_integers(comm, COMM_SUM, sums, 4, "the count of files", err))
        return false;
    made = (struct dataset_generated){sums[0], sums[1], sums[2], sums[3]};
    answer(job, &made, seconds);
    return true;
}

static bool generate_layout(struct generating *job, struct error *err)
{
    const struct rh_dataset_generate_request *asked = job->asked;
    const atomic_bool *stop = api_stop(job->call);
    bool open = asked->output ? data_place_of_folder(&job->data, asked->output, asked->sync, stop, err)
                              : data_place_of_workload(&job->data, &job->workload, asked->sync, stop, err);
    if (!comm_agree(job->comm, open, "the data set's place", err))
        return false;
    if (!asked->dry_run)
        return generate_all(job, err);
    answer(job, NULL, 0.0);
    return true;
}

/* Gets the words of the request, with the workload of --study before them. */
static bool words_of(const struct rh_dataset_generate_request *asked, struct arena *arena,
                     struct rh_list *words, struct error *err)
{
    *words = asked->workload;
    if (!asked->study)
        return true;
    const char **items = ARENA_ARRAY(arena, words->count + 1, const char *);
    if (!items || !(items[0] = arena_format(arena, "vldb_%s_sleep", asked->study)))
        return error_memory(err);
    for (size_t i = 0; i < words->count; i++)
        items[i + 1] = words->items[i];
    *words = (struct rh_list){items, words->count + 1};
    return true;
}

/* DLIO and the VLDB study mean other files by these names. */
static void warn_of_name(const char *name)
{
    static const char *const notes[][2] = {
        {"unet3d",
         "the VLDB study's data, vldb_unet3d_sleep; DLIO's are unet3d_v100, unet3d_a100 and unet3d_h100"},
        {"bert", "DLIO's data; the VLDB study's are made by '-w bert'"},
        {"dlrm", "DLIO's data; the VLDB study's are made by '-w dlrm'"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (strcmp(name, notes[i][0]) == 0)
            caller_warn("%s: %s", name, notes[i][1]);
}

static bool open_workload(struct generating *job, struct error *err)
{
    struct workload_overrides overrides = {0};
    struct workload_options options = {.strict = job->asked->strict};
    struct rh_list words;
    const char *name;
    bool open = words_of(job->asked, &overrides.arena, &words, err) &&
                workload_overrides_of(&overrides, &words, &job->asked->set, WORKLOAD_FOLDER_NONE, &name, err);
    options.overrides = overrides.items;
    options.override_count = overrides.count;
    open = open && workload_given_open(&job->workload, name, &options,
                                       comm_rank(job->comm) == 0 ? job->call : NULL, err);
    if (open && comm_rank(job->comm) == 0)
        warn_of_name(name);
    workload_overrides_release(&overrides);
    return open;
}

static bool generate(const void *request, const struct api_call *call, struct api_report *report,
                     struct error *err)
{
    struct generating made_by = {.asked = request, .call = call, .report = report}, *job = &made_by;
    if (made_by.asked->replay)
        return generate_replay(
            request, &(struct replay_call){api_dataset_generate_options, call->given, api_stop(call)}, report,
            err);
    job->comm = comm_open(0.0, err);
    if (!job->comm)
        return false;
    bool made = open_workload(job, err) &&
                make_layout(&job->layout, job->asked, job->call->given, &job->workload, err);
    bool done = feed_same_layout(job->comm, &job->layout, made, err) && made && generate_layout(job, err);
    data_place_release(&job->data);
    dataset_layout_release(&job->layout);
    workload_release(&job->workload);
    comm_close(job->comm);
    return done;
}

API_WHOLE_COMMAND(dataset_generate, "dataset generate", rh_dataset_generate_request, .answer = generate,
                  .ends_in_order = true);
