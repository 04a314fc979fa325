/* Who is left: what ranks tell each other until all say the same, and the view that follows (drill.h). */
#include "run/drill/rank.h"

#include "core/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The message of a view; the instances' shapes and nodes follow. */
struct view {
    struct drill_view next;
    int iteration, node_count, instance_count;
    int owner[DRILL_MAX_NODES];
};

static struct drill_report *own_report(struct drill_rank *rank)
{
    return &rank->reports[rank->self];
}

static bool is_left(const struct drill_rank *rank, int r)
{
    return rank->now.in_view[r] && rank->reports[rank->self].missing[r] == THERE;
}

static int lowest_left(const struct drill_rank *rank)
{
    for (int r = 0; r < rank->ranks; r++)
        if (is_left(rank, r))
            return r;
    return -1;
}

/* ---- is this rank itself cut off? ---- */

/* Silent ranks may live: of two halves that hear nothing of each other, the larger one goes on, of equal ones that with
 * the lowest rank. Ranks whose processes have ended do not count. */
static bool is_cut_off(const struct drill_rank *rank)
{
    int silent = 0, left = 0, lowest_silent = rank->ranks;
    for (int r = rank->ranks - 1; r >= 0; r--) {
        left += is_left(rank, r);
        if (rank->now.in_view[r] && rank->reports[rank->self].missing[r] == SILENT) {
            silent++;
            lowest_silent = r;
        }
    }
    return silent > left || (silent == left && lowest_silent < lowest_left(rank));
}

/* ---- the next view ---- */

/* Sets what the next view is made of. */
static void count_losses(struct drill_rank *rank, struct view *view)
{
    const struct drill_report *own = own_report(rank);
    for (int r = 0; r < rank->ranks; r++) {
        int node = rank->now.node_of[r];
        view->next.in_view[r] = is_left(rank, r);
        if (rank->now.in_view[r] && !view->next.in_view[r] && node >= 0) {
            /* who had only come back since the last state was never part of it */
            if (view->next.back[node])
                view->next.back[node] = false;
            else
                view->next.lost[node] = true;
            view->next.rank_of[node] = -1;
            view->next.node_of[r] = -1;
        }
    }
    for (int r = 0; r < rank->ranks; r++) {
        int node = own->joins[r] - 1;
        /* a node that was lost since the last state would be taken for one that holds its layers still: it asks
         * again */
        if (node < 0 || rank->now.in_view[r] || rank->gone[r] != THERE || view->next.rank_of[node] >= 0 ||
            view->next.lost[node])
            continue;
        view->next.in_view[r] = true;
        view->next.back[node] = true;
        view->next.rank_of[node] = r;
        view->next.node_of[r] = node;
    }
}

static void *make_view(struct drill_rank *rank, size_t *length)
{
    const struct elastic_state *base = &rank->base;
    int nodes = 0;
    for (int i = 0; i < base->instance_count; i++)
        nodes += rank->train.kit->shapes[base->instances[i].shape].nodes;
    *length = sizeof(struct view) + (size_t)(2 * base->instance_count + nodes) * sizeof(int);
    char *bytes = calloc(1, *length);
    struct view *view = (struct view *)(void *)bytes;
    if (!bytes)
        return NULL;
    view->next = rank->now;
    view->next.epoch++;
    view->next.moves = 0;
    view->node_count = base->node_count;
    view->instance_count = base->instance_count;
    for (int r = 0; r < rank->ranks; r++)
        if (is_left(rank, r)) {
            view->iteration =
                rank->reports[r].iteration > view->iteration ? rank->reports[r].iteration : view->iteration;
            view->next.moves =
                rank->reports[r].moves > view->next.moves ? rank->reports[r].moves : view->next.moves;
        }
    count_losses(rank, view);
    memcpy(view->owner, base->owner, (size_t)base->node_count * sizeof *view->owner);
    int *at = (int *)(void *)(bytes + sizeof *view);
    for (int i = 0; i < base->instance_count; i++) {
        int count = rank->train.kit->shapes[base->instances[i].shape].nodes;
        *at++ = base->instances[i].shape;
        *at++ = count;
        memcpy(at, base->instances[i].nodes, (size_t)count * sizeof *at);
        at += count;
    }
    return bytes;
}

/* The state that a view begins from. Returns false if the message does not hold together. */
static bool read_state(struct drill_rank *rank, const struct view *view, size_t length)
{
    struct elastic_state made = {.kit = rank->options->kit,
                                 .node_count = view->node_count,
                                 .owner = malloc(DRILL_MAX_NODES * sizeof(int)),
                                 .instances =
                                     calloc((size_t)view->instance_count + 1, sizeof *made.instances)};
    const int *at = (const int *)(const void *)((const char *)view + sizeof *view);
    const int *end = (const int *)(const void *)((const char *)view + length);
    bool ok = made.owner && made.instances;
    if (ok)
        memcpy(made.owner, view->owner, DRILL_MAX_NODES * sizeof(int));
    for (int i = 0; ok && i < view->instance_count; i++) {
        ok = end - at >= 2 && at[0] >= 0 && at[0] < made.kit->shape_count &&
             at[1] == made.kit->shapes[at[0]].nodes && end - at >= 2 + at[1];
        if (!ok)
            break;
        made.instances[i].shape = at[0];
        made.instances[i].nodes = malloc((size_t)at[1] * sizeof *at);
        ok = made.instances[i].nodes != NULL;
        made.instance_count = i + 1;
        if (ok)
            memcpy(made.instances[i].nodes, at + 2, (size_t)at[1] * sizeof *at);
        at += 2 + at[1];
    }
    if (!ok) {
        elastic_state_release(&made);
        return false;
    }
    if (rank->has_base)
        elastic_state_release(&rank->base);
    rank->base = made;
    rank->has_base = true;
    return true;
}

static void set_view(struct drill_rank *rank, const struct view *view)
{
    rank->now = view->next;
    memset(own_report(rank)->missing, 0, sizeof own_report(rank)->missing);
    memset(own_report(rank)->joins, 0, sizeof own_report(rank)->joins);
    for (int r = 0; r < rank->ranks; r++)
        if (rank->now.in_view[r])
            wire_await(rank->wire, r, false);
    memset(rank->done_until, 0,
           sizeof rank->done_until); /* an iteration that did not count is computed again */
}

/* The last fault that hit the rank before the loss was noticed; of several ranks, of the one that was found last. A
 * node that has returned is another rank, which may be hit before it trains. */
static void note_detection(const struct drill_options *options, struct drill_event *event, int lost,
                           double when)
{
    const struct drill_fate *last = NULL;
    for (int i = 0; i < options->fate_count; i++) {
        const struct drill_fate *fate = &options->fates[i];
        if (fate->kind != DRILL_RETURN && drill_rank_at(options, i) == lost && fate->time <= when &&
            (!last || fate->time > last->time))
            last = fate;
    }
    if (!last || when - last->time <= event->found) /* not where that is NAN */
        return;
    event->found = when - last->time;
    event->cut = last->kind == DRILL_CUT;
}

static void note_view(struct drill_rank *rank, const struct view *view)
{
    struct drill_outcome *outcome = &rank->outcome;
    outcome->views++;
    if (outcome->event_count == DRILL_MAX_EVENTS)
        return;
    struct drill_event *event = &outcome->events[outcome->event_count++];
    *event = (struct drill_event){
        .simulated = NAN, .found = NAN, .agreed = NAN, .agreement = NAN, .copied = NAN, .stepped = NAN};
    rank->tries++;
    double last = rank->found_at;
    for (int n = 0; n < view->node_count; n++) {
        event->lost += view->next.lost[n];
        event->joined += view->next.back[n];
        outcome->lost += view->next.lost[n] && !rank->now.lost[n];
        if (!view->next.lost[n] || rank->now.lost[n] || rank->now.rank_of[n] < 0)
            continue;
        double noticed = rank->noticed[rank->now.rank_of[n]];
        last = fmax(last, noticed);
        if (noticed > 0.0)
            note_detection(rank->options, event, rank->now.rank_of[n], noticed - rank->t0);
    }
    if (rank->found_at >= 0.0) {
        event->agreed = clock_now() - rank->found_at;
        event->agreement = clock_now() - last;
    }
}

void drill_hear_view(struct drill_rank *rank, const void *bytes, size_t length)
{
    const struct view *view = bytes;
    if (rank->phase == PHASE_OUT || length < sizeof *view || view->next.epoch <= rank->now.epoch)
        return;
    if (view->instance_count < 0 || view->instance_count > DRILL_MAX_NODES || view->node_count < 1 ||
        view->node_count > DRILL_MAX_NODES) {
        drill_finish(rank, DRILL_WRONG, "an inconsistent membership view");
        return;
    }
    bool joins = !rank->now.in_view[rank->self];
    if (!view->next.in_view[rank->self]) {
        if (!joins)
            drill_finish(rank, DRILL_HANG, ""); /* the others go on without this rank */
        return;
    }
    /* if one has seen that the iteration counts, or the state, all have what belongs to it */
    if (!joins && rank->train.iteration + 1 == view->iteration && rank->train.has_next) {
        train_count(&rank->train);
        rank->outcome.samples += rank->train.batch;
    }
    if (!joins && rank->load && view->next.moves > rank->now.moves)
        drill_complete(rank);
    if (joins) {
        rank->node = view->next.node_of[rank->self];
        rank->train.node = rank->node;
        rank->train.iteration = view->iteration;
        rank->found_at = clock_now();
    }
    if (rank->train.iteration != view->iteration && !rank->load) {
        drill_finish(rank, DRILL_WRONG, "the view has another iteration than this rank");
        return;
    }
    void *kept = malloc(length);
    if (!kept || !read_state(rank, view, length)) {
        free(kept);
        drill_finish(rank, DRILL_WRONG, "an inconsistent membership view");
        return;
    }
    memcpy(kept, bytes, length);
    free(rank->view);
    rank->view = kept;
    rank->view_length = length;
    note_view(rank, view);
    set_view(rank, view);
    drill_abandon_saves(rank);
    drill_move(rank);
}

/* ---- agreement ---- */

/* Whether a rank ended or is silent may look different from elsewhere: its socket was closed by one that heard nothing
 * of it. */
static bool miss_the_same(const struct drill_rank *rank, const struct drill_report *a,
                          const struct drill_report *b)
{
    for (int r = 0; r < rank->ranks; r++)
        if ((a->missing[r] == THERE) != (b->missing[r] == THERE))
            return false;
    return true;
}

static bool all_agree(const struct drill_rank *rank)
{
    const struct drill_report *own = &rank->reports[rank->self];
    for (int r = 0; r < rank->ranks; r++) {
        const struct drill_report *report = &rank->reports[r];
        if (is_left(rank, r) && (report->epoch != rank->now.epoch || !miss_the_same(rank, report, own) ||
                                 memcmp(report->joins, own->joins, sizeof own->joins) != 0))
            return false;
    }
    return true;
}

/* The one that makes views does so once all say the same. */
static void decide(struct drill_rank *rank)
{
    size_t length;
    if (is_cut_off(rank)) {
        drill_finish(rank, DRILL_HANG, "");
        return;
    }
    if (lowest_left(rank) != rank->self || !all_agree(rank))
        return;
    /* a state that one has completed is complete: this rank has all of its copies, too */
    for (int r = 0; r < rank->ranks; r++)
        if (is_left(rank, r) && rank->reports[r].moves > rank->now.moves)
            drill_complete(rank);
    void *view = make_view(rank, &length);
    if (!view) {
        drill_finish(rank, DRILL_WRONG, "out of memory");
        return;
    }
    const struct view *made = view;
    for (int r = 0; r < rank->ranks; r++)
        if (r != rank->self && made->next.in_view[r])
            (void)drill_tell(rank, r, DRILL_VIEW, 0, 0, view, length);
    drill_hear_view(rank, view, length);
    free(view);
}

void drill_miss(struct drill_rank *rank)
{
    struct drill_report *own = own_report(rank);
    if (rank->phase != PHASE_AGREES && rank->found_at < 0.0) {
        rank->found_at = clock_now();
        rank->tries = 0;
    } else if (rank->phase == PHASE_AGREES) {
        rank->tries++; /* a further loss */
    }
    rank->phase = PHASE_AGREES;
    own->epoch = rank->now.epoch;
    own->iteration = rank->load ? 0 : rank->train.iteration;
    own->moves = rank->now.moves;
    own->has_next = rank->train.has_next;
    for (int r = 0; r < rank->ranks; r++) {
        if (r != rank->self && is_left(rank, r))
            (void)drill_tell(rank, r, DRILL_MISSING, 0, 0, own, sizeof *own);
        else if (r != rank->self && rank->now.in_view[r] && own->missing[r] == SILENT)
            (void)drill_tell(rank, r, DRILL_EXCLUDED, 0, 0, NULL, 0);
    }
    decide(rank);
}

void drill_hear_missing(struct drill_rank *rank, int from, const struct drill_report *report)
{
    struct drill_report *own = own_report(rank);
    bool news = rank->phase != PHASE_AGREES;
    rank->reports[from] = *report;
    if (report->missing[rank->self] != THERE) {
        drill_finish(rank, DRILL_HANG, ""); /* the others cannot hear this rank */
        return;
    }
    for (int r = 0; r < rank->ranks; r++) {
        if (report->missing[r] != THERE && own->missing[r] == THERE) {
            own->missing[r] = report->missing[r];
            rank->noticed[r] = clock_now();
            news = true;
        }
        if (report->joins[r] > 0 && own->joins[r] == 0) {
            own->joins[r] = report->joins[r];
            news = true;
        }
    }
    if (news)
        drill_miss(rank);
    else
        decide(rank);
}

void drill_hear_join(struct drill_rank *rank, int from, int node)
{
    struct drill_report *own = own_report(rank);
    if (rank->phase == PHASE_WAITS || rank->phase == PHASE_OUT || rank->phase == PHASE_ENDS || rank->load ||
        rank->now.in_view[from] || node < 0 || node >= rank->base.node_count || own->joins[from] != 0)
        return;
    int now = rank->now.rank_of[node];
    if ((now >= 0 && is_left(rank, now)) || rank->now.lost[node])
        return; /* its loss is not known yet, or not answered: it asks again */
    own->joins[from] = (int16_t)(node + 1);
    drill_miss(rank);
}
