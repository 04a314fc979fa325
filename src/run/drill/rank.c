#include "run/drill/rank.h"
#include "core/clock.h"
#include "core/stop.h"
#include "core/vector.h"
#include "run/drill/drill.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WAIT 0.02  /* seconds of one wait for messages */
#define JOIN     0.1   /* between two wishes to join */
#define HOPE     0.5   /* for somebody who takes a new process in, where the first ones are gone */
#define LINGER   1.0   /* for the last messages */
#define LOOK     0.001 /* between two looks whether a checkpoint is loaded */

/* ---- out ---- */

bool drill_tell(struct drill_rank *rank, int to, enum drill_message what, int iteration, int cell,
                const void *bytes, size_t length)
{
    struct wire_head head = {.kind = WIRE_DRILL,
                             .to = to,
                             .number = what,
                             .microbatch = (uint32_t)cell,
                             .instance = (uint32_t)rank->now.epoch,
                             .step = (uint32_t)iteration,
                             .length = (int64_t)length};
    return rank->gone[to] != THERE || wire_send(rank->wire, &head, bytes, NULL, rank->err);
}

void drill_tell_all(struct drill_rank *rank, enum drill_message what, int iteration, const void *bytes,
                    size_t length)
{
    for (int to = 0; to < rank->ranks; to++)
        if (to != rank->self && rank->now.in_view[to])
            (void)drill_tell(rank, to, what, iteration, 0, bytes, length);
}

static bool tell_outcome(const struct drill_rank *rank, const struct drill_outcome *outcome)
{
    return rank->options->alone || launch_tell_result(outcome, sizeof *outcome);
}

void drill_finish(struct drill_rank *rank, enum drill_verdict verdict, const char *text)
{
    struct drill_outcome *outcome = &rank->outcome;
    if (rank->phase == PHASE_OUT)
        return;
    const char *unsaved = verdict == DRILL_RIGHT ? drill_saves_failed(rank) : NULL;
    if (unsaved)
        verdict = DRILL_WRONG;
    rank->phase = PHASE_OUT;
    outcome->verdict = verdict;
    outcome->iterations = rank->train.iteration;
    outcome->found_at = rank->found_at >= 0.0 ? rank->found_at - rank->t0 : NAN;
    outcome->nodes_left = 0;
    for (int r = 0; r < rank->ranks; r++) {
        outcome->nodes_left += rank->now.in_view[r];
        if (rank->now.in_view[r] && rank->now.node_of[r] >= 0)
            outcome->present[rank->now.node_of[r]] = true;
    }
    snprintf(outcome->text, sizeof outcome->text, "%s%s", unsaved ? "no checkpoint was saved: " : "",
             unsaved ? unsaved : text);
    if (verdict != DRILL_HANG && !tell_outcome(rank, outcome))
        outcome->verdict = DRILL_HANG;
    for (int r = 0; r < rank->ranks; r++) /* also those that wait to join */
        if (r != rank->self && verdict != DRILL_HANG)
            (void)drill_tell(rank, r, DRILL_BYE, (int)verdict, 0, NULL, 0);
}

/* ---- an iteration ---- */

void drill_start_iteration(struct drill_rank *rank)
{
    train_clear(&rank->train);
    if (rank->train.iteration >= rank->options->iterations) {
        int64_t compared = train_compare(&rank->train, rank->err);
        if (compared < 0) {
            drill_finish(rank, DRILL_WRONG, rank->err->text);
            return;
        }
        rank->outcome.cells = compared;
        rank->phase = PHASE_ENDS;
        return;
    }
    rank->phase = PHASE_COMPUTES;
    rank->deadline = clock_now() + rank->seconds * rank->options->time_share;
    drill_replay(rank);
}

/* What a message of contributions begins with. */
struct part {
    int64_t samples;
    uint64_t ids;
};

/* The part of the node's own instance is added here, and sent to the others by the lowest of the nodes that hold a
 * cell. */
static bool contribute(struct drill_rank *rank, int c)
{
    struct train *train = &rank->train;
    const struct elastic_state *state = &rank->base;
    int own = state->owner[rank->node];
    const struct train_share *share = &rank->shares[own];
    size_t words = (size_t)train->words[c], length = sizeof(struct part) + words * sizeof(uint64_t);
    char *bytes = malloc(length);
    if (!bytes)
        return error_memory(rank->err);
    const struct part part = {share->until - share->first, train_ids(train, share)};
    memcpy(bytes, &part, sizeof part);
    train_contribute(train, c, share, (uint64_t *)(void *)(bytes + sizeof part));
    train_add(train, c, (const uint64_t *)(const void *)(bytes + sizeof part), part.samples, part.ids);
    if (train_holder(train, state, own, c) == rank->node)
        for (int node = 0; node < state->node_count; node++)
            if (state->owner[node] >= 0 && state->owner[node] != own && train_holds(train, state, node, c))
                (void)drill_tell(rank, rank->now.rank_of[node], DRILL_PART, train->iteration, c, bytes,
                                 length);
    free(bytes);
    return true;
}

static void compute(struct drill_rank *rank)
{
    if (rank->base.owner[rank->node] >= 0)
        for (int c = 0; c < rank->train.cell_count; c++)
            if (rank->train.cells[c].now && !contribute(rank, c))
                drill_finish(rank, DRILL_WRONG, rank->err->text);
    if (rank->phase == PHASE_COMPUTES)
        rank->phase = PHASE_ADDS;
}

static bool has_all_parts(const struct drill_rank *rank)
{
    for (int c = 0; c < rank->train.cell_count; c++)
        if (rank->train.cells[c].now && rank->train.cells[c].parts < rank->base.instance_count)
            return false;
    return true;
}

static void note_step(struct drill_rank *rank)
{
    int last = rank->outcome.event_count - 1;
    rank->outcome.samples += rank->train.batch;
    if (rank->first_step && last >= 0)
        rank->outcome.events[last].stepped = clock_now() - rank->found_at;
    if (rank->first_step)
        rank->found_at = -1.0;
    rank->first_step = false;
    if (!isfinite(rank->outcome.stepped_at))
        rank->outcome.stepped_at = clock_now() - rank->t0;
}

static bool all_say(const struct drill_rank *rank, const int *said, int wanted)
{
    for (int r = 0; r < rank->ranks; r++)
        if (rank->now.in_view[r] && said[r] < wanted)
            return false;
    return true;
}

/* Does what can be done now. */
static void advance(struct drill_rank *rank)
{
    for (bool moved = true; moved;) {
        enum drill_phase before = rank->phase;
        int iteration = rank->train.iteration;
        if (rank->phase == PHASE_COMPUTES && clock_now() >= rank->deadline)
            compute(rank);
        if (rank->phase == PHASE_ADDS && has_all_parts(rank)) {
            if (!train_step(&rank->train, rank->err)) {
                drill_finish(rank, DRILL_WRONG, rank->err->text);
                return;
            }
            rank->phase = PHASE_DONE;
            rank->done_until[rank->self] = iteration + 1;
            drill_tell_all(rank, DRILL_DONE, iteration + 1, NULL, 0);
        }
        if (rank->phase == PHASE_DONE && all_say(rank, rank->done_until, iteration + 1)) {
            train_count(&rank->train);
            note_step(rank);
            drill_save(rank);
            drill_start_iteration(rank);
        }
        if (rank->phase == PHASE_COPIES || rank->phase == PHASE_COPIED)
            drill_check_ready(rank);
        if (rank->phase == PHASE_ENDS && rank->result_epoch[rank->self] != rank->now.epoch &&
            drill_saves_rest(rank)) {
            rank->result_epoch[rank->self] = rank->now.epoch;
            drill_tell_all(rank, DRILL_RESULT, rank->now.epoch, NULL, 0);
        }
        if (rank->phase == PHASE_ENDS && all_say(rank, rank->result_epoch, rank->now.epoch))
            drill_finish(rank, DRILL_RIGHT, "");
        moved = rank->phase != before || rank->train.iteration != iteration;
    }
}

/* ---- in ---- */

static void *place(void *context, const struct wire_head *head, struct error *err)
{
    (void)context;
    void *bytes = malloc((size_t)head->length + 1);
    if (!bytes)
        error_memory(err);
    return bytes;
}

static void hear_part(struct drill_rank *rank, int cell, const char *bytes, size_t length)
{
    struct part part;
    struct train *train = &rank->train;
    if (cell < 0 || cell >= train->cell_count || !train->cells[cell].now ||
        length != sizeof part + (size_t)train->words[cell] * sizeof(uint64_t)) {
        drill_finish(rank, DRILL_WRONG, "contributions to a cell that the node does not hold");
        return;
    }
    memcpy(&part, bytes, sizeof part);
    train_add(train, cell, (const uint64_t *)(const void *)(bytes + sizeof part), part.samples, part.ids);
}

/* Returns whether a message of this view belongs to a time that has not come. */
static bool is_early(const struct drill_rank *rank, const struct wire_head *head)
{
    if ((int)head->instance > rank->now.epoch)
        return head->number != DRILL_VIEW && head->number != DRILL_JOIN && head->number != DRILL_EXCLUDED &&
               head->number != DRILL_BYE;
    if (head->number != DRILL_PART)
        return false;
    return (int)head->step > rank->train.iteration || rank->phase == PHASE_COPIES ||
           rank->phase == PHASE_COPIED || rank->phase == PHASE_LOADS;
}

/* Handles a message of now. */
static void handle(struct drill_rank *rank, const struct wire_head *head, const void *bytes)
{
    bool now = (int)head->instance == rank->now.epoch && rank->now.in_view[rank->self];
    size_t length = (size_t)head->length;
    int from = head->from;
    switch ((enum drill_message)head->number) {
    case DRILL_MISSING:
        if (length == sizeof(struct drill_report) && now)
            drill_hear_missing(rank, from, bytes);
        else if ((int)head->instance < rank->now.epoch && rank->view && rank->now.in_view[from])
            (void)drill_tell(rank, from, DRILL_VIEW, 0, 0, rank->view, rank->view_length);
        break;
    case DRILL_VIEW:
        drill_hear_view(rank, bytes, length);
        break;
    case DRILL_PART:
        if (now && rank->phase < PHASE_AGREES && (int)head->step == rank->train.iteration)
            hear_part(rank, (int)head->microbatch, bytes, length);
        break;
    case DRILL_DONE:
        if (now && (int)head->step > rank->done_until[from])
            rank->done_until[from] = (int)head->step;
        break;
    case DRILL_COPY:
        if (now && (rank->phase == PHASE_COPIES))
            drill_hear_copy(rank, (int)head->microbatch, bytes, length);
        break;
    case DRILL_READY:
        if (now)
            rank->ready_epoch[from] = rank->now.epoch;
        break;
    case DRILL_JOIN:
        drill_hear_join(rank, from, (int)head->step);
        break;
    case DRILL_EXCLUDED:
        if (rank->phase != PHASE_WAITS)
            drill_finish(rank, DRILL_HANG, "");
        break;
    case DRILL_RESULT:
        if (now)
            rank->result_epoch[from] = rank->now.epoch;
        break;
    case DRILL_LOADED:
        if (now && rank->load)
            drill_hear_loaded(rank, from, (int)head->step, bytes, length);
        break;
    case DRILL_SAVED:
        drill_hear_saved(rank, (int)head->step, bytes, length);
        break;
    case DRILL_BYE:
        rank->bye = true;
        if (rank->phase == PHASE_WAITS)
            drill_finish(rank, DRILL_HANG, ""); /* there is nothing left to join */
        else if (rank->phase == PHASE_ENDS && head->step == DRILL_RIGHT)
            drill_finish(rank, DRILL_RIGHT, ""); /* the sender has heard that all are right */
        break;
    }
}

void drill_replay(struct drill_rank *rank)
{
    struct drill_later *all = rank->later;
    size_t count = rank->later_count;
    rank->later = NULL;
    rank->later_count = rank->later_capacity = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_early(rank, &all[i].head)) {
            if (VECTOR_ADD(rank->later, rank->later_count, rank->later_capacity, all[i]))
                continue;
            drill_finish(rank, DRILL_WRONG, "out of memory");
        } else {
            handle(rank, &all[i].head, all[i].bytes);
        }
        free(all[i].bytes);
    }
    free(all);
}

static bool arrived(void *context, const struct wire_head *head, void *bytes, struct error *err)
{
    struct drill_rank *rank = context;
    const struct drill_later later = {*head, bytes};
    if (head->kind != WIRE_DRILL || rank->phase == PHASE_OUT) {
        free(bytes);
        return true;
    }
    if (rank->reports[rank->self].missing[head->from] != THERE && rank->now.in_view[head->from] &&
        head->number != DRILL_EXCLUDED && head->number != DRILL_BYE) {
        free(bytes); /* it is missed: what it says comes too late */
        return true;
    }
    if (is_early(rank, head)) {
        if (VECTOR_ADD(rank->later, rank->later_count, rank->later_capacity, later))
            return true;
        free(bytes);
        return error_memory(err);
    }
    handle(rank, head, bytes);
    free(bytes);
    return true;
}

static bool lost(void *context, int other, const char *why, struct error *err)
{
    struct drill_rank *rank = context;
    (void)err;
    if (rank->gone[other] == THERE)
        rank->gone[other] = strstr(why, "nothing") ? SILENT : ENDED;
    return true;
}

/* ---- all of it ---- */

/* Looks for ranks of the view that are gone. */
static void look_for_lost(struct drill_rank *rank)
{
    bool news = false;
    uint8_t *missing = rank->reports[rank->self].missing;
    if (rank->phase == PHASE_OUT || rank->phase == PHASE_WAITS)
        return;
    for (int r = 0; r < rank->ranks; r++)
        if (rank->now.in_view[r] && rank->gone[r] != THERE && missing[r] == THERE) {
            missing[r] = rank->gone[r];
            rank->noticed[r] = clock_now();
            news = true;
        }
    if (news && rank->bye) /* somebody has seen the end, and said it */
        drill_finish(rank, DRILL_HANG, "");
    else if (news)
        drill_miss(rank);
}

/* A process that wants to join, and leaves when there is nobody left to take it in. */
static void ask_to_join(struct drill_rank *rank, double now)
{
    bool alone = true;
    for (int r = 0; r < elastic_kit_nodes(rank->options->kit); r++) {
        wire_await(rank->wire, r, false);
        alone &= rank->gone[r] != THERE;
    }
    if (!alone)
        rank->saw_others = now;
    if (now - rank->saw_others > HOPE + 2 * rank->options->silence)
        drill_finish(rank, DRILL_HANG, "");
    if (now - rank->joined_asked <= JOIN)
        return;
    rank->joined_asked = now;
    for (int r = 0; r < rank->ranks; r++)
        if (r != rank->self)
            (void)drill_tell(rank, r, DRILL_JOIN, rank->join_node, 0, NULL, 0);
}

/* Plays the rank's part and returns; the outcome has been written into the pipe if there is one. */
static void drill_be_rank(struct drill_rank *rank)
{
    rank->wire->receiver = (struct wire_receiver){rank, place, arrived, lost};
    rank->saw_others = clock_now();
    double end = INFINITY;
    for (;;) {
        double now = clock_now();
        if (stop_wanted()) {
            drill_finish(rank, DRILL_HANG, "stopped");
            return;
        }
        look_for_lost(rank);
        drill_look_at_load(rank);
        drill_look_at_saves(rank);
        launch_attend(rank->wire);
        advance(rank);
        if (rank->phase == PHASE_OUT && !isfinite(end))
            end = now + LINGER;
        if (now > end || (rank->phase == PHASE_OUT && wire_is_empty(rank->wire)))
            return;
        if (now - rank->t0 > rank->kill_at)
            kill(getpid(), SIGKILL);
        if (now - rank->t0 > rank->cut_at) {
            wire_cut(rank->wire);
            rank->cut_at = INFINITY;
        }
        if (rank->phase == PHASE_WAITS && now - rank->t0 > rank->join_at)
            ask_to_join(rank, now);
        double until = now + MAX_WAIT;
        if (rank->phase == PHASE_COMPUTES)
            until = fmin(until, rank->deadline);
        if (rank->phase == PHASE_COPIES && rank->expected == 0)
            until = fmin(until, rank->copies_due);
        if (rank->phase == PHASE_LOADS)
            until = fmin(until, now + LOOK);
        until = fmin(until, rank->t0 + rank->kill_at);
        if (!wire_poll(rank->wire, until, rank->err)) {
            drill_finish(rank, DRILL_WRONG, rank->err->text);
            return;
        }
    }
}

static void drill_rank_release(struct drill_rank *rank)
{
    drill_load_free(rank);
    drill_keep_free(rank);
    for (size_t i = 0; i < rank->later_count; i++)
        free(rank->later[i].bytes);
    free(rank->later);
    free(rank->view);
    free(rank->shares);
    if (rank->has_base)
        elastic_state_release(&rank->base);
    if (rank->has_next)
        elastic_state_release(&rank->next);
    train_release(&rank->train);
}

/* A rank of a drill begins its part; and what becomes of the outcomes of all. */

const char *const drill_verdicts[DRILL_VERDICTS] = {[DRILL_HANG] = "hang",
                                                    [DRILL_RIGHT] = "right",
                                                    [DRILL_CHECKPOINT] = "checkpoint needed",
                                                    [DRILL_NO_SHAPE] = "too few nodes",
                                                    [DRILL_WRONG] = "wrong"};

/* ---- who is hit ---- */

/* The k-th return is that of rank nodes + k. */
int drill_rank_at(const struct drill_options *options, int fate)
{
    int nodes = elastic_kit_nodes(options->kit);
    int rank = options->fates[fate].node, returns = 0;
    for (int i = 0; i < options->fate_count; i++) {
        const struct drill_fate *other = &options->fates[i];
        if (other->kind != DRILL_RETURN)
            continue;
        if (other->node == options->fates[fate].node &&
            (i == fate || other->time < options->fates[fate].time))
            rank = nodes + returns;
        returns++;
    }
    return rank;
}

int drill_ranks(const struct drill_options *options)
{
    int ranks = elastic_kit_nodes(options->kit);
    for (int i = 0; i < options->fate_count; i++)
        ranks += options->fates[i].kind == DRILL_RETURN;
    return ranks;
}

bool drill_check_size(const struct drill_options *options, struct error *err)
{
    int ranks = drill_ranks(options);
    return ranks <= DRILL_MAX_NODES ||
           error_set(err, ERROR_INPUT,
                     "a drill of %d nodes exceeds the limit of %d (returning nodes included)", ranks,
                     DRILL_MAX_NODES);
}

/* ---- one rank ---- */

static bool begin_state(struct drill_rank *rank, int nodes, struct error *err)
{
    const struct drill_options *options = rank->options;
    rank->has_base = drill_first_state(&rank->base, options, err);
    if (!rank->has_base)
        return false;
    for (int r = 0; r < rank->ranks; r++) {
        bool there = r < nodes && !options->again.absent[r];
        rank->now.in_view[r] = there;
        rank->now.node_of[r] = there ? r : -1;
        rank->ready_epoch[r] = rank->result_epoch[r] = -1;
        rank->reports[r].epoch = -1;
    }
    for (int n = 0; n < DRILL_MAX_NODES; n++)
        rank->now.rank_of[n] = n < nodes && !options->again.absent[n] ? n : -1;
    return true;
}

static bool begin(struct drill_rank *rank, int nodes, struct error *err)
{
    const struct drill_options *options = rank->options;
    bool member = rank->self < nodes;
    rank->node = member ? rank->self : -1;
    rank->phase = member ? PHASE_COMPUTES : PHASE_WAITS;
    rank->found_at = -1.0;
    rank->outcome.found_at = rank->outcome.stepped_at = NAN;
    rank->cut_at = rank->join_at = rank->kill_at = INFINITY;
    for (int i = 0; i < options->fate_count; i++) {
        const struct drill_fate *fate = &options->fates[i];
        if (drill_rank_at(options, i) != rank->self)
            continue;
        if (fate->kind == DRILL_KILL && options->alone)
            rank->kill_at = fate->time;
        if (fate->kind == DRILL_CUT)
            rank->cut_at = fate->time;
        if (fate->kind == DRILL_RETURN) {
            rank->join_at = fate->time;
            rank->join_node = fate->node;
        }
    }
    if (!train_init(&rank->train, options->kit, rank->node, options->byte_share, err) ||
        !begin_state(rank, nodes, err) || (options->checkpoints && !drill_keep(rank)))
        return false;
    if (!member) { /* it learns the state with the view that it joins */
        elastic_state_release(&rank->base);
        rank->has_base = false;
        memset(rank->now.in_view, 0, sizeof rank->now.in_view);
        rank->now.epoch = -1;
        return true;
    }
    if (options->checkpoints)
        rank->phase = PHASE_LOADS;
    return (options->checkpoints ? drill_load(rank) : train_begin(&rank->train, &rank->base, err)) &&
           train_split(&rank->train, &rank->base, &rank->shares, &rank->seconds, err);
}

bool drill_play_rank(const struct drill_options *options, struct wire *wire, double t0,
                     struct drill_outcome *outcome)
{
    struct error err = {.text = ""};
    struct drill_rank *rank = calloc(1, sizeof *rank);
    int lowest = 0;
    *outcome = (struct drill_outcome){.verdict = DRILL_WRONG, .text = "out of memory"};
    if (!rank)
        return true;
    rank->options = options;
    rank->wire = wire;
    rank->err = &err;
    rank->self = wire->rank;
    rank->ranks = wire->size;
    rank->t0 = t0;
    if (!begin(rank, elastic_kit_nodes(options->kit), &err)) {
        drill_finish(rank, err.kind == ERROR_INFEASIBLE ? DRILL_NO_SHAPE : DRILL_WRONG, err.text);
    } else {
        while (clock_now() < t0)
            clock_sleep((int64_t)((t0 - clock_now()) * 1e9) + 1000);
        if (rank->phase == PHASE_COMPUTES)
            drill_start_iteration(rank);
        drill_be_rank(rank);
    }
    *outcome = rank->outcome;
    while (lowest < rank->self && !rank->now.in_view[lowest])
        lowest++;
    bool says = outcome->verdict == DRILL_WRONG || (outcome->verdict != DRILL_HANG && lowest == rank->self);
    wire_forget(wire);
    drill_rank_release(rank);
    free(rank);
    return says;
}

void drill_take_outcome(struct drill_outcome *outcome, const struct drill_outcome *one)
{
    char note[sizeof outcome->note];
    bool both = outcome->verdict == DRILL_RIGHT && one->verdict == DRILL_RIGHT;
    int64_t cells = outcome->cells > one->cells ? outcome->cells : one->cells; /* a spare node has none */
    memcpy(note, outcome->note[0] ? outcome->note : one->note, sizeof note);
    if (outcome->verdict == DRILL_HANG || one->verdict == DRILL_WRONG ||
        (one->verdict == outcome->verdict &&
         (one->event_count > outcome->event_count ||
          (one->event_count == outcome->event_count && one->samples > outcome->samples))))
        *outcome = *one;
    if (both)
        outcome->cells = cells;
    memcpy(outcome->note, note, sizeof note);
}
