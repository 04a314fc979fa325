/* `rehearse price`: what a launch description costs as it stands. */
#include "api/plan/deliver.h"
#include "api/plan/split.h"
#include "cli/command.h"
#include "cli/output.h"
#include "core/progress.h"
#include "evidence/interval.h"
#include "launch/price.h"
#include "plan/split/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES 1048576

struct price_options {
    struct rh_list files, set;
    const char *device, *model, *software, *links, *calibration, *inside, *across, *output, *plan;
    int64_t devices, devices_per_node, sequence, threads;
    double headroom, time_limit;
    bool json, strict, alone, explain, no_neighbours;
};

static const struct option_spec options[] = {
    OPTION(price_options, set, OPTION_TEXT, "set", .repeats = true, .argument = "NAME=VALUE",
           .help = "a variable of the script, a parameter ($1 is 1=VALUE), or an argument by its name; "
                   "counts more than the "
                   "file"),
    OPTION(price_options, device, OPTION_TEXT, "device", .letter = 'd', .argument = "NAME",
           .help =
               "the device type, by name or as a file; without it the one that the file or its name says"),
    OPTION(price_options, devices, OPTION_INTEGER, "devices", .argument = "N", .initial = "0",
           .max = MAX_DEVICES, .help = "number of devices; 0 is what the file says"),
    OPTION(price_options, model, OPTION_TEXT, "model", .letter = 'm', .argument = "NAME",
           .help = "the model, if the file does not describe it: a name, org/name, or a config.json of "
                   "Hugging Face"),
    OPTION(price_options, sequence, OPTION_INTEGER, "sequence", .argument = "N", .initial = "0",
           .max = 1 << 24, .help = "tokens of a sequence, if the file does not say it"),
    OPTION(
        price_options, software, OPTION_TEXT, "software", .argument = "NAME",
        .help =
            "training software whose kernels and overlaps are priced, instead of the file's ('rehearse cost "
            "--list')"),
    OPTION(price_options, devices_per_node, OPTION_INTEGER, "devices-per-node", .argument = "N",
           .initial = "0", .max = 1024,
           .help = "devices of a node; 0 is what the file says, or the usual number for the device type"),
    OPTION(price_options, inside, OPTION_TEXT, "inside", .argument = "LINK",
           .help = "link inside a node, if it is not the device type's own"),
    OPTION(price_options, across, OPTION_TEXT, "across", .argument = "LINK",
           .help = "link between nodes, if it is not the usual one of the device's generation"),
    OPTION(price_options, links, OPTION_FILE, "links", .argument = "FILE",
           .help = "file of your own links, which replace known links of the same name"),
    OPTION(price_options, calibration, OPTION_FILE, "calibration", .argument = "FILE",
           .help =
               "file written by 'rehearse calibrate --runs', which replaces the calibration of a generation"),
    OPTION(price_options, headroom, OPTION_NUMBER, "headroom", .argument = "PERCENT", .initial = "5",
           .max = 90, .help = "share of each device's memory that the freely planned job keeps free"),
    OPTION(price_options, alone, OPTION_FLAG, "alone", .help = "do not plan the same job freely"),
    OPTION(price_options, explain, OPTION_FLAG, "explain",
           .help = "name the known runs that correct the formula, and by how much"),
    OPTION(price_options, no_neighbours, OPTION_FLAG, "no-neighbours",
           .help = "the formula alone, not corrected by known runs"),
    OPTION(price_options, strict, OPTION_FLAG, "strict",
           .help = "fail if an argument is not understood, or a sourced file is not found"),
    OPTION(price_options, plan, OPTION_FILE, "plan", .argument = "FILE",
           .help = "also write the job as it stands to FILE, as a plan (rehearse-plan/2)"),
    OPTION(price_options, time_limit, OPTION_QUANTITY, "time-limit", .argument = "TIME", .initial = "0",
           .unit = UNIT_TIME, .help = "stop the search for the free plan after this long; 0 is no limit"),
    OPTION_THREADS(struct price_options),
    OPTION_JSON(struct price_options),
    OPTION_OUTPUT(struct price_options),
    OPTION_END,
};

/* ---- the files ---- */

static bool read_files(const struct price_options *given, struct launch_options *read, const char **sets,
                       struct error *err)
{
    for (size_t i = 0; i < given->set.count; i++)
        sets[i] = given->set.items[i];
    for (size_t i = 0; i < given->files.count; i++) {
        const struct launch_input input = {.path = given->files.items[i], .given = sets};
        if (!launch_read(read, &input, err))
            return false;
    }
    if (!read->reader)
        return error_set(err, ERROR_USAGE,
                         "%s describes a model, and no job: give a launch description, too, or use "
                         "'rehearse plan -m %s'",
                         read->path, read->path);
    return true;
}

static bool check_strict(const struct price_options *given, const struct launch_options *read,
                         struct error *err)
{
    struct text text = {0};
    for (int i = 0; i < read->argument_count; i++)
        if (read->arguments[i].use == LAUNCH_UNKNOWN)
            text_format(&text, "%s%s:%d: %s is not understood%s%s", text.length > 0 ? "; " : "",
                        read->arguments[i].path, read->arguments[i].line, read->arguments[i].name,
                        read->arguments[i].note ? ": " : "",
                        read->arguments[i].note ? read->arguments[i].note : "");
    for (int i = 0; i < read->note_count; i++)
        if (strstr(read->notes[i], "was not found"))
            text_format(&text, "%s%s", text.length > 0 ? "; " : "", read->notes[i]);
    bool ok = !given->strict || (text.length == 0 && !text.failed);
    if (!ok && text.failed)
        error_memory(err);
    else if (!ok)
        error_set(err, ERROR_INPUT, "%s", text.data);
    text_release(&text);
    return ok;
}

/* ---- the job ---- */

static bool choose_model(const struct price_options *given, struct split *split, struct launch_options *read,
                         struct error *err)
{
    struct job *job = &split->question.job;
    bool known = true;
    if (given->model) {
        if (!cost_choose_model(&split->chosen, given->model, err))
            return false;
        job->model = split->chosen.model;
    } else if (!launch_model(read, &job->model, &known, err))
        return false;
    if (!known) {
        char why[256];
        snprintf(why, sizeof why,
                 read->model_name ? "the sizes of '%.150s' are not known" : "no file says its sizes",
                 read->model_name);
        return launch_miss(read, "the model", why, "-m NAME or -m config.json") || error_memory(err);
    }
    job->sequence = read->sequence.given ? read->sequence.value : given->sequence > 0 ? given->sequence : 0;
    if (job->sequence == 0)
        return launch_miss(read, "the sequence", "no file says its tokens", "--sequence N") ||
               error_memory(err);
    return true;
}

/* Are pipeline stages next to each other, and data parallel ranks far apart? */
static bool stages_first(const struct launch_options *read)
{
    for (int i = 0; i < read->argument_count; i++) {
        const struct launch_argument *argument = &read->arguments[i];
        if (strstr(argument->name, "tp-pp-dp-mapping") || strcmp(argument->name, "TP_PP_DP_MAPPING") == 0)
            return argument->use == LAUNCH_UNMODELLED; /* else it is off */
    }
    return false;
}

/* The devices of a node that a file gives may be a part of an NVLink domain (72 of GB200 in nodes of 4): the job has all of
 * the domain's nodes that share it evenly. If stages come before data parallel ranks, and a domain holds the stages of one
 * pipeline only, what is side by side are the tensor and context parallel ranks. */
static void join_domain(const struct price_options *given, const struct launch_options *read, struct job *job)
{
    int64_t node = job->devices_per_node, domain = job->device->node;
    int64_t tensor = read->tensor.given ? read->tensor.value : 1,
            context = read->context.given ? read->context.value : 1,
            stages = read->pipeline.given ? read->pipeline.value : 1;
    bool sane = tensor <= domain && context <= domain && stages <= job->devices;
    if (given->devices_per_node > 0 || node < 1 || domain <= node || job->devices <= node || !sane)
        return;
    if (stages_first(read) && tensor * context * stages * 2 > domain)
        domain = tensor * context > node ? tensor * context : node;
    for (int64_t joined = domain - domain % node; joined > node; joined -= node)
        if (job->devices % joined == 0 || job->devices < joined) {
            job->devices_per_node = (int)(joined < job->devices ? joined : job->devices);
            return;
        }
}

static bool choose_machine(const struct price_options *given, struct split *split, struct plan_options *asked,
                           struct launch_options *read, struct error *err)
{
    struct job *job = &split->question.job;
    asked->device = given->device ? given->device : read->device;
    if (given->device)
        read->device_said = NULL;
    int64_t devices = given->devices > 0 ? given->devices : read->devices.given ? read->devices.value : 0;
    if (devices == 0 && !launch_miss(read, "the number of devices", "no file says it", "--devices N"))
        return error_memory(err);
    if (!asked->device && !launch_miss(read, "the device type", "no file says it", "-d NAME"))
        return error_memory(err);
    if (devices > MAX_DEVICES)
        return error_set(err, ERROR_INFEASIBLE, "%s: more than %d devices", read->path, MAX_DEVICES);
    job->devices = (int)devices;
    asked->devices_per_node = given->devices_per_node > 0 ? given->devices_per_node
                              : read->devices_per_node.given && read->devices_per_node.value <= 1024
                                  ? read->devices_per_node.value
                                  : 0;
    if (!asked->device)
        return true;
    if (!split_choose_machine(split, err))
        return false;
    join_domain(given, read, job);
    return true;
}

static bool choose_software(const struct price_options *given, struct split *split,
                            const struct launch_options *read, struct error *err)
{
    const char *name = given->software ? given->software : read->software;
    split->question.job.software = software_find(name ? name : "megatron-core");
    return split->question.job.software || software_unknown(name, err);
}

/* ---- the same job, planned freely ---- */

static bool plan_freely(const struct price_options *given, struct launch_price *price,
                        struct job_search *search, struct error *why, struct error *err)
{
    struct job_question question = {.job = price->job, .headroom = given->headroom / 100.0};
    struct parallel *pool = parallel_new((int)given->threads, err);
    struct progress progress;
    if (!pool)
        return false;
    question.job.stage_blocks = NULL;
    /* an overlap of tensor parallel ranks is not the search's to choose */
    question.job.technique = (struct technique){.tensor_overlap = price->job.technique.tensor_overlap};
    progress_start(&progress, "planning");
    const struct job_search_options searched = {
        .top = 1, .time_limit = given->time_limit, .pool = pool, .progress = &progress};
    if (job_search(search, &question, &searched, why))
        price->planned = &search->plans[0];
    else
        price->not_planned = why->text;
    progress_end(&progress);
    parallel_free(pool);
    price->headroom = question.headroom;
    return true;
}

/* ---- answers ---- */

static bool deliver(const struct price_options *given, const struct launch_price *price,
                    const struct estimate *estimate, struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    if (given->plan) {
        struct plan plan;
        plan_init(&plan);
        if (!plan_of_one_job(&plan, &price->job, price->job.devices, err))
            return false;
        bool saved = plan_save(&plan, given->plan, err);
        plan_release(&plan);
        if (!saved)
            return false;
    }
    if (given->json)
        launch_price_write(price, &json);
    else
        launch_price_print(price, &text);
    if (given->explain && !given->json)
        estimate_print(estimate, &text);
    return output_and_release(given->output, &text, err);
}

static bool price_it(const struct price_options *given, struct split *split, struct launch_options *read,
                     struct error *err)
{
    struct job_search search = {0};
    struct error why;
    struct launch_price price = {.options = read, .job = split->question.job};
    if (!launch_price_job(&price, err))
        return false;
    enum cost_type type = cost_device_type(price.job.device, price.job.type);
    if (type != price.job.type && !launch_note(read, "%s has no %s: priced in %s", price.job.device->name,
                                               cost_type_name(price.job.type), cost_type_name(type)))
        return error_memory(err);
    struct estimate estimate = neighbours_estimate_job(&price.job, &price.time);
    struct interval interval = interval_of(&estimate, price.time.seconds);
    price.factor = given->no_neighbours ? 1.0 : estimate.factor;
    price.low = interval.low;
    price.high = interval.high;
    price.extrapolates = interval.extrapolates;
    bool ok = (given->alone || plan_freely(given, &price, &search, &why, err)) &&
              deliver(given, &price, &estimate, err);
    job_search_release(&search);
    return ok;
}

static bool run(void *context, struct error *err)
{
    const struct price_options *given = context;
    struct launch_options read = {0};
    struct plan_options asked = {.inside = given->inside, .across = given->across};
    struct split split = {.options = &asked};
    const char **sets = calloc(given->set.count + 1, sizeof *sets);
    if (!sets)
        return error_memory(err);
    bool ok = read_files(given, &read, sets, err) && check_strict(given, &read, err);
    if (ok) {
        launch_complete(&read);
        ok = tables_add(&split.chosen.added, TABLE_LINKS, given->links, err) &&
             tables_add(&split.chosen.added, TABLE_CALIBRATIONS, given->calibration, err) &&
             choose_software(given, &split, &read, err) &&
             choose_machine(given, &split, &asked, &read, err) && choose_model(given, &split, &read, err) &&
             price_it(given, &split, &read, err);
    }
    split_release(&split);
    launch_options_release(&read);
    free(sets);
    return ok;
}

static const struct command_example examples[] = {
    {"rehearse price train.sh -d h100 --set NUM_NODES=16", "a script of Megatron-LM on 16 nodes"},
    {"rehearse price llama3_8b.toml -d h100 --devices 64", "a configuration of torchtitan"},
    {"rehearse price ds_config.json -m config.json -d a100 --devices 8 --sequence 4096",
     "DeepSpeed's, with a model of Hugging Face"},
    {NULL, NULL},
};

const struct command command_price = {
    .name = "price",
    .summary = "what a launch script or configuration costs as it stands",
    .description =
        "Reads the launch description of a training job without running anything, and predicts seconds per "
        "iteration, "
        "tokens per second and the memory of each device, as it stands; then plans the same job freely and "
        "shows the "
        "difference. What a file leaves open has the default of its software.\n\n"
        "Known are Megatron-LM's arguments in shell scripts (with arrays, conditions, defaults and sourced "
        "files) and in "
        "YAML, MLPerf's exports, scripts with DeepSpeed's JSON, torchtitan's TOML, DeepSpeed's JSON, NeMo's "
        "and "
        "Megatron-Bridge's YAML, and those of GPT-NeoX, nanotron, axolotl, LLaMA-Factory, llm-foundry and "
        "Primus. Every "
        "argument is read, without effect on the price, not modelled, or not understood; --json lists all.",
    .options = options,
    .options_size = sizeof(struct price_options),
    .operands = {.name = "FILE",
                 .help = "launch descriptions of one job, and the model's config.json",
                 .min = 1,
                 .at = offsetof(struct price_options, files)},
    .examples = examples,
    .run = run,
};
