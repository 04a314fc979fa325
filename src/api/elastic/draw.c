/* A picture: throughput against live nodes, of the fastest sets and of losses one after the other. */
#include "api/elastic/report.h"
#include "core/random.h"
#include "elastic/rate.h"
#include "figure/sweep.h"

#include <math.h>
#include <stdlib.h>

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

bool elastic_report_draw(const struct elastic_report *report, const char *path, struct error *err)
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
        {"the fastest set of instances", fastest},
        {"losses one after the other: replace, reinstantiate, borrow, merge", local},
    };
    ok = ok && figure_sweep(path,
                            &(struct figure_sweep){.title = "Throughput with the nodes that are left",
                                                   .x_title = "live nodes",
                                                   .y_title = "throughput, in nodes of the whole cluster",
                                                   .point_count = nodes,
                                                   .line_count = nodes > MAX_LOCAL ? 1 : 2,
                                                   .x = x,
                                                   .lines = lines,
                                                   .scaling = true},
                            err);
    free(x);
    free(fastest);
    free(local);
    return ok;
}
