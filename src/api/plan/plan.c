/* rh_plan_find: the options of `rehearse plan`, and what they ask for. */
#include "plan/split/plan.h"
#include "api/choose.h"
#include "api/plan/command.h"
#include "api/plan/deliver.h"
#include "api/plan/handle.h"
#include "figure/gnuplot.h"
#include "launch/launch.h"

#include <assert.h>
#include <string.h>

/* `rehearse plan --plan`, and a plan that was found before: it is written in another form. */

/* What it takes to emit the plan of a model: the job that it is, or what is needed to make the jobs of its
 * pipelines. */
struct remade {
    struct cost_chosen chosen;
    struct plan_parts parts;
    struct job job;
    bool is_job, has_parts;
};

/* Software that says a model's sizes needs the job; a plan that names no model and no software has none. */
static bool remake(const struct plan_options *options, struct plan *plan, struct remade *to,
                   struct error *err)
{
    struct cost_chosen *chosen = &to->chosen;
    bool wanted = (plan->software || options->asked.model) && plan_is_given(options, "emit");
    to->is_job = wanted && plan_is_job(plan);
    to->has_parts = wanted && !to->is_job && plan->type_count > 1 && plan->software &&
                    (plan->model || options->asked.model);
    if (!to->is_job && !to->has_parts)
        return true;
    if (!tables_add(&chosen->added, TABLE_LINKS, options->asked.links, err) ||
        !tables_add(&chosen->added, TABLE_CALIBRATIONS, options->asked.calibration, err) ||
        (doc_is_name(options->asked.software) &&
         !tables_add(&chosen->added, TABLE_SOFTWARE, options->asked.software, err)) ||
        (options->asked.model && !cost_choose_model(chosen, options->asked.model, err)) ||
        (options->asked.device && !cost_choose_devices(chosen, options->asked.device, err)))
        return false;
    to->parts = (struct plan_parts){
        .tables = &chosen->added,
        .model = chosen->model,
        .device = chosen->device_count > 0 ? chosen->devices[0] : NULL,
    };
    return to->has_parts || job_remake(&to->job, plan, &to->parts, err);
}

/* Delivers the plan of a file, or of a handle. */
static bool plan_by_file(const struct plan_options *options, struct error *err)
{
    struct plan plan;
    struct remade made = {.is_job = false};
    if (options->asked.from ? !api_plan_copy(options->asked.from, &plan, err)
                            : !plan_load(&plan, options->asked.plan, err))
        return false;
    bool ok = plan_check(&plan, err) && remake(options, &plan, &made, err);
    if (ok) {
        const struct plan_delivery delivery = {
            .plan = &plan,
            .job = made.is_job ? &made.job : NULL,
            .parts = made.has_parts ? &made.parts : NULL,
        };
        ok = plan_deliver(options, &delivery, err);
    }
    cost_chosen_release(&made.chosen);
    plan_release(&plan);
    return ok;
}

static const struct option_spec *plan_option(size_t index);

/* The planners, and which of them the options of a command line call for. */

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

/* Returns the planner that the options call for. ERROR_USAGE if it lacks an option, or one is for another. */
static const struct planner *planner_choose(const struct plan_options *given, struct error *err)
{
    const struct planner *planner = check_objective(given, err) ? choose(given, err) : NULL;
    if (planner && (planner->taker & (PLANS_LAYERS | PLANS_FLEET)) && !check_layers(given, err))
        return NULL;
    for (const struct option_spec *spec = api_plan_options; planner && spec->name; spec++)
        if ((spec->needers & planner->taker) && !plan_is_given(given, spec->name))
            return error_null(err, ERROR_USAGE, "plan: '--%s %s' is missing, which --objective %s needs",
                              spec->name, spec->argument, plan_objectives[given->planning.objective]);
    return planner;
}

static const char *const rules[] = {"dapple", "dapple-fixed", NULL}; /* enum dapple_rules */
static const char *const imports[] = {"auto", "hpgo", "rehearse", NULL};
static const char *const forms[] = {"text", "json", "csv", "dot", "emit", NULL};

const struct option_spec api_plan_options[] = {OPTIONS_rh_plan_request, OPTION_END};

#define ROWS (sizeof api_plan_options / sizeof *api_plan_options - 1)

/* The row of option `index`, those that are forms behind all others; NULL: no more. */
static const struct option_spec *plan_option(size_t index)
{
    static const struct option_spec more[] = {{.name = "csv", .takers = PLANS_DAPPLE | PLANS_JOB},
                                              {.name = "dot"}};
    if (index < ROWS)
        return &api_plan_options[index];
    return index - ROWS < sizeof more / sizeof *more ? &more[index - ROWS] : NULL;
}

bool plan_is_given(const struct plan_options *options, const char *name)
{
    if (strcmp(name, "csv") == 0 || strcmp(name, "dot") == 0)
        return *name == 'c' ? options->csv : options->dot;
    size_t i = 0;
    while (i < ROWS && strcmp(api_plan_options[i].name, name) != 0)
        i++;
    assert(i < ROWS);
    return options->given && options->given[i];
}

static bool check_files(const struct plan_options *given, struct error *err)
{
    if (given->asked.output && given->asked.figure && strcmp(given->asked.output, given->asked.figure) == 0)
        return error_set(err, ERROR_USAGE, "--output and --figure both write '%s': choose two names",
                         given->asked.output);
    return !given->asked.figure || figure_can_write(given->asked.figure, err);
}

/* A plan that exists is not searched: only what is written, and what its names mean, can be said. */
static bool check_given_plan(const struct plan_options *given, struct error *err)
{
    static const char *const others[] = {"plan", "from",     "model",      "device", "links", "calibration",
                                         "emit", "launcher", "output",     "form",   "dot",   "figure",
                                         "page", "storage",  "save-every", NULL};
    const struct option_spec *spec;
    for (size_t at = 0; (spec = plan_option(at)) != NULL; at++) {
        int i = 0;
        /* the numbers of the plan's software */
        if (strcmp(spec->name, "software") == 0 && doc_is_name(given->asked.software))
            continue;
        while (others[i] && strcmp(others[i], spec->name) != 0)
            i++;
        if (!others[i] && plan_is_given(given, spec->name))
            return error_set(err, ERROR_USAGE,
                             "plan: '--%s' is for searching and cannot be combined with --plan", spec->name);
    }
    return true;
}

static struct plan_options options_of(const struct rh_plan_request *asked, const struct api_call *call,
                                      rh_handle **made)
{
    struct plan_options options = {
        .asked = *asked,
        .planning = planning_of(asked, &call->how),
        .given = call->given,
        .made = made,
        .search = option_index(plan_searches, asked->search),
        .rules = option_index(rules, asked->rules),
        .import = option_index(imports, asked->import_as),
        .precision = option_index(model_precisions, asked->precision),
        .emit = asked->emit ? option_index(launch_format_names, asked->emit) : 0,
        .launcher = asked->launcher ? option_index(launch_launcher_names, asked->launcher) : 0,
        .csv = asked->form && strcmp(asked->form, "csv") == 0,
        .dot = asked->form && strcmp(asked->form, "dot") == 0,
    };
    const char *reader = asked->emit ? launch_format_software[options.emit] : NULL;
    if (reader && !plan_is_given(&options, "software"))
        options.asked.software = reader;
    bool batch = asked->global_batch, counted = plan_is_given(&options, "microbatches");
    bool is_job = asked->device || ((batch || asked->model) && !(counted && (!asked->model || !batch)));
    options.planning.objective = asked->objective ? option_index(plan_objectives, asked->objective)
                                 : is_job         ? PLAN_BY_ITERATION
                                                  : PLAN_BY_PIPELINE;
    return options;
}

static rh_handle *make_plan(const void *request, const struct api_call *call, struct error *err)
{
    rh_handle *made = NULL;
    const struct plan_options options = options_of(request, call, &made);
    if (options.asked.fold_exact_factors)
        return error_null(err, ERROR_USAGE,
                          "fold_exact_factors: factors are rounded, as the reference has it");
    if (!check_files(&options, err))
        return NULL;
    if (options.asked.plan || options.asked.from)
        return check_given_plan(&options, err) && plan_by_file(&options, err) ? made : NULL;
    const struct planner *planner = planner_choose(&options, err);
    return planner && planner->search(&options, err) ? made : NULL;
}

API_COMMAND(plan, "plan", rh_plan_request, .make = make_plan);
