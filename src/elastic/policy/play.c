#include "elastic/policy/play.h"

#include "core/stop.h"
#include "elastic/policy/slow.h"

#include <math.h>
#include <string.h>

/* Saves: a cycle is `interval` seconds of training and `block` seconds of saving. */
struct saving {
    double interval, block;
    double write;  /* seconds after a save's end until it is on disk */
    double stride; /* every so many saves one is written to disk */
};

struct player {
    const struct elastic_policy *policy;
    struct policy_state *state;
    const struct elastic_watch *watch;
    struct elastic_result *result;
    struct saving saving;
    struct policy_step step; /* the last answer */
    double healthy;          /* speed with all nodes */
    double slow;             /* share of it that slow nodes leave */
    double now;
    double detect_left, restart_left; /* of the stop */
    bool waits;
    double work;                /* that is not lost yet */
    double origin;              /* work when the iterations began */
    double at;                  /* seconds into the cycle */
    double copied;              /* work of the last save's copy in memory */
    double saved;               /* work on disk */
    double pending, pending_at; /* work that is on disk from then on; INFINITY: none */
    double cycles;              /* saves so far */
    double save_wake;           /* the policy waits for the save that ends then; INFINITY: it does not */
};

static struct saving saving_of(const struct elastic_policy *policy, const struct elastic_costs *costs)
{
    struct saving saving = {.interval = costs->interval, .block = costs->save_block, .stride = 1};
    if (policy->saving == POLICY_SAVES)
        return saving;
    saving.block = costs->copy_block;
    saving.write = costs->save_write;
    if (policy->saving == POLICY_COPIES)
        saving.interval = fmax(saving.interval, saving.write); /* the next save waits for the last */
    else if (isfinite(saving.interval))
        saving.stride = fmax(1, ceil(saving.write / (saving.interval + saving.block)));
    return saving;
}

static void tell(const struct player *player, double seconds, double speed, enum elastic_cause cause)
{
    if (player->watch && seconds > 0)
        player->watch->piece(player->watch->context, player->now, player->now + seconds, speed, cause);
}

/* Seconds of training in the first `seconds` of a run of cycles. */
static double training_within(const struct saving *saving, double seconds)
{
    if (!isfinite(saving->interval))
        return seconds;
    double cycle = saving->interval + saving->block, whole = floor(seconds / cycle);
    return whole * saving->interval + fmin(seconds - whole * cycle, saving->interval);
}

/* A write that began is on disk once its time has come. */
static void settle_write(struct player *player)
{
    if (player->pending_at <= player->now) {
        player->saved = player->pending;
        player->pending_at = INFINITY;
    }
}

/* Accounts for the saves that end within `seconds` from now on. `before` and `work`: training so far in
 * this cycle, and work at its place in the cycle. */
static void note_saves(struct player *player, double seconds, double before, double work, double speed)
{
    const struct saving *saving = &player->saving;
    double cycle = saving->interval + saving->block, done = floor((player->at + seconds) / cycle);
    if (done < 1)
        return;
    player->copied = work + speed * (saving->interval * done - before);
    /* The last save that goes to disk, and the last one of them that is written by then. */
    double last = done - fmod(player->cycles + done, saving->stride);
    for (int i = 0; i < 2 && last >= 1; i++, last -= saving->stride) {
        double ends = player->now + cycle * last - player->at + saving->write;
        double content = work + speed * (saving->interval * last - before);
        if (ends <= player->now + seconds) {
            player->saved = content;
            if (i == 0)
                player->pending_at = INFINITY;
            break;
        }
        /* a write before this one is over: the stride and the interval see to it */
        if (i == 0) {
            if (player->pending_at < INFINITY)
                player->saved = player->pending;
            player->pending = content;
            player->pending_at = ends;
        }
    }
    player->cycles += done;
    player->result->saves += (int64_t)done;
    player->at -= cycle * done;
}

static void train(struct player *player, double seconds)
{
    double *spent = player->result->seconds, speed = player->step.speed;
    const struct saving *saving = &player->saving;
    double before = training_within(saving, player->at);
    double training = training_within(saving, player->at + seconds) - before;
    double best = fmax(player->healthy, speed), work = player->work, full = speed;
    speed *= player->slow;
    tell(player, seconds, speed, ELASTIC_TRAINED);
    spent[ELASTIC_TRAINED] += speed * training;
    spent[ELASTIC_SLOW] += (full - speed) * training;
    spent[ELASTIC_DEGRADED] += (best - full) * training;
    spent[ELASTIC_OVERHEAD] += (1 - best) * training;
    spent[ELASTIC_SAVE] += seconds - training;
    player->work += speed * training;
    if (isfinite(saving->interval)) {
        note_saves(player, seconds, before, work, speed);
        player->at += seconds;
    }
}

static void stop_for(struct player *player, double *left, double seconds, enum elastic_cause cause)
{
    seconds = fmin(*left, seconds);
    tell(player, seconds, 0, cause);
    player->result->seconds[cause] += seconds;
    *left -= seconds;
    player->now += seconds;
}

/* The time until `to` passes without a change. */
static void advance(struct player *player, double to)
{
    if (player->waits) {
        tell(player, to - player->now, 0, ELASTIC_WAIT);
        player->result->seconds[ELASTIC_WAIT] += to - player->now;
    } else {
        stop_for(player, &player->detect_left, to - player->now, ELASTIC_DETECT);
        stop_for(player, &player->restart_left, to - player->now, ELASTIC_RESTART);
        if (to > player->now)
            train(player, to - player->now);
    }
    player->now = to;
    settle_write(player);
}

static bool is_stopped(const struct player *player)
{
    return player->waits || player->detect_left > 0 || player->restart_left > 0;
}

static void lose_work(struct player *player, double work)
{
    work = fmax(work, 0);
    player->work -= work;
    player->result->seconds[ELASTIC_LOST] += work;
    player->result->seconds[ELASTIC_TRAINED] -= work;
}

/* Goes back to what is left. `iteration`: of the iterations in progress. */
static void go_back(struct player *player, enum policy_loss loss, double iteration)
{
    double cycle = player->saving.interval;
    if (loss == POLICY_LOSES_STEP && iteration > 0)
        lose_work(player,
                  fmin(fmod(player->work - player->origin, iteration), player->work - player->copied));
    if (loss == POLICY_LOSES_COPY || loss == POLICY_LOSES_SAVE) {
        lose_work(player, player->work - (loss == POLICY_LOSES_COPY ? player->copied : player->saved));
        player->copied = player->work;
        player->at = 0;
        player->pending_at = INFINITY;
    }
    player->at = fmin(player->at, cycle); /* a save that is interrupted begins again */
    player->origin = player->work;
}

/* When the next save will be done, if nothing else happens; without saves, when the job runs. */
static double end_of_save(const struct player *player)
{
    double runs = player->now + player->detect_left + player->restart_left;
    if (!isfinite(player->saving.interval))
        return runs;
    return runs + player->saving.interval + player->saving.block - player->at;
}

/* Follows the policy's answer; `before` is the answer until now. */
static void follow(struct player *player, const struct policy_step *before)
{
    const struct policy_step *step = &player->step;
    bool running = !is_stopped(player);
    if (step->loss != POLICY_KEEPS || step->stops || step->waits)
        go_back(player, step->loss, before->iteration);
    else if (running && (step->iteration < before->iteration || step->iteration > before->iteration))
        player->origin = player->work;
    if (step->stops) {
        player->detect_left = step->detect;
        player->restart_left = step->restart;
        if (step->loss == POLICY_LOSES_COPY || step->loss == POLICY_LOSES_SAVE)
            player->result->restarts++;
        else
            player->result->changes++;
    }
    if (step->waits)
        player->detect_left = player->restart_left = 0;
    player->waits = step->waits;
    player->save_wake = step->wake_at_save && !player->waits ? end_of_save(player) : INFINITY;
}

/* A policy is not woken while training stops: then it is at the stop's end. */
static double next_wake(const struct player *player)
{
    double left = player->detect_left + player->restart_left;
    if (player->waits || left <= 0)
        return fmin(player->step.wake, player->save_wake);
    return fmin(fmax(player->step.wake, player->now + left), player->save_wake);
}

static struct policy_step ask(struct player *player)
{
    struct policy_step before = player->step;
    player->step.loss = POLICY_KEEPS;
    player->step.stops = false;
    player->step.detect = player->step.restart = 0;
    return before;
}

static void wake(struct player *player)
{
    struct policy_step before = ask(player);
    player->step.wake = INFINITY;
    player->step.wake_at_save = false;
    player->policy->wake(player->state, player->now, &player->step);
    if (player->step.wake <= player->now)
        player->step.wake = INFINITY;
    follow(player, &before);
}

/* Tells the policy of a change, and follows its answer. An orderly change was known before: the job saves first, so
 * that no work is lost, and has nothing to detect. */
static void tell_policy(struct player *player, struct policy_change *all, bool orderly)
{
    struct policy_step before = ask(player), *step = &player->step;
    all->time = player->now;
    all->stopped = is_stopped(player);
    player->policy->change(player->state, all, step);
    if (orderly) {
        step->detect = 0;
        if (step->loss == POLICY_LOSES_COPY || step->loss == POLICY_LOSES_SAVE) {
            step->restart += player->saving.block;
            player->saved = player->copied = player->work;
        } else {
            step->loss = POLICY_KEEPS;
        }
    }
    follow(player, &before);
}

/* Returns whether the policy learns of it: it does not if the job had dropped the node. */
static bool lose_node(struct player *player, int node)
{
    bool away = player->state->slow[node].away;
    slow_set(player->state, node, 1, player->now);
    player->result->losses++;
    return !away;
}

/* Tells the policy of events first … end-1, all of one time. */
static void change(struct player *player, const struct failure_trace *trace, int first, int end)
{
    int *room = player->state->room, lost = 0, returned = 0;
    int *back = room + player->state->nodes + 1;
    struct policy_change all = {.lost = room, .returned = back};
    for (int i = first; i < end; i++) {
        const struct failure_event *event = &trace->events[i];
        if (event->returned && returned < player->state->nodes)
            back[returned++] = event->node;
        else if (!event->returned && lost < player->state->nodes && lose_node(player, event->node))
            room[lost++] = event->node;
    }
    all.lost_count = lost;
    all.returned_count = returned;
    if (lost + returned > 0)
        tell_policy(player, &all, false);
}

/* Work is divided anew, which stops the job. */
static void move_work(struct player *player, int node)
{
    const struct policy_state *state = player->state;
    if (is_stopped(player) || state->cell[node] < 0 || state->cells <= state->rates->stages)
        return;
    go_back(player, POLICY_KEEPS, 0);
    player->restart_left = state->setup->costs.reroute;
    player->result->changes++;
    player->save_wake = player->step.wake_at_save ? end_of_save(player) : INFINITY;
}

/* A node that the job has dropped comes back. */
static void take_back(struct player *player, int node)
{
    struct policy_change all = {.returned_count = 1, .returned = player->state->room};
    player->state->room[0] = node;
    tell_policy(player, &all, false);
}

/* A node becomes slow, or recovers. */
static void slow_down(struct player *player, int node, double speed)
{
    struct policy_state *state = player->state;
    struct slow_node before = state->slow[node];
    if (!before.away && state->cell[node] == CELL_GONE)
        return;
    player->result->slow += speed < 1 && !(before.speed < 1);
    slow_set(state, node, speed, player->now);
    if (speed < 1)
        return;
    if (before.away)
        take_back(player, node);
    else if (before.known && state->setup->slow_answer == SLOW_MOVED)
        move_work(player, node);
}

/* The job knows of a slow node. */
static void answer_slow(struct player *player, int node)
{
    struct policy_state *state = player->state;
    struct policy_change all = {.lost_count = 1, .lost = state->room};
    state->slow[node].known = true;
    if (state->setup->slow_answer == SLOW_MOVED) {
        move_work(player, node);
        return;
    }
    state->slow[node].away = true;
    state->room[0] = node;
    tell_policy(player, &all, true);
}

#define SEEN 16384 /* nodes that steps have seen between two looks for a stop */

static bool goes_on(int64_t *seen, int nodes)
{
    if ((*seen += nodes) < SEEN)
        return true;
    *seen = 0;
    return !stop_wanted();
}

static int first_of(const double *times, int count)
{
    int first = 0;
    for (int i = 1; i < count; i++)
        if (times[i] < times[first])
            first = i;
    return first;
}

void elastic_play(const struct elastic_policy *policy, const struct policy_setup *setup,
                  const struct failure_trace *trace, struct policy_state *state,
                  const struct elastic_watch *watch, struct elastic_result *result)
{
    struct player player = {.policy = policy,
                            .state = state,
                            .watch = watch,
                            .result = result,
                            .saving = saving_of(policy, &setup->costs),
                            .step = {.wake = INFINITY, .iteration = setup->rates->full},
                            .pending_at = INFINITY,
                            .save_wake = INFINITY};
    memset(result, 0, sizeof *result);
    policy_state_begin(state, setup, trace->present);
    slow_begin(state);
    player.healthy = policy->healthy(state);
    policy->begin(state, &player.step);
    player.waits = player.step.waits;
    int64_t seen = 0; /* nodes: a step may look at all of them */
    for (int i = 0, slow = 0; player.now < trace->horizon && goes_on(&seen, trace->nodes);) {
        int node = 0;
        /* of one time: losses and returns, then nodes that become slow, then what the job learns of them */
        const double times[] = {i < trace->count ? trace->events[i].time : INFINITY,
                                slow < trace->slow_count ? trace->slow[slow].time : INFINITY,
                                slow_next_known(state, &node), fmin(trace->horizon, next_wake(&player))};
        int first = first_of(times, (int)(sizeof times / sizeof *times));
        player.slow = slow_share(state);
        advance(&player, fmax(times[first], player.now));
        if (first == 0) {
            int end = failures_end_of_change(trace, i);
            change(&player, trace, i, end);
            i = end;
        } else if (first == 1) {
            slow_down(&player, trace->slow[slow].node, trace->slow[slow].speed);
            slow++;
        } else if (first == 2) {
            answer_slow(&player, node);
        } else if (player.now < trace->horizon) {
            wake(&player);
        }
    }
}

const char *elastic_cause_name(enum elastic_cause cause)
{
    static const char *const names[ELASTIC_CAUSE_COUNT] = {"trained",  "lost", "detect",   "restart", "wait",
                                                           "degraded", "slow", "overhead", "save"};
    return names[cause];
}

const char *const slow_answer_names[SLOW_ANSWERS + 1] = {"ignore", "move", "drop", NULL};

bool elastic_setup_check(const struct policy_setup *setup, struct error *err)
{
    const struct elastic_costs *costs = &setup->costs;
    const double seconds[] = {costs->detect,      costs->restart,    costs->load,      costs->swap,
                              costs->reconfigure, costs->migrate,    costs->reroute,   costs->notice,
                              costs->save_block,  costs->copy_block, costs->save_write};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
        if (!(seconds[i] >= 0 && seconds[i] <= 1e9))
            return error_set(err, ERROR_INPUT, "elastic: expected costs from 0 to 1e9 s, found %g s",
                             seconds[i]);
    if (!(costs->interval >= 1e-3))
        return error_set(err, ERROR_INPUT, "elastic: expected an interval of saves above 1 ms, found %g s",
                         costs->interval);
    if (!(setup->slow_detect >= 0 && setup->slow_detect <= 1e9))
        return error_set(err, ERROR_INPUT,
                         "elastic: expected 0 to 1e9 s until a slow node is known, found %g s",
                         setup->slow_detect);
    if (setup->spares < 0 || setup->spares >= setup->rates->nodes || setup->need < 0 ||
        setup->need > setup->rates->nodes)
        return error_set(err, ERROR_INPUT, "elastic: %d spares and %d needed nodes do not fit %d nodes",
                         setup->spares, setup->need, setup->rates->nodes);
    return true;
}
