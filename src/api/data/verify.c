/* rh_dataset_verify: is every byte still as it was generated? */
#include "dataset/verify.h"
#include "api/command.h"
#include "api/data/work.h"
#include "core/json.h"
#include "core/unit.h"

#include <inttypes.h>
#include <stdlib.h>

const struct option_spec api_dataset_verify_options[] = {
    OPTION(rh_dataset_verify_request, folder, OPTION_FILE, "folder", .is_operand = true, .required = true,
           .argument = "FOLDER", .help = "a data set of 'rehearse dataset generate', or s3://BUCKET/PREFIX"),
    OPTION(rh_dataset_verify_request, quick, OPTION_FLAG, "quick",
           .help = "check only names and sizes, not content"),
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
                verified->fault_count, data_plural(verified->fault_count));
}

static void write_verified(const struct dataset_verified *verified, const char *root, struct json *json)
{
    json_open_document(json, "rehearse-dataset-verification/1");
    json_string(json, "folder", root);
    json_integer(json, "files", verified->files);
    json_integer(json, "bytes", verified->bytes);
    json_integer(json, "faults", verified->fault_count);
    json_open(json, "listed", '[');
    for (int i = 0; i < verified->listed; i++) {
        const struct dataset_fault *fault = &verified->faults[i];
        json_open_flat(json, NULL, '{');
        json_string(json, "path", fault->path);
        json_string(json, "fault", fault_names[fault->kind]);
        if (fault->kind == DATASET_WRONG_CONTENT)
            json_integer(json, "offset", fault->offset);
        json_string(json, "text", fault->text);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

static void drop(void *context)
{
    dataset_verified_release(context);
    free(context);
}

static const char *kind_of(const struct dataset_fault *fault)
{
    return fault_names[fault->kind];
}

static void add_values(struct api_report *report, const struct dataset_verified *verified)
{
    rh_handle *handle = &report->base;
    const struct dataset_fault *faults = verified->faults;
    const char **kinds = ARENA_ARRAY(&handle->arena, (size_t)verified->listed + 1, const char *);
    for (int i = 0; kinds && i < verified->listed; i++)
        kinds[i] = kind_of(&faults[i]);
    handle->failed = handle->failed || !kinds;
    api_add_column(handle, "listed.fault", 's', kinds, verified->listed, sizeof *kinds);
    API_COLUMN(handle, "listed.path", 's', faults, verified->listed, path);
    API_COLUMN(handle, "listed.text", 's', faults, verified->listed, text);
    API_COLUMN(handle, "listed.offset", 'q', faults, verified->listed, offset);
}

static bool verify_layout(const struct rh_dataset_verify_request *asked, const struct api_call *call,
                          const struct dataset_layout *layout, const struct data_place *data,
                          struct api_report *report, struct error *err)
{
    struct data_work job;
    struct dataset_verified *verified = api_report_keep(report, sizeof *verified, drop, err);
    if (!verified || !data_work_begin(&job, "reading", call, err))
        return false;
    job.all = asked->quick ? -1 : dataset_layout_bytes(layout);
    bool done = dataset_verify(layout, &data->place, &job.work, !asked->quick, verified, err);
    double seconds = data_work_end(&job);
    if (!done)
        return false;
    write_verified(verified, data->root, &report->json);
    print_verified(verified, data->root, seconds, &report->text);
    add_values(report, verified);
    return true;
}

static bool verify(const void *request, const struct api_call *call, struct api_report *report,
                   struct error *err)
{
    const struct rh_dataset_verify_request *asked = request;
    struct dataset_layout layout;
    struct data_place data;
    bool done = data_place_of_folder(&data, asked->folder, false, api_stop(call), err) &&
                dataset_manifest_read(&layout, &data.place, err);
    if (done) {
        done = verify_layout(asked, call, &layout, &data, report, err);
        dataset_layout_release(&layout);
    }
    data_place_release(&data);
    return done;
}

const struct api_command api_dataset_verify = {
    .name = "dataset verify",
    .options = api_dataset_verify_options,
    .size = sizeof(struct rh_dataset_verify_request),
    .answer = verify,
    .ends_in_order = true,
};
