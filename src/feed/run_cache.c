/* What of the data set is in the page cache, what the device under it did, and how to begin without. */
#include "feed/run_internal.h"

#include "storage/facts.h"

#include <stdlib.h>

static bool is_local(const struct run *run)
{
    return storage_options(run->options->storage)->method != STORAGE_S3;
}

static bool one_of_host(const struct run *run)
{
    return comm_local_rank(run->options->comm) == 0;
}

typedef bool file_action(void *context, const char *path, struct error *err);

/* For the file's data, and its other parts where they are there. */
static bool for_file(const struct run *run, int64_t number, bool parts, file_action *action, void *context,
                     struct error *err)
{
    struct dataset_file file;
    struct text name = {0};
    bool ok = true;
    dataset_file_init(&file, run->options->layout, number);
    int count = parts ? dataset_file_parts(&file) : 1;
    for (int part = 0; part < count && ok; part++) {
        struct error missing;
        ok = dataset_file_path(&file, part, &name) || error_memory(err);
        char *path = ok ? storage_path(run->options->storage, name.data, err) : NULL;
        ok = path && (action(context, path, part == 0 ? err : &missing) || part > 0);
        free(path);
    }
    text_release(&name);
    return ok;
}

struct look {
    int64_t resident;
};

static bool look_at(void *context, const char *path, struct error *err)
{
    struct look *look = context;
    int64_t bytes;
    if (!storage_resident(path, &bytes, err))
        return false;
    look->resident += bytes;
    return true;
}

bool run_look(struct run *run, int64_t *resident, struct error *err)
{
    struct run_resident *result = &run->result->resident;
    const struct dataset_layout *layout = run->options->layout;
    int64_t files = layout->files_train;
    int64_t most = run->options->resident_files > 0 ? run->options->resident_files : RUN_RESIDENT_FILES;
    struct look look = {0};
    if (!run->train || !is_local(run) || !one_of_host(run))
        return true;
    result->known = true;
    result->files = files < most ? files : most;
    result->bytes = 0;
    for (int64_t i = 0; i < result->files; i++) {
        struct dataset_file file;
        int64_t number = files < most ? i : (int64_t)((double)i * (double)files / (double)most);
        dataset_file_init(&file, layout, number);
        int64_t bytes = dataset_file_bytes(&file, 0);
        result->bytes += bytes > 0 ? bytes : file.payload_bytes;
        if (!for_file(run, number, false, look_at, &look, err))
            return false;
    }
    *resident = look.resident;
    return true;
}

static bool drop(void *context, const char *path, struct error *err)
{
    (void)context;
    return storage_drop_file(path, err);
}

/* The processes of a host share the files among them. */
bool run_drop_caches(const struct run *run, struct error *err)
{
    const struct dataset_layout *layout = run->options->layout;
    int64_t files = layout->files_train + (run->eval ? layout->files_eval : 0);
    if (run->options->drop == RUN_DROP_NOTHING || !run->train)
        return true;
    if (!is_local(run))
        return error_set(err, ERROR_USAGE, "objects are in no page cache: there is nothing to drop");
    if (run->options->drop == RUN_DROP_SYSTEM)
        return !one_of_host(run) || storage_drop_system(err);
    for (int64_t i = comm_local_rank(run->options->comm); i < files; i += comm_local_size(run->options->comm))
        if (!for_file(run, i, true, drop, NULL, err))
            return false;
    return true;
}

/* What cannot be known is no error. */
static bool counters(const struct run *run, int64_t *read, int64_t *written)
{
    struct storage_facts facts;
    struct error ignored;
    char *path = is_local(run) && one_of_host(run) ? storage_path(run->options->storage, "", &ignored) : NULL;
    bool known = path && storage_facts(path, &facts, &ignored) && facts.counted;
    if (known) {
        *read = facts.read_bytes;
        *written = facts.written_bytes;
    }
    free(path);
    return known;
}

void run_device_start(struct run *run)
{
    run->result->device_counted = counters(run, &run->device_read, &run->device_written);
}

void run_device_end(struct run *run)
{
    struct run_result *result = run->result;
    if (!result->device_counted || !counters(run, &result->device_read, &result->device_written))
        return;
    result->device_read -= run->device_read;
    result->device_written -= run->device_written;
}
