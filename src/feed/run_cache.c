/* The page cache of the data set's files, and the counters of the device under them. */
#include "feed/run_internal.h"

#include "core/statistics.h"

#include "storage/facts.h"

#include <stdlib.h>

#define MAX_OWN ((int64_t)1 << 26) /* samples of a process whose files are listed; else all are looked at */

static bool is_local(const struct run *run)
{
    return storage_options(run->options->loader.storage)->method != STORAGE_S3;
}

static bool one_of_host(const struct run *run)
{
    return comm_local_rank(run->options->comm) == 0;
}

bool run_is_stopped(const struct run *run)
{
    return run->options->step.stop && atomic_load(run->options->step.stop);
}

/* ---- Which files an epoch reads ---- */

static int64_t unique(int64_t *numbers, int64_t count)
{
    int64_t kept = 0;
    qsort(numbers, (size_t)count, sizeof *numbers, order_int64s);
    for (int64_t i = 0; i < count; i++)
        if (kept == 0 || numbers[i] != numbers[kept - 1])
            numbers[kept++] = numbers[i];
    return kept;
}

/* Lists the files of this process's accelerators, if these read fewer samples than there are files; else
 * *numbers is NULL. The caller frees it. */
static bool find_own_files(const struct run *run, const struct order *order, int64_t epoch, int64_t **numbers,
                           int64_t *count, struct error *err)
{
    int64_t accelerators = run->options->accelerators, each, at = 0;
    *numbers = NULL;
    if (__builtin_mul_overflow(order->steps, order->options.batch, &each) ||
        __builtin_mul_overflow(each, accelerators, count) || *count >= order->options.files ||
        *count > MAX_OWN)
        return true;
    int64_t *own = malloc((size_t)(*count + 1) * sizeof *own);
    if (!own)
        return error_memory(err);
    for (int a = run->first; a < run->first + accelerators; a++)
        for (int64_t step = 0; step < order->steps; step++)
            for (int64_t i = 0; i < order->options.batch; i++) {
                struct order_place place;
                if (order_at(order, epoch, a, step, i, &place))
                    own[at++] = place.file;
            }
    *numbers = own;
    *count = unique(own, at);
    return true;
}

/* ---- Looking at them, and dropping them ---- */

struct look {
    const struct run *run;
    bool drop;
    struct run_look *seen;
};

static bool look_at_part(struct look *look, const char *path, struct error *err)
{
    struct storage_cached cached;
    if (!(look->drop ? storage_drop_file(path, look->run->options->step.stop, &cached, err)
                     : storage_resident(path, &cached, err)))
        return false;
    look->seen->bytes += cached.size;
    if (cached.resident < 0)
        look->seen->known = false;
    else
        look->seen->resident += cached.resident;
    return true;
}

/* Looks at the file's data, and at its other parts where they exist. A stop ends it without an error. */
static bool look_at_file(struct look *look, int64_t number, struct error *err)
{
    const struct run_options *options = look->run->options;
    struct dataset_file file;
    struct text name = {0};
    bool ok = true;
    dataset_file_init(&file, options->loader.layout, number);
    for (int part = 0; part < dataset_file_parts(&file) && ok; part++) {
        ok = dataset_file_path(&file, part, &name) || error_memory(err);
        char *path = ok ? storage_path(options->loader.storage, name.data, err) : NULL;
        ok = path && (look_at_part(look, path, err) || (part > 0 && err->kind == ERROR_INPUT));
        free(path);
    }
    text_release(&name);
    look->seen->files++;
    return ok || run_is_stopped(look->run);
}

/* Looks at the files that this process reads in a phase; if it may read any, at its share of all on this
 * host. */
static bool look_at_phase(struct look *look, enum metrics_phase phase, int64_t epoch, struct error *err)
{
    const struct run *run = look->run;
    const struct comm *comm = run->options->comm;
    const struct dataset_layout *layout = run->options->loader.layout;
    const struct order *order = phase == METRICS_EVAL ? &run->result->eval : &run->result->train;
    int64_t first = phase == METRICS_EVAL ? layout->files_train : 0, count = 0;
    int64_t files = phase == METRICS_EVAL ? layout->files_eval : layout->files_train;
    int64_t *own;
    bool ok = find_own_files(run, order, epoch, &own, &count, err);
    for (int64_t i = 0; own && ok && i < count && !run_is_stopped(run); i++)
        ok = look_at_file(look, first + own[i], err);
    int64_t step = comm_local_size(comm);
    for (int64_t i = comm_local_rank(comm); !own && ok && i < files && !run_is_stopped(run); i += step)
        ok = look_at_file(look, first + i, err);
    free(own);
    return ok;
}

bool run_look(const struct run *run, enum metrics_phase phase, int64_t epoch, bool drop,
              struct run_look *seen, struct error *err)
{
    *seen = (struct run_look){.known = run->train && is_local(run)};
    struct look look = {run, drop, seen};
    return !seen->known || (phase == METRICS_EVAL && !run->eval) || look_at_phase(&look, phase, epoch, err);
}

bool run_drop_system(const struct run *run, struct error *err)
{
    return run->options->drop != RUN_DROP_SYSTEM || !run->train || !is_local(run) || !one_of_host(run) ||
           storage_drop_system(err);
}

/* Reads the device's counters; false if they are unknown, which is no error. */
static bool counters(const struct run *run, int64_t *read, int64_t *written)
{
    struct storage_facts facts;
    struct error ignored;
    char *path =
        is_local(run) && one_of_host(run) ? storage_path(run->options->loader.storage, "", &ignored) : NULL;
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
