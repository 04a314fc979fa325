#include "plan/fleet/mix.h"

#include "plan/split/company.h"
#include "plan/split/rate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PARTS     32 /* of the batch, which are moved between groups */
#define MAX_MOVES 6  /* of parts, for one set of groups and settings */
#define KNOWN     96 /* jobs of a group that are remembered, for one set of settings */
#define STEPS     60 /* halvings of the bound's deadline */
#define FEW_NODES 18 /* combinations of numbers of nodes that are tried one by one */

/* The best job of a group for a part of the batch. */
struct known {
    int64_t batch;
    bool fits;
    struct job_choice choice; /* its layout of blocks: in the arena of the search */
};

struct mixer {
    const struct fleet_question *question;
    struct parallel *pool;
    struct arena arena; /* layouts of blocks of all jobs that are remembered */
    struct mix_answer *best;
    struct job_range ranges[JOB_DIMENSIONS]; /* settings that all groups share */
    struct known known[FLEET_MAX_TYPES][KNOWN];
    int known_count[FLEET_MAX_TYPES];
    struct job_choice alone[FLEET_MAX_TYPES];
    int nodes[FLEET_MAX_TYPES]; /* of each group that may be used */
    int64_t unit;               /* sequences of a part */
    double combinations;
    bool no_memory;
    struct error *err;
};

/* ---- the price ---- */

/* Returns the slowest link between nodes of the groups; of one group alone, its own. */
static const struct cost_link *slowest_link(const struct mix_answer *mix,
                                            const struct fleet_question *question)
{
    const struct cost_link *slowest = NULL;
    for (int k = 0; k < mix->kind_count; k++) {
        const struct cost_link *link = question->groups[mix->kinds[k].group].across;
        if (!slowest || link->bandwidth < slowest->bandwidth)
            slowest = link;
    }
    return slowest;
}

void mix_price(struct mix_answer *answer, const struct fleet_question *question)
{
    int pipelines = 0;
    double nodes = 0.0, steps = 0.0;
    for (int k = 0; k < answer->kind_count; k++) {
        const struct job *job = &answer->kinds[k].job;
        pipelines += job->data;
        nodes += ceil((double)job->devices / job->devices_per_node);
        steps = fmax(steps, job->calibration->step);
    }
    answer->before = answer->after = 0.0;
    answer->other = steps;
    if (answer->kind_count == 1) {
        struct mix_kind *kind = &answer->kinds[0];
        kind->time = job_time(&kind->job);
        answer->after = kind->time.data + kind->time.optimizer;
        answer->seconds = kind->time.seconds;
        answer->before = answer->seconds - answer->after - answer->other;
        return;
    }
    const struct job_company company = {answer->kind_count, pipelines, nodes, slowest_link(answer, question)};
    for (int k = 0; k < answer->kind_count; k++) {
        struct mix_kind *kind = &answer->kinds[k];
        struct job_layers layers = job_layers_of(&kind->job);
        double after = job_time_among(&kind->job, &layers, &company, &kind->time);
        answer->after = fmax(answer->after, after);
        answer->before = fmax(answer->before, kind->time.seconds - after - kind->job.calibration->step);
    }
    answer->seconds = answer->before + answer->after + answer->other;
}

/* ---- jobs of one group ---- */

/* A device exchanges its shard with the other groups, not one of several copies', and all groups gather alike. */
static const enum technique_kind usual[] = {TECHNIQUE_REPLICATE, TECHNIQUE_RESHARD};

static struct job_question question_of(const struct mixer *m, int group, int64_t batch, bool alone)
{
    const struct cluster_group *g = &m->question->groups[group];
    struct job_question question = {.job = m->question->job, .headroom = m->question->headroom};
    job_set_group(&question.job, g);
    question.job.type = model_type(g->type, m->question->precision);
    question.job.devices = m->nodes[group] * g->devices_per_node;
    question.job.batch = batch;
    question.job.stage_blocks = NULL;
    memcpy(question.ranges, m->ranges, sizeof question.ranges);
    for (int i = 0; i < 2 && !alone; i++)
        if (!question.ranges[JOB_TECHNIQUE + usual[i]].given)
            question.ranges[JOB_TECHNIQUE + usual[i]] = (struct job_range){0, 0, true};
    return question;
}

/* Finds the best job of a question. False: none fits, or memory ran out. */
static bool find_job(struct mixer *m, const struct job_question *question, struct job_choice *choice)
{
    struct job_search search;
    if (!job_search(&search, question, &(struct job_search_options){.top = 1, .pool = m->pool}, m->err)) {
        m->no_memory = m->err->kind != ERROR_INFEASIBLE;
        return false;
    }
    m->combinations += search.combinations;
    *choice = search.plans[0];
    const int *blocks = choice->job.stage_blocks;
    if (blocks) {
        size_t bytes = (size_t)choice->job.pipeline * sizeof *blocks;
        int *own = arena_alloc(&m->arena, (size_t)choice->job.pipeline, sizeof *own);
        m->no_memory = !own;
        if (own)
            memcpy(own, blocks, bytes);
        choice->job.stage_blocks = own;
    }
    job_search_release(&search);
    return !m->no_memory;
}

/* Returns the best job of a group for a part of the batch, beside others; NULL: none fits, or memory ran out. */
static const struct job_choice *job_on(struct mixer *m, int group, int64_t batch)
{
    struct known *known = m->known[group];
    for (int i = 0; i < m->known_count[group]; i++)
        if (known[i].batch == batch)
            return known[i].fits ? &known[i].choice : NULL;
    if (batch < 1 || m->known_count[group] == KNOWN || m->no_memory)
        return NULL;
    struct known *next = &known[m->known_count[group]++];
    struct job_question question = question_of(m, group, batch, false);
    *next = (struct known){.batch = batch};
    next->fits = find_job(m, &question, &next->choice);
    return next->fits ? &next->choice : NULL;
}

static void forget(struct mixer *m)
{
    memset(m->known_count, 0, sizeof m->known_count);
}

/* ---- parts of the batch ---- */

/* Prices the groups' jobs for these parts; false: one does not fit. */
static bool make_mix(struct mixer *m, unsigned groups, const int64_t *parts, struct mix_answer *mix)
{
    mix->kind_count = 0;
    for (int g = 0; g < m->question->group_count; g++) {
        if (!(groups >> g & 1))
            continue;
        const struct job_choice *choice = job_on(m, g, parts[g]);
        if (!choice)
            return false;
        mix->kinds[mix->kind_count++] =
            (struct mix_kind){.group = g, .job = choice->job, .memory = choice->memory};
    }
    mix_price(mix, m->question);
    return true;
}

/* Do all kinds have the same settings, which a run of the software has one of? */
static bool agree(const struct mix_answer *mix)
{
    const struct job *first = &mix->kinds[0].job;
    for (int k = 1; k < mix->kind_count; k++) {
        const struct job *job = &mix->kinds[k].job;
        for (int d = JOB_MICROBATCH; d < JOB_DIMENSIONS; d++)
            if (job_dimension_value(job, (enum job_dimension)d) !=
                job_dimension_value(first, (enum job_dimension)d))
                return false;
    }
    return true;
}

struct fleet_rival mix_rival(const struct mix_answer *mix)
{
    const struct job *first = &mix->kinds[0].job;
    struct fleet_rival rival = {
        .seconds = mix->seconds,
        .jobs = true,
        .sharding = first->sharding,
        .microbatch = first->microbatch,
        .recompute = recompute_name(first->recompute),
    };
    for (int k = 0; k < mix->kind_count; k++) {
        rival.devices[mix->kinds[k].group] = mix->kinds[k].job.devices;
        rival.pipelines += mix->kinds[k].job.data;
        rival.memory = fmax(rival.memory, mix->kinds[k].memory.total);
    }
    return rival;
}

static void take_better(struct mixer *m, const struct mix_answer *mix)
{
    if (!agree(mix))
        return;
    struct fleet_rival rival = mix_rival(mix);
    fleet_rivals_add(&m->best->rivals, &rival);
    for (int k = 0; k < mix->kind_count; k++)
        m->best->with[mix->kinds[k].group] = fmin(m->best->with[mix->kinds[k].group], mix->seconds);
    if (mix->seconds < m->best->seconds) {
        m->best->kind_count = mix->kind_count;
        memcpy(m->best->kinds, mix->kinds, sizeof mix->kinds);
        m->best->seconds = mix->seconds;
        m->best->before = mix->before;
        m->best->after = mix->after;
        m->best->other = mix->other;
    }
}

static double speed_of(const struct mixer *m, int group)
{
    return (double)m->nodes[group] / m->question->groups[group].nodes / m->best->alone[group];
}

/* Shares the batch out by the speeds of the groups alone. */
static void share_by_speed(const struct mixer *m, unsigned groups, int64_t *parts)
{
    double speeds = 0.0, sum = 0.0;
    int64_t left = m->question->job.batch, units;
    for (int g = 0; g < m->question->group_count; g++)
        speeds += groups >> g & 1 ? speed_of(m, g) : 0.0;
    units = left / m->unit;
    int64_t before = 0;
    for (int g = 0; g < m->question->group_count; g++) {
        if (!(groups >> g & 1))
            continue;
        sum += speed_of(m, g);
        int64_t until = (int64_t)round((double)units * sum / speeds);
        parts[g] = (until - before) * m->unit;
        before = until;
    }
}

/* Moves a part from the slowest kind to each other one in turn, as long as the mix gets faster; *jobs are those of the
 * fastest. */
static bool balance(struct mixer *m, unsigned groups, int64_t *parts, struct mix_answer *mix)
{
    struct mix_answer now;
    if (!make_mix(m, groups, parts, mix))
        return false;
    take_better(m, mix);
    for (int64_t step = m->unit * 4; step >= m->unit; step = step > m->unit ? step / 2 : 0)
        for (int moves = 0; moves < MAX_MOVES; moves++) {
            int slowest = 0, best = -1;
            double seconds = mix->seconds;
            for (int k = 1; k < mix->kind_count; k++)
                if (mix->kinds[k].time.seconds > mix->kinds[slowest].time.seconds)
                    slowest = k;
            int from = mix->kinds[slowest].group;
            for (int g = 0; g < m->question->group_count; g++) {
                if (!(groups >> g & 1) || g == from || parts[from] <= step)
                    continue;
                parts[from] -= step;
                parts[g] += step;
                if (make_mix(m, groups, parts, &now)) {
                    take_better(m, &now);
                    if (now.seconds < seconds) {
                        seconds = now.seconds;
                        best = g;
                    }
                }
                parts[from] += step;
                parts[g] -= step;
            }
            if (best < 0)
                break;
            parts[from] -= step;
            parts[best] += step;
            make_mix(m, groups, parts, mix);
        }
    return true;
}

/* ---- settings ---- */

/* Fixes the settings that all groups share to those of a job. */
static void fix_settings(struct mixer *m, const struct job *job)
{
    for (int d = JOB_MICROBATCH; d < JOB_DIMENSIONS; d++) {
        if (d == JOB_TECHNIQUE + (int)usual[0] || d == JOB_TECHNIQUE + (int)usual[1])
            continue;
        int64_t value = job_dimension_value(job, (enum job_dimension)d);
        if (d < JOB_TECHNIQUE || value != 0)
            m->ranges[d] = (struct job_range){value, value, true};
    }
}

/* Finds mixes of these groups: the jobs with all settings open tell which settings are worth trying for all. */
static void mix_groups(struct mixer *m, unsigned groups, const struct job_range *ranges)
{
    struct mix_answer open;
    struct job tried[2 * FLEET_MAX_TYPES];
    int64_t parts[FLEET_MAX_TYPES] = {0};
    share_by_speed(m, groups, parts);
    if (!make_mix(m, groups, parts, &open))
        return;
    take_better(m, &open);
    int count = open.kind_count;
    for (int k = 0; k < count; k++)
        tried[k] = open.kinds[k].job;
    for (int k = 0; k < open.kind_count; k++) /* what suits a group alone may suit it beside others */
        tried[count++] = m->alone[open.kinds[k].group].job;
    for (int k = 0; k < count && !m->no_memory; k++) {
        struct mix_answer mix;
        int64_t own[FLEET_MAX_TYPES];
        memcpy(own, parts, sizeof own);
        forget(m);
        fix_settings(m, &tried[k]);
        balance(m, groups, own, &mix);
        memcpy(m->ranges, ranges, sizeof m->ranges);
        forget(m);
    }
}

/* Finds mixes of all sets of groups. */
static void mix_all(struct mixer *m, const struct job_range *ranges)
{
    unsigned fitting = 0;
    for (int g = 0; g < m->question->group_count; g++)
        fitting |= isfinite(m->best->alone[g]) && m->nodes[g] > 0 ? 1U << g : 0;
    for (unsigned groups = 1; groups <= fitting && !m->no_memory; groups++)
        if ((groups & ~fitting) == 0 && (groups & (groups - 1)) != 0)
            mix_groups(m, groups, ranges);
}

/* Finds mixes on fewer nodes of the groups, where nodes are few: some splits take no other number of them, and fewer wait
 * less for each other. */
static void mix_fewer(struct mixer *m, const struct job_range *ranges)
{
    const struct fleet_question *question = m->question;
    double numbers = 1.0;
    for (int g = 0; g < question->group_count; g++)
        numbers *= question->groups[g].nodes;
    if (numbers > FEW_NODES)
        return;
    for (int g = 0; g < question->group_count && !m->no_memory;) {
        if (--m->nodes[g] == 0) { /* sets without a group are those of all nodes, too */
            m->nodes[g] = question->groups[g].nodes;
            g++;
            continue;
        }
        forget(m);
        mix_all(m, ranges);
        g = 0;
    }
    forget(m);
}

/* ---- the bound ---- */

static double done_by(const struct mixer *m, struct job_rates *const *rates, int64_t class, double deadline)
{
    double done = 0.0;
    for (int g = 0; g < m->question->group_count; g++)
        done += rates[g] ? job_sequences_by(rates[g], class, deadline) : 0.0;
    return done;
}

/* Returns the earliest deadline by which these groups do the batch, all with splits of the same class; `bound` if that is
 * not earlier. */
static double bound_class(const struct mixer *m, struct job_rates *const *rates, int64_t class, double bound)
{
    double low = 0.0, high = bound, wanted = (double)m->question->job.batch;
    if (done_by(m, rates, class, bound) < wanted)
        return bound;
    for (int i = 0; i < STEPS && high - low > 1e-6 * high; i++) {
        double middle = 0.5 * (low + high);
        if (done_by(m, rates, class, middle) >= wanted)
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* Lowers the bound to that of jobs on two or more groups whose slowest link between nodes is this one. */
static bool bound_behind(struct mixer *m, const struct cost_link *across)
{
    const struct fleet_question *question = m->question;
    struct job_rates *rates[FLEET_MAX_TYPES] = {0};
    int fast = 0;
    bool ok = true;
    for (int g = 0; g < question->group_count; g++)
        fast += question->groups[g].across->bandwidth >= across->bandwidth;
    for (int g = 0; g < question->group_count && ok && fast > 1; g++) {
        struct job_question asked = question_of(m, g, question->job.batch, false);
        if (question->groups[g].across->bandwidth < across->bandwidth)
            continue;
        rates[g] = job_rates_new(&asked, across, m->err);
        ok = rates[g] != NULL;
    }
    double *bound = &m->best->lower_bound;
    for (int g = 0; g < question->group_count && ok; g++)
        for (int i = 0; rates[g] && i < job_class_count(rates[g]); i++)
            *bound = fmin(*bound, bound_class(m, rates, job_class_of(rates[g], i), *bound));
    for (int g = 0; g < question->group_count; g++)
        job_rates_free(rates[g]);
    return ok;
}

/* Lowers the bound to that of jobs on two or more groups. */
static bool bound_mixes(struct mixer *m)
{
    const struct fleet_question *question = m->question;
    m->best->lower_bound = fmin(m->best->lower_bound, m->best->seconds);
    for (int g = 0; g < question->group_count; g++) {
        bool seen = false;
        for (int h = 0; h < g; h++)
            seen |= question->groups[h].across->bandwidth == question->groups[g].across->bandwidth;
        if (!seen && !bound_behind(m, question->groups[g].across))
            return false;
    }
    return true;
}

/* ---- all of it ---- */

/* Plans each group alone, with everything that its own search can choose. */
static void plan_alone(struct mixer *m)
{
    for (int g = 0; g < m->question->group_count && !m->no_memory; g++) {
        struct job_question question = question_of(m, g, m->question->job.batch, true);
        struct job_choice *choice = &m->alone[g];
        bool fits = find_job(m, &question, choice);
        m->best->alone[g] = fits ? choice->time.seconds : INFINITY;
        m->best->lower_bound = fmin(m->best->lower_bound, m->best->alone[g]);
        if (!fits)
            continue;
        struct mix_answer one = {
            .kind_count = 1,
            .kinds = {{.group = g, .job = choice->job, .time = choice->time, .memory = choice->memory}},
        };
        mix_price(&one, m->question);
        take_better(m, &one);
    }
}

bool mix_plan(struct mix_answer *answer, const struct fleet_question *question, struct parallel *pool,
              struct error *err)
{
    struct mixer *m = calloc(1, sizeof *m);
    *answer = (struct mix_answer){.seconds = INFINITY, .lower_bound = INFINITY};
    for (int g = 0; g < FLEET_MAX_TYPES; g++)
        answer->with[g] = INFINITY;
    if (!m)
        return error_memory(err);
    m->question = question;
    m->pool = pool;
    m->best = answer;
    m->err = err;
    m->unit = 1;
    for (int64_t u = 1; u <= question->job.batch / PARTS; u++)
        m->unit = question->job.batch % u == 0 ? u : m->unit;
    memcpy(m->ranges, question->ranges, sizeof m->ranges);
    for (int g = 0; g < question->group_count; g++)
        m->nodes[g] = question->groups[g].nodes;
    plan_alone(m);
    struct error first = *err;
    unsigned fitting = 0;
    for (int g = 0; g < question->group_count; g++)
        fitting |= isfinite(answer->alone[g]) ? 1U << g : 0;
    mix_all(m, question->ranges);
    mix_fewer(m, question->ranges);
    bool ok = !m->no_memory && (!fitting || bound_mixes(m));
    answer->arena = m->arena;
    answer->combinations = m->combinations;
    free(m);
    if (ok && answer->kind_count > 0)
        return true;
    if (ok)
        *err = first;
    double bound = answer->lower_bound;
    mix_release(answer);
    answer->lower_bound = bound;
    return false;
}

void mix_release(struct mix_answer *answer)
{
    arena_release(&answer->arena);
    *answer = (struct mix_answer){0};
}
