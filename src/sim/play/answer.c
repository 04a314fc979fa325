/* What a play adds up to: rates, the formula beside it, the reasons for a difference, and what more of each resource gives.
 *
 * The reasons. The plan is played again with one thing left out (messages, the exchange of gradients, pairs that hide); that
 * shows its seconds in the simulation. The formula's seconds of the same thing are a part of the plan by name. What remains is
 * that of filling and draining. HPGO's rules (docs/dapple.md) have two terms that are no schedule's, and which are known from the
 * plan alone: a start-up in which each stage has one device of a replica, and a pivot that is a link. All things together
 * are the whole difference, by construction; the one with the most seconds in its direction is the first reason. */
#include "sim/play/host.h"

#include "devices/tables.h"
#include "plan/parts.h"
#include "plan/split/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REASON_FROM  0.02  /* share of the formula: smaller differences are not explained */
#define REASON_SHOWN 0.005 /* smaller parts of a difference are not told */
#define MORE         0.1

const char *const sim_cause_names[SIM_CAUSES] = {
    "forward", "backward", "recompute", "tensor",    "context", "expert", "shards",
    "send",    "bubble",   "gradients", "optimizer", "loading", "saving", "other",
};

/* ---- prices that the file does not have ---- */

static bool is_priced(const struct plan *plan)
{
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++)
            if (isnan(plan->pipelines[p].stages[s].seconds.forward) ||
                isnan(plan->pipelines[p].stages[s].seconds.backward))
                return false;
    return true;
}

bool play_price(struct plan *plan, struct error *err)
{
    struct plan priced;
    struct job job;
    if (is_priced(plan) || !plan->model || !plan_is_job(plan) || !architecture_find(plan->model))
        return true;
    if (!job_remake(&job, plan, &(struct plan_parts){.tables = NULL}, err))
        return false;
    plan_init(&priced);
    if (!job_check_degrees(&job, err) || !plan_of_one_job(&priced, &job, (int)plan_devices_asked(plan), err))
        return false;
    if (plan->path && !(priced.path = arena_string(&priced.arena, plan->path))) {
        plan_release(&priced);
        return error_memory(err);
    }
    plan_release(plan);
    *plan = priced;
    return true;
}

/* ---- the reason of a difference ---- */

static double formula_part(const struct plan *plan, const char *const *names)
{
    double sum = 0.0;
    for (; *names; names++)
        for (int i = 0; i < plan->part_count; i++)
            if (strcmp(plan->parts[i].name, *names) == 0 && isfinite(plan->parts[i].value))
                sum += plan->parts[i].value;
    return sum;
}

static bool play_level(struct play_model *model, bool keep, struct sim_result *result, struct error *err)
{
    return host_is_played(model->options) ? host_play(model, keep, result, err)
           : model->layers                ? play_layers(model, keep, result, err)
                                          : play_passes(model, keep, result, err);
}

static bool play_again(struct play_model *model, const struct play_change *change, double *seconds,
                       struct error *err)
{
    struct sim_result again = {.seconds = 0.0};
    play_model_price(model, change);
    bool ok = play_level(model, false, &again, err);
    *seconds = again.seconds;
    return ok;
}

/* A term of the formula that no schedule has: the seconds that the plan's stages take instead, less the term. */
static double startup_excess(const struct plan *plan)
{
    static const char *const names[] = {"startup", NULL};
    double seconds = 0.0;
    if (plan->pipeline_count != 1 || formula_part(plan, names) == 0.0)
        return 0.0;
    for (int s = 0; s < plan->pipelines[0].stage_count; s++)
        seconds +=
            plan->pipelines[0].stages[s].seconds.forward + plan->pipelines[0].stages[s].seconds.backward;
    return seconds - formula_part(plan, names);
}

static int by_seconds(const void *a, const void *b)
{
    double x = fabs(((const struct sim_reason *)a)->seconds),
           y = fabs(((const struct sim_reason *)b)->seconds);
    return (x < y) - (x > y);
}

/* Keeps the reasons that matter, those in the direction of the difference first. */
static void keep_reasons(struct sim_result *result, const struct sim_reason *all, int count)
{
    double difference = result->seconds - result->formula;
    for (int with = 1; with >= 0; with--) {
        int first = result->reason_count;
        for (int i = 0; i < count; i++)
            if ((all[i].seconds * difference > 0.0) == with &&
                fabs(all[i].seconds) > REASON_SHOWN * result->formula)
                result->reasons[result->reason_count++] = all[i];
        qsort(result->reasons + first, (size_t)(result->reason_count - first), sizeof *all, by_seconds);
    }
}

static bool find_reasons(struct play_model *model, struct sim_result *result, struct error *err)
{
    static const char *const sends[] = {"send", "transfers", NULL}, *const data[] = {"data", "drain", NULL},
                             *const nothing[] = {NULL};
    struct play_change changes[] = {PLAY_NO_CHANGE, PLAY_NO_CHANGE, PLAY_NO_CHANGE};
    enum { SENDS, GRADIENTS, PAIRS, STARTUP, HOST, REST, COUNT };
    _Static_assert(COUNT <= SIM_MAX_REASONS, "a result has room for all reasons");
    changes[SENDS].no_sends = changes[GRADIENTS].no_gradients = changes[PAIRS].no_pairs = true;
    static const char *const *const parts[] = {sends, data, nothing};
    struct sim_reason all[COUNT] = {
        [SENDS] = {"messages between stages", 0.0},
        [GRADIENTS] = {"exchange of gradients", 0.0},
        [PAIRS] = {"expert exchange overlapped by pairs of passes", 0.0},
        [STARTUP] = {"start-up, for which the formula gives each stage one device of a replica", 0.0},
        [HOST] = {"loading and saving", model->host_seconds},
        [REST] = {"filling and draining of unequal stages", 0.0},
    };
    double difference = result->seconds - result->formula;
    if (!(result->formula > 0.0) || fabs(difference) <= REASON_FROM * result->formula)
        return true;
    if (model->plan->sharding == 3)
        all[GRADIENTS].name = "gathers and scatters of shards";
    all[REST].seconds = difference;
    if (model->plan->rules && strcmp(model->plan->rules, "dapple") == 0) {
        all[SENDS].name = "messages for every micro-batch and back, which the formula counts once";
        all[STARTUP].seconds = startup_excess(model->plan);
        if (model->plan->bottleneck_sends)
            all[REST].name = "pivot link, which the formula counts like a stage";
    }
    for (int i = 0; i < STARTUP; i++) {
        double without;
        if (!play_again(model, &changes[i], &without, err))
            return false;
        all[i].seconds = result->seconds - without - formula_part(model->plan, parts[i]);
    }
    for (int i = 0; i < REST; i++)
        all[REST].seconds -= all[i].seconds;
    keep_reasons(result, all, COUNT);
    return true;
}

/* ---- more of a resource ---- */

static bool add_more(struct play_model *model, struct sim_result *result, const char *name,
                     const struct play_change *change, struct error *err)
{
    struct sim_variant *to = &result->more[result->more_count];
    if (!play_again(model, change, &to->seconds, err))
        return false;
    to->name = name;
    to->more = change->more;
    result->more_count++;
    return true;
}

static bool add_all_more(struct play_model *model, struct sim_result *result, struct error *err)
{
    const struct plan *plan = model->plan;
    struct play_change change = PLAY_NO_CHANGE;
    change.more = MORE;
    result->more =
        ARENA_ARRAY(&result->arena, (size_t)(plan->type_count + plan->link_count) + 1, struct sim_variant);
    if (!result->more)
        return error_memory(err);
    for (change.faster_type = 0; change.faster_type < plan->type_count; change.faster_type++)
        if (!add_more(model, result, plan->types[change.faster_type].name, &change, err))
            return false;
    change.faster_type = -1;
    for (change.faster_link = 0; change.faster_link < plan->link_count; change.faster_link++)
        if (!add_more(model, result, plan->links[change.faster_link].name, &change, err))
            return false;
    return true;
}

/* ---- all of it ---- */

static void set_rates(const struct plan *plan, struct sim_result *result)
{
    double samples = (double)plan_samples(plan), share = plan_figure(plan, "utilisation");
    result->expected = plan->expected;
    result->samples = samples > 0.0 ? samples / result->seconds : NAN;
    result->tokens = plan->sequence > 0 ? result->samples * (double)plan->sequence : NAN;
    result->formula = plan->iteration_time > 0.0 ? plan->iteration_time : NAN;
    result->utilisation = share * result->formula / result->seconds;
}

static bool play(struct play_model *model, struct sim_result *result, struct error *err)
{
    if (!play_level(model, true, result, err))
        return false;
    result->level = model->layers ? "layers" : "passes";
    result->schedule = model->schedule->name;
    if (!(result->seconds > 0.0) || !isfinite(result->seconds))
        return error_set(err, ERROR_INPUT, "%s%sthe iteration takes no time: all seconds are 0",
                         model->plan->path ? model->plan->path : "", model->plan->path ? ": " : "");
    set_rates(model->plan, result);
    return model->options->plain || (find_reasons(model, result, err) && add_all_more(model, result, err));
}

bool sim_play(struct plan *plan, const struct sim_options *options, struct sim_result *result,
              struct error *err)
{
    struct play_model model = {.pipeline_count = 0};
    *result = (struct sim_result){.fullest = -1};
    bool ok = play_price(plan, err) && play_model_make(&model, plan, options, &result->arena, err) &&
              play(&model, result, err);
    if (ok && options->order) {
        *options->order = model.pipelines[0].order;
        model.pipelines[0].order = (struct pass_order){.devices = 0};
    }
    play_model_release(&model);
    if (!ok)
        sim_result_release(result);
    return ok;
}

void sim_result_release(struct sim_result *result)
{
    arena_release(&result->arena);
    *result = (struct sim_result){.fullest = -1};
}
