/* Ranks run ahead along their own causes until they need the end of an exchange that has not ended; whatever ends lets
 * them go on. Beginnings and ends of exchanges are timers, the earliest of which fires when no rank can go on: nothing
 * that follows can come before it. Links are shared by the engine's flows (sim/engine/flow.c).
 *
 * Where no timer is left and some rank still waits, an exchange was matched that did not await all of its ranks: the
 * one whose ranks have waited longest goes on with those that are there, and is counted. */
#include "core/stop.h"
#include "sim/engine/inner.h"
#include "sim/network/network.h"

#include <math.h>
#include <stdlib.h>

#define PENDING INT64_MIN /* a time that is not known yet */

struct state {
    int64_t begin, end; /* ns in the run's clock */
    uint32_t waiting;   /* needed parts that are not there */
    uint32_t flow;
    bool flows, begun, ended, called; /* called: the timer of its beginning is set */
};

struct player {
    struct replay_network *network;
    const struct ranks *run;
    const struct network_rank *ranks;
    const struct replay_options *options;
    struct replay_result *results;
    struct replay_lags lags;
    int64_t **times;   /* of each member's events */
    int64_t *arrivals; /* of parts, in the run's clock; PENDING */
    size_t *cursors;   /* of each member: the first event that has no time */
    struct state *states;
    struct engine engine;
    struct error *err;
};

static int64_t shift_of(const struct player *p, uint32_t member)
{
    return ranks_time(p->run, member, &p->ranks[member].replay, 0);
}

static struct network_part *part_of(const struct player *p, uint32_t member, uint32_t activity)
{
    uint32_t part = p->network->part_of[member][activity];
    return part > 0 ? &p->network->parts[part - 1] : NULL;
}

/* --- one rank ------------------------------------------------------------------------------------------- */

/* Sets when the cause of an edge, and its lag, let an event happen. Returns false if that is not known yet. */
static bool time_by(const struct player *p, uint32_t member, const struct replay_edge *edge, int64_t lag,
                    int64_t *time)
{
    *time = lag;
    if (edge->cause == CAUSE_ROOT)
        return true;
    int64_t source = p->times[member][edge->source];
    int64_t duration =
        edge->from_end ? p->results[member].durations[p->ranks[member].graph.events[edge->source].item] : 0;
    if (source == PENDING || duration < 0)
        return false;
    *time += source + duration;
    return true;
}

/* The same for a freed part: its unknown cause was the exchange. */
static bool free_time(const struct player *p, uint32_t member, uint32_t event,
                      const struct network_part *part, int64_t *time)
{
    const struct replay_graph *graph = &p->ranks[member].graph;
    int64_t by;
    *time = 0;
    for (uint32_t i = graph->events[event].edges; i < graph->events[event + 1].edges; i++) {
        const struct replay_edge *edge = &graph->edges[i];
        if (edge->cause == CAUSE_ROOT)
            continue;
        if (!time_by(p, member, edge, edge->stall > 0 ? 0 : replay_lag_of(edge, &p->lags), &by))
            return false;
        *time = by > *time ? by : *time;
    }
    if (part->after < 0)
        return true;
    int64_t start = p->times[member][graph->starts[part->after]];
    int64_t duration = p->results[member].durations[part->after];
    if (start == PENDING || duration < 0)
        return false;
    *time = start + duration > *time ? start + duration : *time;
    return true;
}

static bool event_time(const struct player *p, uint32_t member, uint32_t event, int64_t *time)
{
    const struct replay_graph *graph = &p->ranks[member].graph;
    uint32_t first = graph->events[event].edges, end = graph->events[event + 1].edges;
    const struct network_part *part =
        graph->events[event].part == PART_START ? part_of(p, member, graph->events[event].item) : NULL;
    if (part && part->freed)
        return free_time(p, member, event, part, time);
    if (first == end) {
        struct replay_edge edge = replay_own_time(graph, event);
        return time_by(p, member, &edge, replay_lag_of(&edge, &p->lags), time);
    }
    *time = PENDING;
    for (uint32_t i = first; i < end; i++) {
        int64_t by;
        if (!time_by(p, member, &graph->edges[i], replay_lag_of(&graph->edges[i], &p->lags), &by))
            return false;
        *time = by > *time ? by : *time;
    }
    return true;
}

static struct state *state_of(const struct player *p, const struct network_part *part)
{
    return &p->states[part->exchange];
}

/* Sets the timer of an exchange's beginning: when the last of those that it needs came, or of those that are there. */
static void call(struct player *p, struct state *state)
{
    const struct network_exchange *exchange = &p->network->exchanges[state - p->states];
    int64_t last[2] = {PENDING, PENDING};
    for (uint32_t i = 0; i < exchange->count; i++) {
        int64_t arrival = p->arrivals[exchange->first + i];
        bool needed = p->network->parts[exchange->first + i].needed;
        last[needed] = arrival > last[needed] ? arrival : last[needed];
    }
    state->begin = last[1] != PENDING ? last[1] : last[0];
    state->called = true;
    engine_timer_set(&p->engine, (uint32_t)(state - p->states),
                     fmax(p->engine.now, (double)state->begin / 1e9));
}

static void set_duration(struct player *p, const struct network_part *part, int64_t end)
{
    int64_t start = p->arrivals[part - p->network->parts];
    p->results[part->member].durations[part->activity] = (end > start ? end - start : 0) + part->tail;
}

/* A rank comes to an exchange. */
static void arrive(struct player *p, struct network_part *part, int64_t time)
{
    struct state *state = state_of(p, part);
    p->arrivals[part - p->network->parts] = time + shift_of(p, part->member);
    if (state->ended) {
        set_duration(p, part, state->end);
        return;
    }
    p->results[part->member].durations[part->activity] = -1;
    if (part->needed && !state->called && --state->waiting == 0)
        call(p, state);
}

static bool advance(struct player *p, uint32_t member)
{
    const struct replay_graph *graph = &p->ranks[member].graph;
    int64_t *times = p->times[member];
    for (size_t *at = &p->cursors[member]; *at < graph->count; ++*at) {
        uint32_t event = (uint32_t)*at, item = graph->events[event].item;
        int64_t time;
        if (stop_obeyed_at(*at, p->err))
            return false;
        if (!event_time(p, member, event, &time))
            break;
        times[event] = time;
        if (graph->events[event].part != PART_START)
            continue;
        p->results[member].starts[item] = time;
        struct network_part *part = part_of(p, member, item);
        if (part) {
            arrive(p, part, time);
            times[event] = part->freed && !state_of(p, part)->begun ? PENDING : time;
        }
    }
    return true;
}

/* --- exchanges ------------------------------------------------------------------------------------------ */

static bool end_exchange(struct player *p, struct state *state)
{
    const struct network_exchange *exchange = &p->network->exchanges[state - p->states];
    struct network_part *parts = &p->network->parts[exchange->first];
    state->ended = true;
    for (uint32_t i = 0; i < exchange->count; i++)
        if (p->arrivals[exchange->first + i] != PENDING)
            set_duration(p, &parts[i], state->end);
    for (uint32_t i = 0; i < exchange->count; i++)
        if (!advance(p, parts[i].member))
            return false;
    return true;
}

/* Freed parts start now; a transfer over links is a flow, any other one has its time. One that --what-if changes has
 * more or fewer bytes: links carry what they can. */
static bool begin_exchange(struct player *p, struct state *state)
{
    const struct network_exchange *exchange = &p->network->exchanges[state - p->states];
    uint32_t id = (uint32_t)(state - p->states);
    double begin = (double)state->begin / 1e9;
    const struct network_part *first = &p->network->parts[exchange->first];
    const struct replay *replay = &p->ranks[first->member].replay;
    const char *kernel = replay->texts[replay->activities[first->activity].name];
    double factor = replay_factor(p->options, kernel);
    int64_t time = llround(fmin((double)exchange->time * factor, 1e17));
    state->begun = true;
    state->end = state->begin + time;
    begin = fmax(begin, p->engine.now);
    state->flows = exchange->route >= 0 && factor > 0 && exchange->time > 0;
    if (state->flows)
        state->flow = engine_flow_start(&p->engine, id, (uint32_t)exchange->route, begin, (double)time / 1e9,
                                        exchange->latency * factor, exchange->rate, exchange->bytes * factor);
    else
        engine_timer_set(&p->engine, id, fmax(begin, (double)state->end / 1e9));
    for (uint32_t i = 0; i < exchange->count; i++) {
        struct network_part *part = &p->network->parts[exchange->first + i];
        int64_t *arrival = &p->arrivals[exchange->first + i];
        if (!part->freed || *arrival == PENDING)
            continue;
        *arrival = state->begin > *arrival ? state->begin : *arrival;
        int64_t own = *arrival - shift_of(p, part->member);
        p->results[part->member].starts[part->activity] = own;
        p->times[part->member][p->ranks[part->member].graph.starts[part->activity]] = own;
        if (!advance(p, part->member))
            return false;
    }
    return !p->engine.failed;
}

static bool fire(struct player *p, uint32_t id)
{
    struct state *state = &p->states[id];
    if (!state->begun)
        return begin_exchange(p, state);
    if (state->flows) {
        double end = engine_flow_fire(&p->engine, state->flow);
        if (end < 0)
            return true;
        state->end = llround(end * 1e9);
    }
    return end_exchange(p, state);
}

/* Lets the exchange whose ranks wait longest go on without those that are not there. False: none waits. */
static bool loosen(struct player *p)
{
    struct state *best = NULL;
    int64_t longest = INT64_MAX;
    for (size_t i = 0; i < p->network->count; i++) {
        const struct network_exchange *exchange = &p->network->exchanges[i];
        int64_t last = PENDING;
        for (uint32_t k = 0; k < exchange->count && !p->states[i].called; k++) {
            int64_t arrival = p->arrivals[exchange->first + k];
            last = arrival > last ? arrival : last;
        }
        if (last != PENDING && last < longest) {
            longest = last;
            best = &p->states[i];
        }
    }
    if (!best)
        return false;
    p->network->loosened++;
    call(p, best);
    return !p->engine.failed;
}

static bool play(struct player *p)
{
    for (uint32_t i = 0; i < p->run->count; i++)
        if (!advance(p, i))
            return false;
    for (struct engine *engine = &p->engine; engine->timer_count > 0 || loosen(p);) {
        engine->now = engine->timers[0].time;
        while (engine->timer_count > 0 && engine->timers[0].time <= engine->now)
            if (engine->failed || !fire(p, engine_timer_pop(engine).id))
                return false;
        engine_share_links(engine);
        if (engine->failed)
            return false;
    }
    return !p->engine.failed;
}

/* --- the whole ------------------------------------------------------------------------------------------ */

static bool begin_play(struct player *p)
{
    const struct replay_network *network = p->network;
    p->times = calloc(p->run->count + 1, sizeof *p->times);
    p->cursors = calloc(p->run->count + 1, sizeof *p->cursors);
    p->states = calloc(network->count + 1, sizeof *p->states);
    p->arrivals = malloc((network->part_count + 1) * sizeof *p->arrivals);
    p->engine.timer_places = malloc((network->count + 1) * sizeof *p->engine.timer_places);
    if (!p->times || !p->cursors || !p->states || !p->arrivals || !p->engine.timer_places ||
        !engine_network_init(&p->engine))
        return p->engine.failed ? false : error_memory(p->err);
    for (size_t i = 0; i < network->part_count; i++)
        p->arrivals[i] = PENDING;
    for (size_t i = 0; i < network->count; i++) {
        p->engine.timer_places[i] = NOBODY;
        for (uint32_t k = 0; k < network->exchanges[i].count; k++)
            p->states[i].waiting += network->parts[network->exchanges[i].first + k].needed;
    }
    for (size_t i = 0; i < p->run->count; i++) {
        p->times[i] = malloc((p->ranks[i].graph.count + 1) * sizeof **p->times);
        if (!p->times[i])
            return error_memory(p->err);
        if (!replay_result_begin(&p->ranks[i].replay, p->options, &p->results[i], p->err))
            return false;
    }
    return true;
}

int64_t network_span(const struct ranks *run, const struct network_rank *ranks,
                     const struct replay_result *results)
{
    int64_t begin = INT64_MAX, end = INT64_MIN;
    for (size_t i = 0; i < run->count; i++)
        for (size_t k = 0; k < ranks[i].replay.count; k++) {
            const struct replay_activity *one = &ranks[i].replay.activities[k];
            int64_t start = ranks_time(run, i, &ranks[i].replay, results ? results[i].starts[k] : one->start);
            int64_t last = start + (results ? results[i].durations[k] : one->duration);
            begin = start < begin ? start : begin;
            end = last > end ? last : end;
        }
    return end > begin ? end - begin : 0;
}

static bool sum(struct player *p, int64_t *span)
{
    for (size_t i = 0; i < p->run->count; i++)
        if (!replay_result_sum(&p->ranks[i].replay, &p->results[i], p->err))
            return false;
    *span = network_span(p->run, p->ranks, p->results);
    return true;
}

bool network_play(struct replay_network *network, const struct ranks *run, const struct network_rank *ranks,
                  const struct replay_options *options, struct replay_result *results, int64_t *span,
                  struct error *err)
{
    const struct engine_system system = {.links = network->links,
                                         .routes = network->routes,
                                         .link_count = network->link_count,
                                         .route_count = network->route_count};
    struct engine_result counted = {0};
    struct player p = {.network = network,
                       .run = run,
                       .ranks = ranks,
                       .options = options,
                       .results = results,
                       .lags = replay_lags_of(options),
                       .engine = {.system = &system, .result = &counted, .err = err},
                       .err = err};
    for (size_t i = 0; i < run->count; i++)
        results[i] = (struct replay_result){0};
    network->loosened = 0;
    bool done = begin_play(&p) && play(&p) && sum(&p, span);
    for (size_t i = 0; p.times && i < run->count; i++)
        free(p.times[i]);
    free(p.times);
    free(p.cursors);
    free(p.states);
    free(p.arrivals);
    free(p.engine.timers);
    free(p.engine.timer_places);
    if (p.engine.network.links)
        engine_network_release(&p.engine);
    return done;
}
