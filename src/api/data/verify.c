/* rh_dataset_verify: is every byte still as it was generated? */
#include "dataset/verify.h"
#include "api/command.h"
#include "api/data/work.h"
#include "core/fields.h"
#include "core/unit.h"

#include <inttypes.h>

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

static const struct field listed_fields[] = {
    FIELD_OUT(struct dataset_fault, "path", path, FIELD_TEXT),
    FIELD_WORDS(struct dataset_fault, "fault", kind, fault_names),
    FIELD_OUT(struct dataset_fault, "offset", offset, FIELD_SOME_INT64),
    FIELD_OUT(struct dataset_fault, "text", text, FIELD_TEXT),
};

static const struct field verified_fields[] = {
    FIELD_OUT(struct dataset_verified, "files", files, FIELD_INT64),
    FIELD_OUT(struct dataset_verified, "bytes", bytes, FIELD_INT64),
    FIELD_OUT(struct dataset_verified, "faults", fault_count, FIELD_INT64),
};

static void drop(void *context)
{
    dataset_verified_release(context);
}

static void write_verified(const struct dataset_verified *verified, const char *root, struct json *json)
{
    json_open_document(json, "rehearse-dataset-verification/1");
    json_string(json, "folder", root);
    FIELDS_WRITE(verified, verified_fields, json);
    FIELDS_LIST(verified->faults, verified->listed, listed_fields, json, "listed");
    json_close(json);
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
    return true;
}

static bool verify(const void *request, const struct api_call *call, struct api_report *report,
                   struct error *err)
{
    const struct rh_dataset_verify_request *asked = request;
    struct dataset_layout layout;
    struct data_place data;
    int64_t manifest = -1;
    bool done = data_place_of_folder(&data, asked->folder, false, api_stop(call), err) &&
                data.place.size(data.place.context, DATASET_MANIFEST, &manifest, err) &&
                (manifest >= 0 || error_set(err, ERROR_INPUT,
                                            "%s has no " DATASET_MANIFEST
                                            ", in which 'rehearse dataset generate' says what it has made: "
                                            "make the data set, or name its folder",
                                            asked->folder)) &&
                dataset_manifest_read(&layout, &data.place, err);
    if (done) {
        done = verify_layout(asked, call, &layout, &data, report, err);
        dataset_layout_release(&layout);
    }
    data_place_release(&data);
    return done;
}

API_WHOLE_COMMAND(dataset_verify, "dataset verify", rh_dataset_verify_request, .answer = verify,
                  .ends_in_order = true);
