#include "feed/loader/accelerator.h"

#include "core/clock.h"
#include "core/heap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define EVAL_STREAM UINT64_C(0x6576616c) /* evaluations draw times of their own */
#define WATCH_EVERY ((int64_t)200000000)
#define RANKS_EVERY ((int64_t)1000000000)
#define STOP_EVERY  ((int64_t)40000000) /* maximum delay of noticing a stop */
#define WHAT        80

/* The word of a rank at a barrier; the greatest of all ranks holds. */
enum word { WORD_ON, WORD_STOP, WORD_FAILED };

struct accelerator {
    int64_t step;
    int64_t start, ready, copied; /* of the request for its batch; when it was there; when it was copied */
    int64_t asked;                /* configured compute time */
    int64_t deadline;
    int64_t arrived;
    struct metrics_batch batch;
};

/* The last arrival at a barrier of several processes: confirmed one step later, when all ranks report
 * their waits. */
struct unsettled {
    bool set;
    int index;
    int64_t wait; /* of this rank for the others */
    struct metrics_step step;
};

struct accelerators {
    struct accelerators_options options;
    struct accelerators_block block;
    struct accelerator *each;
    int *told;      /* by the loader */
    int *deadlines; /* accelerators that compute, a heap: the earliest comes first */
    int computing;
    int arrived, last; /* at the barrier; the last one that came */
    int finished;      /* with the block */
    bool stop;         /* this rank was asked to */
    struct unsettled unsettled;
    int64_t waited; /* of this rank in the barrier before, for the others */
    int64_t lost;   /* in the barrier: by how much the host was late, on the rank where it was latest */
    struct histogram late;

    int64_t shown, exchanged; /* when */
    int64_t loads, times;     /* sums since the last exchange */
    struct watch_view view;
    int64_t sum_compute, sum_time, second, second_bytes, second_samples;
};

struct accelerators *accelerators_new(const struct accelerators_options *options, struct error *err)
{
    struct accelerators *all = calloc(1, sizeof *all);
    size_t count = (size_t)options->count;
    if (all) {
        all->options = *options;
        all->each = calloc(count, sizeof *all->each);
        all->told = calloc(count, sizeof *all->told);
        all->deadlines = calloc(count, sizeof *all->deadlines);
        all->shown = all->exchanged = all->second = clock_nanoseconds();
    }
    if (all && all->each && all->told && all->deadlines)
        return all;
    accelerators_free(all);
    return error_memory_null(err);
}

void accelerators_free(struct accelerators *all)
{
    if (!all)
        return;
    free(all->each);
    free(all->told);
    free(all->deadlines);
    free(all);
}

const struct histogram *accelerators_late(const struct accelerators *all)
{
    return &all->late;
}

/* ---- The heap of deadlines ---- */

static int64_t deadline(const struct accelerators *all, int at)
{
    return all->each[all->deadlines[at]].deadline;
}

static bool is_earlier(const void *a, const void *b, const void *context)
{
    const struct accelerators *all = context;
    return all->each[*(const int *)a].deadline < all->each[*(const int *)b].deadline;
}

static void compute_until_deadline(struct accelerators *all, int index)
{
    all->deadlines[all->computing++] = index;
    heap_push(all->deadlines, (size_t)all->computing, sizeof *all->deadlines, is_earlier, all);
}

static int take_first(struct accelerators *all)
{
    heap_pop(all->deadlines, (size_t)all->computing, sizeof *all->deadlines, is_earlier, all);
    return all->deadlines[--all->computing];
}

/* ---- The live state ---- */

static bool add_laggard(void *context, int rank, const char *bytes, size_t length, struct error *err)
{
    struct watch_view *view = context;
    struct watch_laggard laggard = {.rank = rank};
    if (length != sizeof laggard.wait)
        return error_set(err, ERROR_FAILED, "rank %d runs another version of rehearse", rank);
    memcpy(&laggard.wait, bytes, length);
    int at = view->laggard_count < WATCH_LAGGARDS ? view->laggard_count++ : WATCH_LAGGARDS;
    for (; at > 0 && view->laggards[at - 1].wait < laggard.wait; at--)
        if (at < WATCH_LAGGARDS)
            view->laggards[at] = view->laggards[at - 1];
    if (at < WATCH_LAGGARDS)
        view->laggards[at] = laggard;
    return true;
}

/* Exchanges the share of time that each rank waited for batches since the last exchange. All ranks call
 * it. */
static bool exchange(struct accelerators *all, struct error *err)
{
    double wait = all->times > 0 ? (double)all->loads / (double)all->times : 0;
    all->loads = all->times = 0;
    all->exchanged = clock_nanoseconds();
    all->view.laggard_count = 0;
    return comm_gather(all->options.comm, &wait, sizeof wait, add_laggard, &all->view, "the ranks' waits",
                       err);
}

static void show(struct accelerators *all, int64_t now)
{
    struct watch_view *view = &all->view;
    if (!all->options.watch || now - all->shown < WATCH_EVERY)
        return;
    all->shown = now;
    struct loader_depth depth = loader_depth(all->options.loader);
    view->phase = all->block.phase;
    view->epoch = all->block.epoch + 1;
    view->epochs = all->options.epochs;
    view->steps = all->block.steps;
    view->au = all->sum_time > 0 ? (double)all->sum_compute / (double)all->sum_time : 0;
    view->queue = depth.queue;
    view->ready = depth.ready;
    view->waiting = all->options.count - all->computing - all->arrived - all->finished;
    if (now - all->second >= RANKS_EVERY) {
        double seconds = (double)(now - all->second) / 1e9;
        view->bytes_per_second = (double)(view->bytes - all->second_bytes) / seconds;
        view->samples_per_second = (double)(view->samples - all->second_samples) / seconds;
        all->second = now;
        all->second_bytes = view->bytes;
        all->second_samples = view->samples;
    }
    watch_write(all->options.watch, view);
}

/* ---- Steps ---- */

static void got_batch(struct accelerators *all, int index)
{
    const struct accelerators_options *options = &all->options;
    struct accelerator *a = &all->each[index];
    struct distribution_draw draw = {
        .seed = all->block.phase == METRICS_EVAL ? options->seed ^ EVAL_STREAM : options->seed,
        .stream = (uint32_t)(options->first + index),
        .step = (uint64_t)all->block.epoch * (uint64_t)all->block.steps + (uint64_t)a->step,
    };
    double bytes =
        options->copy_sample > 0 ? options->copy_sample * (double)a->batch.samples : (double)a->batch.bytes;
    a->ready = a->batch.ready > a->start ? a->batch.ready : a->start;
    a->copied = a->ready;
    if (options->copy_rate > 0)
        a->copied += distribution_nanoseconds(bytes / options->copy_rate);
    a->asked = distribution_nanoseconds(distribution_sample(&all->block.compute, draw));
    a->deadline = a->copied + a->asked;
    compute_until_deadline(all, index);
}

static void begin(struct accelerators *all, int index, int64_t step, int64_t now)
{
    struct accelerator *a = &all->each[index];
    a->step = step;
    a->start = now;
    if (loader_take(all->options.loader, index, step, &a->batch))
        got_batch(all, index);
}

static struct metrics_step measured(const struct accelerator *a, int64_t end)
{
    struct metrics_step step = {
        .start = a->start,
        .end = end,
        .load = a->ready - a->start,
        .copy = a->copied - a->ready,
        .compute_asked = a->asked,
        .compute = a->arrived - a->copied,
        .barrier = end - a->arrived,
        .batch = a->batch,
    };
    if (step.batch.ahead > step.load)
        step.batch.ahead = step.load;
    return step;
}

static bool record(struct accelerators *all, int index, const struct metrics_step *step, struct error *err)
{
    int accelerator = all->options.first + index;
    all->loads += step->load;
    all->times += step->end - step->start;
    all->sum_compute += step->compute_asked;
    all->sum_time += step->end - step->start;
    all->view.bytes += step->batch.bytes;
    all->view.samples += step->batch.samples;
    all->view.step = all->each[index].step + 1;
    metrics_step(all->options.metrics, accelerator, step);
    return !all->options.each || result_steps_add(all->options.each, accelerator, step, err);
}

/* Records the pending step; `min`: the shortest time that a rank waited in that barrier. */
static bool settle(struct accelerators *all, int64_t min, struct error *err)
{
    struct unsettled *unsettled = &all->unsettled;
    if (!unsettled->set)
        return true;
    unsettled->set = false;
    unsettled->step.last = unsettled->wait <= min;
    return record(all, unsettled->index, &unsettled->step, err);
}

/* Meets the other ranks; *word becomes the greatest of all. */
static bool meet(struct accelerators *all, enum word *word, struct error *err)
{
    char what[WHAT];
    bool several = comm_size(all->options.comm) > 1;
    int64_t start = several ? clock_nanoseconds() : 0;
    int64_t values[4] = {
        *word,
        all->unsettled.set ? -all->unsettled.wait : -INT64_MAX,
        several && all->options.watch && comm_rank(all->options.comm) == 0 &&
            start - all->exchanged > RANKS_EVERY,
        all->lost,
    };
    snprintf(what, sizeof what, "%s of epoch %d, step %" PRId64,
             all->block.phase == METRICS_EVAL ? "evaluation" : "barrier", all->block.epoch + 1,
             all->each[0].step + 1);
    if (!comm_reduce_integers(all->options.comm, COMM_MAX, values, 4, what, err))
        return false;
    all->lost = values[3];
    all->waited = several ? clock_nanoseconds() - start : 0;
    *word = (enum word)values[0];
    struct error lost;
    bool settled =
        settle(all, -values[1], err); /* all ranks take part in the exchange, even if this failed */
    bool exchanged = values[2] == 0 || *word == WORD_FAILED || exchange(all, settled ? err : &lost);
    return settled && exchanged;
}

static enum word own_word(const struct accelerators *all)
{
    return all->options.stop && atomic_load(all->options.stop) ? WORD_STOP : WORD_ON;
}

/* Returns the last deadline of this process. */
static int64_t last_deadline(const struct accelerators *all)
{
    int64_t last = all->each[0].deadline;
    for (int i = 1; i < all->options.count; i++)
        if (all->each[i].deadline > last)
            last = all->each[i].deadline;
    return last;
}

/* Ends the step: all accelerators of this process have computed. */
static bool barrier(struct accelerators *all, enum word *word, struct error *err)
{
    *word = own_word(all);
    all->lost = clock_nanoseconds() - last_deadline(all);
    if (!meet(all, word, err))
        return false;
    int64_t now = clock_nanoseconds(), next = all->each[0].step + 1;
    bool several = comm_size(all->options.comm) > 1;
    for (int i = 0; i < all->options.count; i++) {
        struct metrics_step step = measured(&all->each[i], now);
        step.lost = all->lost < now - all->each[i].deadline ? all->lost : now - all->each[i].deadline;
        if (several && i == all->last) {
            all->unsettled = (struct unsettled){true, i, all->waited, step};
            continue;
        }
        step.last = i == all->last;
        if (!record(all, i, &step, err))
            return false;
    }
    all->arrived = 0;
    if (*word != WORD_ON || next == all->block.last) {
        all->finished = all->options.count;
        return true;
    }
    for (int i = 0; i < all->options.count; i++)
        begin(all, i, next, now);
    return true;
}

/* Ends the step of one accelerator, without a barrier. */
static bool go_on(struct accelerators *all, int index, struct error *err)
{
    struct accelerator *a = &all->each[index];
    struct metrics_step step = measured(a, a->arrived);
    step.lost = a->arrived - a->deadline;
    if (!record(all, index, &step, err))
        return false;
    if (own_word(all) == WORD_STOP)
        all->stop = true;
    if (all->stop || a->step + 1 == all->block.last)
        all->finished++;
    else
        begin(all, index, a->step + 1, a->arrived);
    return true;
}

/* Ends the compute of all accelerators whose deadline has passed. */
static bool arrive(struct accelerators *all, enum word *word, struct error *err)
{
    while (all->computing > 0) {
        int64_t now = clock_nanoseconds();
        if (deadline(all, 0) > now)
            break;
        int index = take_first(all);
        struct accelerator *a = &all->each[index];
        a->arrived = now;
        histogram_add(&all->late, now - a->deadline);
        if (all->options.no_barrier) {
            if (!go_on(all, index, err))
                return false;
        } else {
            all->arrived++;
            all->last = index;
        }
    }
    return all->arrived < all->options.count || barrier(all, word, err);
}

static bool wait(struct accelerators *all, struct error *err)
{
    int64_t until = all->computing > 0 ? deadline(all, 0) : LOADER_NEVER;
    if (all->options.watch) {
        int64_t now = clock_nanoseconds();
        show(all, now);
        until = until < now + WATCH_EVERY ? until : now + WATCH_EVERY;
    }
    if (all->options.stop) {
        int64_t look = clock_nanoseconds() + STOP_EVERY;
        until = until < look ? until : look;
    }
    int told = loader_wait(all->options.loader, until, all->told, all->options.count, err);
    for (int i = 0; i < told; i++)
        if (loader_take(all->options.loader, all->told[i], all->each[all->told[i]].step,
                        &all->each[all->told[i]].batch))
            got_batch(all, all->told[i]);
    return told >= 0;
}

/* Gives up the step, which may wait for storage that does not answer, or compute for hours. The other
 * ranks learn of it at their next barrier. */
static bool stop_within(struct accelerators *all, enum word *word, struct error *err)
{
    *word = WORD_STOP;
    all->stop = true;
    all->lost = 0;
    return all->options.no_barrier || meet(all, word, err);
}

static bool steps(struct accelerators *all, enum word *word, struct error *err)
{
    int64_t now = clock_nanoseconds();
    for (int i = 0; i < all->options.count; i++)
        begin(all, i, all->block.first, now);
    while (all->finished < all->options.count) {
        if (own_word(all) == WORD_STOP)
            return stop_within(all, word, err);
        /* A request that was given up because of the stop is no failure of the run. */
        if (!wait(all, err))
            return own_word(all) == WORD_STOP && stop_within(all, word, err);
        if (!arrive(all, word, err))
            return false;
    }
    return true;
}

/* Exchanges the ranks' words at the end of the block, also if this one failed. */
static bool conclude(struct accelerators *all, bool ok, enum word *word, struct error *err)
{
    struct error lost;
    bool heard = ok && *word == WORD_FAILED; /* at a barrier; the failed rank is already here */
    if (!ok)
        *word = WORD_FAILED;
    else if (all->stop)
        *word = WORD_STOP;
    if (!heard && !meet(all, word, ok ? err : &lost))
        return false;
    return *word != WORD_FAILED || comm_agree(all->options.comm, ok, "an error", err);
}

static bool end_blocks(struct accelerators *all, struct error *err)
{
    int64_t now = clock_nanoseconds();
    for (int i = 0; i < all->options.count; i++)
        if (!metrics_block_end(all->options.metrics, all->options.first + i, now, err))
            return false;
    return true;
}

bool accelerators_run(struct accelerators *all, const struct accelerators_block *block, bool *stopped,
                      struct error *err)
{
    enum word word = WORD_ON;
    /* The kernel may be 50 µs late otherwise. */
    int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    all->block = *block;
    all->computing = all->arrived = all->finished = 0;
    all->stop = false;
    int64_t now = clock_nanoseconds();
    for (int i = 0; i < all->options.count; i++)
        metrics_block_start(all->options.metrics, all->options.first + i, block->phase, block->epoch,
                            block->block, now);
    bool ok = steps(all, &word, err);
    ok = conclude(all, ok, &word, err) && end_blocks(all, err);
    prctl(PR_SET_TIMERSLACK, slack > 0 ? slack : 0, 0, 0, 0);
    *stopped = word == WORD_STOP;
    return ok;
}
