/* The planners, and which of them the options of a command line call for. */
#include "api/plan/command.h"

#include <string.h>

const char *const plan_objectives[] = {"pipeline", "oobleck", "dapple", "iteration", NULL};
const char *const plan_searches[] = {"exact", "divide", "fold-greedy", "fold-dp", "hpgo", NULL};

#define IN(kind)  (1U << (kind))
#define PIPELINE  (IN(PLAN_BY_PIPELINE) | IN(PLAN_BY_OOBLECK))
#define DAPPLE    IN(PLAN_BY_DAPPLE)
#define ITERATION IN(PLAN_BY_ITERATION)

#define MODEL_ONLY   "sequence precision software links calibration across fix "
#define MODEL_TAKES  "model sequence precision software links calibration "
#define LAYERS_NEEDS "cluster microbatches"
#define LAYERS_TAKES "profile " MODEL_TAKES "allreduce memory fold-exact-factors fold-longest-only"
#define DAPPLE_NEEDS "profile cluster global-batch"
#define DAPPLE_TAKES "devices rules import profile-batch state-factor sample-memory csv"
#define JOB_TAKES                                                                                            \
    MODEL_TAKES                                                                                              \
    "global-batch across headroom imbalance fix top pareto explain no-neighbours flags csv "                 \
    "tokens price "                                                                                          \
    "deadline"

/* Of those with one objective and one method, the first that takes all options is chosen. */
static const struct planner planners[] = {
    {"exact", PIPELINE, PLAN_EXACT, LAYERS_NEEDS, LAYERS_TAKES, plan_by_pipeline},
    {"divide", PIPELINE, PLAN_DIVIDE, LAYERS_NEEDS, LAYERS_TAKES, plan_by_pipeline},
    {"fold-greedy", PIPELINE, PLAN_FOLD_GREEDY, LAYERS_NEEDS, LAYERS_TAKES, plan_by_pipeline},
    {"fold-dp", PIPELINE, PLAN_FOLD_DP, LAYERS_NEEDS, LAYERS_TAKES, plan_by_pipeline},
    {"dapple", DAPPLE, PLAN_EXACT, DAPPLE_NEEDS, DAPPLE_TAKES, plan_by_dapple},
    {"hpgo", DAPPLE, PLAN_HPGO, DAPPLE_NEEDS, DAPPLE_TAKES, plan_by_dapple},
    {"split", ITERATION, PLAN_EXACT, "model device devices", "devices-per-node inside " JOB_TAKES,
     plan_by_split},
    {"fleet", ITERATION, PLAN_EXACT, "cluster", "profile allreduce " JOB_TAKES, plan_by_fleet},
};

#define PLANNERS (sizeof planners / sizeof *planners)

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static bool takes(const struct planner *planner, const char *option)
{
    return has_word(planner->needs, option) || has_word(planner->takes, option);
}

/* Returns the objectives of all planners that take the option. */
static unsigned takers_of(const char *option)
{
    unsigned objectives = 0;
    for (size_t i = 0; i < PLANNERS; i++)
        objectives |= takes(&planners[i], option) ? planners[i].objectives : 0;
    return objectives;
}

/* An option that no planner names is for all of them. NULL: the planner takes every given option. */
static const char *first_refused(const struct planner *planner, const struct plan_options *given)
{
    const char *name;
    for (size_t i = 0; (name = plan_option_name(i)) != NULL; i++)
        if (plan_is_given(given, name) && takers_of(name) && !takes(planner, name))
            return name;
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
    const char *name;
    for (size_t i = 0; (name = plan_option_name(i)) != NULL; i++) {
        unsigned takers = takers_of(name);
        if (!plan_is_given(given, name) || !takers || (takers & objective))
            continue;
        struct text words = {0};
        add_words(plan_objectives, takers, &words);
        error_set(err, ERROR_USAGE, "plan: '--%s' is not for --objective %s, but for %s", name,
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

/* Returns the first option of a list that is given. NULL: none is. */
static const char *first_given(const struct plan_options *given, const char *words)
{
    const char *name;
    for (size_t i = 0; (name = plan_option_name(i)) != NULL; i++)
        if (plan_is_given(given, name) && has_word(words, name))
            return name;
    return NULL;
}

/* Layers are those of a model or of a profile. */
static bool check_layers(const struct plan_options *given, struct error *err)
{
    if (given->asked.model && given->planning.profile)
        return error_set(err, ERROR_USAGE, "plan: --model and --profile both give the model: choose one");
    const char *idle = first_given(given, given->planning.profile ? MODEL_ONLY : "allreduce ");
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
    if (planner && takes(planner, "model") && takes(planner, "profile") && !check_layers(given, err))
        return NULL;
    for (const struct option_spec *spec = api_plan_options; planner && spec->name; spec++)
        if (has_word(planner->needs, spec->name) && !plan_is_given(given, spec->name)) {
            error_set(err, ERROR_USAGE, "plan: '--%s %s' is missing, which --objective %s needs", spec->name,
                      spec->argument, plan_objectives[given->planning.objective]);
            return NULL;
        }
    return planner;
}
