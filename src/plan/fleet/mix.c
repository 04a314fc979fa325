#include "plan/fleet/mix.h"

#include "core/clock.h"
#include "core/stop.h"
#include "plan/split/company.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PARTS     32 /* of the batch, which are moved between groups */
#define MAX_MOVES 6  /* of parts, for one set of groups and settings */
#define FEW_NODES 18 /* combinations of numbers of nodes that are tried one by one */

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
        const struct job *job = &answer->kinds[k].choice.job;
        pipelines += job->degrees.data;
        nodes += ceil((double)job->devices / job->devices_per_node);
        steps = fmax(steps, job->calibration->step + job->software->step_host);
    }
    answer->time.pipelines = answer->time.after = 0.0;
    answer->time.other = steps;
    if (answer->kind_count == 1) {
        struct mix_kind *kind = &answer->kinds[0];
        kind->choice.time = job_time(&kind->choice.job);
        answer->time.after = kind->choice.time.data + kind->choice.time.optimizer;
        answer->time.seconds = kind->choice.time.seconds;
        answer->time.pipelines = answer->time.seconds - answer->time.after - answer->time.other;
        return;
    }
    const struct job_company company = {
        .jobs = answer->kind_count,
        .pipelines = pipelines,
        .nodes = nodes,
        .across = slowest_link(answer, question),
    };
    for (int k = 0; k < answer->kind_count; k++) {
        struct mix_kind *kind = &answer->kinds[k];
        struct job_layers layers = job_layers_of(&kind->choice.job);
        double after = job_time_among(&kind->choice.job, &layers, &company, &kind->choice.time);
        answer->time.after = fmax(answer->time.after, after);
        answer->time.pipelines = fmax(answer->time.pipelines, kind->choice.time.seconds - after -
                                                                  kind->choice.job.calibration->step -
                                                                  kind->choice.job.software->step_host);
    }
    answer->time.seconds = answer->time.pipelines + answer->time.after + answer->time.other;
}

/* ---- jobs of one group ---- */

/* A device exchanges its shard with the other groups, not one of several copies', and all groups gather alike. */
static const enum technique_kind usual[] = {TECHNIQUE_REPLICATE, TECHNIQUE_RESHARD};

struct job_question mix_question(const struct mixer *m, int group, int64_t batch, bool alone)
{
    const struct cluster_group *g = &m->question->groups[group];
    struct job_question question = {.job = m->question->job, .headroom = m->question->headroom};
    job_set_group(&question.job, g);
    question.job.type = model_type(g->type, m->question->precision);
    question.job.devices = m->nodes[group] * g->nodes.devices;
    question.job.batch = batch;
    question.job.stage_blocks = NULL;
    memcpy(question.ranges, m->ranges, sizeof question.ranges);
    for (int i = 0; i < 2 && !alone; i++)
        if (!question.ranges[JOB_TECHNIQUE + usual[i]].given)
            question.ranges[JOB_TECHNIQUE + usual[i]] = (struct job_range){0, 0, true};
    return question;
}

/* Finds the best job of a question. False: none fits, or memory ran out. */
bool mix_find_job(struct mixer *m, const struct job_question *question, struct job_choice *choice)
{
    struct job_search search;
    const struct job_search_options options = {.top = 1, .pool = m->pool, .time_limit = m->time_limit};
    if (!job_search(&search, question, &options, m->err)) {
        m->no_memory = m->err->kind != ERROR_INFEASIBLE;
        return false;
    }
    m->combinations += search.combinations;
    *choice = search.plans[0];
    m->bound = search.lower_bound;
    const int *blocks = choice->job.stage_blocks;
    if (blocks) {
        size_t bytes = (size_t)choice->job.degrees.pipeline * sizeof *blocks;
        int *own = arena_alloc(&m->arena, (size_t)choice->job.degrees.pipeline, sizeof *own);
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
    struct mix_known *known = m->known[group];
    for (int i = 0; i < m->known_count[group]; i++)
        if (known[i].batch == batch)
            return known[i].fits ? &known[i].choice : NULL;
    if (batch < 1 || m->known_count[group] == MIX_KNOWN || m->no_memory || stop_wanted())
        return NULL;
    struct mix_known *next = &known[m->known_count[group]++];
    struct job_question question = mix_question(m, group, batch, false);
    *next = (struct mix_known){.batch = batch};
    next->fits = mix_find_job(m, &question, &next->choice);
    return next->fits ? &next->choice : NULL;
}

/* ---- parts of the batch ---- */

/* Prices the groups' jobs for these parts; false: one does not fit. */
static bool mix_make(struct mixer *m, unsigned groups, const int64_t *parts, struct mix_answer *mix)
{
    mix->kind_count = 0;
    for (int g = 0; g < m->question->group_count; g++) {
        if (!(groups >> g & 1))
            continue;
        const struct job_choice *choice = job_on(m, g, parts[g]);
        if (!choice)
            return false;
        mix->kinds[mix->kind_count++] = (struct mix_kind){.group = g, .choice = *choice};
    }
    mix_price(mix, m->question);
    return true;
}

/* Do all kinds have the same settings, which a run of the software has one of? */
static bool agree(const struct mix_answer *mix)
{
    const struct job *first = &mix->kinds[0].choice.job;
    for (int k = 1; k < mix->kind_count; k++) {
        const struct job *job = &mix->kinds[k].choice.job;
        for (int d = JOB_MICROBATCH; d < JOB_DIMENSIONS; d++)
            if (job_dimension_value(job, (enum job_dimension)d) !=
                job_dimension_value(first, (enum job_dimension)d))
                return false;
    }
    return true;
}

/* Returns the answer as a rival of others. */
static struct fleet_rival mix_rival(const struct mix_answer *mix)
{
    const struct job *first = &mix->kinds[0].choice.job;
    struct fleet_rival rival = {
        .plan.iteration_time = mix->time.seconds,
        .jobs = true,
        .plan.sharding = first->sharding,
        .plan.microbatch = first->microbatch,
        .plan.recompute = recompute_name(first->recompute),
    };
    for (int k = 0; k < mix->kind_count; k++) {
        rival.devices[mix->kinds[k].group] = mix->kinds[k].choice.job.devices;
        rival.plan.pipelines += mix->kinds[k].choice.job.degrees.data;
        rival.plan.memory = fmax(rival.plan.memory, mix->kinds[k].choice.memory.total);
    }
    return rival;
}

void mix_take(struct mixer *m, const struct mix_answer *mix)
{
    if (!agree(mix))
        return;
    struct fleet_rival rival = mix_rival(mix);
    fleet_rivals_add(&m->best->rivals, &rival);
    for (int k = 0; k < mix->kind_count; k++)
        m->best->with[mix->kinds[k].group] = fmin(m->best->with[mix->kinds[k].group], mix->time.seconds);
    if (mix->time.seconds < m->best->time.seconds) {
        m->best->kind_count = mix->kind_count;
        memcpy(m->best->kinds, mix->kinds, sizeof mix->kinds);
        m->best->time = mix->time;
    }
}

static double speed_of(const struct mixer *m, int group)
{
    return (double)m->nodes[group] / m->question->groups[group].nodes.count / m->best->alone[group];
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
static bool mix_balance(struct mixer *m, unsigned groups, int64_t *parts, struct mix_answer *mix)
{
    struct mix_answer now = {.kind_count = 0};
    if (!mix_make(m, groups, parts, mix))
        return false;
    mix_take(m, mix);
    for (int64_t step = m->unit * 4; step >= m->unit; step = step > m->unit ? step / 2 : 0)
        for (int moves = 0; moves < MAX_MOVES; moves++) {
            int slowest = 0, best = -1;
            double seconds = mix->time.seconds;
            for (int k = 1; k < mix->kind_count; k++)
                if (mix->kinds[k].choice.time.seconds > mix->kinds[slowest].choice.time.seconds)
                    slowest = k;
            int from = mix->kinds[slowest].group;
            for (int g = 0; g < m->question->group_count; g++) {
                if (!(groups >> g & 1) || g == from || parts[from] <= step)
                    continue;
                parts[from] -= step;
                parts[g] += step;
                if (mix_make(m, groups, parts, &now)) {
                    mix_take(m, &now);
                    if (now.time.seconds < seconds) {
                        seconds = now.time.seconds;
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
            mix_make(m, groups, parts, mix);
        }
    return true;
}

/* ---- settings ---- */

static void forget(struct mixer *m)
{
    memset(m->known_count, 0, sizeof m->known_count);
}

void mix_fix(struct mixer *m, const struct job *job)
{
    forget(m);
    for (int d = JOB_MICROBATCH; d < JOB_DIMENSIONS; d++) {
        if (d == JOB_TECHNIQUE + (int)usual[0] || d == JOB_TECHNIQUE + (int)usual[1])
            continue;
        int64_t value = job_dimension_value(job, (enum job_dimension)d);
        if (d < JOB_TECHNIQUE || value != 0)
            m->ranges[d] = (struct job_range){value, value, true};
    }
}

static void mix_open(struct mixer *m, const struct job_range *ranges)
{
    memcpy(m->ranges, ranges, sizeof m->ranges);
    forget(m);
}

/* Finds mixes of these groups: the jobs with all settings open tell which settings are worth trying for all. */
static void mix_groups(struct mixer *m, unsigned groups, const struct job_range *ranges)
{
    struct mix_answer open = {.kind_count = 0};
    struct job tried[2 * FLEET_MAX_TYPES];
    int64_t parts[FLEET_MAX_TYPES] = {0};
    share_by_speed(m, groups, parts);
    if (!mix_make(m, groups, parts, &open))
        return;
    mix_take(m, &open);
    int count = open.kind_count;
    for (int k = 0; k < count; k++)
        tried[k] = open.kinds[k].choice.job;
    for (int k = 0; k < open.kind_count; k++) /* what suits a group alone may suit it beside others */
        tried[count++] = m->alone[open.kinds[k].group].job;
    for (int k = 0; k < count && !m->no_memory && !stop_wanted(); k++) {
        struct mix_answer mix = {.kind_count = 0};
        int64_t own[FLEET_MAX_TYPES];
        memcpy(own, parts, sizeof own);
        mix_fix(m, &tried[k]);
        mix_balance(m, groups, own, &mix);
        mix_open(m, ranges);
    }
}

/* Finds mixes of all sets of groups. */
static void mix_all(struct mixer *m, const struct job_range *ranges)
{
    unsigned fitting = 0;
    for (int g = 0; g < m->question->group_count; g++)
        fitting |= isfinite(m->best->alone[g]) && m->nodes[g] > 0 ? 1U << g : 0;
    for (unsigned groups = 1; groups <= fitting && !m->no_memory && !stop_wanted(); groups++)
        if ((groups & ~fitting) == 0 && (groups & (groups - 1)) != 0)
            mix_groups(m, groups, ranges);
}

static bool has_few_nodes(const struct fleet_question *question)
{
    double numbers = 1.0;
    for (int g = 0; g < question->group_count; g++)
        numbers *= question->groups[g].nodes.count;
    return numbers <= FEW_NODES;
}

/* Finds mixes on fewer nodes of the groups, where nodes are few: some splits take no other number of them, and fewer
 * wait less for each other. */
static void mix_fewer(struct mixer *m, const struct job_range *ranges)
{
    const struct fleet_question *question = m->question;
    if (!has_few_nodes(question))
        return;
    for (int g = 0; g < question->group_count && !m->no_memory && !stop_wanted();) {
        if (--m->nodes[g] == 0) { /* sets without a group are those of all nodes, too */
            m->nodes[g] = question->groups[g].nodes.count;
            g++;
            continue;
        }
        forget(m);
        mix_all(m, ranges);
        g = 0;
    }
    forget(m);
}

/* ---- all of it ---- */

/* Plans each group alone, with everything that its own search can choose. */
static void plan_alone(struct mixer *m)
{
    for (int g = 0; g < m->question->group_count && !m->no_memory; g++) {
        struct job_question question = mix_question(m, g, m->question->job.batch, true);
        struct job_choice *choice = &m->alone[g];
        double left = m->question->deadline - clock_now();
        if (m->question->deadline > 0.0) /* half of the time is for all groups together */
            m->time_limit = fmax(0.5 * left / (m->question->group_count - g), 1e-9);
        m->bound = INFINITY;
        bool fits = mix_find_job(m, &question, choice);
        m->best->alone[g] = fits ? choice->time.seconds : INFINITY;
        m->best->lower_bound = fmin(m->best->lower_bound, m->bound);
        m->late |= !fits && m->question->deadline > 0.0 && m->err->kind == ERROR_INFEASIBLE &&
                   left - (m->question->deadline - clock_now()) >= m->time_limit;
        if (!fits)
            continue;
        struct mix_answer one = {
            .kind_count = 1,
            .kinds = {{.group = g, .choice = *choice}},
        };
        mix_price(&one, m->question);
        mix_take(m, &one);
    }
    m->time_limit = 0.0;
}

/* Finds mixes of all nodes, and of fewer of them. */
static bool search_all(struct mixer *m)
{
    plan_alone(m);
    struct error first = *m->err;
    unsigned fitting = 0;
    for (int g = 0; g < m->question->group_count; g++)
        fitting |= isfinite(m->best->alone[g]) ? 1U << g : 0;
    mix_all(m, m->question->ranges);
    mix_fewer(m, m->question->ranges);
    bool ok = !m->no_memory && (!fitting || mix_search_classes(m));
    if (ok)
        *m->err = first;
    return ok;
}

bool mix_plan(struct mix_answer *answer, const struct fleet_question *question, double enough,
              struct parallel *pool, struct error *err)
{
    struct mixer *m = calloc(1, sizeof *m);
    *answer = (struct mix_answer){.time.seconds = enough, .lower_bound = INFINITY};
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
        m->nodes[g] = question->groups[g].nodes.count;
    error_set(err, ERROR_INFEASIBLE, "no jobs on these groups take less than is enough");
    bool ok = isinf(enough) || mix_search_classes(m);
    if (ok && (isinf(enough) || (answer->lower_bound < enough && has_few_nodes(question))))
        ok = search_all(m);
    if (m->late)
        answer->lower_bound = 0.0;
    answer->arena = m->arena;
    answer->combinations = m->combinations;
    free(m);
    if (ok && answer->kind_count > 0)
        return true;
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
