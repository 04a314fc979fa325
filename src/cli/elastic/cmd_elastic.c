#include "cli/command.h"
#include "cli/elastic/goodput.h"
#include "cli/elastic/report.h"
#include "cli/output.h"
#include "elastic/rate.h"
#include "figure/gnuplot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct elastic_given {
    struct rh_list plans, lose, back;
    const char *cluster, *output, *figure;
    int64_t faults, microbatches;
    int optimizer, method;
    double setup;
    bool losses, json;
    struct goodput_given goodput;
    const bool *given; /* the options that were */
};

/* ---- nodes of an event ---- */

static bool is_number(const char *text, char **end, long *value)
{
    *value = strtol(text, end, 10);
    return *end > text && *value >= 0 && *value <= ELASTIC_MAX_NODES && *text != '+';
}

static bool add_node(struct elastic_event *event, const struct elastic_state *state, int node,
                     const char *option, struct error *err)
{
    if (node >= state->node_count)
        return error_set(err, ERROR_USAGE, "%s: there is no node %d: the cluster has nodes 0 to %d", option,
                         node, state->node_count - 1);
    for (int i = 0; i < event->count; i++)
        if (event->nodes[i] == node)
            return error_set(err, ERROR_USAGE, "%s: node %d is named twice", option, node);
    event->nodes[event->count++] = node;
    return true;
}

/* "2@v100": so many nodes of a device type, "2@node": of any; the first that the event can take. */
static bool add_some(struct elastic_event *event, const struct elastic_state *state, long wanted,
                     const char *type, const char *option, struct error *err)
{
    const struct elastic_kit *kit = state->kit;
    bool any = strcmp(type, "node") == 0, known = any, losing = strcmp(event->what, "lose") == 0;
    int there = 0;
    for (int k = 0; k < kit->kind_count; k++)
        known |= strcmp(kit->kinds[k].name, type) == 0;
    if (!known)
        return error_set(err, ERROR_USAGE, "%s: the cluster has no nodes of '%s'", option, type);
    for (int n = 0; n < state->node_count; n++) {
        if (!any && strcmp(kit->kinds[elastic_kind_of(kit, n)].name, type) != 0)
            continue;
        if ((state->owner[n] == ELASTIC_GONE) == losing)
            continue;
        if (there++ < wanted && !add_node(event, state, n, option, err))
            return false;
    }
    return there >= wanted || error_set(err, ERROR_USAGE, "%s: %ld nodes of '%s' cannot %s: there are %d",
                                        option, wanted, type, losing ? "be lost" : "return", there);
}

static int ascending(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* "3,7", "4-9", "2@node", and lists of them. */
static bool read_nodes(struct elastic_event *event, const struct elastic_state *state, const char *text,
                       const char *option, struct error *err)
{
    event->nodes = calloc((size_t)state->node_count + 1, sizeof *event->nodes);
    if (!event->nodes)
        return error_memory(err);
    for (const char *at = text;; at++) {
        char *end;
        long first, last, length;
        if (!is_number(at, &end, &first))
            break;
        length = (long)strcspn(end, ",");
        if (*end == '@') {
            char type[64] = "";
            if (length < 2 || length > (long)sizeof type)
                break;
            memcpy(type, end + 1, (size_t)length - 1);
            if (!add_some(event, state, first, type, option, err))
                return false;
            end += length;
        } else {
            last = first;
            if (*end == '-' && !is_number(end + 1, &end, &last))
                break;
            for (long n = first; n <= last; n++)
                if (!add_node(event, state, (int)n, option, err))
                    return false;
        }
        at = end;
        if (*at == '\0') {
            qsort(event->nodes, (size_t)event->count, sizeof *event->nodes, ascending);
            return event->count > 0 ||
                   error_set(err, ERROR_USAGE, "%s: expected a node, found '%s'", option, text);
        }
        if (*at != ',')
            break;
    }
    return error_set(err, ERROR_USAGE, "%s: expected nodes such as 3,7 or 4-9 or 2@node, found '%s'", option,
                     text);
}

/* ---- events ---- */

static bool fastest_after(const struct elastic_report *report, const struct elastic_transition *way,
                          double *seconds, struct error *err)
{
    int live[ELASTIC_MAX_KINDS] = {0};
    for (int n = 0; n < way->after.node_count; n++)
        if (way->after.owner[n] != ELASTIC_GONE)
            live[elastic_kind_of(&report->kit, n)]++;
    struct elastic_rate *rate = elastic_rate_new(&report->kit, report->faults, err);
    bool ok = rate && elastic_rate_seconds(rate, live, seconds, err);
    elastic_rate_free(rate);
    return ok;
}

static bool play_event(struct elastic_report *report, const char *what, const char *nodes, struct error *err)
{
    struct elastic_event *event = &report->events[report->event_count];
    const struct elastic_state *state =
        report->event_count > 0 ? &report->events[report->event_count - 1].way.after : &report->state;
    bool losing = strcmp(what, "lose") == 0;
    event->what = what;
    if (!read_nodes(event, state, nodes, losing ? "--lose" : "--return", err)) {
        free(event->nodes);
        return false;
    }
    struct elastic_change change = {.method = report->method, .faults = report->faults};
    if (losing) {
        change.lost = event->nodes;
        change.lost_count = event->count;
    } else {
        change.returned = event->nodes;
        change.returned_count = event->count;
    }
    if (!elastic_reconfigure(&event->way, state, &change, err)) {
        free(event->nodes);
        return false;
    }
    report->event_count++;
    return fastest_after(report, &event->way, &event->fastest, err);
}

static bool play_events(struct elastic_report *report, const struct elastic_given *given, struct error *err)
{
    report->events = calloc(given->lose.count + given->back.count + 1, sizeof *report->events);
    if (!report->events)
        return error_memory(err);
    for (size_t i = 0; i < given->lose.count; i++)
        if (!play_event(report, "lose", given->lose.items[i], err))
            return false;
    for (size_t i = 0; i < given->back.count; i++)
        if (!play_event(report, "return", given->back.items[i], err))
            return false;
    return true;
}

static void release(struct elastic_report *report)
{
    for (int i = 0; i < report->event_count; i++) {
        free(report->events[i].nodes);
        elastic_transition_release(&report->events[i].way);
    }
    free(report->events);
    free(report->losses);
    elastic_state_release(&report->state);
    elastic_set_release(&report->set);
    elastic_kit_release(&report->kit);
}

/* ---- the command ---- */

static bool load(struct elastic_report *report, const struct elastic_given *given, struct error *err)
{
    struct cluster cluster;
    if (given->cluster && !cluster_load(&cluster, given->cluster, err))
        return false;
    struct elastic_options options = {
        .paths = given->plans.items,
        .path_count = given->plans.count,
        .cluster = given->cluster ? &cluster : NULL,
        .batch = given->microbatches,
        .optimizer = given->optimizer,
    };
    bool ok = elastic_kit_load(&report->kit, &options, err);
    if (given->cluster)
        cluster_release(&cluster);
    return ok;
}

static bool answer(struct elastic_report *report, const struct elastic_given *given, struct error *err)
{
    int nodes[ELASTIC_MAX_KINDS];
    for (int k = 0; k < report->kit.kind_count; k++)
        nodes[k] = report->kit.kinds[k].nodes;
    bool events = given->lose.count + given->back.count > 0;
    return elastic_instances(&report->set, &report->kit, nodes, report->faults, err) &&
           elastic_state_start(&report->state, &report->kit, &report->set, err) &&
           ((events && !given->losses) ||
            elastic_single_losses(&report->state, report->method, report->faults, &report->losses,
                                  &report->loss_count, err)) &&
           play_events(report, given, err);
}

static bool write_json(const struct elastic_report *report, const char *path, struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    if (elastic_report_json(report, &json, err))
        return output_and_release(path, &text, err);
    text_release(&text);
    return false;
}

static bool deliver(const struct elastic_report *report, const struct elastic_given *given, struct error *err)
{
    if (given->output && !write_json(report, given->output, err))
        return false;
    if (given->figure && !elastic_report_draw(report, given->figure, err))
        return false;
    if (given->json)
        return write_json(report, NULL, err);
    struct text text = {0};
    if (elastic_report_print(report, &text, err))
        return output_and_release(NULL, &text, err);
    text_release(&text);
    return false;
}

/* With failures over time the answer is that of policies; the job is that of the plans, if any. */
static bool run_goodput(const struct elastic_given *given, struct error *err)
{
    struct elastic_report report = {0};
    struct goodput_given goodput = given->goodput;
    bool planned = given->plans.count > 0;
    if (given->lose.count + given->back.count > 0 || given->losses)
        return error_set(
            err, ERROR_USAGE,
            "--lose, --return and --losses show single transitions: not with --failures, --rate or --mtbf");
    if (given->setup > 0)
        return error_set(
            err, ERROR_USAGE,
            "--setup is for single transitions; with failures its parts are --detect and --reconfigure");
    if (planned && given->goodput.nodes > 0)
        return error_set(err, ERROR_USAGE,
                         "--nodes is for a job without a plan; -c says how many nodes there are");
    if (planned && !load(&report, given, err))
        return false;
    goodput.figure = given->figure;
    goodput.output = given->output;
    goodput.json = given->json;
    goodput.batch = given->microbatches;
    bool ok = goodput_run(&goodput, planned ? &report.kit : NULL, (int)given->faults, err);
    elastic_kit_release(&report.kit);
    return ok;
}

/* Options about failures say nothing without failures. */
static bool refuse_goodput(const struct elastic_given *given, struct error *err)
{
    const struct option_spec *specs = command_elastic.options;
    for (int i = 0; specs[i].name; i++)
        if (given->given[i] && specs[i].topic)
            return error_set(err, ERROR_USAGE, "--%s needs --failures, --rate or --mtbf", specs[i].name);
    return true;
}

static bool run(void *context, struct error *err)
{
    const struct elastic_given *given = context;
    if (goodput_is_asked(&given->goodput))
        return run_goodput(given, err);
    if (!refuse_goodput(given, err))
        return false;
    if (given->plans.count == 0)
        return error_set(err, ERROR_USAGE,
                         "elastic: PLAN is missing, or one of --failures, --rate and --mtbf");
    struct elastic_report report = {
        .faults = (int)given->faults, .setup = given->setup, .method = (enum elastic_method)given->method};
    bool ok = (!given->figure || figure_can_write(given->figure, err)) && load(&report, given, err) &&
              answer(&report, given, err) && deliver(&report, given, err);
    release(&report);
    return ok;
}

static const struct option_spec options[] = {
    OPTION(elastic_given, cluster, OPTION_FILE, "cluster", .letter = 'c', .argument = "FILE",
           .help = "the nodes there are, rehearse-cluster/1; without it, those of the plan"),
    OPTION(elastic_given, faults, OPTION_INTEGER, "faults", .argument = "F", .initial = "1", .max = 1000,
           .help = "lost nodes that leave a copy of every layer, whichever they are"),
    OPTION(elastic_given, microbatches, OPTION_INTEGER, "microbatches", .letter = 'n', .argument = "N",
           .initial = "0", .max = ELASTIC_MAX_BATCH,
           .help = "micro-batches of an iteration over all pipelines; 0 takes the plan's, or a template's"),
    OPTION(elastic_given, optimizer, OPTION_CHOICE, "optimizer", .argument = "WHERE", .initial = "plan",
           .words = elastic_optimizers,
           .help =
               "where optimizer states are: plan is sharded over all pipelines if the plan does so (ZeRO), "
               "replicated is all of them in each pipeline"),
    OPTION(elastic_given, lose, OPTION_TEXT, "lose", .argument = "NODES", .repeats = true,
           .help =
               "show the transition when these nodes are lost at once: 3,7 or 4-9; 2@node is the first two, "
               "2@TYPE of a device type"),
    OPTION(elastic_given, back, OPTION_TEXT, "return", .argument = "NODES", .repeats = true,
           .help = "then show the transition when these nodes return"),
    OPTION(
        elastic_given, method, OPTION_CHOICE, "method", .argument = "NAME", .initial = "local",
        .words = elastic_methods,
        .help =
            "how instances change: local touches as few as possible (replace, reinstantiate, borrow, merge), "
            "fastest takes the fastest set of the live nodes"),
    OPTION(elastic_given, setup, OPTION_QUANTITY, "setup", .argument = "TIME", .initial = "0",
           .unit = UNIT_TIME, .max = 86400,
           .help = "time to notice a loss and set up communication, part of every downtime"),
    OPTION(elastic_given, losses, OPTION_FLAG, "losses",
           .help = "with --lose or --return: show the table of all single losses, too"),
    GOODPUT_OPTIONS(elastic_given),
    OPTION_JSON(struct elastic_given),
    OPTION(elastic_given, output, OPTION_FILE, "output", .letter = 'o', .argument = "FILE",
           .help = "also write the answer (rehearse-elastic/1, of failures rehearse-goodput/1) to FILE"),
    OPTION(elastic_given, figure, OPTION_FILE, "figure", .argument = "FILE",
           .help =
               "also draw the throughput against the number of live nodes, or with failures over time; the "
               "ending is .svg, .png or .pdf (needs gnuplot)"),
    OPTION_END,
};

static const struct command_topic topics[] = {
    {GOODPUT_TOPIC, "failures over time"},
    {NULL, NULL},
};

static const struct command_example examples[] = {
    {"rehearse elastic templates.json -c cluster.yaml --faults 2",
     "the fastest set of pipelines that any two losses leave a copy of, and all single losses"},
    {"rehearse elastic templates.json -c cluster.yaml --lose 3,7 --return 3",
     "who copies which layers from whom, and how long that takes"},
    {"rehearse elastic templates.json -c cluster.yaml --rate rsc-1 --repair 6h",
     "a year of failures under each policy: goodput, and the loss of time by cause"},
    {"rehearse elastic --nodes 2048 --rate 6.5 --policy restart --save 60s --save-interval best",
     "the best interval of saves for a job of 2,048 nodes"},
    {NULL, NULL},
};

const struct command command_elastic = {
    .name = "elastic",
    .summary = "choose pipelines that survive lost nodes, and show each reconfiguration",
    .description =
        "Reads plans of any kind and sets of templates of one model. Finds the set of instances with the "
        "shortest iteration on the nodes there are, such that any F lost nodes leave a copy of every layer, "
        "and "
        "the exact split of the batch over its unequal pipelines.\n\n"
        "Then shows the answer to lost and returned nodes: which instances change, which device copies which "
        "layers from which, the bytes and seconds of that, and the iteration time afterwards; or that a "
        "checkpoint is needed, and why.\n\n"
        "With --failures, --rate or --mtbf it plays policies over losses and returns of nodes instead: "
        "restart "
        "from saves on disk or in memory, spares, and the ways of Varuna, Bamboo, Oobleck, Parcae, ReCycle "
        "and "
        "torchft, all on the same losses; the answer is their goodput, and the loss of time by cause.",
    .options = options,
    .options_size = sizeof(struct elastic_given),
    .given_at = offsetof(struct elastic_given, given),
    .operands = {.name = "PLAN",
                 .help = "plans (rehearse-plan/2) and sets of templates (rehearse-templates/2)",
                 .at = offsetof(struct elastic_given, plans)},
    .topics = topics,
    .examples = examples,
    .run = run,
};
