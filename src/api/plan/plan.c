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
        if ((spec->needers & planner->taker) && !plan_is_given(given, spec->name)) {
            error_set(err, ERROR_USAGE, "plan: '--%s %s' is missing, which --objective %s needs", spec->name,
                      spec->argument, plan_objectives[given->planning.objective]);
            return NULL;
        }
    return planner;
}

static const char *const rules[] = {"dapple", "dapple-fixed", NULL}; /* enum dapple_rules */
static const char *const imports[] = {"auto", "hpgo", "rehearse", NULL};
static const char *const forms[] = {"text", "json", "csv", "dot", "emit", NULL};

const struct option_spec api_plan_options[] = {
    PLANNING_MODEL(rh_plan_request),
    OPTION(rh_plan_request, device, OPTION_TEXT, "device", .takers = PLANS_SPLIT, .needers = PLANS_SPLIT,
           .letter = 'd', .argument = "NAME",
           .help = "the device type of a training job, by name or as a file"),
    OPTION(rh_plan_request, profile, OPTION_FILE, "profile",
           .takers = PLANS_LAYERS | PLANS_DAPPLE | PLANS_FLEET, .needers = PLANS_DAPPLE, .letter = 'p',
           .argument = "P",
           .help = "layer times: a rehearse-profile/1 file, an Oobleck profile folder, a folder of such "
                   "folders named by "
                   "device type, or a graph of operations (graph.txt of PipeDream, TorchGraph, DAPPLE)"),
    OPTION(
        rh_plan_request, cluster, OPTION_FILE, "cluster", .takers = PLANS_LAYERS | PLANS_DAPPLE | PLANS_FLEET,
        .needers = PLANS_LAYERS | PLANS_DAPPLE | PLANS_FLEET, .letter = 'c', .argument = "FILE",
        .help =
            "the cluster (rehearse-cluster/1); for dapple its machines and rates (examples/dapple/a.yaml)"),
    OPTION(rh_plan_request, objective, OPTION_WORD, "objective", .argument = "NAME", .words = plan_objectives,
           .help = "time to minimise, see above; by default chosen by the other options"),
    OPTION(rh_plan_request, microbatch_size, OPTION_INTEGER, "microbatch-size",
           .dimension = DIMENSION_SAMPLES, .topic = "pipeline", .argument = "N",
           .max = PROFILE_MAX_MICROBATCH,
           .help = "pipeline, oobleck: read mb{N}.json of an Oobleck folder, needed where there are several; "
                   "dapple: samples of a micro-batch of one replica (1 if not given)"),
    OPTION(rh_plan_request, microbatches, OPTION_INTEGER, "microbatches", .takers = PLANS_LAYERS,
           .needers = PLANS_LAYERS, .letter = 'n', .argument = "N", .max = PLAN_MAX_MICROBATCHES,
           .help = "pipeline, oobleck: micro-batches of an iteration; 0: three per stage"),
    OPTION(
        rh_plan_request, global_batch, OPTION_TEXT, "global-batch", .takers = PLANS_DAPPLE | PLANS_JOB,
        .needers = PLANS_DAPPLE, .dimension = DIMENSION_SAMPLES, .argument = "RANGE",
        .help =
            "iteration, dapple: samples of an iteration; a RANGE (32..4096, 32..4096+64, 16,48,64) sweeps"),
    OPTION(rh_plan_request, devices, OPTION_TEXT, "devices", .takers = PLANS_DAPPLE | PLANS_SPLIT,
           .needers = PLANS_SPLIT, .argument = "RANGE",
           .help = "iteration, dapple: number of devices, or a RANGE to sweep"),
    PLANNING_ALLREDUCE(rh_plan_request),
    PLANNING_MEMORY(rh_plan_request),
    OPTION(rh_plan_request, search, OPTION_WORD, "search", .topic = "pipeline", .argument = "METHOD",
           .initial = "exact", .words = plan_searches,
           .help = "search method: exact proves the optimum; the others are those of the original papers, "
                   "for comparison"),
    PLANNING_JOB(rh_plan_request),
    OPTION(rh_plan_request, fix, OPTION_TEXT, "fix", .takers = PLANS_JOB | PLANS_ONLY_MODEL, .topic = "job",
           .repeats = true, .argument = "NAME=N,...",
           .help = "fixed values, ranges, or alternatives: tp=8,pp=2..16,moments=fp32/bf16; of tp, pp, dp, "
                   "cp, ep (degrees), mbs (micro-batch), vp (chunks of a stage), zero, recompute"),
    OPTION(rh_plan_request, top, OPTION_INTEGER, "top", .takers = PLANS_JOB, .topic = "job", .argument = "N",
           .initial = "1", .min = 1, .max = 1000,
           .help = "show the N fastest splits, each with the best choice of everything else"),
    OPTION(rh_plan_request, pareto, OPTION_FLAG, "pareto", .takers = PLANS_JOB, .topic = "job",
           .help =
               "show the --top fastest Pareto-optimal plans by time, memory and devices (20 if not given)"),
    OPTION(rh_plan_request, tokens, OPTION_QUANTITY, "tokens", .takers = PLANS_JOB,
           .dimension = DIMENSION_TOKENS, .topic = "job", .unit = UNIT_COUNT, .argument = "N",
           .min = OPTION_POSITIVE, .max = 1e18,
           .help = "tokens of the whole training (15T): also show its days, device-hours and energy"),
    OPTION(rh_plan_request, price, OPTION_TEXT, "price", .takers = PLANS_JOB,
           .dimension = DIMENSION_WITH_UNIT, .topic = "job", .argument = "PRICE",
           .help = "dollars per device and hour (2.10/h), or by device (h100=2.10/h,a100=1.29/h, "
                   "or a YAML file of them): also show the money"),
    OPTION(rh_plan_request, deadline, OPTION_QUANTITY, "deadline", .takers = PLANS_JOB, .needs = "tokens",
           .dimension = DIMENSION_WITH_UNIT, .topic = "job", .unit = UNIT_DURATION, .argument = "TIME",
           .min = OPTION_POSITIVE,
           .help = "deadline for the training on --tokens (30d): find the cheapest plan that meets it with "
                   "at most --devices and the given --global-batch"),
    OPTION(rh_plan_request, explain, OPTION_FLAG, "explain", .takers = PLANS_JOB, .topic = "job",
           .help =
               "show the gain of 10 % more of each resource, whether memory is the limit, and the known runs "
               "that correct the formula"),
    OPTION(rh_plan_request, no_neighbours, OPTION_FLAG, "no-neighbours", .takers = PLANS_JOB, .topic = "job",
           .help = "use the formula alone, without correction by known runs"),
    OPTION(rh_plan_request, plan, OPTION_FILE, "plan", .topic = "output", .argument = "FILE",
           .help = "print, draw, convert or emit this plan instead of searching for one"),
    OPTION(rh_plan_request, emit, OPTION_WORD, "emit", .topic = "output", .argument = "FORMAT",
           .words = launch_format_names,
           .help =
               "print the plan as arguments of Megatron-LM, a configuration of DeepSpeed or torchtitan, a "
               "split for torch.distributed.pipelining, or a pipeline template of Oobleck; without "
               "--software it "
               "is planned for the software that reads the format"),
    OPTION(rh_plan_request, launcher, OPTION_WORD, "launcher", .needs = "emit", .topic = "output",
           .argument = "NAME", .words = launch_launcher_names,
           .help = "with --emit megatron, torchtitan or deepspeed: print a whole script that starts the job, "
                   "run on each node (torchrun) or given to slurm (sbatch), or a job of Kubernetes"),
    OPTION(rh_plan_request, flags, OPTION_FILE, "flags", .takers = PLANS_JOB, .topic = "job",
           .argument = "FILE",
           .help = "launch description (a script of Megatron-LM, MLPerf's exports, TOML of torchtitan, ...): "
                   "its settings are fixed, "
                   "the rest is chosen"),
    OPTION(rh_plan_request, root, OPTION_FILE, "root", .needs = "flags", .topic = "job", .argument = "FOLDER",
           .help = "files that the description of --flags names are read below its own folder or below "
                   "FOLDER; default: "
                   "the nearest folder above it that has .git"),
    OPTION(rh_plan_request, rules, OPTION_WORD, "rules", .takers = PLANS_DAPPLE, .topic = "dapple",
           .argument = "NAME", .initial = "dapple", .words = rules,
           .help = "cost model: dapple is DAPPLE's own; dapple-fixed corrects the defects that "
                   "docs/dapple.md lists, and limits memory"),
    OPTION(rh_plan_request, import_as, OPTION_WORD, "import", .takers = PLANS_DAPPLE, .topic = "dapple",
           .argument = "NAME", .initial = "auto", .words = imports,
           .help =
               "how the graph becomes a chain of layers: hpgo is the DAPPLE planner's way, rehearse our own "
               "(docs/graph.md); auto is rehearse for an exact search with dapple-fixed, else hpgo"),
    OPTION(rh_plan_request, profile_batch, OPTION_INTEGER, "profile-batch", .takers = PLANS_DAPPLE,
           .dimension = DIMENSION_SAMPLES, .topic = "dapple", .argument = "N", .min = 1,
           .max = PROFILE_MAX_MICROBATCH,
           .help =
               "samples that the graph was measured with; needed where its name does not end in -pbs-N.txt"),
    OPTION(
        rh_plan_request, state_factor, OPTION_NUMBER, "state-factor", .takers = PLANS_DAPPLE,
        .dimension = DIMENSION_NUMBER, .topic = "dapple", .argument = "F", .initial = "4", .max = 1e6,
        .help =
            "bytes of weights, gradients and optimizer state per byte of weights; 4 is Adam in fp32, HPGO's "
            "examples have 2 to 4"),
    OPTION(rh_plan_request, sample_memory, OPTION_QUANTITY, "sample-memory", .takers = PLANS_DAPPLE,
           .dimension = DIMENSION_DATA, .topic = "dapple", .unit = UNIT_BYTES, .argument = "BYTES",
           .initial = "0",
           .help = "activations of one sample through the whole model (350 MB); 0: as in the graph"),
    OPTION(
        rh_plan_request, fold_longest_only, OPTION_FLAG, "fold-longest-only", .takers = PLANS_LAYERS,
        .needs = "search=fold-greedy search=fold-dp", .topic = "pipeline",
        .help =
            "fold-greedy: recover only from the folded plan with the most stages, as the reference's script "
            "does"),
    OPTION(rh_plan_request, output, OPTION_FILE, "output", .letter = 'o', .argument = "FILE",
           .help = "also write the plan (rehearse-plan/2) or the sweep (rehearse-sweep/1) to FILE"),
    OPTION(rh_plan_request, figure, OPTION_FILE, "figure", .topic = "output", .argument = "FILE",
           .help = "also draw the plan or the sweep; the ending is .svg, .png or .pdf (needs gnuplot)"),
    OPTION_PAGE(rh_plan_request, "output"),
    OPTION(rh_plan_request, from, OPTION_HANDLE, "from",
           .help = "a plan that was found or loaded before, instead of searching one"),
    OPTION(rh_plan_request, form, OPTION_WORD, "form", .of_callers = true, .words = forms,
           .help = "output format wanted later: refused at once if the plan cannot have it"),
    OPTION_END,
};

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
    static const char *const others[] = {"plan",        "from",   "model",    "device", "links",
                                         "calibration", "emit",   "launcher", "output", "form",
                                         "dot",         "figure", "page",     NULL};
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
    if (options.asked.fold_exact_factors) {
        error_set(err, ERROR_USAGE, "fold_exact_factors: factors are rounded, as the reference has it");
        return NULL;
    }
    if (!check_files(&options, err))
        return NULL;
    if (options.asked.plan || options.asked.from)
        return check_given_plan(&options, err) && plan_by_file(&options, err) ? made : NULL;
    const struct planner *planner = planner_choose(&options, err);
    return planner && planner->search(&options, err) ? made : NULL;
}

const struct api_command api_plan = {
    .name = "plan",
    .options = api_plan_options,
    .size = sizeof(struct rh_plan_request),
    .make = make_plan,
};
