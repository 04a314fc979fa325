/* rh_elastic: pipelines that survive lost nodes, the answer to losses, and policies over failures. */
#include "api/command.h"
#include "api/elastic/goodput.h"
#include "api/elastic/report.h"
#include "core/file_output.h"
#include "core/random.h"
#include "core/statistics.h"
#include "elastic/rate.h"
#include "figure/gnuplot.h"
#include "figure/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A picture: throughput against live nodes, of the fastest sets and of losses one after the other. */

#define MAX_LOCAL 512 /* nodes up to which losses are played one after the other */

/* In nodes' worth: all nodes are worth their number. */
static double worth(const struct elastic_report *report, double seconds)
{
    return elastic_kit_nodes(&report->kit) * report->set.seconds / seconds;
}

/* The order of nodes in which they are lost: shuffled, the same every time. */
static void shuffle(int *order, int nodes)
{
    uint64_t state = 1;
    for (int n = 0; n < nodes; n++) {
        int other = (int)(random_next(&state) % (uint64_t)(n + 1));
        order[n] = order[other];
        order[other] = n;
    }
}

/* All nodes are lost, until no instance is left. values[n - 1]: with n nodes. */
static bool play_losses(const struct elastic_report *report, double *values, struct error *err)
{
    struct elastic_transition way = {0}, next;
    int nodes = elastic_kit_nodes(&report->kit);
    int *order = calloc((size_t)nodes, sizeof *order);
    bool ok = order ? true : error_memory(err);
    if (ok)
        shuffle(order, nodes);
    values[nodes - 1] = worth(report, report->set.seconds);
    for (int n = nodes - 1; ok && n >= 1; n--) {
        const struct elastic_state *state = way.after.owner ? &way.after : &report->state;
        struct elastic_change change = {
            .lost = &order[n], .lost_count = 1, .method = ELASTIC_LOCAL, .faults = report->faults};
        if (!elastic_reconfigure(&next, state, &change, err)) {
            ok = err->kind == ERROR_INFEASIBLE;
            break;
        }
        elastic_transition_release(&way);
        way = next;
        values[n - 1] = isfinite(way.outcome.iteration) ? worth(report, way.outcome.iteration) : NAN;
    }
    elastic_transition_release(&way);
    free(order);
    return ok;
}

static bool ask_rates(const struct elastic_report *report, double *values, struct error *err)
{
    int nodes = elastic_kit_nodes(&report->kit);
    struct elastic_rate *rate = elastic_rate_new(&report->kit, report->faults, err);
    if (!rate)
        return false;
    for (int n = 1; n <= nodes; n++) {
        double seconds = elastic_rate_nodes(rate, n);
        values[n - 1] = seconds > 0 ? worth(report, seconds) : NAN;
    }
    elastic_rate_free(rate);
    return true;
}

/* Draws the throughput against the number of live nodes, for a page and into the file `path`, whose ending sets
 * the format; NULL: into none. */
static bool elastic_report_draw(const struct elastic_report *report, struct report_drawing *drawing,
                                const char *path, struct error *err)
{
    int nodes = elastic_kit_nodes(&report->kit);
    double *x = calloc((size_t)nodes, sizeof *x), *fastest = calloc((size_t)nodes, sizeof *fastest),
           *local = calloc((size_t)nodes, sizeof *local);
    bool ok = x && fastest && local ? true : error_memory(err);
    for (int n = 0; ok && n < nodes; n++) {
        x[n] = n + 1;
        fastest[n] = local[n] = NAN;
    }
    ok = ok && ask_rates(report, fastest, err) && (nodes > MAX_LOCAL || play_losses(report, local, err));
    const struct figure_line lines[] = {
        {.title = "the fastest set of instances", .values = fastest},
        {.title = "losses one after the other: replace, reinstantiate, borrow, merge", .values = local},
    };
    const struct figure_sweep sweep = {.title = "Throughput with the nodes that are left",
                                       .x_title = "live nodes",
                                       .y_title = "throughput, in nodes of the whole cluster",
                                       .point_count = nodes,
                                       .line_count = nodes > MAX_LOCAL ? 1 : 2,
                                       .x = x,
                                       .lines = lines,
                                       .scaling = true};
    if (ok)
        report_draw_lines(drawing, &sweep);
    ok = ok && (!path || figure_sweep(path, &sweep, err));
    free(x);
    free(fastest);
    free(local);
    return ok;
}

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
        return error_set(err, ERROR_USAGE, "%s: no node %d: the cluster has nodes 0 to %d", option, node,
                         state->node_count - 1);
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
    return there >= wanted ||
           error_set(err, ERROR_USAGE, "%s: %ld nodes of '%s' cannot %s: there are only %d", option, wanted,
                     type, losing ? "be lost" : "return", there);
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
            qsort(event->nodes, (size_t)event->count, sizeof *event->nodes, order_ints);
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
    event->downtime = report->setup + event->way.outcome.seconds;
    return fastest_after(report, &event->way, &event->fastest, err);
}

static bool play_events(struct elastic_report *report, const struct rh_elastic_request *given,
                        struct error *err)
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
    free(report->losses.places);
    free(report->shares);
    elastic_state_release(&report->state);
    elastic_set_release(&report->set);
    elastic_kit_release(&report->kit);
}

/* ---- the command ---- */

/* Writes plans and sets of templates as documents, which the kit reads. */
static bool write_handles(const struct rh_handles *from, struct text *texts, struct error *err)
{
    for (size_t i = 0; i < from->count; i++) {
        struct rh_text written;
        struct rh_error error;
        bool known = from->items[i]->kind == &api_plan_kind || strcmp(rh_kind(from->items[i]), "report") == 0;
        if (!known)
            return api_is(from->items[i], &api_plan_kind, "from", err);
        if (!rh_write(from->items[i], "json", &written, &error))
            return error_set(err, (enum error_kind)error.code, "%s", error.text);
        texts[i] = (struct text){.data = written.data, .length = written.length};
    }
    return true;
}

static bool load_kit(struct elastic_kit *kit, const struct rh_elastic_request *given,
                     struct elastic_options *options, struct error *err)
{
    size_t count = given->from.count;
    struct text *texts = calloc(count + 1, sizeof *texts);
    if (!texts)
        return error_memory(err);
    options->texts = texts;
    options->text_count = count;
    bool ok = write_handles(&given->from, texts, err) && elastic_kit_load(kit, options, err);
    for (size_t i = 0; i < count; i++)
        text_release(&texts[i]);
    free(texts);
    return ok;
}

static bool load(struct elastic_report *report, const struct rh_elastic_request *given, struct error *err)
{
    struct cluster cluster;
    if (given->cluster && !cluster_load(&cluster, given->cluster, err))
        return false;
    struct elastic_options options = {
        .paths = given->plans.items,
        .path_count = given->plans.count,
        .cluster = given->cluster ? &cluster : NULL,
        .batch = given->microbatches,
        .optimizer = option_index(elastic_optimizers, given->optimizer),
    };
    bool ok = load_kit(&report->kit, given, &options, err);
    if (ok && options.optimizer == ELASTIC_OPTIMIZER_REPLICATED && !report->kit.shards)
        ok = error_set(err, ERROR_USAGE,
                       "--optimizer replicated: each pipeline of these plans has all states anyway");
    if (!ok)
        elastic_kit_release(&report->kit);
    if (given->cluster)
        cluster_release(&cluster);
    return ok;
}

enum { ELASTIC_FAULTS = 3, ELASTIC_METHOD = 8 }; /* their rows in the table */

/* Without --faults, a plan that cannot survive a loss is answered for none. */
static bool find_instances(struct elastic_report *report, const int *nodes, bool faults_given,
                           struct error *err)
{
    if (elastic_instances(&report->set, &report->kit, nodes, report->faults, err))
        return true;
    if (faults_given || err->kind != ERROR_INFEASIBLE)
        return false;
    report->limited = true;
    report->limit = *err;
    report->faults = 0;
    return elastic_instances(&report->set, &report->kit, nodes, 0, err);
}

static bool answer(struct elastic_report *report, const struct rh_elastic_request *given, bool faults_given,
                   struct error *err)
{
    int nodes[ELASTIC_MAX_KINDS];
    for (int k = 0; k < report->kit.kind_count; k++)
        nodes[k] = report->kit.kinds[k].nodes.count;
    bool events = given->lose.count + given->back.count > 0;
    return find_instances(report, nodes, faults_given, err) &&
           elastic_state_start(&report->state, &report->kit, &report->set, err) &&
           ((events && !given->losses) ||
            elastic_single_losses(&report->state, report->method, report->faults, &report->losses.places,
                                  &report->losses.count, err)) &&
           play_events(report, given, err) && elastic_report_complete(report, err);
}

/* ---- the answer ---- */

static bool deliver(const struct elastic_report *report, const struct rh_elastic_request *given,
                    struct api_report *made, struct error *err)
{
    elastic_report_json(report, &made->json);
    elastic_report_print(report, &made->text);
    return (!given->output || file_write_exact(given->output, &made->json_text, err)) &&
           ((!given->figure && !given->page) ||
            elastic_report_draw(report, &made->drawing, given->figure, err));
}

/* With failures over time the answer is that of policies; the job is that of the plans, if any. */
static bool play_failures(const struct rh_elastic_request *given, const struct api_call *call,
                          struct api_report *made, struct error *err)
{
    struct elastic_report report = {0};
    bool planned = given->plans.count + given->from.count > 0;
    if (given->lose.count + given->back.count > 0 || given->losses)
        return error_set(
            err, ERROR_USAGE,
            "--lose, --return and --losses show single transitions: not with --failures, --rate or --mtbf");
    if (call->given[ELASTIC_METHOD])
        return error_set(err, ERROR_USAGE, "--method is for single transitions: with failures give --policy");
    if (given->setup > 0)
        return error_set(err, ERROR_USAGE,
                         "--setup is for single transitions: with failures give --detect and --reconfigure");
    if (planned && given->nodes > 0)
        return error_set(err, ERROR_USAGE, "--nodes is for a job without a plan: give the nodes with -c");
    if (planned && !load(&report, given, err))
        return false;
    bool ok = goodput_answer(given, call, planned ? &report.kit : NULL, made, err);
    elastic_kit_release(&report.kit);
    return ok;
}

static bool find(const void *request, const struct api_call *call, struct api_report *made, struct error *err)
{
    const struct rh_elastic_request *given = request;
    if (goodput_is_asked(given))
        return play_failures(given, call, made, err);
    if (given->plans.count + given->from.count == 0)
        return error_set(err, ERROR_USAGE,
                         "elastic: expected a plan, or one of --failures, --rate and --mtbf");
    struct elastic_report report = {.faults = (int)given->faults,
                                    .setup = given->setup,
                                    .method =
                                        (enum elastic_method)option_index(elastic_methods, given->method)};
    bool ok = (!given->figure || figure_can_write(given->figure, err)) && load(&report, given, err) &&
              answer(&report, given, call->given[ELASTIC_FAULTS], err) && deliver(&report, given, made, err);
    release(&report);
    return ok;
}

API_WHOLE_COMMAND(elastic, "elastic", rh_elastic_request, .answer = find);
