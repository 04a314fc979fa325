/* The planners, and which of them the options of a command line call for. */
#include "api/plan/command.h"

const char *const plan_objectives[] = {"pipeline", "oobleck", "dapple", "iteration", NULL};
const char *const plan_searches[] = {"exact", "divide", "fold-greedy", "fold-dp", "hpgo", NULL};

#define IN(kind)  (1U << (kind))
#define PIPELINE  (IN(PLAN_BY_PIPELINE) | IN(PLAN_BY_OOBLECK))
#define DAPPLE    IN(PLAN_BY_DAPPLE)
#define ITERATION IN(PLAN_BY_ITERATION)

/* Of those with one objective and one method, the first that takes all options is chosen. */
static const struct planner planners[] = {
    {"exact", PIPELINE, PLAN_EXACT, PLANS_LAYERS, plan_by_pipeline},
    {"divide", PIPELINE, PLAN_DIVIDE, PLANS_LAYERS, plan_by_pipeline},
    {"fold-greedy", PIPELINE, PLAN_FOLD_GREEDY, PLANS_LAYERS, plan_by_pipeline},
    {"fold-dp", PIPELINE, PLAN_FOLD_DP, PLANS_LAYERS, plan_by_pipeline},
    {"dapple", DAPPLE, PLAN_EXACT, PLANS_DAPPLE, plan_by_dapple},
    {"hpgo", DAPPLE, PLAN_HPGO, PLANS_DAPPLE, plan_by_dapple},
    {"split", ITERATION, PLAN_EXACT, PLANS_SPLIT, plan_by_split},
    {"fleet", ITERATION, PLAN_EXACT, PLANS_FLEET, plan_by_fleet},
};

#define PLANNERS (sizeof planners / sizeof *planners)

/* Returns the objectives of all planners that take the option; none: it is for all of them. */
static unsigned takers_of(const struct option_spec *spec)
{
    unsigned objectives = 0;
    for (size_t i = 0; i < PLANNERS; i++)
        objectives |= spec->takers & planners[i].taker ? planners[i].objectives : 0;
    return objectives;
}

/* Returns the name of the first given option that is not the planner's. NULL: the planner takes every one. */
static const char *first_refused(const struct planner *planner, const struct plan_options *given)
{
    const struct option_spec *spec;
    for (size_t i = 0; (spec = plan_option(i)) != NULL; i++)
        if (spec->takers && !(spec->takers & planner->taker) && plan_is_given(given, spec->name))
            return spec->name;
    return NULL;
}

/* Adds the words of a list at whose places `wanted` has bits. */
static void add_words(const char *const *words, unsigned wanted, struct text *out)
{
    for (int i = 0; words[i]; i++)
        if (wanted & IN(i))
            text_format(out, "%s%s", out->length > 0 ? ", " : "", words[i]);
}

/* Every option must be one that a planner of the objective takes. */
static bool check_objective(const struct plan_options *given, struct error *err)
{
    unsigned objective = IN(given->planning.objective);
    const struct option_spec *spec;
    for (size_t i = 0; (spec = plan_option(i)) != NULL; i++) {
        unsigned takers = takers_of(spec);
        if (!takers || (takers & objective) || !plan_is_given(given, spec->name))
            continue;
        struct text words = {0};
        add_words(plan_objectives, takers, &words);
        error_set(err, ERROR_USAGE, "plan: '--%s' is not for --objective %s, but for %s", spec->name,
                  plan_objectives[given->planning.objective], words.failed ? "others" : words.data);
        text_release(&words);
        return false;
    }
    return true;
}

static bool wrong_search(const struct plan_options *given, struct error *err)
{
    struct text words = {0};
    unsigned methods = 0;
    for (size_t i = 0; i < PLANNERS; i++)
        if (planners[i].objectives & IN(given->planning.objective))
            methods |= IN(planners[i].method);
    add_words(plan_searches, methods, &words);
    error_set(err, ERROR_USAGE, "--search: expected one of %s for --objective %s; found '%s'",
              words.failed ? "its words" : words.data, plan_objectives[given->planning.objective],
              plan_searches[given->search]);
    text_release(&words);
    return false;
}

static const struct planner *choose(const struct plan_options *given, struct error *err)
{
    const char *refused = NULL;
    const struct planner *last = NULL;
    for (const struct planner *planner = planners; planner < planners + PLANNERS; planner++) {
        if (!(planner->objectives & IN(given->planning.objective)) || (int)planner->method != given->search)
            continue;
        last = planner;
        const char *option = first_refused(planner, given);
        if (!option)
            return planner;
        refused = refused ? refused : option;
    }
    if (!last)
        wrong_search(given, err);
    else
        error_set(err, ERROR_USAGE, "plan: '--%s' cannot be combined with '--%s': leave one of them out",
                  first_refused(last, given), refused);
    return NULL;
}

/* Returns the name of the first given option that says something of models by name only. NULL: none is. */
static const char *first_of_model(const struct plan_options *given)
{
    for (const struct option_spec *spec = api_plan_options; spec->name; spec++)
        if ((spec->takers & PLANS_ONLY_MODEL) && plan_is_given(given, spec->name))
            return spec->name;
    return NULL;
}

/* Layers are those of a model or of a profile. */
static bool check_layers(const struct plan_options *given, struct error *err)
{
    if (given->asked.model && given->planning.profile)
        return error_set(err, ERROR_USAGE, "plan: --model and --profile both give the model: choose one");
    const char *idle = given->planning.profile             ? first_of_model(given)
                       : plan_is_given(given, "allreduce") ? "allreduce"
                                                           : NULL;
    bool priced = given->planning.objective != PLAN_BY_ITERATION; /* of layers, and all-reduces over links */
    if (idle && (given->planning.profile || !priced))
        return error_set(err, ERROR_USAGE, "plan: '--%s' changes nothing with --%s: leave it out", idle,
                         given->planning.profile ? "profile" : "model");
    return given->asked.model || given->planning.profile ||
           error_set(err, ERROR_USAGE,
                     "plan: expected a model and devices (-m llama-3-70b -d h100 --devices 64 --global-batch "
                     "512) or a "
                     "measured profile and a cluster (-p profile.json -c cluster.yaml -n 50)");
}

const struct planner *planner_choose(const struct plan_options *given, struct error *err)
{
    const struct planner *planner = check_objective(given, err) ? choose(given, err) : NULL;
    if (planner && (planner->taker & (PLANS_LAYERS | PLANS_FLEET)) && !check_layers(given, err))
        return NULL;
    for (const struct option_spec *spec = api_plan_options; planner && spec->name; spec++)
        if ((spec->needers & planner->taker) && !plan_is_given(given, spec->name)) {
            error_set(err, ERROR_USAGE, "plan: '--%s %s' is missing, which --objective %s needs", spec->name,
                      spec->argument, plan_objectives[given->planning.objective]);
            return NULL;
        }
    return planner;
}
