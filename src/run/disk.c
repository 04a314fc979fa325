#include "run/disk.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/json.h"
#include "core/text.h"
#include "dataset/bytes.h"
#include "dataset/layout.h"
#include "feed/loader/loader.h"
#include "run/run.h"
#include "storage/storage.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_MANIFEST ((size_t)1 << 20)
#define CHUNK        ((size_t)4 << 20) /* bytes that are made and written at once */
#define READ_THREADS 2                 /* of a device that loads */

/* A checkpoint of one device, or (device -1) the manifest of all. */
struct disk_save {
    struct worker_job job;
    struct disk *disk;
    int device, number;
    int64_t bytes;
};

struct disk_device {
    bool loads, loading;
    int64_t step;                /* of the loader: the next one to be taken */
    uint64_t mark, expected;     /* sums of order_mark of samples that came, and that were due */
    struct disk_save save;       /* the last one */
    int saves;                   /* begun */
    const struct sim_seat *seat; /* of the plan */
};

struct disk {
    const struct sim_tasks *tasks;
    int first, count;
    struct disk_device *devices;
    struct run_counts counts;
    /* samples */
    struct storage *data;
    struct dataset_layout layout;
    bool has_layout;
    struct loader *loader;
    struct order order;
    int first_reader, readers, all_readers; /* accelerators of this rank, and of all */
    int64_t epoch;
    int left; /* devices that have samples of this epoch to take */
    /* checkpoints */
    struct storage *checkpoints;
    struct worker *worker;
    char *chunk;
    struct disk_save manifest;
    int completed;
};

/* ---- samples ---- */

static bool read_layout(struct dataset_layout *layout, const char *data, struct error *err)
{
    struct text path = {0};
    char *json = NULL;
    size_t length;
    text_format(&path, "%s/%s", data, DATASET_MANIFEST);
    bool ok = !path.failed || error_memory(err);
    ok = ok && file_read(path.data, MAX_MANIFEST, &json, &length, err) &&
         dataset_layout_read(layout, path.data, json, length, err);
    free(json);
    text_release(&path);
    return ok;
}

double disk_sample_bytes(const char *data, struct error *err)
{
    struct dataset_layout layout;
    if (!read_layout(&layout, data, err))
        return 0.0;
    struct dataset_file file;
    dataset_file_init(&file, &layout, 0);
    int64_t bytes = dataset_file_bytes(&file, 0);
    double sample = bytes > 0 ? (double)bytes / (double)file.samples : layout.record_bytes;
    dataset_layout_release(&layout);
    return sample;
}

/* Returns the samples that a device loads for an iteration; 0: none. */
static int64_t samples_of(const struct sim_tasks *tasks, int device, double load_bytes)
{
    const struct engine_order *order = &tasks->system->orders[tasks->system->devices[device].order];
    for (size_t pass = 0; pass < order->count; pass++) {
        const struct engine_template *template = &tasks->system->templates[order->passes[pass].template];
        for (int i = 0; i < template->count; i++)
            if (sim_task_of_host(&template->tasks[i]) == SIM_HOST_LOADS)
                return (int64_t)fmax(1.0, nearbyint(template->tasks[i].bytes / load_bytes));
    }
    return 0;
}

static bool count_readers(struct disk *disk, double load_bytes, int64_t *batch, struct error *err)
{
    for (int d = 0; d < disk->tasks->system->device_count; d++) {
        int64_t samples = samples_of(disk->tasks, d, load_bytes);
        if (samples == 0)
            continue;
        if (disk->all_readers > 0 && samples != *batch)
            return error_set(err, ERROR_INPUT,
                             "--data: device %d loads %" PRId64 " samples, others %" PRId64
                             ": all must load the same number",
                             d, samples, *batch);
        *batch = samples;
        disk->first_reader += d < disk->first;
        if (d >= disk->first && d < disk->first + disk->count) {
            disk->devices[d - disk->first].loads = true;
            disk->readers++;
        }
        disk->all_readers++;
    }
    return true;
}

/* A last file with fewer samples is left out, as by `feed`. */
static int64_t full_files(const struct dataset_layout *layout)
{
    struct dataset_file last;
    dataset_file_init(&last, layout, layout->files_train - 1);
    return last.samples < layout->samples_per_file && layout->files_train > 1 ? layout->files_train - 1
                                                                              : layout->files_train;
}

static bool begin_epoch(struct disk *disk, struct error *err)
{
    const struct loader_pass pass = {
        .order = &disk->order, .epoch = disk->epoch, .steps = disk->order.steps, .interval = CLOCK_SECOND};
    for (int d = 0; d < disk->count; d++)
        disk->devices[d].step = 0;
    disk->left = disk->readers;
    return loader_start(disk->loader, &pass, err);
}

static bool open_data(struct disk *disk, const char *data, double load_bytes, struct error *err)
{
    int64_t batch = 0;
    const struct storage_options place = {.method = STORAGE_POSIX, .root = data};
    if (!read_layout(&disk->layout, data, err))
        return false;
    disk->has_layout = true;
    if (!count_readers(disk, load_bytes, &batch, err))
        return false;
    if (disk->readers == 0)
        return true;
    const struct order_options order = {.files = full_files(&disk->layout),
                                        .samples_per_file = disk->layout.samples_per_file,
                                        .batch = batch,
                                        .accelerators = disk->all_readers,
                                        .file_shuffle = ORDER_SEED,
                                        .sample_shuffle = ORDER_SEED,
                                        .seed = disk->layout.seed,
                                        .seed_change_epoch = true};
    if (!order_init(&disk->order, &order, err) || !(disk->data = storage_new(&place, err)))
        return false;
    const struct loader_options loader = {.storage = disk->data,
                                          .layout = &disk->layout,
                                          .first = disk->first_reader,
                                          .count = disk->readers,
                                          .read_threads = READ_THREADS,
                                          .exact = true};
    disk->loader = loader_new(&loader, err);
    return disk->loader && begin_epoch(disk, err);
}

/* Returns the number of a device among the loader's accelerators of this rank. */
static int reader_of(const struct disk *disk, int device)
{
    int reader = 0;
    for (int d = 0; d < device; d++)
        reader += disk->devices[d].loads;
    return reader;
}

/* Adds the samples that a batch must have. */
static void expect(const struct disk *disk, struct disk_device *device, int reader)
{
    struct order_place place;
    for (int64_t i = 0; i < disk->order.options.batch; i++)
        if (order_at(&disk->order, disk->epoch, disk->first_reader + reader, device->step, i, &place))
            device->expected += order_mark(&disk->order, &place);
}

/* Takes a device's samples if they are there. */
static bool take(struct disk *disk, int d, bool *failed, struct error *err)
{
    struct disk_device *device = &disk->devices[d];
    struct metrics_batch batch;
    int reader = reader_of(disk, d), told;
    if (device->step == disk->order.steps) { /* others have not taken the last of the epoch */
        *failed = disk->left == 0 && (disk->epoch++, !begin_epoch(disk, err));
        if (*failed || device->step > 0)
            return false;
    }
    if (!loader_take(disk->loader, reader, device->step, &batch)) {
        *failed = loader_wait(disk->loader, 0, &told, 1, err) < 0;
        return false;
    }
    expect(disk, device, reader);
    device->mark += batch.mark;
    device->loading = false;
    disk->counts.samples += batch.samples;
    disk->counts.sample_bytes += batch.bytes;
    disk->left -= ++device->step == disk->order.steps;
    return true;
}

/* ---- checkpoints ---- */

static bool write_device(void *context, struct error *err)
{
    const struct disk_save *save = context;
    const struct disk *disk = save->disk;
    static const struct storage_write_options options = {.sync = true};
    char name[96];
    struct dataset_bytes bytes;
    snprintf(name, sizeof name, "checkpoint-%d/device-%d.bin", save->number, save->device);
    dataset_bytes_init(&bytes, (uint64_t)save->number, (uint64_t)save->device, 0.0);
    struct storage_writer *writer = storage_create(disk->checkpoints, name, &options, err);
    bool ok = writer != NULL;
    for (int64_t at = 0; ok && at < save->bytes; at += (int64_t)CHUNK) {
        size_t length = save->bytes - at < (int64_t)CHUNK ? (size_t)(save->bytes - at) : CHUNK;
        dataset_bytes_fill(&bytes, at, disk->chunk, length);
        ok = storage_write(writer, disk->chunk, length, err);
    }
    if (ok)
        return storage_commit(writer, NULL, err);
    storage_discard(writer);
    return false;
}

static bool write_manifest(void *context, struct error *err)
{
    const struct disk_save *save = context;
    static const struct storage_write_options options = {.sync = true, .sync_folder = true};
    char name[96];
    struct text text = {0};
    struct json json = {.out = &text};
    snprintf(name, sizeof name, "checkpoint-%d/checkpoint.json", save->number);
    json_open(&json, NULL, '{');
    json_integer(&json, "number", save->number);
    json_integer(&json, "devices", save->disk->tasks->system->device_count);
    json_close(&json);
    bool ok = (!text.failed || error_memory(err)) &&
              storage_put(save->disk->checkpoints, name, text.data, text.length, &options, err);
    text_release(&text);
    return ok;
}

static bool open_checkpoints(struct disk *disk, const char *folder, int wake, struct error *err)
{
    const struct storage_options place = {.method = STORAGE_POSIX, .root = folder};
    disk->chunk = malloc(CHUNK);
    if (!disk->chunk)
        return error_memory(err);
    return file_make_folders(folder, err) && (disk->checkpoints = storage_new(&place, err)) &&
           (disk->worker = worker_new(wake, err));
}

/* ---- all of it ---- */

struct disk *disk_open(const struct run_disk *options, const struct sim_tasks *tasks, double load_bytes,
                       int first, int count, int wake, struct error *err)
{
    struct disk *disk = calloc(1, sizeof *disk);
    if (disk) {
        disk->tasks = tasks;
        disk->first = first;
        disk->count = count;
        disk->devices = calloc((size_t)count + 1, sizeof *disk->devices);
    }
    bool ok = (disk && disk->devices) || error_memory(err);
    ok = ok && (!options->data || open_data(disk, options->data, load_bytes, err)) &&
         (!options->checkpoints || open_checkpoints(disk, options->checkpoints, wake, err));
    if (ok)
        return disk;
    disk_close(disk);
    return NULL;
}

void disk_close(struct disk *disk)
{
    if (!disk)
        return;
    worker_free(disk->worker);
    loader_free(disk->loader);
    if (disk->has_layout)
        dataset_layout_release(&disk->layout);
    storage_free(disk->data);
    storage_free(disk->checkpoints);
    free(disk->chunk);
    free(disk->devices);
    free(disk);
}

bool disk_has(const struct disk *disk, const struct engine_task *task)
{
    enum sim_host_task kind = sim_task_of_host(task);
    return (kind == SIM_HOST_LOADS && disk->loader) || (kind == SIM_HOST_WRITES && disk->checkpoints);
}

bool disk_begin(struct disk *disk, int d, const struct engine_task *task, int64_t bytes, struct error *err)
{
    struct disk_device *device = &disk->devices[d];
    bool failed = false;
    if (sim_task_of_host(task) == SIM_HOST_LOADS) {
        device->loading = true;
        return take(disk, d, &failed, err) || !failed; /* the loader begins to read */
    }
    device->save = (struct disk_save){.job = {.run = write_device, .context = &device->save},
                                      .disk = disk,
                                      .device = disk->first + d,
                                      .number = device->saves++,
                                      .bytes = bytes};
    worker_ask(disk->worker, &device->save.job);
    return true;
}

bool disk_ended(struct disk *disk, int d, const struct engine_task *task, double *end, bool *failed,
                struct error *err)
{
    struct disk_device *device = &disk->devices[d];
    *failed = false;
    *end = clock_now();
    if (sim_task_of_host(task) == SIM_HOST_LOADS)
        return !device->loading || take(disk, d, failed, err);
    if (!worker_ended(disk->worker, &device->save.job))
        return false;
    *failed = device->save.job.failed;
    if (*failed)
        *err = device->save.job.error;
    *end = device->save.job.end;
    disk->counts.files += !*failed;
    disk->counts.file_bytes += *failed ? 0 : device->save.bytes;
    return !*failed;
}

/* Waits for the last manifest. */
static bool end_manifest(struct disk *disk, struct error *err)
{
    while (disk->completed > 0 && !worker_ended(disk->worker, &disk->manifest.job))
        (void)clock_sleep(CLOCK_SECOND / 1000);
    if (disk->completed == 0 || !disk->manifest.job.failed)
        return true;
    *err = disk->manifest.job.error;
    return false;
}

bool disk_complete(struct disk *disk, struct error *err)
{
    if (!disk->checkpoints)
        return true;
    if (!end_manifest(disk, err))
        return false;
    disk->manifest = (struct disk_save){.job = {.run = write_manifest, .context = &disk->manifest},
                                        .disk = disk,
                                        .device = -1,
                                        .number = disk->completed++};
    worker_ask(disk->worker, &disk->manifest.job);
    return true;
}

bool disk_check(struct disk *disk, struct error *err)
{
    if (!end_manifest(disk, err))
        return false;
    for (int d = 0; d < disk->count; d++)
        if (disk->devices[d].mark != disk->devices[d].expected)
            return error_set(err, ERROR_FAILED,
                             "device %d: read other samples than the schedule assigns to it",
                             disk->first + d);
    return true;
}

const struct run_counts *disk_counts(const struct disk *disk)
{
    return &disk->counts;
}
