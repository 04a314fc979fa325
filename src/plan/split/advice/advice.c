#include "plan/split/advice/advice.h"

#include "core/text.h"
#include "plan/split/rule.h"
#include "plan/split/space.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#define MAX_REMEDIES 3
#define MAX_LARGER   7       /* doublings of the number of devices */
#define MAX_DEVICES  1048576 /* of them */

/* Returns the nearest value that keeps the rules, in a direction; 0: none (of sharding: -1). */
static int64_t nearest(const struct job_question *question, enum job_dimension dimension, int64_t from,
                       int step)
{
    int64_t first = dimension == JOB_SHARDING ? 0 : 1, last = dimension == JOB_SHARDING ? 3 : 2 * from + 64;
    if (from > MAX_DEVICES)
        from = MAX_DEVICES;
    for (int64_t value = from + step; value >= first && value <= last; value += step)
        if (!job_rule_of(question, dimension, value))
            return value;
    return first - 1;
}

/* Returns whether a given range has no value that keeps the rules, and says why and what is near. */
static bool say_broken(const struct job_question *question, enum job_dimension dimension, struct text *out)
{
    const struct job_range *range = &question->ranges[dimension];
    const char *name = job_dimension_name(dimension);
    if (!range->given)
        return false;
    for (int64_t value = range->min; value <= range->max && value - range->min < MAX_DEVICES; value++)
        if (!job_rule_of(question, dimension, value))
            return false;
    int64_t none = dimension == JOB_SHARDING ? -1 : 0;
    int64_t below = nearest(question, dimension, range->min, -1);
    int64_t above = nearest(question, dimension, range->max, 1);
    text_format(out, "%s=%" PRId64 ": ", name, range->min);
    job_rule_say(question, dimension, range->min, job_rule_of(question, dimension, range->min), out);
    if (below > none || above > none)
        text_add(out, "; nearest:");
    if (below > none)
        text_format(out, " %s=%" PRId64, name, below);
    if (above > none)
        text_format(out, "%s %s=%" PRId64, below > none ? " or" : "", name, above);
    return true;
}

/* A change after which there is a plan. */
struct remedy {
    char text[128];
    double seconds;
};

static bool try(const struct job_question *question, struct parallel *pool, struct job_search *search)
{
    struct error ignored;
    const struct job_search_options options = {.top = 1, .pool = pool};
    return job_search(search, question, &options, &ignored);
}

static bool has_plan(const struct job_question *question, struct parallel *pool)
{
    struct job_search search;
    if (!try(question, pool, &search))
        return false;
    job_search_release(&search);
    return true;
}

/* Returns whether some split is allowed, however much it holds. */
static bool is_allowed(const struct job_question *question, struct parallel *pool)
{
    struct job_question roomy = *question;
    struct cost_device device = *question->job.device;
    device.memory = INT64_MAX / 2;
    roomy.job.device = &device;
    return has_plan(&roomy, pool);
}

/* Sets the dimensions from `d` on to given values, or to small ones, and keeps the job that breaks the fewest rules. */
static void break_least(const struct job_question *question, int d, struct job *job, struct job *least,
                        int *broken)
{
    static const int64_t small[] = {1, 2, 4, 8};
    const struct job_range *range = &question->ranges[d];
    const struct job_rule *unused;
    bool single = range->given || d == JOB_DATA || d == JOB_CONTEXT || d == JOB_MICROBATCH;
    if (d == JOB_RECOMPUTE) {
        job->recompute = range->given ? (enum recompute)range->min : RECOMPUTE_NONE;
        int64_t devices =
            (int64_t)job->degrees.tensor * job->degrees.pipeline * job->degrees.context * job->degrees.data;
        job->devices = (int)devices;
        int count = devices <= question->job.devices ? job_rule_count_broken(job, &unused) : INT_MAX;
        if (count < *broken) {
            *broken = count;
            *least = *job;
        }
        return;
    }
    for (int i = 0; *broken > 0 && i < (single ? 1 : 4); i++) {
        int64_t value = range->given ? range->min : d == JOB_SHARDING ? i : small[i];
        if (d == JOB_DATA && !range->given) {
            value = question->job.devices /
                    ((int64_t)job->degrees.tensor * job->degrees.pipeline * job->degrees.context);
            while (value > 1 && question->job.batch % value != 0)
                value--;
        }
        job_dimension_set(job, (enum job_dimension)d, value > 1 || d == JOB_SHARDING ? value : 1);
        break_least(question, d + 1, job, least, broken);
    }
}

/* Where no split is allowed: the fewest given values that exclude all of them, and the rule in the way of the job that
 * is nearest to one. */
static void say_conflict(const struct job_question *question, struct parallel *pool, struct text *out)
{
    struct job_question least = *question;
    struct job job = question->job, nearest;
    const struct job_rule *rule = NULL;
    const char *separator = " with ";
    int broken = INT_MAX;
    if (is_allowed(question, pool))
        return;
    for (int d = 0; d < JOB_DIMENSIONS; d++) {
        least.ranges[d].given = false;
        least.ranges[d].given = question->ranges[d].given && is_allowed(&least, pool);
        if (!least.ranges[d].given)
            continue;
        text_format(out, "%s%s=", separator, job_dimension_name((enum job_dimension)d));
        job_dimension_write(out, (enum job_dimension)d, least.ranges[d].min);
        if (least.ranges[d].max > least.ranges[d].min && job_dimension_is_number((enum job_dimension)d))
            text_format(out, "..%" PRId64, least.ranges[d].max);
        separator = ", ";
    }
    /* with all given values, if they break one rule alone: that is the one */
    const struct job_question *told[] = {question, &least};
    for (int i = 0; i < 2 && broken > 1; i++) {
        const struct job_range *context = &told[i]->ranges[JOB_CONTEXT];
        broken = INT_MAX;
        job.technique = space_techniques(told[i]);
        job.degrees.context = context->given ? (int)context->min : 1;
        break_least(told[i], 0, &job, &nearest, &broken);
    }
    if (broken == INT_MAX)
        text_format(out, ": their product is more than %d devices", question->job.devices);
    else if (job_rule_count_broken(&nearest, &rule) > 0) {
        text_add(out, ": ");
        rule->say(&nearest, out);
    }
}

static void keep(struct remedy *remedies, int *count, const struct remedy *one)
{
    int at = *count < MAX_REMEDIES ? (*count)++ : MAX_REMEDIES;
    for (; at > 0 && remedies[at - 1].seconds > one->seconds; at--)
        if (at < MAX_REMEDIES)
            remedies[at] = remedies[at - 1];
    if (at < MAX_REMEDIES)
        remedies[at] = *one;
}

static void try_open(const struct job_question *question, struct parallel *pool, struct remedy *remedies,
                     int *count)
{
    for (int d = 0; d < JOB_DIMENSIONS; d++) {
        struct job_question open = *question;
        struct job_search search;
        struct remedy remedy;
        if (!question->ranges[d].given)
            continue;
        open.ranges[d].given = false;
        if (!try(&open, pool, &search))
            continue;
        const struct job_choice *plan = &search.plans[0];
        int64_t value = job_dimension_value(&plan->job, (enum job_dimension)d);
        const char *name = job_dimension_name((enum job_dimension)d);
        struct text word = {0};
        remedy.seconds = plan->time.seconds;
        job_dimension_write(&word, (enum job_dimension)d, value);
        if (d >= JOB_TECHNIQUE)
            snprintf(remedy.text, sizeof remedy.text, "no given %s", name);
        else
            snprintf(remedy.text, sizeof remedy.text, "%s=%s", name, word.data ? word.data : "");
        text_release(&word);
        job_search_release(&search);
        keep(remedies, count, &remedy);
    }
}

static void try_all_memory(const struct job_question *question, struct parallel *pool,
                           struct remedy *remedies, int *count)
{
    struct job_question tight = *question;
    struct job_search search;
    struct remedy remedy = {.text = "--headroom 0"};
    tight.headroom = 0.0;
    if (question->headroom <= 0.0 || !try(&tight, pool, &search))
        return;
    remedy.seconds = search.plans[0].time.seconds;
    job_search_release(&search);
    keep(remedies, count, &remedy);
}

/* The share of the optimizer's states that the host holds in the fastest plan on the devices that are there. */
static void try_offload(const struct job_question *question, struct parallel *pool, struct remedy *remedies,
                        int *count)
{
    static const enum job_dimension offload = JOB_TECHNIQUE + TECHNIQUE_OFFLOAD;
    struct job_question open = *question;
    struct job_search search;
    struct remedy remedy;
    if (question->ranges[offload].given || !question->job.software->offers)
        return;
    open.ranges[offload] = (struct job_range){0, 100, true};
    struct error missing;
    if (!space_check_techniques(&open, &missing) || !try(&open, pool, &search))
        return;
    remedy.seconds = search.plans[0].time.seconds;
    snprintf(remedy.text, sizeof remedy.text,
             "--fix offload=%" PRId64 " (per cent of the optimizer's states in host memory)",
             job_dimension_value(&search.plans[0].job, offload));
    job_search_release(&search);
    keep(remedies, count, &remedy);
}

/* Returns the smallest larger cluster with a plan, in whole nodes if it has several; 0: none. As devices may be idle,
 * all larger ones have one, too. */
static int more_devices(const struct job_question *question, struct parallel *pool)
{
    struct job_question larger = *question;
    int node = question->job.devices_per_node, low = question->job.devices, high = low;
    bool found = false;
    for (int i = 0; i < MAX_LARGER && high <= MAX_DEVICES / 2 && !found; i++) {
        low = high;
        high = high * 2 > node ? (high * 2 + node - 1) / node * node : high * 2;
        larger.job.devices = high;
        found = has_plan(&larger, pool);
    }
    int unit = high > node ? node : 1;
    while (found && high - low > unit) {
        int middle = (low + (high - low) / 2 + unit - 1) / unit * unit;
        if (middle >= high)
            break;
        larger.job.devices = middle;
        *(has_plan(&larger, pool) ? &high : &low) = middle;
    }
    return found ? high : 0;
}

void job_advise(const struct job_question *question, struct parallel *pool, struct error *err)
{
    struct text advice = {0};
    struct remedy remedies[MAX_REMEDIES];
    struct error missing;
    int count = 0;
    if (!space_check_techniques(question, &missing)) /* the error names the software that has them */
        return;
    for (int d = 0; d < JOB_DIMENSIONS; d++)
        if (say_broken(question, (enum job_dimension)d, &advice)) {
            error_set(err, ERROR_INFEASIBLE, "%s",
                      advice.failed ? "a given value is not allowed" : advice.data);
            text_release(&advice);
            return;
        }
    say_conflict(question, pool, &advice);
    try_open(question, pool, remedies, &count);
    try_all_memory(question, pool, remedies, &count);
    for (int i = 0; i < count; i++)
        text_format(&advice, "%s%s",
                    i == 0          ? "; there is a plan with "
                    : i + 1 < count ? ", "
                                    : " or ",
                    remedies[i].text);
    if (count == 0) {
        try_offload(question, pool, remedies, &count);
        int devices = more_devices(question, pool);
        if (count > 0)
            text_format(&advice, "; there is a plan with %s", remedies[0].text);
        if (devices > 0)
            text_format(&advice, "%s on %d devices, not on fewer",
                        count > 0 ? ", and without it" : "; there is a plan", devices);
    }
    if (advice.length > 0 && !advice.failed) {
        char found[sizeof err->text];
        snprintf(found, sizeof found, "%s", err->text);
        error_set(err, ERROR_INFEASIBLE, "%s%s", found, advice.data);
    }
    text_release(&advice);
}

/* ---- simpler plans ---- */

bool job_find_simpler(struct job_choice *simpler, const struct job_question *question,
                      const struct job_search *fastest, struct parallel *pool)
{
    const struct job_choice *best = &fastest->plans[0];
    static const enum job_dimension left_out[] = {JOB_CONTEXT, JOB_PIPELINE, JOB_TENSOR};
    const struct job_search_options options = {
        .top = 1, .ceiling = best->time.seconds * (1.0 + JOB_HARDLY_SLOWER), .pool = pool};
    struct job_question asked = *question;
    bool found = false;
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        enum job_dimension dimension = left_out[i];
        struct job_range before = asked.ranges[dimension];
        struct job_search search;
        struct error unused;
        if (job_dimension_value(&best->job, dimension) == 1 || before.given)
            continue;
        asked.ranges[dimension] = (struct job_range){1, 1, true};
        if (!job_search_again(&search, fastest, &asked, &options, &unused)) {
            asked.ranges[dimension] = before;
            continue;
        }
        *simpler = search.plans[0];
        simpler->job.stage_blocks = NULL;
        found = true;
        job_search_release(&search);
    }
    return found;
}
