#include "plan/split/rate.h"

#include "core/stop.h"
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
    int pipeline, most, least, sharding, chunks;
    bool timed; /* by a schedule without a formula, which may fill the pipeline's bubble */
    bool full;  /* as many micro-batches as stages are in flight, else one */
    bool priced;
    int again; /* of recomputed blocks, if their number is open; once it is priced */
};

#define CHUNKS 4096 /* as many or more are a class */

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
    job.degrees.pipeline = line->pipeline;
    job.degrees.data = line->most;
    job.devices = job.degrees.tensor * job.degrees.context * job.degrees.pipeline * job.degrees.data;
    job.sharding = line->sharding;
    job.chunks = line->timed ? 1 : line->chunks;
    job.batch = job.microbatch * job.degrees.data * (line->full ? job.degrees.pipeline : 1);
    return job;
}

/* Finds the fastest stages that fit. Several chunks are laid out evenly; those of a timed schedule make stages no
 * faster, as they hold whole blocks. */
static bool lay_out(const struct job_rates *rates, struct job *job, const struct job_layers *layers)
{
    const struct space *space = &rates->space;
    if (job->chunks > 1)
        return space_opens_offload(space) || job_memory_of(job, layers).total <= space->memory;
    job->stage_blocks = rates->blocks;
    return job_layout(job, layers, space->memory, INFINITY, rates->blocks);
}

/* Sets the line of the fastest layout with so many blocks recomputed; false: none fits. Gradients are exchanged with
 * the minimum degree, states are sharded over the maximum one. */
static bool set_line(const struct job_rates *rates, struct line *line, int again)
{
    const struct job_layers *layers = &line->layers->priced;
    const struct space *space = &rates->space;
    struct job job = job_of(rates, line), least;
    struct job_time times[2];
    space_set_mode(space, &line->layers->mode, again, &job);
    if (!lay_out(rates, &job, layers))
        return false;
    least = job;
    if (job.sharding < 3) /* each device exchanges a shard: less the more there are */
        least.degrees.data = line->least;
    least.devices = job.degrees.tensor * job.degrees.context * job.degrees.pipeline * least.degrees.data;
    const struct job_company company = {
        .jobs = 2,
        .pipelines = least.degrees.data + 1,
        .together = line->most,
        .nodes = ceil((double)line->least * job.degrees.tensor * job.degrees.context * job.degrees.pipeline /
                      job.devices_per_node) +
                 1.0,
        .across = rates->across,
    };
    /* few micro-batches hide less of the exchange: seconds are convex in their number, so that no line through two
     * neighbours is above them; this one is through the most that there are */
    int64_t count = rates->question.job.batch / (least.microbatch * line->most);
    count = count > line->max - 1 ? line->max - 1 : count;
    count = count > 1 ? count : 1;
    for (int m = 0; m < 2; m++) {
        least.batch = (count + m) * least.microbatch * least.degrees.data;
        job_time_among(&least, layers, &company, &times[m]);
    }
    double each = times[1].seconds - times[0].seconds, many = (double)count;
    double filled = line->timed ? times[0].bubble : 0.0;
    double step = times[0].optimizer - many * (times[1].optimizer - times[0].optimizer);
    line->filling = (times[0].seconds - many * each - filled) * (1.0 - 1e-9);
    if (job.sharding >= 1)
        line->filling -= step * (1.0 - (double)line->least / job.degrees.data);
    line->each = each * (1.0 - 1e-9);
    line->again = again;
    return true;
}

/* The same with the minimum number of blocks recomputed that fits, where their number is open. */
static bool set_best_line(const struct job_rates *rates, struct line *line)
{
    int bad = -1, good = line->layers->priced.block_count;
    bool fits = set_line(rates, line, good);
    if (!fits || line->layers->mode.some == METHOD_ALL)
        return fits;
    while (good - bad > 1) {
        int middle = bad + (good - bad) / 2;
        if (set_line(rates, line, middle))
            good = middle;
        else
            bad = middle;
    }
    return set_line(rates, line, good);
}

/* ---- all lines ---- */

/* Returns the seconds of the exchange of gradients with at least one other pipeline, elsewhere. */
static double exchange_of(const struct job_rates *rates, struct job job, const struct job_layers *layers,
                          int least)
{
    int own = job.degrees.tensor * job.degrees.context * job.degrees.data;
    job.devices_per_node = own < job.devices_per_node ? own : job.devices_per_node;
    job.degrees.data = least + 1;
    job.across = rates->across;
    job.sharding = 0;
    return job_exchange_of(&job, layers).gradients;
}

static int64_t class_of(int64_t microbatch, int sharding, int chunks)
{
    return (microbatch * 4 + sharding) * CHUNKS + (chunks < CHUNKS ? chunks : CHUNKS - 1);
}

/* Returns the seconds of the stage with most blocks, if they are alike: a stage holds whole ones. */
static double fullest_stage(const struct space_layers *layers, int pipeline)
{
    int blocks = layers->priced.block_count, most = (blocks + pipeline - 1) / pipeline;
    return layers->priced.kind_count == 1 ? layers->blocks / blocks * most : 0.0;
}

/* Adds a line, with the mean of its stages and regardless of its memory. */
static bool add_line(struct job_rates *rates, struct line line, double filling)
{
    const struct space_layers *layers = line.layers;
    double stages = line.pipeline, fill = (stages - 1.0) * layers->blocks / stages;
    line.class = class_of(layers->microbatch, line.sharding, line.chunks);
    line.each =
        fmax((layers->blocks + layers->ends) / stages, fullest_stage(layers, line.pipeline)) * (1.0 - 1e-9);
    line.filling = (filling + (line.timed ? 0.0 : fill / line.chunks)) * (1.0 - 1e-9);
    line.unit = (int64_t)line.most * layers->microbatch;
    line.step = line.chunks > 1 && !line.timed ? line.pipeline : 1;
    return VECTOR_ADD(rates->lines, rates->count, rates->capacity, line);
}

/* Adds the lines of a split: of each number of chunks; without them, with one micro-batch in flight and with all of
 * them. A folded schedule has two. */
static bool add_lines(struct job_rates *rates, const struct line *split)
{
    const struct space *space = &rates->space;
    struct line line = *split;
    struct job job = job_of(rates, split);
    space_set_mode(space, &line.layers->mode, line.layers->priced.block_count, &job);
    job.batch = job.microbatch * job.degrees.data * job.degrees.pipeline;
    if (!space_opens_offload(space) && job_memory_floor(&job, &line.layers->priced, 0.0) > space->memory)
        return true; /* it does not fit */
    double filling = job.calibration->step +
                     (line.sharding < 3 ? exchange_of(rates, job, &line.layers->priced, line.least) : 0.0);
    bool ok = true;
    line.max = INT64_MAX;
    for (int folded = 1; folded <= 2 && line.pipeline > 1 && (space->schedules & ~1u); folded++) {
        line.timed = true;
        line.chunks = folded;
        ok = ok && add_line(rates, line, filling);
    }
    line.timed = false;
    if (line.pipeline > 1 && !(space->schedules & 1))
        return ok;
    line.full = line.pipeline > 1;
    for (line.chunks = space_max_chunks(space, line.pipeline); line.chunks >= 1 && ok; line.chunks--)
        if (space_has_chunks(space, &job, line.chunks))
            ok = add_line(rates, line, filling);
    line.full = false;
    line.chunks = 1;
    line.max = line.pipeline - 1;
    return ok && (line.pipeline == 1 || !space_has_chunks(space, &job, 1) || add_line(rates, line, filling));
}

/* Adds the lines of a pipeline: of each sharding and data parallel degree; degrees that fill a node or more differ by
 * less than a factor of 2. */
static bool add_pipeline(struct job_rates *rates, const struct space_layers *layers, int pipeline,
                         int max_data)
{
    unsigned shardings = space_shardings(&rates->space, pipeline);
    struct line line = {.layers = layers, .pipeline = pipeline};
    int own = layers->cut->degrees.tensor * layers->cut->degrees.context;
    int in_node = rates->question.job.devices_per_node / own;
    for (line.most = max_data; line.most > 0; line.most = line.least - 1) {
        line.least = line.most / 2 + 1 > in_node ? line.most / 2 + 1 : in_node;
        line.least = line.most < line.least ? line.most : line.least;
        for (line.sharding = 0; line.sharding <= 3; line.sharding++)
            if ((shardings >> line.sharding & 1) && !add_lines(rates, &line))
                return false;
    }
    return true;
}

static bool add_layers(struct job_rates *rates, const struct space_layers *layers)
{
    struct job job = space_job(&rates->space, layers);
    int model_parallel = job.degrees.tensor * job.degrees.context, devices = job.devices;
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
    for (int g = 0; g < space->group_count && ok && !stop_wanted(); g++) {
        struct space_group *group = &space->groups[g];
        ok = space_price_floor(space, group, NULL) && space_price(space, group);
        for (int i = 0; i < group->count && ok && !stop_wanted(); i++)
            ok = add_layers(rates, &group->layers[i]);
    }
    return ok && list_classes(rates);
}

struct job_rates *job_rates_new(const struct job_question *question, const struct cost_link *across,
                                struct error *err)
{
    struct job_rates *rates = calloc(1, sizeof *rates);
    if (!rates)
        return error_memory_null(err);
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

/* Returns the sequences that a line does by a deadline; 0 if they are fewer than `least`. */
static double done_by(const struct line *line, double deadline, double least)
{
    double count = (deadline - line->filling) / line->each * (1.0 + 1e-9) + 1e-9;
    if (!(count >= 1.0) || count * (double)line->unit < least)
        return 0.0;
    count = fmin(floor(count), (double)line->max);
    count = floor(count / (double)line->step) * (double)line->step * (double)line->unit;
    return count < least ? 0.0 : count;
}

/* Returns the first line of a class; -1: there is none. */
static int find_class(const struct job_rates *rates, int64_t class)
{
    int low = 0, high = rates->class_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (job_class_of(rates, middle) < class)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rates->class_count && job_class_of(rates, low) == class ? low : -1;
}

static void price(const struct job_rates *rates, struct line *line)
{
    const struct line quick = *line;
    if (set_best_line(rates, line)) {
        line->each = fmax(line->each, quick.each); /* both are bounds */
        line->filling = fmax(line->filling, quick.filling);
    } else {
        line->filling = INFINITY; /* it does not fit */
    }
    line->priced = true;
}

/* Returns the line of a class that does most by a deadline, once it is priced; NULL: none does any. */
static const struct line *best_line(struct job_rates *rates, int64_t class, double deadline, double *most)
{
    int k = find_class(rates, class);
    for (*most = 0.0; k >= 0 && !stop_wanted(); *most = 0.0) {
        struct line *best = NULL;
        for (int i = rates->classes[k]; i < rates->classes[k + 1]; i++) {
            double done = done_by(&rates->lines[i], deadline, *most);
            if (done > *most || (done > 0.0 && done == *most && rates->lines[i].priced)) {
                *most = done;
                best = &rates->lines[i];
            }
        }
        if (!best || best->priced)
            return best;
        price(rates, best);
    }
    return NULL;
}

double job_sequences_by(struct job_rates *rates, int64_t class, double deadline)
{
    double most;
    best_line(rates, class, deadline, &most);
    return most;
}

static struct job_line line_of(const struct job_rates *rates, const struct line *line)
{
    struct job_line given = {
        .job = job_of(rates, line),
        .filling = line->filling,
        .each = line->each,
        .step = line->step,
        .max = line->max,
    };
    space_set_mode(&rates->space, &line->layers->mode, line->again, &given.job);
    return given;
}

bool job_rates_best(struct job_rates *rates, int64_t class, double deadline, struct job_line *found)
{
    double most;
    const struct line *line = best_line(rates, class, deadline, &most);
    if (line)
        *found = line_of(rates, line);
    return line != NULL;
}

int job_rates_list(struct job_rates *rates, int64_t class, double deadline, double least,
                   struct job_line *found, int max)
{
    int k = find_class(rates, class), count = 0;
    for (int i = k < 0 ? 0 : rates->classes[k]; k >= 0 && i < rates->classes[k + 1] && count <= max; i++) {
        struct line *line = &rates->lines[i];
        if (done_by(line, deadline, least) > 0.0 && !line->priced)
            price(rates, line);
        if (done_by(line, deadline, least) == 0.0)
            continue;
        if (count < max)
            found[count] = line_of(rates, line);
        count++;
    }
    return count;
}
