#include "api/plan/launched.h"

#include <stdio.h>
#include <string.h>

bool launched_read(struct launch_options *read, const char *const *files, size_t count,
                   const char *const *sets, const char *root, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct launch_input input = {.path = files[i], .given = sets, .root = root};
        if (!launch_read(read, &input, err))
            return false;
    }
    if (!read->reader)
        return error_set(err, ERROR_USAGE,
                         "%s describes only a model: add a launch description, or use 'rehearse plan -m %s'",
                         read->path, read->path);
    struct launch_names unasked = {0};
    launch_unasked(read, &unasked);
    for (int i = 0; i < unasked.count; i++)
        launch_note(read, "%s", unasked.items[i]);
    return !read->no_memory || error_memory(err);
}

static bool choose_model(const struct rh_plan_request *given, struct split *split,
                         struct launch_options *read, struct error *err)
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
        snprintf(why, sizeof why, read->model_name ? "'%.150s' is unknown" : "is not in the files",
                 read->model_name);
        launch_miss(read, "the model", why, "-m NAME or -m config.json");
        return true;
    }
    job->sequence = read->sequence.given ? read->sequence.value : given->sequence > 0 ? given->sequence : 0;
    if (job->sequence == 0)
        launch_miss(read, "the sequence length", "is not in the files", "--sequence N");
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

/* The devices of a node that a file gives may be a part of an NVLink domain (72 of GB200 in nodes of 4): the job has
 * all of the domain's nodes that share it evenly. If stages come before data parallel ranks, and a domain holds the
 * stages of one pipeline only, what is side by side are the tensor and context parallel ranks. */
static void join_domain(const struct launch_options *read, struct job *job)
{
    int64_t node = job->devices_per_node, domain = job->device->node;
    int64_t tensor = read->tensor.given ? read->tensor.value : 1,
            context = read->context.given ? read->context.value : 1,
            stages = read->pipeline.given ? read->pipeline.value : 1;
    bool sane = tensor <= domain && context <= domain && stages <= job->devices;
    if (node < 1 || domain <= node || job->devices <= node || !sane)
        return;
    if (stages_first(read) && tensor * context * stages * 2 > domain)
        domain = tensor * context > node ? tensor * context : node;
    for (int64_t joined = domain - domain % node; joined > node; joined -= node)
        if (job->devices % joined == 0 || job->devices < joined) {
            job->devices_per_node = (int)(joined < job->devices ? joined : job->devices);
            return;
        }
}

static bool choose_machine(struct split *split, struct rh_plan_request *asked, int64_t devices,
                           struct launch_options *read, struct error *err)
{
    struct job *job = &split->question.job;
    bool has_node = asked->devices_per_node > 0;
    if (asked->device)
        read->device_said = NULL;
    else
        asked->device = read->device;
    if (devices == 0 && read->devices.given)
        devices = read->devices.value;
    if (devices == 0)
        launch_miss(read, "the number of devices", "is not in the files", "--devices N");
    if (!asked->device)
        launch_miss(read, "the GPU type", "is not in the files", "-d h100");
    if (devices > LAUNCHED_MAX_DEVICES)
        return error_set(err, ERROR_INFEASIBLE, "%s: more than %d devices", read->path, LAUNCHED_MAX_DEVICES);
    job->devices = (int)devices;
    if (!has_node && read->devices_per_node.given && read->devices_per_node.value <= 1024)
        asked->devices_per_node = read->devices_per_node.value;
    if (!asked->device)
        return true;
    if (!split_choose_machine(split, err))
        return false;
    if (!has_node)
        join_domain(read, job);
    return true;
}

static bool choose_software(const struct rh_plan_request *given, struct split *split,
                            const struct launch_options *read, struct error *err)
{
    const char *name = given->software ? given->software : read->software;
    split->question.job.software = cost_choose_software(&split->chosen, name ? name : "megatron-core", err);
    return split->question.job.software != NULL;
}

bool launched_job(struct split *split, struct plan_options *options, int64_t devices,
                  struct launch_options *read, struct error *err)
{
    struct rh_plan_request *asked = &options->asked;
    launch_complete(read);
    return choose_software(asked, split, read, err) && choose_machine(split, asked, devices, read, err) &&
           choose_model(asked, split, read, err) && (!read->no_memory || error_memory(err));
}
