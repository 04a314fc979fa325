#include "cli/command.h"
#include "cli/plan/command.h"
#include "figure/gnuplot.h"
#include "launch/launch.h"
#include "plan/dapple/dapple.h"

#include <string.h>

static const char *const rules[] = {"dapple", "dapple-fixed", NULL}; /* enum dapple_rules */
static const char *const imports[] = {"auto", "hpgo", "rehearse", NULL};

static const struct option_spec options[] = {
    PLANNING_MODEL(plan_options),
    OPTION(plan_options, device, OPTION_TEXT, "device", .letter = 'd', .argument = "NAME",
           .help = "the device type of a training job, by name or as a file"),
    OPTION(plan_options, planning.profile, OPTION_FILE, "profile", .letter = 'p', .argument = "P",
           .help = "layer times: a rehearse-profile/1 file, an Oobleck profile folder, a folder of such "
                   "folders named by "
                   "device type, or a graph of operations (graph.txt of PipeDream, TorchGraph, DAPPLE)"),
    OPTION(
        plan_options, planning.cluster, OPTION_FILE, "cluster", .letter = 'c', .argument = "FILE",
        .help =
            "the cluster (rehearse-cluster/1); for dapple its machines and rates (examples/dapple/a.yaml)"),
    OPTION(plan_options, planning.objective, OPTION_CHOICE, "objective", .argument = "NAME",
           .words = plan_objectives,
           .help = "the minimised time, see above; by default the other options select it"),
    OPTION(plan_options, planning.microbatch_size, OPTION_INTEGER, "microbatch-size", .topic = "pipeline",
           .argument = "N", .max = PROFILE_MAX_MICROBATCH,
           .help = "pipeline, oobleck: read mb{N}.json of an Oobleck folder, needed where there are several; "
                   "dapple: samples of a micro-batch of one replica (1 if not given)"),
    OPTION(plan_options, planning.microbatches, OPTION_INTEGER, "microbatches", .letter = 'n',
           .argument = "N", .max = PLAN_MAX_MICROBATCHES,
           .help = "pipeline, oobleck: micro-batches of an iteration; 0 is three for each stage"),
    OPTION(
        plan_options, global_batch, OPTION_TEXT, "global-batch", .argument = "RANGE",
        .help =
            "iteration, dapple: samples of an iteration; a RANGE (32..4096, 32..4096+64, 16,48,64) sweeps"),
    OPTION(plan_options, devices, OPTION_TEXT, "devices", .argument = "RANGE",
           .help = "iteration, dapple: number of devices, or a RANGE to sweep"),
    PLANNING_ALLREDUCE(struct plan_options),
    PLANNING_MEMORY(struct plan_options),
    OPTION(plan_options, search, OPTION_CHOICE, "search", .topic = "pipeline", .argument = "METHOD",
           .initial = "exact", .words = plan_searches,
           .help =
               "how the plan is found: exact proves the optimum; the others are methods of the reference, to "
               "compare with"),
    OPTION(plan_options, devices_per_node, OPTION_INTEGER, "devices-per-node", .topic = "job",
           .argument = "N", .initial = "0", .max = 1024,
           .help = "devices of a node; 0 is the usual number for the device type, 8 or 72"),
    OPTION(plan_options, inside, OPTION_TEXT, "inside", .topic = "job", .argument = "LINK",
           .help = "link inside a node, if it is not the device type's own"),
    OPTION(plan_options, across, OPTION_TEXT, "across", .topic = "job", .argument = "LINK",
           .help = "link between nodes, if it is not the usual one of the device's generation"),
    OPTION(plan_options, headroom, OPTION_NUMBER, "headroom", .topic = "job", .argument = "PERCENT",
           .initial = "5", .max = 90, .help = "share of each device's memory to keep free"),
    OPTION(plan_options, imbalance, OPTION_NUMBER, "imbalance", .topic = "job", .argument = "X",
           .initial = "1", .min = 1, .max = 100,
           .help = "tokens of the busiest device of experts, of the mean: 1 is balanced routing"),
    OPTION(plan_options, fix, OPTION_TEXT, "fix", .topic = "job", .repeats = true, .argument = "NAME=N,...",
           .help = "fixed values, ranges, or words to choose from: tp=8,pp=2..16,moments=fp32/bf16; of tp, "
                   "pp, dp, cp, ep (degrees), mbs "
                   "(micro-batch), vp (chunks of a stage), zero, recompute"),
    OPTION(plan_options, top, OPTION_INTEGER, "top", .topic = "job", .argument = "N", .initial = "1",
           .min = 1, .max = 1000,
           .help = "show the N fastest splits, each with the best choice of everything else"),
    OPTION(plan_options, pareto, OPTION_FLAG, "pareto", .topic = "job",
           .help =
               "show the --top fastest plans (20 if not given) of those that no other plan beats in time, "
               "memory and devices at once"),
    OPTION(plan_options, tokens, OPTION_QUANTITY, "tokens", .topic = "job", .unit = UNIT_COUNT,
           .argument = "N", .min = OPTION_POSITIVE, .max = 1e18,
           .help = "tokens of the whole training (15T): also show its days, device-hours and energy"),
    OPTION(plan_options, price, OPTION_TEXT, "price", .topic = "job", .argument = "PRICE",
           .help = "dollars per device and hour (2.10/h), or by device (h100=2.10/h,a100=1.29/h): also show "
                   "the money"),
    OPTION(plan_options, deadline, OPTION_QUANTITY, "deadline", .topic = "job", .unit = UNIT_DURATION,
           .argument = "TIME", .min = OPTION_POSITIVE,
           .help = "longest time of the training on --tokens (30d): on at most --devices, with a "
                   "--global-batch given, "
                   "plan the cheapest that makes it"),
    OPTION(plan_options, explain, OPTION_FLAG, "explain", .topic = "job",
           .help =
               "show the gain of 10 % more of each resource, whether memory is the limit, and the known runs "
               "that correct the formula"),
    OPTION(plan_options, no_neighbours, OPTION_FLAG, "no-neighbours", .topic = "job",
           .help = "the formula alone, not corrected by known runs"),
    OPTION(plan_options, plan, OPTION_FILE, "plan", .topic = "output", .argument = "FILE",
           .help = "print, draw, convert or emit this plan instead of searching one"),
    OPTION(plan_options, emit, OPTION_CHOICE, "emit", .topic = "output", .argument = "FORMAT",
           .words = launch_format_names,
           .help =
               "print the plan as arguments of Megatron-LM, a configuration of DeepSpeed or torchtitan, a "
               "split for torch.distributed.pipelining, or a pipeline template of Oobleck"),
    OPTION(plan_options, flags, OPTION_FILE, "flags", .topic = "job", .argument = "FILE",
           .help = "launch description (a script of Megatron-LM, MLPerf's exports, TOML of torchtitan, ...): "
                   "what it sets is fixed, "
                   "the rest is chosen"),
    OPTION(plan_options, rules, OPTION_CHOICE, "rules", .topic = "dapple", .argument = "NAME",
           .initial = "dapple", .words = rules,
           .help = "cost model: dapple is DAPPLE's own; dapple-fixed corrects the defects that "
                   "docs/dapple.md lists, and limits memory"),
    OPTION(plan_options, import, OPTION_CHOICE, "import", .topic = "dapple", .argument = "NAME",
           .initial = "auto", .words = imports,
           .help =
               "how the graph becomes a chain of layers: hpgo is the DAPPLE planner's way, rehearse our own "
               "(docs/graph.md); auto is rehearse for an exact search with dapple-fixed, else hpgo"),
    OPTION(plan_options, profile_batch, OPTION_INTEGER, "profile-batch", .topic = "dapple", .argument = "N",
           .min = 1, .max = PROFILE_MAX_MICROBATCH,
           .help =
               "samples that the graph was measured with; needed where its name does not end in -pbs-N.txt"),
    OPTION(
        plan_options, state_factor, OPTION_NUMBER, "state-factor", .topic = "dapple", .argument = "F",
        .initial = "4", .max = 1e6,
        .help =
            "bytes of weights, gradients and optimizer state per byte of weights; 4 is Adam in fp32, HPGO's "
            "examples have 2 to 4"),
    OPTION(plan_options, sample_memory, OPTION_QUANTITY, "sample-memory", .topic = "dapple",
           .unit = UNIT_BYTES, .argument = "BYTES", .initial = "0",
           .help = "activations of one sample through the whole model (350 MB); 0: as in the graph"),
    PLANNING_TIME_LIMIT(struct plan_options),
    OPTION(plan_options, fold_exact_factors, OPTION_FLAG, "fold-exact-factors", .topic = "pipeline",
           .help = "fold-*: count a node of another type as its exact worth (2.15 nodes) instead of a "
                   "rounded one (2)"),
    OPTION(
        plan_options, fold_longest_only, OPTION_FLAG, "fold-longest-only", .topic = "pipeline",
        .help =
            "fold-greedy: recover only from the folded plan with the most stages, as the reference's script "
            "does"),
    PLANNING_THREADS(struct plan_options),
    OPTION_JSON(struct plan_options),
    OPTION(plan_options, csv, OPTION_FLAG, "csv", .topic = "output",
           .help = "print comma-separated values instead of a table"),
    OPTION(plan_options, output, OPTION_FILE, "output", .letter = 'o', .argument = "FILE",
           .help = "also write the plan (rehearse-plan/2) or the sweep (rehearse-sweep/1) to FILE"),
    OPTION(plan_options, dot, OPTION_FLAG, "dot", .topic = "output",
           .help = "print a Graphviz graph instead of a table"),
    OPTION(plan_options, figure, OPTION_FILE, "figure", .topic = "output", .argument = "FILE",
           .help = "also draw the plan or the sweep; the ending is .svg, .png or .pdf (needs gnuplot)"),
    OPTION_END,
};

bool plan_is_given(const struct plan_options *given, const char *name)
{
    for (const struct option_spec *spec = options; spec->name; spec++)
        if (strcmp(spec->name, name) == 0)
            return given->given[spec - options];
    return false;
}

/* Two of these would fill the same place. */
static bool check_outputs(const struct plan_options *given, struct error *err)
{
    const bool wanted[] = {given->json, given->csv, given->dot, plan_is_given(given, "emit")};
    static const char *const names[] = {"json", "csv", "dot", "emit"};
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++)
            if (wanted[i] && wanted[j])
                return error_set(err, ERROR_USAGE, "--%s and --%s both want standard output: choose one",
                                 names[i], names[j]);
    if (given->output && given->figure && strcmp(given->output, given->figure) == 0)
        return error_set(err, ERROR_USAGE, "--output and --figure both want '%s': choose two names",
                         given->output);
    return !given->figure || figure_can_write(given->figure, err);
}

/* A plan that exists is not searched: only what is written, and what its names mean, can be said. */
static bool check_given_plan(const struct plan_options *given, struct error *err)
{
    static const char *const others[] = {"plan",   "model", "device", "links",  "calibration", "emit",
                                         "output", "json",  "dot",    "figure", NULL};
    for (const struct option_spec *spec = options; spec->name; spec++) {
        int i = 0;
        while (others[i] && strcmp(others[i], spec->name) != 0)
            i++;
        if (!others[i] && plan_is_given(given, spec->name))
            return error_set(err, ERROR_USAGE, "plan: '--%s' is for searching a plan, and --plan gives one",
                             spec->name);
    }
    return true;
}

static bool run(void *context, struct error *err)
{
    struct plan_options *given = context;
    if (given->plan)
        return check_outputs(given, err) && check_given_plan(given, err) && plan_by_file(given, err);
    bool batch = given->global_batch, counted = plan_is_given(given, "microbatches");
    if (!plan_is_given(given, "objective"))
        given->planning.objective =
            given->device || ((batch || given->model.name) && !(counted && (!given->model.name || !batch)))
                ? PLAN_BY_ITERATION
                : PLAN_BY_PIPELINE;
    const struct planner *planner = check_outputs(given, err) ? planner_choose(given, err) : NULL;
    return planner && planner->search(given, err);
}

static const struct command_example examples[] = {
    {"rehearse plan -m llama-3.1-405b -d h100 --devices 16384 --global-batch 2048",
     "the fastest split, proven"},
    {"rehearse plan -m llama-3-70b -d h100 --devices 64 --global-batch 512 --emit megatron",
     "as arguments of Megatron-LM"},
    {"rehearse plan -p profile.json -c cluster.yaml -n 50 -o plan.json --figure plan.svg",
     "the best pipeline for a measured profile"},
    {NULL, NULL},
};

/* `rehearse help plan TOPIC`. */
static const struct command_topic topics[] = {
    {"job", "of training jobs (objective iteration)"},
    {"pipeline", "of pipelines from a profile (objectives pipeline and oobleck)"},
    {"dapple", "of DAPPLE's planner (objective dapple)"},
    {"output", "of the printed and written output"},
    {NULL, NULL},
};

const struct command command_plan = {
    .name = "plan",
    .summary = "find the best pipeline for a model on a cluster, with a proof",
    .description =
        "Finds the split of a model over devices with the shortest iteration, and proves that it is optimal "
        "or bounds its distance to the optimum.\n\n"
        "Objectives: 'iteration' is all of a training job (the default with --model or --global-batch). "
        "'pipeline' "
        "is the sum of the stage times + (N - 1) x the slowest (the default with --microbatches). 'oobleck' "
        "is T1 + "
        "T2 + T3 of Oobleck. 'dapple' is DAPPLE's hybrid of data and pipeline parallelism.",
    .options = options,
    .options_size = sizeof(struct plan_options),
    .given_at = offsetof(struct plan_options, given),
    .topics = topics,
    .examples = examples,
    .run = run,
};
