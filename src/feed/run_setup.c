/* Derives the parts of a run from its workload. */
#include "feed/run_internal.h"

#include "dataset/format.h"
#include "feed/workload/compute_time.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define PREPROCESS_STREAM UINT64_C(0x70726570) /* random numbers of preprocessing */
#define MAX_SAVES         ((int64_t)1 << 40)   /* maximum that is counted */

static enum order_shuffle shuffle_of(enum workload_shuffle shuffle)
{
    return shuffle == WORKLOAD_SHUFFLE_OFF    ? ORDER_OFF
           : shuffle == WORKLOAD_SHUFFLE_SEED ? ORDER_SEED
                                              : ORDER_RANDOM;
}

/* Deals out files, as DLIO does, if each accelerator gets one; else samples. */
static enum order_shard shard_of(const struct run *run, int64_t files)
{
    bool by_file = run->options->workload->reader.data_loader_sampler == WORKLOAD_SAMPLER_ITERATIVE;
    return by_file && files >= run->total ? ORDER_BY_FILE : ORDER_CONTIGUOUS;
}

/* Leaves out a last file with fewer samples than the others, unless it is the only one. Returns the
 * samples that no accelerator reads. */
static int64_t leave_short_file(const struct dataset_layout *layout, bool eval, int64_t *files,
                                int64_t *samples)
{
    struct dataset_file last;
    dataset_file_init(&last, layout, layout->files_train + (eval ? layout->files_eval : 0) - 1);
    *samples = dataset_samples_per_file(layout, eval);
    if (last.samples == *samples)
        return 0;
    if (*files == 1) {
        *samples = last.samples;
        return 0;
    }
    --*files;
    return last.samples;
}

static bool make_order(const struct run *run, enum metrics_phase phase, struct order *order,
                       struct error *err)
{
    const struct workload *workload = run->options->workload;
    const struct dataset_layout *layout = run->options->loader.layout;
    int64_t files = phase == METRICS_EVAL ? layout->files_eval : layout->files_train, samples, left;
    left = leave_short_file(layout, phase == METRICS_EVAL, &files, &samples);
    struct order_options options = {
        .files = files,
        .samples_per_file = samples,
        .batch = phase == METRICS_EVAL ? workload->reader.batch_size_eval : workload->reader.batch_size,
        .accelerators = run->total,
        .shard = shard_of(run, files),
        .file_shuffle = shuffle_of(workload->reader.file_shuffle),
        .sample_shuffle = run->options->loader.layout->format->together
                              ? ORDER_OFF
                              : shuffle_of(workload->reader.sample_shuffle),
        .seed = (uint64_t)workload->train.seed,
        .entropy = run->options->entropy,
        .seed_change_epoch = workload->train.seed_change_epoch,
    };
    if (!order_init(order, &options, err))
        return false;
    order->dropped += left;
    return true;
}

/* Returns the samples that do not fill a step. */
static int64_t left_over(const struct order *order)
{
    return order->samples - order->steps * order->options.batch * order->options.accelerators;
}

/* Limits the steps; a negative limit is none. */
static void shorten(struct order *order, int64_t limit)
{
    if (limit >= 0 && limit < order->steps) {
        order->dropped -= left_over(order);
        order->steps = limit;
        order->dropped += left_over(order);
    }
}

static bool make_orders(struct run *run, struct error *err)
{
    const struct workload *workload = run->options->workload;
    struct run_result *result = run->result;
    if (!comm_broadcast(run->options->comm, (void *)&run->options->entropy, sizeof run->options->entropy,
                        "the start", err))
        return false;
    if (run->train) {
        if (!make_order(run, METRICS_TRAIN, &result->train, err))
            return false;
        result->full_steps = result->train.steps;
        result->short_samples = result->train.dropped - left_over(&result->train);
        shorten(&result->train,
                workload->train.total_training_steps > 0 ? workload->train.total_training_steps : INT64_MAX);
    }
    if (run->eval) {
        if (!make_order(run, METRICS_EVAL, &result->eval, err))
            return false;
        shorten(&result->eval, workload->evaluation.total_eval_steps);
    }
    result->steps[METRICS_TRAIN] = result->train.steps;
    result->steps[METRICS_EVAL] = result->eval.steps;
    return true;
}

static struct run_rhythm rhythm(int64_t first, int64_t every)
{
    struct run_rhythm rhythm = {first > 0 ? first : every > 0 ? every : 0, every > 0 ? every : 0};
    return rhythm;
}

bool run_is_due(const struct run_rhythm *rhythm, int64_t step)
{
    if (rhythm->first == 0 || step < rhythm->first)
        return false;
    return step == rhythm->first || (rhythm->every > 0 && (step - rhythm->first) % rhythm->every == 0);
}

static int64_t next_of(const struct run_rhythm *rhythm, int64_t step)
{
    if (rhythm->first > step)
        return rhythm->first;
    if (rhythm->first == 0 || rhythm->every == 0)
        return INT64_MAX;
    return rhythm->first + ((step - rhythm->first) / rhythm->every + 1) * rhythm->every;
}

int64_t run_next(const struct run *run, int64_t step, int64_t last)
{
    int64_t save = next_of(&run->saves, step), eval = next_of(&run->evals, step);
    int64_t next = save < eval ? save : eval;
    return next < last ? next : last;
}

/* DLIO: the first after epoch `after`, then every `between` epochs; `between` not positive: that one only. */
static bool after_epoch(int64_t after, int64_t between, int epoch)
{
    int64_t since = epoch + 1 - (after > 0 ? after : 1);
    return since == 0 || (since > 0 && between > 0 && since % between == 0);
}

int64_t run_evaluations(const struct run *run, int epoch)
{
    const struct workload_evaluation *evaluation = &run->options->workload->evaluation;
    if (!run->eval)
        return 0;
    if (run->evals.first == 0)
        return after_epoch(evaluation->eval_after_epoch, evaluation->epochs_between_evals, epoch);
    int64_t steps = run->result->train.steps;
    if (steps < run->evals.first)
        return 0;
    return run->evals.every > 0 ? (steps - run->evals.first) / run->evals.every + 1 : 1;
}

bool run_saves_after(const struct run *run, int epoch)
{
    const struct workload_checkpoint *checkpoint = &run->options->workload->checkpoint;
    return run->save && run->saves.first == 0 &&
           after_epoch(checkpoint->checkpoint_after_epoch, checkpoint->epochs_between_checkpoints, epoch);
}

/* Follows `train` and checkpoint_run; epochs and steps of a moment count from 1. */
bool run_saves_at(const struct run *run, int64_t epoch, int64_t step)
{
    int64_t steps = run->result->train.steps;
    if (!run->save || epoch < 1 || epoch > run->epochs)
        return false;
    if (!run->train)
        return step >= 1 && step <= run->options->workload->checkpoint.num_checkpoints_write;
    if (run->saves.first > 0)
        return step <= steps && run_is_due(&run->saves, step);
    return step == steps && run_saves_after(run, (int)epoch - 1);
}

int64_t run_saves(const struct run *run)
{
    int64_t steps = run->result->train.steps, saves = 0;
    const struct run_rhythm *rhythm = &run->saves;
    if (!run->save)
        return 0;
    if (!run->train)
        return run->options->workload->checkpoint.num_checkpoints_write;
    if (rhythm->first > 0)
        return rhythm->first > steps
                   ? 0
                   : run->epochs * (1 + (rhythm->every > 0 ? (steps - rhythm->first) / rhythm->every : 0));
    for (int epoch = 0; epoch < run->epochs && saves < MAX_SAVES; epoch++)
        saves += run_saves_after(run, epoch);
    return saves;
}

static bool make_times(struct run *run, struct error *err)
{
    const struct workload *workload = run->options->workload;
    run->eval_compute = workload->evaluation.eval_time;
    return !run->train || compute_time_of_step(workload, run->total, &run->compute, err);
}

/* Clamps a number to the range of int. */
static int at_most_int(int64_t number)
{
    return number < INT_MAX ? (int)number : INT_MAX;
}

static bool make_metrics(struct run *run, struct error *err)
{
    const struct workload *workload = run->options->workload;
    struct run_result *result = run->result;
    int64_t evaluations = 0, eval_steps;
    for (int epoch = 0; epoch < run->epochs; epoch++)
        if (run_evaluations(run, epoch) > evaluations)
            evaluations = run_evaluations(run, epoch);
    if (__builtin_mul_overflow(result->eval.steps, evaluations, &eval_steps))
        eval_steps = INT64_MAX;
    const struct metrics_options options = {
        .accelerators = run->total,
        .epochs = run->epochs,
        .exclude_start = at_most_int(workload->output.exclude_start_steps),
        .exclude_end = at_most_int(workload->output.exclude_end_steps),
        .steps = {result->train.steps, eval_steps},
        .batch = {workload->reader.batch_size, workload->reader.batch_size_eval},
        .record_length = workload->dataset.record_length_bytes,
        .au_target = workload->metric.au,
    };
    return metrics_init(&result->metrics, &options, run->first, run->options->accelerators, err);
}

/* DLIO's readers for PyTorch open the file for each sample, except for indexed files. */
static bool reopens(const struct run *run)
{
    enum workload_loader loader = run->options->workload->reader.data_loader;
    const char *format = run->options->loader.layout->format->name;
    return (loader == WORKLOAD_LOADER_PYTORCH || loader == WORKLOAD_LOADER_DALI) &&
           !strstr(format, "indexed_binary") && strcmp(format, "raw") != 0 && strcmp(format, "parquet") != 0;
}

/* Returns the batches that are read ahead. Samples that are read together come at once, and each worker has such a
 * piece under way, as in DLIO, where a worker yields the batches of the row group that it holds. */
static int prefetch_of(const struct run *run, int64_t batch)
{
    const struct workload_reader *reader = &run->options->workload->reader;
    const struct dataset_layout *layout = run->options->loader.layout;
    int64_t together = layout->format->together ? layout->format->together(layout) : 1;
    if (reader->emulate &&
        reader->read_threads > 0) { /* as DLIO sets PyTorch's prefetch_factor, of each worker */
        double factor = fmax(ceil((double)reader->prefetch_size / (double)reader->read_threads), 0);
        return at_most_int(
            (int64_t)fmin((factor > 0 ? factor : 2) * (double)reader->read_threads, LOADER_MAX_WINDOW));
    }
    if (reader->emulate ==
        WORKLOAD_EMULATE_PYTORCH) /* the process that trains reads, when it needs a batch */
        return 0;
    if (together == 1 || reader->prefetch_size == 0)
        return (int)reader->prefetch_size;
    together = together < layout->samples_per_file ? together : layout->samples_per_file;
    double batches = ceil((double)reader->read_threads * (double)together / (double)batch);
    return at_most_int((int64_t)fmin(fmax(batches, (double)reader->prefetch_size), LOADER_MAX_WINDOW));
}

/* TensorFlow preprocesses in separate threads, PyTorch in its readers. */
static int workers_of(const struct workload_reader *reader)
{
    return (int)(reader->data_loader == WORKLOAD_LOADER_TENSORFLOW ? reader->computation_threads
                                                                   : reader->read_threads);
}

static bool make_loader(struct run *run, enum metrics_phase phase, struct error *err)
{
    const struct run_options *options = run->options;
    const struct workload_reader *reader = &options->workload->reader;
    struct loader_options loader = options->loader;
    loader.first = run->first;
    loader.count = options->accelerators;
    /* DALI's readers have one thread each, whatever threads decode. */
    loader.read_threads = reader->emulate == WORKLOAD_EMULATE_DALI ? 1 : (int)reader->read_threads;
    loader.workers = workers_of(reader);
    loader.prefetch = prefetch_of(run, phase == METRICS_EVAL ? reader->batch_size_eval : reader->batch_size);
    loader.reopen = reopens(run);
    loader.once = reader->read_type == WORKLOAD_READ_MEMORY;
    loader.emulate = reader->emulate;
    loader.persistent = reader->persistent_workers;
    loader.start = reader->worker_start_time;
    loader.preprocess = reader->preprocess_time;
    loader.seed = (uint64_t)options->workload->train.seed ^ PREPROCESS_STREAM;
    run->loaders[phase] = loader_new(&loader, err);
    return run->loaders[phase] != NULL;
}

/* Returns the bytes of a sample after preprocessing; 0: as it was read. */
static double copied_bytes(const struct workload *workload)
{
    const struct workload_integers *dims = &workload->reader.transformed_record_dims;
    double bytes = (double)workload_element_bytes(workload->reader.transformed_record_element_type);
    if (dims->count == 0)
        return floor(workload->dataset.record_length_bytes_resize);
    for (int i = 0; i < dims->count; i++)
        bytes *= (double)dims->values[i];
    return bytes;
}

static bool make_accelerators(struct run *run, enum metrics_phase phase, struct error *err)
{
    const struct run_options *options = run->options;
    struct accelerators_options accelerators = options->step;
    accelerators.loader = run->loaders[phase];
    accelerators.comm = options->comm;
    accelerators.metrics = &run->result->metrics;
    accelerators.first = run->first;
    accelerators.count = options->accelerators;
    accelerators.seed = (uint64_t)options->workload->train.seed;
    accelerators.copy_sample = copied_bytes(options->workload);
    accelerators.epochs = run->epochs;
    run->accelerators[phase] = accelerators_new(&accelerators, err);
    return run->accelerators[phase] != NULL;
}

static bool make_phase(struct run *run, enum metrics_phase phase, bool wanted, struct error *err)
{
    return !wanted || (make_loader(run, phase, err) && make_accelerators(run, phase, err));
}

static bool plan(struct run *run, struct error *err)
{
    const struct run_options *options = run->options;
    const struct workload *workload = options->workload;
    int64_t epochs = options->epochs > 0 ? options->epochs : workload->train.epochs;
    if (options->accelerators < 1 || options->accelerators > INT_MAX / comm_size(options->comm))
        return error_set(err, ERROR_USAGE, "accelerators of a process: expected a positive number, found %d",
                         options->accelerators);
    run->first = comm_rank(options->comm) * options->accelerators;
    run->total = comm_size(options->comm) * options->accelerators;
    run->train = workload->workflow.train && epochs > 0;
    run->eval = run->train && workload->workflow.evaluation && options->loader.layout->files_eval > 0;
    run->save = workload->workflow.checkpoint && options->checkpoint;
    run->epochs = run->train ? epochs < INT_MAX ? (int)epochs : INT_MAX : 1;
    run->saves = run->save ? rhythm(workload->checkpoint.checkpoint_after_step,
                                    workload->checkpoint.steps_between_checkpoints)
                           : (struct run_rhythm){0};
    run->evals = run->eval ? rhythm(0, workload->evaluation.steps_between_evals) : (struct run_rhythm){0};
    if (!run->train && !run->save)
        return error_set(err, ERROR_INPUT,
                         "the workload neither trains nor saves checkpoints: there is nothing to run");
    run->result->epochs = run->epochs;
    return true;
}

bool run_setup(struct run *run, struct error *err)
{
    return plan(run, err) && make_orders(run, err) && make_times(run, err) && make_metrics(run, err) &&
           make_phase(run, METRICS_TRAIN, run->train, err) && make_phase(run, METRICS_EVAL, run->eval, err);
}
