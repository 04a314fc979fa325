#include "support/policy_twin_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool policy_twin_is(const struct twin *twin, const char *name)
{
    return strcmp(twin->policy, name) == 0;
}

double policy_twin_best(const struct twin *twin, int nodes)
{
    return twin->rates->best[nodes] > 0 ? twin->rates->full / twin->rates->best[nodes] : 0;
}

double policy_twin_equal(const struct twin *twin, int pipelines)
{
    return pipelines > 0 ? twin->rates->full / twin->rates->equal[pipelines] : 0;
}

int policy_twin_whole_pipelines(const struct twin *twin)
{
    int count = twin->live / twin->rates->stages;
    return count < twin->rates->pipelines ? count : twin->rates->pipelines;
}

void policy_twin_put(struct twin *twin, int cell)
{
    drop(&twin->holes, cell);
    twin->node_of[cell] = pop(&twin->spares);
}

/* Uses so many cells, and fills them. */
void policy_twin_use_cells(struct twin *twin, int cells)
{
    for (; twin->cells > cells; twin->cells--) {
        int cell = twin->cells - 1;
        if (twin->node_of[cell] >= 0)
            push(&twin->spares, twin->node_of[cell]);
        drop(&twin->holes, cell);
    }
    for (; twin->cells < cells; twin->cells++) {
        twin->node_of[twin->cells] = -1;
        push(&twin->holes, twin->cells);
    }
    while (twin->spares.count > 0 && twin->holes.count > 0)
        policy_twin_put(twin, twin->holes.items[twin->holes.count - 1]);
}

/* ---- saves ---- */

static bool blocks_for_disk(const struct twin *twin)
{
    return policy_twin_is(twin, "restart") || policy_twin_is(twin, "spares");
}

static int interval_of(const struct twin *twin)
{
    double interval = twin->costs->interval;
    if (!blocks_for_disk(twin) && !policy_twin_is(twin, "restart-memory"))
        interval = fmax(interval, twin->costs->save_write);
    return interval > 1e6 ? 1000000 : (int)interval;
}

static int block_of(const struct twin *twin)
{
    return (int)(blocks_for_disk(twin) ? twin->costs->save_block : twin->costs->copy_block);
}

static void finish_save(struct twin *twin)
{
    int write = blocks_for_disk(twin) ? 0 : (int)twin->costs->save_write, every = 1;
    if (policy_twin_is(twin, "restart-memory"))
        while (every * (interval_of(twin) + block_of(twin)) < write)
            every++;
    twin->copied = twin->work;
    twin->trained = 0;
    twin->saved_now = true;
    if (++twin->save_count % every == 0) {
        twin->writes[twin->write_count].work = twin->work;
        twin->writes[twin->write_count++].at = twin->now + 1 + write;
    }
}

static void finish_writes(struct twin *twin, int now)
{
    while (twin->write_count > 0 && twin->writes[0].at <= now) {
        twin->saved = twin->writes[0].work;
        memmove(&twin->writes[0], &twin->writes[1], sizeof twin->writes - sizeof twin->writes[0]);
        twin->write_count--;
    }
}

static void pass_second(struct twin *twin, double healthy)
{
    twin->saved_now = false;
    if (twin->waits) {
        twin->spent[ELASTIC_WAIT]++;
    } else if (twin->detect_left > 0) {
        twin->detect_left--;
        twin->spent[ELASTIC_DETECT]++;
    } else if (twin->restart_left > 0) {
        twin->restart_left--;
        twin->spent[ELASTIC_RESTART]++;
    } else if (twin->block_left > 0) {
        twin->spent[ELASTIC_SAVE]++;
        if (--twin->block_left == 0)
            finish_save(twin);
    } else {
        double top = fmax(healthy, twin->speed), speed = twin->speed * policy_twin_slow_share(twin);
        twin->spent[ELASTIC_TRAINED] += speed;
        twin->spent[ELASTIC_SLOW] += twin->speed - speed;
        twin->spent[ELASTIC_DEGRADED] += top - twin->speed;
        twin->spent[ELASTIC_OVERHEAD] += 1 - top;
        twin->work += speed;
        if (++twin->trained >= interval_of(twin)) {
            twin->block_left = block_of(twin);
            if (twin->block_left == 0)
                finish_save(twin);
        }
    }
}

/* ---- answers ---- */

static void go_back_to(struct twin *twin, double work)
{
    if (work > twin->work)
        work = twin->work;
    twin->spent[ELASTIC_LOST] += twin->work - work;
    twin->spent[ELASTIC_TRAINED] -= twin->work - work;
    twin->work = work;
}

static void interrupt(struct twin *twin)
{
    if (twin->trained >= interval_of(twin))
        twin->block_left = block_of(twin); /* the save begins again */
    twin->origin = twin->work;
}

void policy_twin_lose_step(struct twin *twin, double iteration)
{
    if (!twin->orderly && iteration > 0)
        go_back_to(twin, fmax(twin->work - fmod(twin->work - twin->origin, iteration), twin->copied));
    interrupt(twin);
}

void policy_twin_lose_to(struct twin *twin, double work)
{
    if (twin->orderly) {
        work = twin->saved = twin->work;
        twin->extra = block_of(twin);
    }
    go_back_to(twin, work);
    twin->copied = twin->work;
    twin->trained = twin->block_left = twin->write_count = 0;
    twin->origin = twin->work;
}

void policy_twin_stop(struct twin *twin, double detect, double restart)
{
    twin->detect_left = twin->orderly ? 0 : (int)detect;
    twin->restart_left = (int)restart + twin->extra;
    twin->waits = false;
    interrupt(twin);
}

void policy_twin_wait_for_nodes(struct twin *twin)
{
    twin->waits = true;
    twin->detect_left = twin->restart_left = 0;
    interrupt(twin);
}

/* ---- the nodes of a change ---- */

int policy_twin_apply(struct twin *twin, const struct list *lost, const struct list *back)
{
    int hit = 0;
    if (!twin->waits && twin->detect_left == 0 && twin->restart_left == 0) {
        twin->lost_cells.count = 0;
        twin->cells_then = twin->cells;
        if (!policy_twin_is(twin, "torchft"))
            twin->from_save = false;
    }
    for (int i = 0; i < lost->count; i++) {
        twin->live--;
        if (has(&twin->spares, lost->items[i])) {
            drop(&twin->spares, lost->items[i]);
            continue;
        }
        int cell = 0;
        while (twin->node_of[cell] != lost->items[i])
            cell++;
        twin->node_of[cell] = -1;
        push(&twin->holes, cell);
        if (!has(&twin->lost_cells, cell))
            push(&twin->lost_cells, cell);
        hit++;
    }
    for (int i = 0; i < back->count; i++) {
        twin->live++;
        push(&twin->spares, back->items[i]);
    }
    twin->loss_times += lost->count > 0;
    return hit;
}

static int need(const struct twin *twin)
{
    return twin->setup->need > 0 ? twin->setup->need : twin->rates->nodes - twin->setup->spares;
}

/* ---- restarts ---- */

static void react_restart(struct twin *twin, const struct list *lost, const struct list *back)
{
    bool waited = twin->waits, memory = policy_twin_is(twin, "restart-memory");
    int hit = policy_twin_apply(twin, lost, back);
    double again = policy_twin_is(twin, "spares") ? twin->costs->swap : twin->costs->restart;
    for (int i = 0; memory && hit > 0 && i < twin->lost_cells.count; i++) {
        int cell = twin->lost_cells.items[i], partner = cell % 2 == 0 ? cell + 1 : cell - 1;
        if (partner == twin->cells)
            partner = 0;
        twin->from_save = twin->from_save || has(&twin->lost_cells, partner);
    }
    again += memory && !twin->from_save ? twin->costs->migrate : twin->costs->load;
    if (hit > 0)
        policy_twin_lose_to(twin, memory && !twin->from_save ? twin->copied : twin->saved);
    policy_twin_use_cells(twin, need(twin));
    if (twin->holes.count > 0)
        policy_twin_wait_for_nodes(twin);
    else if (hit > 0 || (waited && back->count > 0))
        policy_twin_stop(twin, hit > 0 ? twin->costs->detect : 0, again);
}

/* ---- Varuna and Parcae ---- */

void policy_twin_use_pipelines(struct twin *twin, int pipelines)
{
    twin->pipelines = pipelines;
    policy_twin_use_cells(twin, pipelines * twin->rates->stages);
    twin->speed = policy_twin_equal(twin, pipelines);
    if (pipelines == 0)
        policy_twin_wait_for_nodes(twin);
}

void policy_twin_restart_all(struct twin *twin, bool noticed)
{
    policy_twin_use_pipelines(twin, policy_twin_whole_pipelines(twin));
    twin->wake_at_save = false;
    if (twin->pipelines > 0)
        policy_twin_stop(twin, noticed ? 0 : twin->costs->detect, twin->costs->restart + twin->costs->load);
}

static void react_varuna(struct twin *twin, const struct list *lost, const struct list *back)
{
    bool waited = twin->waits;
    if (policy_twin_apply(twin, lost, back) > 0) {
        policy_twin_lose_to(twin, twin->saved);
        policy_twin_restart_all(twin, false);
    } else if (waited) {
        policy_twin_restart_all(twin, true);
    } else {
        twin->wake_at_save = policy_twin_whole_pipelines(twin) > twin->pipelines;
    }
}

/* Whether every copy of a stage of equal pipelines was lost. */
static bool a_stage_is_gone(const struct twin *twin)
{
    int stages = twin->rates->stages, gone[POLICY_TWIN_MAX_NODES] = {0};
    for (int i = 0; i < twin->lost_cells.count; i++)
        gone[twin->lost_cells.items[i] % stages] += twin->lost_cells.items[i] < twin->cells_then;
    for (int stage = 0; stage < stages; stage++)
        if (twin->cells_then > 0 && gone[stage] == twin->cells_then / stages)
            return true;
    return false;
}

static double grows_at(const struct twin *twin)
{
    int more = policy_twin_whole_pipelines(twin);
    if (more <= twin->pipelines)
        return INFINITY;
    double gain = policy_twin_equal(twin, more) / policy_twin_equal(twin, twin->pipelines) - 1;
    return gain > 0 ? round(twin->loss_times * twin->costs->migrate / gain) : INFINITY;
}

static void grow_parcae_twin(struct twin *twin)
{
    twin->wake = grows_at(twin);
    if (twin->wake <= twin->now) {
        policy_twin_use_pipelines(twin, policy_twin_whole_pipelines(twin));
        policy_twin_stop(twin, 0, twin->costs->migrate);
        twin->wake = INFINITY;
    }
}

static void react_parcae(struct twin *twin, const struct list *lost, const struct list *back)
{
    bool waited = twin->waits, stopped = twin->detect_left + twin->restart_left > 0;
    bool warned = twin->costs->notice > 0 && twin->costs->notice >= twin->costs->migrate;
    if (policy_twin_apply(twin, lost, back) > 0) {
        twin->from_save = twin->from_save || a_stage_is_gone(twin) || (twin->setup->exists_once && !warned);
        warned = warned && !twin->from_save;
        if (!warned)
            policy_twin_lose_step(twin, twin->rates->full);
        policy_twin_use_pipelines(twin, policy_twin_whole_pipelines(twin) < twin->pipelines
                                            ? policy_twin_whole_pipelines(twin)
                                            : twin->pipelines);
        twin->wake = INFINITY;
        if (twin->pipelines == 0)
            return;
        policy_twin_stop(twin, warned ? 0 : twin->costs->detect,
                         twin->costs->migrate + (twin->from_save ? twin->costs->load : 0));
        twin->wake = fmax(grows_at(twin), twin->now);
    } else if (waited) {
        policy_twin_use_pipelines(twin, policy_twin_whole_pipelines(twin));
        if (twin->pipelines > 0)
            policy_twin_stop(twin, 0, twin->costs->restart + twin->costs->load);
    } else if (stopped) {
        twin->wake = policy_twin_whole_pipelines(twin) > twin->pipelines ? twin->now : INFINITY;
    } else {
        grow_parcae_twin(twin);
    }
}

/* ---- the run ---- */

static void begin(struct twin *twin)
{
    const struct elastic_rates *rates = twin->rates;
    if (strncmp(twin->policy, "restart", 7) == 0 || policy_twin_is(twin, "spares")) {
        policy_twin_use_cells(twin, need(twin));
        twin->speed = policy_twin_best(twin, need(twin));
        twin->waits = twin->holes.count > 0;
    } else if (policy_twin_is(twin, "oobleck")) {
        policy_twin_use_cells(twin, policy_twin_useful(twin));
        twin->speed = policy_twin_best(twin, twin->live);
        twin->waits = twin->speed <= 0;
    } else if (policy_twin_is(twin, "torchft")) {
        for (; twin->cells < rates->pipelines * rates->stages; twin->cells++) {
            twin->node_of[twin->cells] = -1;
            push(&twin->holes, twin->cells);
        }
        for (int cell = 0; twin->spares.count > 0 && cell < twin->cells; cell++)
            policy_twin_put(twin, cell);
        for (int r = 0; r < rates->pipelines; r++)
            twin->ready[r] = policy_twin_holes_of_replica(twin, r) == 0 ? 0 : INFINITY;
        policy_twin_form_quorum(twin);
        twin->from_save = twin->waits;
    } else {
        policy_twin_use_pipelines(twin, policy_twin_whole_pipelines(twin));
        if (policy_twin_is(twin, "bamboo"))
            policy_twin_set_bamboo(twin);
    }
}

static double healthy_of(struct twin *twin)
{
    if (strncmp(twin->policy, "restart", 7) == 0 || policy_twin_is(twin, "spares"))
        return policy_twin_best(twin, need(twin));
    if (policy_twin_is(twin, "oobleck"))
        return policy_twin_best(twin, twin->rates->nodes);
    if (policy_twin_is(twin, "bamboo")) {
        struct twin whole = {.rates = twin->rates, .pipelines = twin->rates->pipelines};
        policy_twin_set_bamboo(&whole);
        return whole.speed;
    }
    return policy_twin_equal(twin, twin->rates->pipelines);
}

static void react(struct twin *twin, const struct list *lost, const struct list *back)
{
    if (policy_twin_is(twin, "varuna"))
        react_varuna(twin, lost, back);
    else if (policy_twin_is(twin, "parcae"))
        react_parcae(twin, lost, back);
    else if (policy_twin_is(twin, "oobleck"))
        policy_twin_react_oobleck(twin, lost, back);
    else if (policy_twin_is(twin, "bamboo"))
        policy_twin_react_bamboo(twin, lost, back);
    else if (policy_twin_is(twin, "recycle"))
        policy_twin_react_recycle(twin, lost, back);
    else if (policy_twin_is(twin, "torchft"))
        policy_twin_react_torchft(twin, lost, back);
    else
        react_restart(twin, lost, back);
}

/* ---- slow nodes ---- */

static int cell_of(const struct twin *twin, int node)
{
    for (int cell = 0; cell < twin->cells; cell++)
        if (twin->node_of[cell] == node)
            return cell;
    return -1;
}

static bool runs(const struct twin *twin)
{
    return !twin->waits && twin->detect_left + twin->restart_left == 0;
}

static void divide_anew(struct twin *twin, int node)
{
    if (runs(twin) && cell_of(twin, node) >= 0 && twin->cells > twin->rates->stages) {
        policy_twin_stop(twin, 0, twin->costs->reroute);
        twin->saved_now = false;
    }
}

static void react_one(struct twin *twin, int node, bool comes)
{
    struct list lost = {0}, back = {0};
    push(comes ? &back : &lost, node);
    twin->orderly = !comes;
    twin->extra = 0;
    react(twin, &lost, &back);
    twin->orderly = false;
    twin->extra = 0;
    twin->saved_now = false;
}

static void change_pace(struct twin *twin, int node, double pace)
{
    bool there = has(&twin->spares, node) || cell_of(twin, node) >= 0;
    bool known = twin->known[node], away = twin->away[node];
    if (!there && !away)
        return;
    if (!(twin->pace[node] < 1))
        twin->known_at[node] = twin->now + (int)twin->setup->slow_detect;
    twin->pace[node] = pace;
    if (pace < 1)
        return;
    twin->known[node] = twin->away[node] = false;
    if (away)
        react_one(twin, node, true);
    else if (known && twin->setup->slow_answer == SLOW_MOVED)
        divide_anew(twin, node);
}

static void learn_of_slow(struct twin *twin)
{
    for (int node = 0; node < twin->rates->nodes; node++) {
        if (!(twin->pace[node] < 1) || twin->known[node] || twin->known_at[node] > twin->now ||
            twin->setup->slow_answer == SLOW_IGNORED)
            continue;
        twin->known[node] = true;
        if (twin->setup->slow_answer == SLOW_MOVED) {
            divide_anew(twin, node);
        } else {
            twin->away[node] = true;
            react_one(twin, node, false);
        }
    }
}

static double taken_by(double slots, double speed, double bubble)
{
    double count = floor(slots * speed - bubble + 1e-9);
    return count > 0 ? count : 0;
}

/* Tries every time at which any pipeline can end. */
double policy_twin_slow_share(const struct twin *twin)
{
    int stages = twin->rates->stages, count = (twin->cells + stages - 1) / stages, others = 0;
    double truth[POLICY_TWIN_MAX_NODES + 1], known[POLICY_TWIN_MAX_NODES + 1], worst = 1, bubble = stages - 1;
    double batch = (double)twin->rates->batch, best = INFINITY, left = batch, slots = 0;
    for (int p = 0; p < count; p++)
        truth[p] = known[p] = 1;
    for (int cell = 0; cell < twin->cells; cell++) {
        int node = twin->node_of[cell], p = cell / stages;
        if (node < 0)
            continue;
        worst = fmin(worst, twin->pace[node]);
        truth[p] = fmin(truth[p], twin->pace[node]);
        if (twin->known[node])
            known[p] = fmin(known[p], twin->pace[node]);
    }
    if (twin->setup->slow_answer != SLOW_MOVED || count < 2)
        return worst;
    for (int p = 0; p < count; p++)
        for (int m = 1; m <= batch; m++) {
            double time = (m + bubble) / known[p], done = 0;
            for (int q = 0; time < best && q < count; q++)
                done += taken_by(time, known[q], bubble);
            if (time < best && done >= batch)
                best = time;
        }
    for (int p = 0; p < count; p++) {
        double taken = known[p] < 1 ? taken_by(best, known[p], bubble) : 0;
        others += !(known[p] < 1);
        left -= taken;
        if (taken > 0)
            slots = fmax(slots, (taken + bubble) / truth[p]);
    }
    for (int p = 0; p < count; p++)
        if (!(known[p] < 1) && left > 0)
            slots = fmax(slots, (ceil(left / others) + bubble) / truth[p]);
    return (ceil(batch / count) + bubble) / slots;
}

static void wake_up(struct twin *twin)
{
    bool running = !twin->waits && twin->detect_left + twin->restart_left == 0;
    bool may_join = twin->saved_now || (twin->costs->interval > 1e6 && running);
    if (twin->wake_at_save && may_join &&
        (policy_twin_is(twin, "varuna") || policy_twin_is(twin, "recycle"))) {
        if (policy_twin_whole_pipelines(twin) > twin->pipelines)
            policy_twin_restart_all(twin, true);
        twin->wake_at_save = false;
    }
    if (twin->wake <= twin->now && (twin->waits || running)) {
        twin->wake = INFINITY;
        if (policy_twin_is(twin, "torchft"))
            policy_twin_form_quorum(twin);
        else
            grow_parcae_twin(twin);
    }
}

void policy_twin_play(const char *policy, const struct policy_setup *setup, const struct failure_trace *trace,
                      struct elastic_result *result)
{
    struct twin twin = {.policy = policy,
                        .setup = setup,
                        .rates = setup->rates,
                        .costs = &setup->costs,
                        .live = trace->present,
                        .iteration = setup->rates->full,
                        .wake = INFINITY,
                        .spent = result->seconds};
    memset(result, 0, sizeof *result);
    for (int node = trace->present - 1; node >= 0; node--)
        push(&twin.spares, node);
    begin(&twin);
    double healthy = healthy_of(&twin);
    for (int node = 0; node <= POLICY_TWIN_MAX_NODES; node++)
        twin.pace[node] = 1;
    for (int at = 0, slow = 0; twin.now < trace->horizon; twin.now++) {
        struct list lost = {0}, back = {0};
        finish_writes(&twin, twin.now);
        for (; at < trace->count && trace->events[at].time <= twin.now; at++) {
            int node = trace->events[at].node;
            if (trace->events[at].returned) {
                push(&back, node);
                continue;
            }
            result->losses++;
            if (!twin.away[node])
                push(&lost, node);
            twin.pace[node] = 1;
            twin.known[node] = twin.away[node] = false;
        }
        if (lost.count + back.count > 0) {
            react(&twin, &lost, &back);
            twin.saved_now = false;
        }
        for (; slow < trace->slow_count && trace->slow[slow].time <= twin.now; slow++)
            change_pace(&twin, trace->slow[slow].node, trace->slow[slow].speed);
        learn_of_slow(&twin);
        wake_up(&twin);
        pass_second(&twin, healthy);
    }
}
