#include "feed/result/metrics.h"

#include "core/vector.h"

#include <stdlib.h>
#include <string.h>

struct metrics_state {
    struct metrics_block block; /* so far: it ends with the step before */
    int64_t counted_end;        /* of the counted step before */
    bool counted;               /* a step of this block counted */
    int64_t dlio_compute;       /* nanoseconds in the steps that DLIO counts */
    int64_t dlio_excluded;      /* load, copy and compute in the steps that it does not */
};

static bool check(const struct metrics_options *options, int first, int count, struct error *err)
{
    if (options->accelerators < 1 || options->epochs < 1 || options->exclude_start < 0 ||
        options->exclude_end < 0)
        return error_set(err, ERROR_INPUT,
                         "accelerators and epochs must be positive, excluded steps not negative");
    if (first < 0 || count < 1 || count > options->accelerators - first)
        return error_set(err, ERROR_INPUT, "accelerators %d to %d are not among the %d of the run", first,
                         first + count - 1, options->accelerators);
    if ((int64_t)count * options->epochs > (int64_t)1 << 26)
        return error_set(err, ERROR_INPUT, "%d accelerators × %d epochs exceed the supported range", count,
                         options->epochs);
    return true;
}

bool metrics_init(struct metrics *metrics, const struct metrics_options *options, int first, int count,
                  struct error *err)
{
    *metrics = (struct metrics){0};
    if (!check(options, first, count, err))
        return false;
    *metrics = (struct metrics){.options = *options, .first = first, .count = count};
    metrics->rows = calloc((size_t)count * (size_t)options->epochs * METRICS_PHASES, sizeof *metrics->rows);
    metrics->states = calloc((size_t)count, sizeof *metrics->states);
    metrics->wait = calloc(METRICS_PHASES, sizeof *metrics->wait);
    metrics->step = calloc(METRICS_PHASES, sizeof *metrics->step);
    metrics->barrier = calloc(METRICS_PHASES, sizeof *metrics->barrier);
    if (metrics->rows && metrics->states && metrics->wait && metrics->step && metrics->barrier)
        return true;
    metrics_release(metrics);
    return error_memory(err);
}

void metrics_release(struct metrics *metrics)
{
    free(metrics->rows);
    free(metrics->states);
    free(metrics->blocks);
    free(metrics->checkpoints);
    free(metrics->wait);
    free(metrics->step);
    free(metrics->barrier);
    *metrics = (struct metrics){0};
}

void metrics_keep_epochs(struct metrics *metrics, int epochs)
{
    size_t size = (size_t)epochs * METRICS_PHASES * sizeof *metrics->rows;
    struct metrics_row *to = metrics->rows;
    for (int i = 0; i < metrics->count; i++, to += (size_t)epochs * METRICS_PHASES)
        memmove(to, metrics_row(metrics, metrics->first + i, 0, METRICS_TRAIN), size);
    metrics->options.epochs = epochs;
}

struct metrics_row *metrics_row(const struct metrics *metrics, int accelerator, int epoch,
                                enum metrics_phase phase)
{
    size_t place = (size_t)(accelerator - metrics->first) * (size_t)metrics->options.epochs + (size_t)epoch;
    return &metrics->rows[place * METRICS_PHASES + phase];
}

void metrics_block_start(struct metrics *metrics, int accelerator, enum metrics_phase phase, int epoch,
                         int block, int64_t now)
{
    metrics->states[accelerator - metrics->first] =
        (struct metrics_state){.block = {accelerator, epoch, block, phase, .start = now}};
    metrics_row(metrics, accelerator, epoch, phase)->blocks++;
}

static void add(struct metrics_sums *sums, const struct metrics_step *step, int64_t from)
{
    sums->steps++;
    sums->samples += step->batch.samples;
    sums->bytes += step->batch.bytes;
    sums->load += step->load;
    sums->copy += step->copy;
    sums->compute_asked += step->compute_asked;
    sums->compute += step->compute;
    sums->barrier += step->barrier;
    sums->lost += step->lost;
    sums->time += step->end - from;
}

/* Has the head start been used up, or made good? */
static void pay_ahead(struct metrics_row *row, const struct metrics_step *step)
{
    if (step->load > 0) {
        row->counted.load += row->ahead;
        row->counted.time += row->ahead;
    }
    if (step->load > 0 || step->batch.caught_up)
        row->ahead = 0;
}

/* At the end of an epoch in which reading neither fell behind nor got ahead. */
static void settle_ahead(struct metrics_row *row)
{
    if (row->ahead <= 0 || row->counted.steps == 0)
        return;
    double each = (double)(row->last_read - row->first_start) / (double)row->all.steps;
    double lacking = each * (double)row->counted.steps - (double)row->counted.time;
    int64_t paid = lacking <= 0 ? 0 : lacking < (double)row->ahead ? (int64_t)lacking : row->ahead;
    row->counted.load += paid;
    row->counted.time += paid;
    row->ahead = 0;
}

static void add_counted(struct metrics *metrics, struct metrics_state *state, struct metrics_row *row,
                        const struct metrics_step *step)
{
    add(&row->counted, step, state->counted ? state->counted_end : step->start);
    state->counted = true;
    state->counted_end = step->end;
    row->last += step->last;
    pay_ahead(row, step);
    histogram_add(&metrics->wait[state->block.phase], step->load);
    histogram_add(&metrics->step[state->block.phase], step->end - step->start);
    histogram_add(&metrics->barrier[state->block.phase], step->barrier);
}

void metrics_step(struct metrics *metrics, int accelerator, const struct metrics_step *step)
{
    const struct metrics_options *options = &metrics->options;
    struct metrics_state *state = &metrics->states[accelerator - metrics->first];
    struct metrics_row *row = metrics_row(metrics, accelerator, state->block.epoch, state->block.phase);
    int64_t end = options->steps[state->block.phase] - options->exclude_end;
    int64_t in_epoch = row->all.steps, in_block = state->block.steps;
    add(&row->all, step, in_block > 0 ? state->block.end : step->start);
    row->mark += step->batch.mark;
    if (in_epoch == 0)
        row->first_start = step->start;
    row->last_read = step->batch.ready > row->last_read ? step->batch.ready : row->last_read;
    if (in_epoch < options->exclude_start)
        row->ahead += step->batch.ahead;
    else if (in_epoch < end)
        add_counted(metrics, state, row, step);
    /* DLIO, utils/statscounter.py: compute[s:m+1], and proc[:s] and proc[m+1:] taken off the time */
    if (in_block >= options->exclude_start && in_block < end)
        state->dlio_compute += step->compute;
    else
        state->dlio_excluded += step->load + step->copy + step->compute;
    state->block.end = step->end;
    state->block.steps++;
}

/* DLIO's figures of a block, with what is wrong about them: of training n - 2 steps, whatever was
 * excluded, over the time of the counted ones; of an evaluation all steps over all the time. */
static void dlio_figures(const struct metrics_options *options, const struct metrics_state *state,
                         struct metrics_block *block)
{
    double wall = (double)(block->end - block->start) / 1e9;
    double time = wall - (double)state->dlio_excluded / 1e9;
    double batch = (double)options->batch[block->phase];
    block->dlio_au = state->dlio_compute == 0 ? 0 : 100 * ((double)state->dlio_compute / 1e9) / time;
    block->dlio_throughput = block->phase == METRICS_EVAL ? (double)block->steps / wall * batch
                                                          : (double)(block->steps - 2) / time * batch;
}

bool metrics_block_end(struct metrics *metrics, int accelerator, int64_t now, struct error *err)
{
    const struct metrics_state *state = &metrics->states[accelerator - metrics->first];
    struct metrics_row *row = metrics_row(metrics, accelerator, state->block.epoch, state->block.phase);
    struct metrics_block block = state->block;
    block.end = now;
    dlio_figures(&metrics->options, state, &block);
    if (block.steps > 0) {
        row->dlio_steps += block.steps;
        row->dlio_au += block.dlio_au * (double)block.steps;
        row->dlio_throughput += block.dlio_throughput * (double)block.steps;
    }
    return VECTOR_ADD(metrics->blocks, metrics->block_count, metrics->block_capacity, block) ||
           error_memory(err);
}

void metrics_epoch(struct metrics *metrics, int accelerator, int epoch, int64_t start, int64_t end)
{
    struct metrics_row *row = metrics_row(metrics, accelerator, epoch, METRICS_TRAIN);
    row->start = start;
    row->end = end;
    settle_ahead(row);
}

bool metrics_checkpoint(struct metrics *metrics, const struct metrics_checkpoint *checkpoint,
                        struct error *err)
{
    return VECTOR_ADD(metrics->checkpoints, metrics->checkpoint_count, metrics->checkpoint_capacity,
                      *checkpoint) ||
           error_memory(err);
}
