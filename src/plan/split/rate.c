#include "plan/split/rate.h"

#include "core/vector.h"
#include "plan/split/company.h"
#include "plan/split/search.h"
#include "plan/split/space.h"

#include <math.h>
#include <stdlib.h>

/* The line of a split: its layers, pipeline, sharding and the range of its data parallel degree. */
struct line {
    int64_t class;
    const struct space_layers *layers;
    double each, filling; /* seconds */
    int64_t unit;         /* sequences of a micro-batch of all copies */
    int64_t max, step;    /* micro-batches are at most `max` and a multiple of `step` */
    int pipeline, most, least, sharding;
    bool chunked; /* with several chunks: it fills sooner, and sends more often */
    bool full;    /* as many micro-batches as stages are in flight, else one */
    bool priced;
};

struct job_rates {
    struct job_question question;
    const struct cost_link *across; /* to others */
    struct space space;
    struct arena arena;
    int *blocks;
    struct line *lines; /* by class */
    int count;
    size_t capacity;
    int *classes; /* the first line of each, and the end */
    int class_count;
};

static struct job job_of(const struct job_rates *rates, const struct line *line)
{
    struct job job = space_job(&rates->space, line->layers);
    job.stage_blocks = NULL;
    job.pipeline = line->pipeline;
    job.data = line->most;
    job.sharding = line->sharding;
    return job;
}

/* Sets the line of the fastest layout with so many blocks recomputed; false: none fits. Gradients are exchanged with the
 * minimum degree, states are sharded over the maximum one. Chunks make stages no faster: they hold whole blocks. */
static bool set_line(const struct job_rates *rates, struct line *line, int again)
{
    const struct job_layers *layers = &line->layers->priced;
    const struct space *space = &rates->space;
    struct job job = job_of(rates, line), least;
    struct job_time times[2];
    int max_chunks = space_max_chunks(space, job.pipeline);
    space_set_mode(space, &line->layers->mode, again, &job);
    job.batch = job.microbatch * job.data * (line->full ? job.pipeline : 1);
    if (!job_layout(&job, layers, space->memory, rates->blocks))
        return false;
    least = job;
    if (job.sharding < 3) /* each device exchanges a shard: less the more there are */
        least.data = line->least;
    least.devices = job.tensor * job.context * job.pipeline * least.data;
    least.stage_blocks = rates->blocks;
    const struct job_company company = {
        .jobs = 2,
        .pipelines = least.data + 1,
        .nodes =
            ceil((double)line->least * job.tensor * job.context * job.pipeline / job.devices_per_node) + 1.0,
        .across = rates->across,
    };
    for (int m = 0; m < 2; m++) {
        least.batch = (m + 1) * least.microbatch * least.data;
        job_time_among(&least, layers, &company, &times[m]);
    }
    double each = times[1].seconds - times[0].seconds, sends = times[1].send - times[0].send;
    double filled = space->schedules & ~1u ? times[0].bubble : 0.0; /* zero-bubble schedules fill it */
    if (line->chunked)
        filled = fmax(filled, times[0].bubble * (1.0 - 1.0 / max_chunks));
    line->filling = (times[0].seconds - each - filled) * (1.0 - 1e-9);
    if (job.sharding >= 1)
        line->filling -= times[0].optimizer * (1.0 - (double)line->least / job.data);
    line->each = (each + (line->chunked ? sends : 0.0)) * (1.0 - 1e-9);
    return true;
}

/* The same with the minimum number of blocks recomputed that fits, where their number is open. */
static bool set_best_line(const struct job_rates *rates, struct line *line)
{
    int bad = -1, good = line->layers->priced.block_count;
    if (!set_line(rates, line, good))
        return false;
    while (line->layers->mode.some != METHOD_ALL && good - bad > 1) {
        int middle = bad + (good - bad) / 2;
        if (set_line(rates, line, middle))
            good = middle;
        else
            bad = middle;
    }
    return set_line(rates, line, good);
}

/* ---- all lines ---- */

/* Returns the seconds of the exchange of gradients with at least one other pipeline. */
static double exchange_of(const struct job_rates *rates, struct job job, const struct job_layers *layers,
                          int least)
{
    job.data = least + 1;
    job.across = rates->across;
    job.sharding = 0;
    return job_exchange_of(&job, layers).gradients * (job.frozen ? 0.01 : 1.0);
}

/* Adds the lines of a split: with chunks and without, with one micro-batch in flight and with all of them. */
static bool add_lines(struct job_rates *rates, const struct line *split)
{
    const struct space_layers *layers = split->layers;
    double stages = split->pipeline, fill = (stages - 1.0) * layers->blocks / stages;
    struct job job = job_of(rates, split);
    space_set_mode(&rates->space, &layers->mode, layers->priced.block_count, &job);
    int chunks = space_max_chunks(&rates->space, split->pipeline);
    bool timed = split->pipeline > 1 && (rates->space.schedules & ~1u);
    double filling = job.calibration->step +
                     (split->sharding < 3 ? exchange_of(rates, job, &layers->priced, split->least) : 0.0);
    for (int kind = 0; kind < 4; kind++) {
        struct line line = *split;
        line.chunked = kind & 1;
        line.full = kind & 2;
        if ((line.chunked && chunks == 1) || (line.full && (split->pipeline == 1 || timed)) ||
            (line.chunked && !line.full && !timed)) /* chunks need as many micro-batches as stages */
            continue;
        bool few = !line.full && split->pipeline > 1 && !timed;
        line.class = (int64_t)job.microbatch * 8 + (int64_t)split->sharding * 2 + line.chunked;
        line.each = (layers->blocks + layers->ends) / stages * (1.0 - 1e-9);
        line.filling = (filling + (timed ? 0.0 : line.chunked ? fill / chunks : fill)) * (1.0 - 1e-9);
        line.unit = (int64_t)split->most * job.microbatch;
        line.max = few ? split->pipeline - 1 : INT64_MAX;
        line.step = line.chunked ? split->pipeline : 1;
        if (!VECTOR_ADD(rates->lines, rates->count, rates->capacity, line))
            return false;
    }
    return true;
}

/* Adds the lines of a pipeline: of each sharding, and of data parallel degrees that differ by less than a factor of 2. */
static bool add_pipeline(struct job_rates *rates, const struct space_layers *layers, int pipeline,
                         int max_data)
{
    unsigned shardings = space_shardings(&rates->space, pipeline);
    struct line line = {.layers = layers, .pipeline = pipeline};
    for (line.most = max_data; line.most > 0; line.most = line.least - 1) {
        line.least = line.most / 2 + 1;
        for (line.sharding = 0; line.sharding <= 3; line.sharding++)
            if ((shardings >> line.sharding & 1) && !add_lines(rates, &line))
                return false;
    }
    return true;
}

static bool add_layers(struct job_rates *rates, const struct space_layers *layers)
{
    struct job job = space_job(&rates->space, layers);
    int model_parallel = job.tensor * job.context, devices = job.devices;
    int max = job.software->offers & OFFERS_PIPELINE ? layers->priced.block_count : 1;
    for (int pipeline = 1; pipeline <= max && pipeline * model_parallel <= devices; pipeline++)
        if (space_allows(&rates->question, JOB_PIPELINE, pipeline) &&
            !add_pipeline(rates, layers, pipeline, devices / (model_parallel * pipeline)))
            return false;
    return true;
}

static int compare_lines(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return x->class < y->class ? -1 : x->class > y->class;
}

static bool list_classes(struct job_rates *rates)
{
    rates->classes = calloc((size_t)rates->count + 1, sizeof *rates->classes);
    if (!rates->classes)
        return false;
    if (rates->count > 0)
        qsort(rates->lines, (size_t)rates->count, sizeof *rates->lines, compare_lines);
    for (int i = 0; i < rates->count; i++)
        if (i == 0 || rates->lines[i].class != rates->lines[i - 1].class)
            rates->classes[rates->class_count++] = i;
    rates->classes[rates->class_count] = rates->count;
    return true;
}

static bool list_lines(struct job_rates *rates)
{
    struct space *space = &rates->space;
    rates->blocks = calloc((size_t)job_block_count(&rates->question.job) + 1, sizeof *rates->blocks);
    bool ok = rates->blocks != NULL;
    for (int g = 0; g < space->group_count && ok; g++) {
        struct space_group *group = &space->groups[g];
        ok = space_price_floor(space, group, NULL) && space_price(space, group);
        for (int i = 0; i < group->count && ok; i++)
            ok = add_layers(rates, &group->layers[i]);
    }
    return ok && list_classes(rates);
}

struct job_rates *job_rates_new(const struct job_question *question, const struct cost_link *across,
                                struct error *err)
{
    struct job_rates *rates = calloc(1, sizeof *rates);
    if (!rates) {
        error_memory(err);
        return NULL;
    }
    rates->question = *question;
    rates->across = across;
    if (!space_init(&rates->space, &rates->question, &rates->arena, err)) {
        bool none = err->kind == ERROR_INFEASIBLE;
        rates->space = (struct space){0};
        if (none)
            return rates;
    } else if (list_lines(rates)) {
        return rates;
    } else {
        error_memory(err);
    }
    job_rates_free(rates);
    return NULL;
}

void job_rates_free(struct job_rates *rates)
{
    if (!rates)
        return;
    space_release(&rates->space);
    free(rates->blocks);
    free(rates->lines);
    free(rates->classes);
    arena_release(&rates->arena);
    free(rates);
}

/* ---- by a deadline ---- */

int job_class_count(const struct job_rates *rates)
{
    return rates->class_count;
}

int64_t job_class_of(const struct job_rates *rates, int index)
{
    return rates->lines[rates->classes[index]].class;
}

static double done_by(const struct line *line, double deadline)
{
    double count = floor((deadline - line->filling) / line->each * (1.0 + 1e-9) + 1e-9);
    if (!(count >= 1.0))
        return 0.0;
    count = fmin(count, (double)line->max);
    return floor(count / (double)line->step) * (double)line->step * (double)line->unit;
}

double job_sequences_by(struct job_rates *rates, int64_t class, double deadline)
{
    int k = 0;
    while (k < rates->class_count && job_class_of(rates, k) != class)
        k++;
    for (; k < rates->class_count;) {
        struct line *best = NULL;
        double most = 0.0;
        for (int i = rates->classes[k]; i < rates->classes[k + 1]; i++) {
            double done = done_by(&rates->lines[i], deadline);
            if (done > most || (done > 0.0 && done == most && rates->lines[i].priced)) {
                most = done;
                best = &rates->lines[i];
            }
        }
        if (!best || best->priced)
            return most;
        struct line quick = *best;
        if (set_best_line(rates, best)) {
            best->each = fmax(best->each, quick.each); /* both are bounds */
            best->filling = fmax(best->filling, quick.filling);
        } else {
            best->filling = INFINITY; /* it does not fit */
        }
        best->priced = true;
    }
    return 0.0;
}
