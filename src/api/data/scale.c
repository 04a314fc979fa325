/* rh_dataset_scale: copies of real files. */
#include "dataset/scale.h"
#include "api/command.h"
#include "api/data/work.h"
#include "comm/comm.h"
#include "core/fields.h"
#include "core/json.h"
#include "core/unit.h"
#include "feed/space.h"

#include <inttypes.h>

static const struct field scaled_fields[] = {
    FIELD_OUT(struct dataset_scaled, "items", items, FIELD_INT64),
    FIELD_OUT(struct dataset_scaled, "files", files, FIELD_INT64),
    FIELD_OUT(struct dataset_scaled, "bytes", bytes, FIELD_INT64),
    FIELD_OUT(struct dataset_scaled, "bytes_kept", bytes_kept, FIELD_INT64),
};

static void answer(const struct rh_dataset_scale_request *asked, const struct dataset_scaled *scaled,
                   double seconds, struct api_report *report)
{
    struct json *json = &report->json;
    struct unit_texts texts = {0};
    json_open_document(json, "rehearse-dataset-scaling/1");
    json_string(json, "folder", asked->output);
    FIELDS_WRITE(scaled, scaled_fields, json);
    json_number(json, "seconds", seconds);
    json_close(json);
    text_format(&report->text, "%s: %" PRId64 " files, %" PRId64 " bytes (%s) in %s\n", asked->output,
                scaled->files, scaled->bytes, unit_text(&texts, (double)scaled->bytes, UNIT_BYTES),
                unit_text(&texts, seconds, UNIT_TIME));
}

static bool scale_fits(const struct rh_dataset_scale_request *asked, const atomic_bool *stop,
                       struct error *err)
{
    const struct space_need need = {asked->output, (int64_t)asked->data_size, 0, true};
    struct comm *comm = comm_open(0.0, err);
    bool fit = comm && space_fits(comm, &need, stop, err);
    comm_close(comm);
    return fit;
}

static bool scale(const void *request, const struct api_call *call, struct api_report *report,
                  struct error *err)
{
    const struct rh_dataset_scale_request *asked = request;
    const atomic_bool *stop = api_stop(call);
    struct arena arena = {0};
    struct dataset_item *items;
    int64_t count;
    struct data_place from = {0}, to = {0};
    struct data_work job;
    struct dataset_scaled scaled;
    if (storage_is_s3(asked->folder))
        return error_set(err, ERROR_USAGE, "%s: files are copied from a folder, not from S3", asked->folder);
    bool done = dataset_items_list(asked->folder, &arena, &items, &count, err) &&
                data_place_of_folder(&from, asked->folder, false, stop, err) &&
                data_place_of_folder(&to, asked->output, asked->sync, stop, err) &&
                data_work_begin(&job, "copying", call, err);
    if (done) {
        job.all = (int64_t)asked->data_size;
        done = (asked->force || scale_fits(asked, stop, err)) &&
               dataset_scale(&from.place, items, count, &to.place, job.all, &job.work, &scaled, err);
        double seconds = data_work_end(&job);
        if (done)
            answer(asked, &scaled, seconds, report);
    }
    data_place_release(&from);
    data_place_release(&to);
    arena_release(&arena);
    return done;
}

API_WHOLE_COMMAND(dataset_scale, "dataset scale", rh_dataset_scale_request, .answer = scale,
                  .ends_in_order = true);
