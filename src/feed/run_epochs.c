#include "core/clock.h"
#include "core/statistics.h"
#include "feed/host.h"
#include "feed/result/metrics_figures.h"
#include "feed/run.h"
#include "feed/run_internal.h"
#include "storage/facts.h"

#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

/* The page cache of the data set's files, and the counters of the device under them. */

#define MAX_OWN ((int64_t)1 << 26) /* samples of a process whose files are listed; else all are looked at */

static bool is_local(const struct run *run)
{
    return storage_options(run->options->loader.storage)->method != STORAGE_S3;
}

static bool one_of_host(const struct run *run)
{
    return comm_local_rank(run->options->comm) == 0;
}

/* by the user */
static bool run_is_stopped(const struct run *run)
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

static bool run_drop_system(const struct run *run, struct error *err)
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

static void look_at_limits(const struct run *run, struct limits_look *look)
{
    struct error ignored;
    char *path = is_local(run) ? storage_path(run->options->loader.storage, "", &ignored) : NULL;
    limits_look(path, look);
    free(path);
}

static void run_device_start(struct run *run)
{
    run->result->device_counted = counters(run, &run->device_read, &run->device_written);
}

static void run_device_end(struct run *run)
{
    struct run_result *result = run->result;
    if (!result->device_counted || !counters(run, &result->device_read, &result->device_written))
        return;
    result->device_read -= run->device_read;
    result->device_written -= run->device_written;
}

#define MAX_MARKED   ((int64_t)1 << 24)   /* samples of an epoch whose marks are summed up again */
#define MAX_INTERVAL 3600.0               /* seconds; batches further apart need no finer order */
#define PATIENCE     ((int64_t)100000000) /* ns that threads may take to come back when the run is stopped */

/* ---- Phases; each returns the same on all ranks ---- */

static bool together(struct run *run, bool ok, const char *what, struct error *err)
{
    return comm_agree(run->options->comm, ok, what, err);
}

/* Returns true if a checkpoint failed because the user stopped the run; the measurements so far then
 * count. */
static bool stopped_within(struct run *run)
{
    struct error lost;
    int64_t stopped = checkpoint_stopped(run->options->checkpoint);
    run->stopped =
        comm_reduce_integers(run->options->comm, COMM_MAX, &stopped, 1, "a checkpoint", &lost) && stopped;
    return run->stopped;
}

static bool save(struct run *run, int epoch, int64_t step, int block, struct error *err)
{
    struct checkpoint_moment moment = {.epoch = epoch + 1, .step = step, .block = block};
    return checkpoint_save(run->options->checkpoint, &moment, &run->result->metrics, err) ||
           stopped_within(run);
}

static bool start_pass(struct run *run, enum metrics_phase phase, int epoch, struct error *err)
{
    const struct distribution *compute = phase == METRICS_EVAL ? &run->eval_compute : &run->compute;
    const struct order *order = phase == METRICS_EVAL ? &run->result->eval : &run->result->train;
    const struct loader_pass pass = {
        .order = order,
        .eval = phase == METRICS_EVAL,
        .epoch = epoch,
        .steps = order->steps,
        .interval = distribution_nanoseconds(fmin(distribution_mean(compute), MAX_INTERVAL)),
        .excluded = run->options->workload->output.exclude_start_steps,
    };
    return together(run, loader_start(run->loaders[phase], &pass, err), "the start of an epoch", err);
}

static bool run_block(struct run *run, enum metrics_phase phase, int epoch, int block, int64_t first,
                      int64_t last, struct error *err)
{
    const struct accelerators_block steps = {
        .phase = phase,
        .epoch = epoch,
        .block = block,
        .first = first,
        .last = last,
        .steps = phase == METRICS_EVAL ? run->result->eval.steps : run->result->train.steps,
        .compute = phase == METRICS_EVAL ? run->eval_compute : run->compute,
    };
    return accelerators_run(run->accelerators[phase], &steps, &run->stopped, err);
}

static bool evaluate(struct run *run, int epoch, struct error *err)
{
    run_origin_read(run, epoch, METRICS_TRAIN);
    bool ok = start_pass(run, METRICS_EVAL, epoch, err) &&
              run_block(run, METRICS_EVAL, epoch, 0, 0, run->result->eval.steps, err);
    run_origin_read(run, epoch, METRICS_EVAL);
    return ok;
}

/* A block of steps ends where a checkpoint is saved or an evaluation is due. */
static bool train(struct run *run, int epoch, struct error *err)
{
    int64_t steps = run->result->train.steps;
    int block = 1;
    if (!start_pass(run, METRICS_TRAIN, epoch, err))
        return false;
    for (int64_t step = 0, next; step < steps && !run->stopped; step = next, block++) {
        next = run_next(run, step, steps);
        if (!run_block(run, METRICS_TRAIN, epoch, block, step, next, err))
            return false;
        if (!run->stopped && run_is_due(&run->saves, next) && !save(run, epoch, next, block, err))
            return false;
        if (!run->stopped && run_is_due(&run->evals, next) && !evaluate(run, epoch, err))
            return false;
    }
    return run->stopped || !run_saves_after(run, epoch) || save(run, epoch, steps, block - 1, err);
}

/* Looks up the epoch's files in the page cache, and drops them first if requested. */
static bool prepare(struct run *run, int epoch, struct error *err)
{
    struct run_look looks[METRICS_PHASES];
    bool drop = run->options->drop == RUN_DROP_FILES, ok = run_drop_system(run, err);
    if (!together(run, ok, "dropping caches", err))
        return false;
    for (int phase = 0; phase < METRICS_PHASES && ok; phase++)
        ok = run_look(run, (enum metrics_phase)phase, epoch, drop, &looks[phase], err);
    if (!together(run, ok, drop ? "dropping caches" : "a look at the page cache", err))
        return false;
    if (epoch == 0)
        run->before = looks[METRICS_TRAIN];
    run_origin_epoch(run, epoch, looks);
    return true;
}

static bool run_epoch(struct run *run, int epoch, struct error *err)
{
    if (!prepare(run, epoch, err))
        return false;
    struct limits_look before, after;
    look_at_limits(run, &before);
    int64_t start = clock_nanoseconds();
    if (!train(run, epoch, err))
        return false;
    int64_t end = clock_nanoseconds();
    look_at_limits(run, &after);
    limits_add(&run->result->seen, &before, &after);
    run_origin_read(run, epoch, METRICS_TRAIN);
    for (int i = 0; i < run->options->accelerators; i++)
        metrics_epoch(&run->result->metrics, run->first + i, epoch, start, end);
    bool evaluates = !run->stopped && run->evals.first == 0 && run_evaluations(run, epoch) > 0;
    bool ok = !evaluates || evaluate(run, epoch, err);
    run_origin_epoch_end(run, epoch);
    return ok;
}

static bool run_checkpoints(struct run *run, struct error *err)
{
    const struct workload_checkpoint *checkpoint = &run->options->workload->checkpoint;
    const struct checkpoint_loop loop = {
        .writes = checkpoint->num_checkpoints_write,
        .reads = checkpoint->num_checkpoints_read,
        .between = checkpoint->time_between_checkpoints,
    };
    return checkpoint_run(run->options->checkpoint, &loop, &run->result->metrics, err) || stopped_within(run);
}

static bool run_all(struct run *run, struct error *err)
{
    if (!run->train)
        return run_checkpoints(run, err);
    for (; run->begun < run->epochs && !run->stopped; run->begun++)
        if (!run_epoch(run, run->begun, err))
            return false;
    return true;
}

/* A stopped run has no results of epochs that never began; there may be millions. */
static bool end_at_last_begun(struct run *run, struct error *err)
{
    int64_t begun = run->begun;
    if (!run->train)
        return true;
    if (!comm_reduce_integers(run->options->comm, COMM_MAX, &begun, 1, "the end", err))
        return false;
    run->epochs = begun > 1 ? (int)begun : 1;
    metrics_keep_epochs(&run->result->metrics, run->epochs);
    return true;
}

/* ---- Before and after ---- */

static bool replaces(const void *run, const struct checkpoint_moment *moment)
{
    return run_saves_at(run, moment->epoch, moment->step);
}

/* Checks the free space before the first step. */
static bool has_room(const struct run *run, struct error *err)
{
    return !run->save || run->options->force ||
           checkpoint_fits(run->options->checkpoint, run->options->comm, run_saves(run), replaces, run, err);
}

static bool begin(struct run *run, struct error *err)
{
    bool ok = run_setup(run, err) && run_origin_begin(run, err);
    if (!together(run, ok, "the start", err) || !has_room(run, err))
        return false;
    run_device_start(run);
    run->cpu = clock_processor();
    run->throttled = host_throttled();
    run->result->realtime = clock_read(CLOCK_REALTIME) - clock_nanoseconds();
    run->result->start = clock_nanoseconds();
    return true;
}

static bool add_rank(void *context, int rank, const char *bytes, size_t length, struct error *err)
{
    (void)rank;
    return metrics_merge(context, bytes, length, err);
}

static bool gather(struct run *run, struct error *err)
{
    struct run_result *result = run->result;
    struct text packed = {0};
    bool ok = comm_rank(run->options->comm) != 0 ||
              metrics_init(&result->whole, &result->metrics.options, 0, run->total, err);
    metrics_pack(&result->metrics, &packed);
    ok = ok && (!packed.failed || error_memory(err));
    ok = together(run, ok, "the results", err) && comm_gather(run->options->comm, packed.data, packed.length,
                                                              add_rank, &result->whole, "the results", err);
    text_release(&packed);
    return ok;
}

static bool finish(struct run *run, struct error *err)
{
    struct run_result *result = run->result;
    struct rusage usage;
    result->end = clock_nanoseconds();
    result->complete = !run->stopped;
    result->cpu_seconds = clock_processor() - run->cpu;
    getrusage(RUSAGE_SELF, &usage);
    result->memory = (int64_t)usage.ru_maxrss * 1024;
    result->throttled = 1e-9 * (double)(host_throttled() - run->throttled);
    run_device_end(run);
    for (int phase = 0; phase < METRICS_PHASES; phase++) {
        if (!run->loaders[phase])
            continue;
        loader_add_counts(run->loaders[phase], &result->counts);
        histogram_merge(&result->late, accelerators_late(run->accelerators[phase]));
    }
    if (!end_at_last_begun(run, err))
        return false;
    struct run_look after;
    bool looked = run_look(run, METRICS_TRAIN, run->epochs - 1, false, &after, err);
    return together(run, looked, "the end", err) && run_origin_gather(run, &run->before, &after, err) &&
           gather(run, err);
}

/* Frees the loader; in a stopped run whose storage does not answer, it is left behind. */
static void release_loader(struct run *run, struct loader *loader, bool ok)
{
    bool stopped = !ok || run->stopped;
    if (loader && stopped && run_is_stopped(run) && !loader_give_up(loader, PATIENCE))
        run->result->abandoned = true;
    else
        loader_free(loader);
}

bool run_workload(const struct run_options *options, struct run_result *result, struct error *err)
{
    struct run run = {.options = options, .result = result};
    *result = (struct run_result){0};
    bool ok = begin(&run, err) && run_all(&run, err) && finish(&run, err);
    for (int phase = 0; phase < METRICS_PHASES; phase++) {
        accelerators_free(run.accelerators[phase]);
        release_loader(&run, run.loaders[phase], ok);
    }
    free(run.origins);
    if (!ok)
        run_release(result);
    return ok;
}

void run_release(struct run_result *result)
{
    metrics_release(&result->metrics);
    metrics_release(&result->whole);
}

/* Checks one epoch or its evaluations. */
static bool check_epoch(const struct run_result *result, enum metrics_phase phase, const struct order *order,
                        int epoch, struct error *err)
{
    int64_t each = order->steps * order->options.batch * order->options.accelerators, passes = 1;
    if (phase == METRICS_EVAL && order->steps > 0)
        passes = metrics_row(&result->whole, 0, epoch, phase)->blocks;
    uint64_t mark = 0;
    bool marked = each <= MAX_MARKED;
    if (marked)
        mark = order_checksum(order, epoch) * (uint64_t)passes;
    return metrics_complete(&result->whole, phase, epoch, each * passes, marked ? &mark : NULL, err);
}

bool run_check_samples(const struct run_result *result, struct error *err)
{
    for (int epoch = 0; epoch < result->epochs && result->complete; epoch++) {
        if (result->train.steps > 0 && !check_epoch(result, METRICS_TRAIN, &result->train, epoch, err))
            return false;
        if (result->eval.steps > 0 && metrics_ran(&result->whole, METRICS_EVAL, epoch) &&
            !check_epoch(result, METRICS_EVAL, &result->eval, epoch, err))
            return false;
    }
    return true;
}
