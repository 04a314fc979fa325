#include "sim/replay/snapshot.h"

#include "core/text.h"
#include "core/vector.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STREAMS ((size_t)256)
#define MAX_ADDRESS (INT64_C(1) << 60)
#define MEBIBYTE    (INT64_C(1) << 20)

bool snapshot_is(const char *path)
{
    static const char *const firsts[] = {"{\"segments\"", "{\"device_traces\"", "{\"allocator_settings\""};
    unsigned char bytes[256];
    char dense[sizeof bytes + 1];
    size_t length = 0;
    FILE *file = fopen(path, "rbe");
    size_t count = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file)
        fclose(file);
    if (count > 1 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5) /* a pickle's protocol */
        return true;
    for (size_t i = 0; i < count; i++)
        if (!strchr(" \t\r\n", bytes[i]))
            dense[length++] = (char)bytes[i];
    dense[length] = '\0';
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
        if (text_starts_with(dense, firsts[i]))
            return true;
    return false;
}

/* ---- what was there at the start ---- */

/* Reserved memory, by address; of expandable segments, the parts that are mapped. */
struct ranges {
    struct allocator_segment *items;
    size_t count, capacity;
};

struct player {
    struct snapshot *snapshot;
    const struct doc_node *events; /* of the device */
    int64_t device;
    struct ranges ranges;
    struct hash_map live;  /* addresses, to bytes requested; -1: no more */
    struct hash_map sizes; /* and to those of their blocks, of allocations that are there to the end */
    struct allocator_held *held;
    size_t held_count, held_capacity;
};

static size_t range_behind(const struct ranges *ranges, uint64_t address)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->items[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool add_range(struct ranges *ranges, struct allocator_segment range)
{
    size_t place = range_behind(ranges, range.address);
    struct allocator_segment *before = place > 0 ? &ranges->items[place - 1] : NULL;
    if (before && before->grows && range.grows && before->stream == range.stream &&
        before->address + (uint64_t)before->size == range.address && before->size < MAX_ADDRESS) {
        before->size += range.size;
        return true;
    }
    if (!VECTOR_ROOM(ranges->items, ranges->capacity, ranges->count + 1))
        return false;
    memmove(ranges->items + place + 1, ranges->items + place,
            (ranges->count - place) * sizeof *ranges->items);
    ranges->items[place] = range;
    ranges->count++;
    return true;
}

/* Takes what was reserved by an event. What is not in the snapshot was given back, and is added by that event. */
static bool take_range(struct ranges *ranges, uint64_t address, int64_t size)
{
    size_t place = range_behind(ranges, address);
    if (place == 0)
        return true;
    struct allocator_segment *range = &ranges->items[place - 1], rest = *range;
    uint64_t end = range->address + (uint64_t)range->size, upto = address + (uint64_t)size;
    if (address >= end)
        return true;
    range->size = (int64_t)(address - range->address);
    if (range->size == 0) {
        ranges->count--;
        memmove(range, range + 1, (ranges->count - place + 1) * sizeof *range);
    }
    rest.address = upto;
    rest.size = (int64_t)(end - upto);
    return upto >= end || add_range(ranges, rest);
}

static bool get(const struct doc *doc, const struct doc_node *map, const char *key, int64_t min, int64_t max,
                int64_t *value, struct error *err)
{
    const struct doc_node *node = doc_need(doc, map, key, err);
    return node && doc_integer(doc, node, min, max, value, err);
}

static bool is_action(const struct doc_node *event, const char *name)
{
    const struct doc_node *action = doc_find(event, "action");
    return action && action->text && strcmp(action->text, name) == 0;
}

/* What an event does: to allocations, or to segments. */
enum deed { DEED_NONE, DEED_TAKE, DEED_GIVE, DEED_RESERVE, DEED_RETURN };

struct event {
    enum deed deed;
    int64_t address, size, stream;
    bool grows;
};

static bool read_event(const struct player *p, const struct doc_node *node, struct event *event,
                       struct error *err)
{
    static const struct {
        const char *name;
        enum deed deed;
        bool grows;
    } actions[] = {{"alloc", DEED_TAKE, false},          {"free_completed", DEED_GIVE, false},
                   {"free", DEED_GIVE, false},           {"segment_alloc", DEED_RESERVE, false},
                   {"segment_free", DEED_RETURN, false}, {"segment_map", DEED_RESERVE, true},
                   {"segment_unmap", DEED_RETURN, true}};
    const struct doc *doc = &p->snapshot->doc;
    *event = (struct event){.deed = DEED_NONE};
    if (!doc_need(doc, node, "action", err))
        return false;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (is_action(node, actions[i].name))
            event->deed = actions[i].deed, event->grows = actions[i].grows;
    return event->deed == DEED_NONE || /* free_requested, oom, snapshot */
           (get(doc, node, "addr", 1, MAX_ADDRESS, &event->address, err) &&
            get(doc, node, "size", 0, ALLOCATOR_MAX_SIZE, &event->size, err) &&
            get(doc, node, "stream", 0, INT64_MAX / 2, &event->stream, err));
}

static bool read_segment(struct player *p, const struct doc_node *node, struct error *err)
{
    const struct doc *doc = &p->snapshot->doc;
    int64_t device, address;
    struct allocator_segment range = {0};
    const struct doc_node *kind = doc_find(node, "segment_type"), *grows = doc_find(node, "is_expandable");
    const struct doc_node *pool = doc_find(node, "segment_pool_id"), *blocks;
    if (!get(doc, node, "device", 0, 1 << 20, &device, err))
        return false;
    if (device != p->device)
        return true;
    if (!get(doc, node, "address", 1, MAX_ADDRESS, &address, err) ||
        !get(doc, node, "total_size", 1, ALLOCATOR_MAX_SIZE, &range.size, err) ||
        !get(doc, node, "stream", 0, INT64_MAX / 2, &range.stream, err) ||
        !(blocks = doc_need(doc, node, "blocks", err)) || !doc_is_list(doc, blocks, err))
        return false;
    for (const struct doc_node *id = pool ? pool->first_child : NULL; id; id = id->next)
        p->snapshot->private_pools |= id->number != 0.0;
    range.address = (uint64_t)address;
    range.small = kind && kind->text && strcmp(kind->text, "small") == 0;
    range.grows = grows && grows->boolean;
    for (const struct doc_node *block = blocks->first_child; block; block = block->next) {
        int64_t at, size;
        const struct doc_node *state = doc_need(doc, block, "state", err),
                              *named = doc_find(block, "address");
        if (!state || !get(doc, block, doc_find(block, "requested_size") ? "requested_size" : "size", 0,
                           ALLOCATOR_MAX_SIZE, &size, err))
            return false;
        at = named ? 0 : address;
        if (named && !doc_integer(doc, named, 1, MAX_ADDRESS, &at, err))
            return false;
        int64_t whole;
        if (!get(doc, block, "size", 0, ALLOCATOR_MAX_SIZE, &whole, err))
            return false;
        if (state->text && strcmp(state->text, "active_allocated") == 0 &&
            (!hash_map_set(&p->live, (uint64_t)at, size) || !hash_map_set(&p->sizes, (uint64_t)at, whole)))
            return error_memory(err);
        address += whole; /* older snapshots have blocks without addresses */
    }
    return add_range(&p->ranges, range) || error_memory(err);
}

/* Goes back from the end to the start. */
static bool undo(struct player *p, const struct event *event, struct error *err)
{
    const struct allocator_segment range = {(uint64_t)event->address, event->size, event->stream,
                                            event->size <= ALLOCATOR_SMALL_SEGMENT, event->grows};
    bool done = true;
    if (event->deed == DEED_TAKE && hash_map_find(&p->sizes, range.address))
        done = hash_map_set(&p->sizes, range.address, 0);
    switch (event->deed) {
    case DEED_TAKE:
        done = done && hash_map_set(&p->live, range.address, -1);
        break;
    case DEED_GIVE:
        done = hash_map_set(&p->live, range.address, event->size);
        break;
    case DEED_RESERVE:
        done = take_range(&p->ranges, range.address, event->size);
        break;
    case DEED_RETURN:
        done = event->size == 0 || add_range(&p->ranges, range);
        break;
    default:
        break;
    }
    return done || error_memory(err);
}

static int compare_held(const void *first, const void *second)
{
    const struct allocator_held *a = first, *b = second;
    return (a->address > b->address) - (a->address < b->address);
}

static bool read_start(struct player *p, struct event **events, struct error *err)
{
    const struct doc *doc = &p->snapshot->doc;
    const struct doc_node *segments = doc_need(doc, doc->root, "segments", err);
    size_t i = p->events->count;
    if (!segments || !doc_is_list(doc, segments, err))
        return false;
    for (const struct doc_node *node = segments->first_child; node; node = node->next)
        if (!read_segment(p, node, err))
            return false;
    if (!(*events = calloc(i > 0 ? i : 1, sizeof **events)))
        return error_memory(err);
    i = 0;
    for (const struct doc_node *node = p->events->first_child; node; node = node->next)
        if (!read_event(p, node, &(*events)[i++], err))
            return false;
    while (i > 0)
        if (!undo(p, &(*events)[--i], err))
            return false;
    for (size_t k = 0; k < p->live.capacity; k++) {
        uint64_t address = p->live.places[k].key;
        const int64_t *size = address != 0 ? hash_map_find(&p->sizes, address) : NULL;
        const struct allocator_held held = {address, p->live.places[k].value, size ? *size : 0};
        if (held.address != 0 && held.size >= 0 &&
            !VECTOR_ADD(p->held, p->held_count, p->held_capacity, held))
            return error_memory(err);
    }
    if (p->held_count > 0)
        qsort(p->held, p->held_count, sizeof *p->held, compare_held);
    return true;
}

/* ---- playing ---- */

/* Puts what was there at the start. */
static bool begin(const struct player *p, struct allocator *allocator)
{
    size_t next = 0;
    for (size_t i = 0; i < p->ranges.count; i++) {
        const struct allocator_segment *range = &p->ranges.items[i];
        uint64_t end = range->address + (uint64_t)range->size;
        while (next < p->held_count && p->held[next].address < range->address)
            next++;
        size_t first = next;
        while (next < p->held_count && p->held[next].address < end)
            next++;
        bool overlaps =
            i > 0 && p->ranges.items[i - 1].address + (uint64_t)p->ranges.items[i - 1].size > range->address;
        if (!overlaps &&
            !allocator_put(allocator, range, next > first ? p->held + first : NULL, next - first))
            return false;
    }
    return true;
}

static bool play(const struct player *p, const struct event *events,
                 const struct allocator_settings *settings, struct snapshot_bytes *bytes, struct error *err)
{
    struct allocator allocator = {.settings = *settings};
    bool done = begin(p, &allocator), emptied = false;
    bytes->start = allocator.reserved;
    for (size_t i = 0; i < p->events->count && done; i++) {
        const struct event *event = &events[i];
        bool empties = event->deed == DEED_RETURN;
        if (empties && !emptied) /* a row of them is one call */
            allocator_empty(&allocator);
        emptied = empties || (emptied && event->deed == DEED_NONE);
        if (event->deed == DEED_TAKE) /* twice: its free was not recorded */
            done = allocator_give(&allocator, (uint64_t)event->address) &&
                   allocator_take(&allocator, (uint64_t)event->address, event->size, event->stream);
        else if (event->deed == DEED_GIVE)
            done = allocator_give(&allocator, (uint64_t)event->address);
        if (allocator.pool_count > 2 * MAX_STREAMS) {
            allocator_release(&allocator);
            return doc_error(&p->snapshot->doc, p->events, err, "more than %zu streams", MAX_STREAMS);
        }
    }
    bytes->most = allocator.most_reserved;
    bytes->end = allocator.reserved;
    bytes->requested = allocator.most_requested;
    bytes->allocated = allocator.most_allocated;
    allocator_release(&allocator);
    return done || error_memory(err);
}

static void read_recorded(const struct player *p, const struct event *events, struct snapshot_device *device)
{
    struct snapshot_bytes *bytes = &device->recorded;
    for (size_t i = 0; i < p->ranges.count; i++)
        bytes->start += p->ranges.items[i].size;
    bytes->end = bytes->most = bytes->start;
    for (size_t i = 0; i < p->events->count; i++) {
        device->taken += events[i].deed == DEED_TAKE;
        device->freed += events[i].deed == DEED_GIVE;
        bytes->end += events[i].deed == DEED_RESERVE  ? events[i].size
                      : events[i].deed == DEED_RETURN ? -events[i].size
                                                      : 0;
        if (bytes->end > bytes->most)
            bytes->most = bytes->end;
    }
}

static bool play_device(struct snapshot *snapshot, const struct doc_node *events, int64_t number,
                        const struct allocator_settings *changed, struct error *err)
{
    struct player p = {.snapshot = snapshot, .events = events, .device = number};
    struct snapshot_device device = {.device = number, .events = events->count};
    struct event *read = NULL;
    bool done = read_start(&p, &read, err);
    if (done) {
        read_recorded(&p, read, &device);
        done = play(&p, read, &snapshot->settings, &device.played, err) &&
               (!changed || play(&p, read, changed, &device.changed, err));
        if (device.recorded.most > 0)
            device.error = (double)device.played.most / (double)device.recorded.most - 1.0;
    }
    done = done &&
           (VECTOR_ADD(snapshot->devices, snapshot->count, snapshot->capacity, device) || error_memory(err));
    free(read);
    free(p.held);
    free(p.ranges.items);
    hash_map_release(&p.live);
    hash_map_release(&p.sizes);
    return done;
}

/* ---- settings ---- */

static bool read_settings(struct snapshot *snapshot, struct error *err)
{
    const struct doc *doc = &snapshot->doc;
    const struct doc_node *map = doc_find(doc->root, "allocator_settings");
    const struct doc_node *split = doc_find(map, "max_split_size"),
                          *grows = doc_find(map, "expandable_segments"),
                          *collects = doc_find(map, "garbage_collection_threshold"),
                          *divisions = doc_find(map, "roundup_power2_divisions");
    int64_t bytes;
    if (split && !doc_integer(doc, split, -1, INT64_MAX / 2, &bytes, err))
        return false;
    snapshot->settings.max_split = split && bytes > 0 && bytes < ALLOCATOR_MAX_SIZE ? bytes : 0;
    snapshot->settings.expandable = grows && grows->boolean;
    snapshot->collects = collects && collects->number > 0.0;
    for (const struct doc_node *node = divisions ? divisions->first_child : NULL; node; node = node->next) {
        int64_t size;
        int at = 0;
        if (!node->key || !text_whole(node->key, "", &size) || size < 1)
            return doc_error(doc, node, err, "expected a size in MiB as key");
        while (at < ALLOCATOR_SIZES - 1 && size >> (at + 1) > 0)
            at++;
        if (!doc_integer(doc, node, 0, 1 << 20, &snapshot->settings.divisions[at], err))
            return false;
    }
    return true;
}

static bool change(struct allocator_settings *settings, const char *text, struct error *err)
{
    static const char *const names[] = {"expandable_segments", "max_split_size_mb",
                                        "roundup_power2_divisions"};
    size_t length = strcspn(text, "=:"), which = 0;
    int64_t value;
    while (which < 3 && (strlen(names[which]) != length || strncmp(names[which], text, length) != 0))
        which++;
    if (which == 3 || text[length] == '\0' || !text_whole(text + length + 1, "", &value) || value < 0 ||
        value > (which == 0 ? 1 : 1 << 20))
        return error_set(err, ERROR_USAGE,
                         "--what-if '%s': expected expandable_segments=0 or 1, max_split_size_mb=MIB or "
                         "roundup_power2_divisions=N for a memory snapshot",
                         text);
    if (which == 0)
        settings->expandable = value == 1;
    else if (which == 1)
        settings->max_split = value * MEBIBYTE;
    for (int i = 0; i < ALLOCATOR_SIZES && which == 2; i++)
        settings->divisions[i] = value;
    return true;
}

/* ---- all ---- */

static bool play_all(struct snapshot *snapshot, const char *const *changes, size_t count, struct error *err)
{
    const struct doc *doc = &snapshot->doc;
    const struct doc_node *traces = doc_need(doc, doc->root, "device_traces", err);
    if (!traces || !doc_is_list(doc, traces, err) || !read_settings(snapshot, err))
        return false;
    struct allocator_settings changed = snapshot->settings;
    for (size_t i = 0; i < count; i++)
        if (!change(&changed, changes[i], err))
            return false;
    snapshot->is_changed = count > 0;
    int64_t number = 0;
    for (const struct doc_node *events = traces->first_child; events; events = events->next, number++) {
        if (!doc_is_list(doc, events, err))
            return false;
        if (events->count > SNAPSHOT_MAX_EVENTS)
            return doc_error(doc, events, err, "more than %" PRId64 " events", SNAPSHOT_MAX_EVENTS);
        if (events->count > 0 && !play_device(snapshot, events, number, count > 0 ? &changed : NULL, err))
            return false;
    }
    return snapshot->count > 0 ||
           doc_error(
               doc, traces, err,
               "no events: call torch.cuda.memory._record_memory_history() before what is to be played");
}

static bool finish(struct snapshot *snapshot, bool done)
{
    if (!done)
        snapshot_release(snapshot);
    return done;
}

bool snapshot_load(struct snapshot *snapshot, const char *path, const char *const *changes, size_t count,
                   struct error *err)
{
    *snapshot = (struct snapshot){.path = path};
    FILE *file = fopen(path, "rbe");
    int first = file ? fgetc(file) : EOF;
    if (file)
        fclose(file);
    if (first == 0x80)
        return error_set(
            err, ERROR_INPUT,
            "%s: a pickle is a program, and is not read; write it as JSON, by \"python3 -c 'import json, "
            "pickle, sys; json.dump(pickle.load(open(sys.argv[1], \"rb\")), open(sys.argv[2], \"w\"))' "
            "%s snapshot.json\", if you know who made it",
            path, path);
    return doc_load_lax(&snapshot->doc, path, err) &&
           finish(snapshot, play_all(snapshot, changes, count, err));
}

bool snapshot_parse(struct snapshot *snapshot, const char *path, const char *text, size_t length,
                    const char *const *changes, size_t count, struct error *err)
{
    *snapshot = (struct snapshot){.path = path};
    return doc_parse_lax(&snapshot->doc, DOC_JSON, path, text, length, err) &&
           finish(snapshot, play_all(snapshot, changes, count, err));
}

void snapshot_release(struct snapshot *snapshot)
{
    free(snapshot->devices);
    doc_release(&snapshot->doc);
    *snapshot = (struct snapshot){0};
}
