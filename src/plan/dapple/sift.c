/* Compares the labels of one first layer with those of states that are at least as good.
 *
 * States come by descending devices `there`, so that earlier states are at least as good in that. Stairs hold the best
 * (X, D) seen so far for all states with `here` devices or more: a label under a stair is dropped. Any stages that can
 * stand in front of it can stand in front of the label that made the stair, at no more cost. */
#include "core/vector.h"
#include "plan/dapple/solver.h"

#include <stdlib.h>
#include <string.h>

#define MAX_HERE 64 /* with larger machines only labels of the same state are compared */
#define RANKS    8  /* that have stairs of their own: the highest */

struct stair {
    double x, y;
};

/* Ascending in x, descending in y. */
struct dapple_stairs {
    struct stair *steps;
    int count;
    size_t room;
};

/* The first with a larger x. */
static int stairs_find(const struct dapple_stairs *stairs, double x)
{
    int low = 0, high = stairs->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (stairs->steps[middle].x <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool stairs_cover(const struct dapple_stairs *stairs, const struct dapple_label *label)
{
    int above = stairs_find(stairs, label->x);
    return above > 0 && stairs->steps[above - 1].y <= label->y;
}

static bool stairs_add(struct dapple_stairs *stairs, const struct dapple_label *label)
{
    if (stairs_cover(stairs, label))
        return true;
    if (!VECTOR_ROOM(stairs->steps, stairs->room, (size_t)stairs->count + 1))
        return false;
    int at = stairs_find(stairs, label->x), end = at;
    if (at > 0 && stairs->steps[at - 1].x == label->x)
        at--; /* its y is larger */
    while (end < stairs->count && stairs->steps[end].y >= label->y)
        end++;
    memmove(&stairs->steps[at + 1], &stairs->steps[end],
            (size_t)(stairs->count - end) * sizeof *stairs->steps);
    stairs->count += at + 1 - end;
    stairs->steps[at] = (struct stair){label->x, label->y};
    return true;
}

static struct dapple_stairs *stairs_of(const struct solver *solver, bool current, int here, int below)
{
    return &solver->work->stairs[((size_t)here * 2 + current) * RANKS + (size_t)below];
}

/* A label is beaten by those of its rank or a higher one; `below` counts from the highest. */
static bool sift_state(const struct solver *solver, int layer, int state)
{
    const struct places *places = solver->places;
    bool current = places->current[state];
    int highest = solver->program->reach_low, last = solver->memory_binds ? RANKS - 1 : highest;
    int32_t *link = &solver->work->head[(size_t)layer * (size_t)places->state_count + (size_t)state];
    while (*link >= 0) {
        struct dapple_label *label = &solver->work->labels[*link];
        int below = highest - label->rank;
        if (stairs_cover(stairs_of(solver, current, places->here[state], below < last ? below : last),
                         label)) {
            *link = label->next;
            continue;
        }
        for (int here = places->here[state]; here >= 0; here--)
            for (int i = below; i <= last; i++)
                if (!stairs_add(stairs_of(solver, current, here, i), label))
                    return false;
        link = &label->next;
    }
    return true;
}

bool dapple_sift(const struct solver *solver, int layer)
{
    const struct places *places = solver->places;
    struct dapple_workspace *work = solver->work;
    int count = 2 * RANKS * (places->largest + 1);
    if (!places->ordered || places->largest > MAX_HERE)
        return true;
    if (!VECTOR_ROOM_ZEROED(work->stairs, work->stair_count, (size_t)count))
        return false;
    for (int i = 0; i < count; i++)
        work->stairs[i].count = 0;
    for (int i = 0; i < places->state_count; i++)
        if (!sift_state(solver, layer, places->by_there[i]))
            return false;
    return true;
}

void dapple_sift_release(struct dapple_workspace *workspace)
{
    for (size_t i = 0; i < workspace->stair_count; i++)
        free(workspace->stairs[i].steps);
    free(workspace->stairs);
}
