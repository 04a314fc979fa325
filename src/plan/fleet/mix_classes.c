/* Jobs on several groups, class by class of the settings that they share (plan/split/rate.h).
 *
 * Bound. By a deadline T a group does at most job_sequences_by sequences with the splits of a class, whatever the other
 * groups do. So no mix of a class ends before the earliest deadline by which the groups together do the batch.
 *
 * Search. Classes whose bound is below the best mix are searched, that with the lowest first. At deadlines from the
 * bound on, each group has a split that does most; with its data parallel degree, or a smaller one, parts of the batch
 * are found that are whole micro-batches of all copies and add up to the batch. If these could be faster than the best
 * mix they are priced as all mixes are. Where few splits could be in a faster mix, all sets of them are tried. */
#include "core/stop.h"
#include "core/vector.h"
#include "plan/fleet/mix.h"
#include "plan/split/rate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS     60    /* halvings of a deadline */
#define LATER     1.004 /* from one deadline to the next */
#define DEADLINES 100   /* of a class */
#define DEGREES   3     /* of data parallelism that are tried for a split */
#define VISITS    20000 /* of numbers of micro-batches, for one deadline */
#define MANY      4     /* splits: of more, all have the same kind of degree */
#define MAX_SETS  600   /* of splits, one of each group */
#define FEW       24    /* splits of a group, all sets of which are tried */
#define CLOSE     1e-5  /* of the best mix: classes whose bound is no further are not searched */

struct class
{
    int64_t id;
    double bound;
};

/* The groups behind one link. */
struct behind {
    struct mixer *m;
    struct job_rates *rates[FLEET_MAX_TYPES]; /* NULL: their own link is slower */
    struct class *classes;
    int count;
    size_t capacity;
};

/* ---- the bound ---- */

static double done_by(const struct behind *b, int64_t class, double deadline)
{
    double done = 0.0;
    for (int g = 0; g < b->m->question->group_count; g++)
        done += b->rates[g] ? job_sequences_by(b->rates[g], class, deadline) : 0.0;
    return done;
}

/* Returns the earliest deadline by which the groups do the batch; `bound` if that is not earlier. */
static double bound_class(const struct behind *b, int64_t class, double bound)
{
    double low = 0.0, high = bound, wanted = (double)b->m->question->job.batch;
    if (done_by(b, class, bound) < wanted)
        return bound;
    for (int i = 0; i < STEPS && high - low > 1e-6 * high; i++) {
        double middle = 0.5 * (low + high);
        if (done_by(b, class, middle) >= wanted)
            high = middle;
        else
            low = middle;
    }
    return low;
}

static int compare_classes(const void *a, const void *b)
{
    const struct class *x = a, *y = b;
    if (x->bound != y->bound)
        return x->bound < y->bound ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Lists the classes whose bound is below the best mix, that with the lowest first. */
static bool list_classes(struct behind *b)
{
    for (int g = 0; g < b->m->question->group_count; g++)
        for (int i = 0; b->rates[g] && i < job_class_count(b->rates[g]); i++)
            if (!VECTOR_ADD(b->classes, b->count, b->capacity,
                            (struct class){job_class_of(b->rates[g], i), 0.0}))
                return false;
    int kept = 0;
    if (b->count > 0)
        qsort(b->classes, (size_t)b->count, sizeof *b->classes, compare_classes);
    for (int i = 0; i < b->count && !stop_wanted(); i++) {
        struct class class = b->classes[i];
        if (i > 0 && b->classes[i - 1].id == class.id)
            continue;
        class.bound = bound_class(b, class.id, b->m->best->time.seconds);
        b->classes[i].bound = 0.0;
        if (class.bound < b->m->best->time.seconds)
            b->classes[kept++] = class;
    }
    b->count = kept;
    if (kept > 0)
        qsort(b->classes, (size_t)kept, sizeof *b->classes, compare_classes);
    return true;
}

/* ---- parts of the batch ---- */

/* Splits of some groups, with micro-batches of all copies: units, whose number is a multiple of `step`. */
struct sharing {
    int count;
    int groups[FLEET_MAX_TYPES];
    struct job_line lines[FLEET_MAX_TYPES];
    int64_t units[FLEET_MAX_TYPES], counts[FLEET_MAX_TYPES]; /* sequences; how many of them */
    double deadline;
    int visits; /* that are left */
};

static int64_t count_by(const struct job_line *line, double deadline)
{
    double most = floor((deadline - line->filling) / line->each * (1.0 + 1e-9));
    most = fmin(most, (double)line->max);
    return most < (double)line->step ? 0 : (int64_t)most / line->step;
}

/* Shares so many sequences out over the splits from `first` on; no split is left without any. `spare`: sequences that
 * these could do beyond that. */
static bool share(struct sharing *s, int first, int64_t left, int64_t spare)
{
    int64_t unit = s->units[first], most = count_by(&s->lines[first], s->deadline);
    if (first == s->count - 1) {
        s->counts[first] = left / unit;
        return left % unit == 0 && s->counts[first] >= 1 && s->counts[first] <= most;
    }
    for (int64_t n = most; n >= 1 && (most - n) * unit <= spare && --s->visits > 0; n--) {
        s->counts[first] = n;
        if (left > n * unit && share(s, first + 1, left - n * unit, spare - (most - n) * unit))
            return true;
    }
    return false;
}

static bool share_by(struct sharing *s, int64_t batch, double deadline)
{
    int64_t all = 0;
    s->deadline = deadline;
    s->visits = VISITS;
    for (int i = 0; i < s->count; i++) {
        int64_t most = count_by(&s->lines[i], deadline);
        if (most < 1)
            return false;
        all += most * s->units[i];
    }
    return all >= batch && share(s, 0, batch, all - batch);
}

/* Finds the earliest deadline before `limit` by which the splits do the batch exactly; INFINITY: there is none. */
static double share_first(struct sharing *s, int64_t batch, double limit)
{
    double low = 0.0, high = limit;
    if (!share_by(s, batch, limit))
        return INFINITY;
    while (high - low > 1e-4 * high) {
        double middle = 0.5 * (low + high);
        if (share_by(s, batch, middle))
            high = middle;
        else
            low = middle;
    }
    share_by(s, batch, high);
    return high;
}

/* ---- mixes ---- */

/* Prices the splits' mix with the settings of one of them. */
static void price(struct mixer *m, const struct sharing *s, const struct job *settings)
{
    struct job_range ranges[JOB_DIMENSIONS];
    struct mix_answer mix = {.kind_count = 0};
    memcpy(ranges, m->ranges, sizeof ranges);
    mix_fix(m, settings);
    for (int i = 0; i < s->count && !m->no_memory; i++) {
        const struct job *job = &s->lines[i].job;
        int64_t part = s->counts[i] * s->units[i];
        struct job_question question = mix_question(m, s->groups[i], part, false);
        struct job_choice choice;
        for (int d = JOB_TENSOR; d <= JOB_EXPERT; d++) {
            int64_t value = job_dimension_value(job, (enum job_dimension)d);
            question.ranges[d] = (struct job_range){value, value, true};
        }
        if (!mix_find_job(m, &question, &choice))
            break;
        mix.kinds[mix.kind_count++] = (struct mix_kind){.group = s->groups[i], .choice = choice};
    }
    memcpy(m->ranges, ranges, sizeof ranges);
    if (mix.kind_count < s->count)
        return;
    mix_price(&mix, m->question);
    mix_take(m, &mix);
}

/* Returns the `index`-th data parallel degree to try: the maximum, the largest that divides the micro-batches, and the
 * largest power of two. 0: it is among those before. */
static int degree_of(const struct mixer *m, const struct job *job, int index)
{
    int64_t microbatches = m->question->job.batch / job->microbatch;
    int divides = job->degrees.data, power = 1;
    while (divides > 1 && microbatches % divides != 0)
        divides--;
    while (power <= job->degrees.data / 2)
        power *= 2;
    if (index == 0)
        return job->degrees.data;
    if (index == 1)
        return divides < job->degrees.data ? divides : 0;
    return power < job->degrees.data && power != divides ? power : 0;
}

static bool same_settings(const struct job *a, const struct job *b)
{
    for (int d = JOB_MICROBATCH; d < JOB_DIMENSIONS; d++)
        if (job_dimension_value(a, (enum job_dimension)d) != job_dimension_value(b, (enum job_dimension)d))
            return false;
    return true;
}

/* Tries the splits with all combinations of degrees, and prices the best. */
static void try_splits(struct mixer *m, const struct sharing *given)
{
    struct sharing best = {.deadline = INFINITY};
    int combinations = given->count > MANY ? DEGREES : 1;
    for (int i = 0; i < given->count && given->count <= MANY; i++)
        combinations *= DEGREES;
    for (int c = 0; c < combinations; c++) {
        struct sharing now = *given;
        bool new = true;
        for (int i = 0, rest = c; i<now.count; i++, rest /= now.count> MANY ? 1 : DEGREES) {
            struct job *job = &now.lines[i].job;
            int degree = degree_of(m, job, rest % DEGREES);
            new &= degree > 0;
            degree = degree > 0 ? degree : job->degrees.data;
            job->degrees.data = degree;
            now.units[i] = degree * job->microbatch * now.lines[i].step;
        }
        if (new &&isfinite(
                share_first(&now, m->question->job.batch, fmin(best.deadline, m->best->time.seconds))))
            best = now;
    }
    if (isinf(best.deadline))
        return;
    for (int i = 0; i < best.count && !m->no_memory; i++) {
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen |= same_settings(&best.lines[k].job, &best.lines[i].job);
        if (!seen)
            price(m, &best, &best.lines[i].job);
    }
}

static bool same_splits(const struct sharing *a, const struct sharing *b)
{
    bool same = a->count == b->count;
    for (int i = 0; i < a->count && same; i++) {
        const struct job *x = &a->lines[i].job, *y = &b->lines[i].job;
        same = a->groups[i] == b->groups[i] && degrees_are_equal(&x->degrees, &y->degrees) &&
               same_settings(x, y);
    }
    return same;
}

/* Tries the splits of all sets of two groups or more that do the batch by the deadline. */
static void try_by(struct behind *b, const struct sharing *all)
{
    for (unsigned set = 1; set < 1U << all->count; set++) {
        struct sharing some = {.count = 0};
        double done = 0.0;
        for (int i = 0; i < all->count; i++)
            if (set >> i & 1) {
                const struct job_line *line = &all->lines[i];
                some.groups[some.count] = all->groups[i];
                some.lines[some.count++] = *line;
                done += (double)(count_by(line, b->m->best->time.seconds) * line->step *
                                 line->job.degrees.data * line->job.microbatch);
            }
        if (some.count > 1 && done >= (double)b->m->question->job.batch)
            try_splits(b->m, &some);
    }
}

/* Tries all sets of one split of each group from `group` on, or none: *s holds those of earlier groups. */
static void try_sets(struct behind *b, const struct job_line (*lines)[FEW], const int *counts, int group,
                     struct sharing *s)
{
    if (b->m->no_memory)
        return;
    if (group == b->m->question->group_count) {
        if (s->count > 1)
            try_splits(b->m, s);
        return;
    }
    try_sets(b, lines, counts, group + 1, s);
    for (int i = 0; i < counts[group]; i++) {
        s->groups[s->count] = group;
        s->lines[s->count++] = lines[group][i];
        try_sets(b, lines, counts, group + 1, s);
        s->count--;
    }
}

/* Tries all sets of splits that could be in a better mix, if they are few. */
static void try_all(struct behind *b, const struct class *class)
{
    struct job_line lines[FLEET_MAX_TYPES][FEW];
    int counts[FLEET_MAX_TYPES] = {0};
    double sets = 1.0, deadline = b->m->best->time.seconds, all = done_by(b, class->id, deadline);
    for (int g = 0; g < b->m->question->group_count && sets <= MAX_SETS; g++) {
        if (!b->rates[g])
            continue;
        double spare = all - (double)b->m->question->job.batch;
        double least = fmax(job_sequences_by(b->rates[g], class->id, deadline) - spare, 1.0);
        counts[g] = job_rates_list(b->rates[g], class->id, deadline, least, lines[g], FEW);
        sets *= counts[g] > FEW ? INFINITY : counts[g] + 1.0;
    }
    struct sharing set = {.count = 0};
    if (sets <= MAX_SETS)
        try_sets(b, (const struct job_line(*)[FEW])lines, counts, 0, &set);
}

static void search_class(struct behind *b, const struct class *class)
{
    struct sharing last = {.count = 0};
    double at = class->bound * (1.0 + 1e-6);
    for (int i = 0; i < DEADLINES && at < b->m->best->time.seconds && !b->m->no_memory; i++, at *= LATER) {
        struct sharing now = {.count = 0};
        for (int g = 0; g < b->m->question->group_count; g++)
            if (b->rates[g] && job_rates_best(b->rates[g], class->id, at, &now.lines[now.count]))
                now.groups[now.count++] = g;
        if (same_splits(&now, &last))
            continue;
        last = now;
        try_by(b, &now);
    }
    if (class->bound < b->m->best->time.seconds * (1.0 - CLOSE))
        try_all(b, class);
}

/* Searches jobs on two or more groups whose slowest link between nodes is this one. */
static bool search_behind(struct mixer *m, const struct cost_link *across)
{
    const struct fleet_question *question = m->question;
    struct behind b = {.m = m};
    int fast = 0;
    bool ok = true;
    for (int g = 0; g < question->group_count; g++)
        fast += question->groups[g].across->bandwidth >= across->bandwidth;
    for (int g = 0; g < question->group_count && ok && fast > 1; g++) {
        struct job_question asked = mix_question(m, g, question->job.batch, false);
        if (question->groups[g].across->bandwidth < across->bandwidth)
            continue;
        b.rates[g] = job_rates_new(&asked, across, m->err);
        ok = b.rates[g] != NULL;
    }
    ok = ok && (list_classes(&b) || error_memory(m->err));
    m->late |= stop_wanted();
    double bound = b.count > 0 ? b.classes[0].bound : INFINITY;
    for (int i = 0; i < b.count && ok && !stop_wanted(); i++)
        if (b.classes[i].bound < m->best->time.seconds * (1.0 - CLOSE))
            search_class(&b, &b.classes[i]);
    m->best->lower_bound = fmin(m->best->lower_bound, bound);
    for (int g = 0; g < question->group_count; g++)
        job_rates_free(b.rates[g]);
    free(b.classes);
    return ok && !m->no_memory;
}

bool mix_search_classes(struct mixer *m)
{
    const struct fleet_question *question = m->question;
    for (int g = 0; g < question->group_count; g++) {
        bool seen = false;
        for (int h = 0; h < g; h++)
            seen |= question->groups[h].across->bandwidth == question->groups[g].across->bandwidth;
        if (!seen && !search_behind(m, question->groups[g].across))
            return false;
    }
    m->best->lower_bound = fmin(m->best->lower_bound, m->best->time.seconds);
    return true;
}
