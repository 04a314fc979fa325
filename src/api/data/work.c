#include "api/data/work.h"

#include "core/clock.h"
#include "core/unit.h"
#include "feed/workload/storage.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Takes over the storage; NULL: it could not be opened. */
static bool data_place_of_storage(struct data_place *data, struct storage *storage, bool sync,
                                  struct error *err)
{
    *data = (struct data_place){.objects = {storage, sync}};
    if (!storage)
        return false;
    data->root = strdup(storage_options(storage)->root);
    data->place = feed_place_of(&data->objects);
    return data->root ? true : error_memory(err);
}

bool data_place_of_folder(struct data_place *data, const char *root, bool sync, const atomic_bool *stop,
                          struct error *err)
{
    const struct storage_options options = {
        .method = storage_is_s3(root) ? STORAGE_S3 : STORAGE_POSIX, .root = root, .stop = stop};
    return data_place_of_storage(data, storage_new(&options, err), sync, err);
}

bool data_place_of_workload(struct data_place *data, const struct workload *workload, bool sync,
                            const atomic_bool *stop, struct error *err)
{
    const char *folder = workload->dataset.data_folder;
    char *root = workload_storage_root(workload, folder);
    *data = (struct data_place){0};
    bool done = root ? true : error_memory(err);
    if (done && storage_is_s3(root)) {
        const struct workload_storage_choice choice = {.options = {.stop = stop}};
        done = data_place_of_storage(data, workload_storage_open(workload, folder, &choice, err), sync, err);
    } else if (done) {
        done = data_place_of_folder(data, root, sync, stop, err);
    }
    free(root);
    return done;
}

void data_place_release(struct data_place *data)
{
    storage_free(data->objects.storage);
    free(data->root);
}

static void show_progress(void *context, int64_t files, int64_t bytes)
{
    struct data_work *job = context;
    struct unit_texts texts = {0};
    double rate = (double)bytes / fmax(clock_now() - job->started, 1e-9);
    if (job->all > 0)
        progress_show(&job->progress, "%s of %s, %s", unit_text(&texts, (double)bytes, UNIT_BYTES),
                      unit_text(&texts, (double)job->all, UNIT_BYTES), unit_text(&texts, rate, UNIT_RATE));
    else
        progress_show(&job->progress, "%" PRId64 " files, %s, %s", files,
                      unit_text(&texts, (double)bytes, UNIT_BYTES), unit_text(&texts, rate, UNIT_RATE));
}

bool data_work_begin(struct data_work *job, const char *what, const struct api_call *call, struct error *err)
{
    *job = (struct data_work){.all = -1, .started = clock_now()};
    job->work = (struct dataset_work){
        .pool = parallel_new(call->how.threads, err),
        .ranks = 1,
        .stop = api_stop(call),
        .progress = show_progress,
        .progress_context = job,
    };
    if (!job->work.pool)
        return false;
    progress_start(&job->progress, what);
    return true;
}

double data_work_end(struct data_work *job)
{
    progress_end(&job->progress);
    parallel_free(job->work.pool);
    return clock_now() - job->started;
}
