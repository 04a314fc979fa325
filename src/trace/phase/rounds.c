#include "core/random.h"
#include "trace/phase/internal.h"

#define MAX_PLACES ((size_t)1 << 20) /* 32 MiB */

/* Returns a key of file and offset. */
static uint64_t key_of(const struct trace_event *event)
{
    uint64_t x = random_mix((uint64_t)event->file * RANDOM_GOLDEN + (uint64_t)event->offset);
    return x ? x : 1;
}

/* Leaves half of the sample. */
static bool drop_half(struct phase_rounds *rounds)
{
    struct hash_map kept = {0};
    bool room = true;
    rounds->mask = 2 * rounds->mask + 1;
    for (size_t i = 0; room && i < rounds->places.capacity; i++) {
        uint64_t key = rounds->places.places[i].key;
        room = !key || (key & rounds->mask) || hash_map_place(&kept, key);
    }
    hash_map_release(&rounds->places);
    rounds->places = kept;
    return room;
}

bool phase_rounds_count(struct phase_rounds *rounds, const struct trace_event *event, struct error *err)
{
    uint64_t key = key_of(event);
    if (key & rounds->mask)
        return true;
    bool room = hash_map_place(&rounds->places, key) != NULL;
    while (room && rounds->places.count >= MAX_PLACES)
        room = drop_half(rounds);
    return room || error_memory(err);
}

void phase_rounds_begin(struct phase_rounds *rounds)
{
    rounds->all = (int64_t)rounds->places.count;
    for (size_t i = 0; i < rounds->places.capacity; i++)
        rounds->places.places[i].value = -1;
}

bool phase_rounds_turns(struct phase_rounds *rounds, const struct trace_event *event)
{
    uint64_t key = key_of(event);
    int64_t *place = key & rounds->mask ? NULL : hash_map_find(&rounds->places, key);
    if (!place)
        return false;
    int64_t last = *place, now = rounds->reads++;
    *place = now;
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
