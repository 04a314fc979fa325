#include "core/random.h"
#include "trace/phase/internal.h"

#include <stdlib.h>

#define MAX_PLACES ((size_t)1 << 20) /* 16 MiB */

/* Of file and offset. */
static uint64_t key_of(const struct trace_event *event)
{
    uint64_t x = random_mix((uint64_t)event->file * RANDOM_GOLDEN + (uint64_t)event->offset);
    return x ? x : 1;
}

static struct phase_place *find(const struct phase_rounds *rounds, uint64_t key)
{
    size_t at = (size_t)(key >> 20) & (rounds->capacity - 1);
    while (rounds->places[at].key && rounds->places[at].key != key)
        at = (at + 1) & (rounds->capacity - 1);
    return &rounds->places[at];
}

/* Twice the room or, where that is too much, half of the sample. */
static bool make_room(struct phase_rounds *rounds, struct error *err)
{
    struct phase_rounds old = *rounds;
    bool grows = rounds->capacity < 2 * MAX_PLACES;
    if (grows)
        rounds->capacity = rounds->capacity ? 2 * rounds->capacity : 1024;
    else
        rounds->mask = 2 * rounds->mask + 1;
    rounds->places = calloc(rounds->capacity, sizeof *rounds->places);
    if (!rounds->places) {
        *rounds = old;
        return error_memory(err);
    }
    rounds->count = 0;
    for (size_t i = 0; i < old.capacity; i++)
        if (old.places[i].key && !(old.places[i].key & rounds->mask)) {
            *find(rounds, old.places[i].key) = old.places[i];
            rounds->count++;
        }
    free(old.places);
    return true;
}

bool phase_rounds_count(struct phase_rounds *rounds, const struct trace_event *event, struct error *err)
{
    uint64_t key = key_of(event);
    if (key & rounds->mask)
        return true;
    while (2 * rounds->count >= rounds->capacity)
        if (!make_room(rounds, err))
            return false;
    struct phase_place *place = key & rounds->mask ? NULL : find(rounds, key);
    if (place && !place->key) {
        place->key = key;
        rounds->count++;
    }
    return true;
}

void phase_rounds_begin(struct phase_rounds *rounds)
{
    rounds->all = (int64_t)rounds->count;
    for (size_t i = 0; i < rounds->capacity; i++)
        rounds->places[i].last = -1;
}

bool phase_rounds_turns(struct phase_rounds *rounds, const struct trace_event *event)
{
    uint64_t key = key_of(event);
    if (key & rounds->mask)
        return false;
    struct phase_place *place = find(rounds, key);
    int64_t last = place->last, now = rounds->reads++;
    place->last = now;
    if (last < rounds->start) {
        rounds->distinct++;
        rounds->again = 0;
        return false;
    }
    if (rounds->again++ == 0)
        rounds->again_ns = event->start_ns;
    if (4 * (now - last) < rounds->all || 5 * rounds->distinct < 4 * rounds->all)
        return false;
    rounds->start = now + 1 - rounds->again;
    rounds->distinct = rounds->again;
    rounds->again = 0;
    return true;
}

void phase_rounds_release(struct phase_rounds *rounds)
{
    free(rounds->places);
    rounds->places = NULL;
}
