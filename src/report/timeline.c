#include "report/timeline.h"

#include "core/features.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/stop.h"
#include "core/vector.h"
#include "figure/gantt.h"
#include "report/html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef REHEARSE_HAVE_ZLIB
#include <zlib.h>
#endif

#define MAX_NAMED  8  /* other names of a lane */
#define MAX_TABLED 24 /* lanes in the table */

/* A task; of a lane with memory a step to `end` bytes, at `begin`. */
struct task {
    double begin, end;
    int32_t kind, label;
};

#define MEMORY (-1) /* instead of a stream */

struct lane {
    int device, stream;
    struct task *tasks;
    size_t count, capacity;
    bool unsorted;
};

struct kind {
    enum timeline_kind kind;
    int chunk; /* from 0; -1: none */
    const char *name;
};

struct report_timeline {
    struct report_timeline_options options;
    struct arena arena; /* names of kinds */
    struct lane *lanes;
    size_t lane_count, lane_capacity;
    struct kind *kinds;
    size_t kind_count, kind_capacity;
    struct hash_map lane_of, kind_of; /* numbers from 1: by device and stream, by a hash of all of the kind */
    int64_t tasks, points, missing, hidden;
    double end, tick, quantum; /* from here on while it is written */
    struct hash_map duration_of;
    int64_t *durations;
    size_t duration_count, duration_capacity;
};

struct report_timeline *report_timeline_new(const struct report_timeline_options *options, struct error *err)
{
    struct report_timeline *timeline = calloc(1, sizeof *timeline);
    if (timeline)
        timeline->options = *options;
    else
        error_memory(err);
    return timeline;
}

void report_timeline_free(struct report_timeline *timeline)
{
    if (!timeline)
        return;
    for (size_t i = 0; i < timeline->lane_count; i++)
        free(timeline->lanes[i].tasks);
    free(timeline->lanes);
    free(timeline->kinds);
    free(timeline->durations);
    hash_map_release(&timeline->lane_of);
    hash_map_release(&timeline->kind_of);
    hash_map_release(&timeline->duration_of);
    arena_release(&timeline->arena);
    free(timeline);
}

/* ---- what comes ---- */

/* Of tasks that begin together the longer one first, as calls nest. */
static int compare_tasks(const void *a, const void *b)
{
    const struct task *one = a, *other = b;
    if (one->begin != other->begin)
        return one->begin < other->begin ? -1 : 1;
    return (one->end < other->end) - (one->end > other->end);
}

static bool add_task(struct report_timeline *timeline, int device, int stream, const struct task *task)
{
    int64_t *place =
        hash_map_place(&timeline->lane_of, (uint64_t)(uint32_t)device << 32 | (uint32_t)(stream + 2));
    const struct lane new = {.device = device, .stream = stream};
    if (!place ||
        (*place == 0 && !VECTOR_ADD(timeline->lanes, timeline->lane_count, timeline->lane_capacity, new)))
        return false;
    *place = *place ? *place : (int64_t)timeline->lane_count;
    struct lane *lane = &timeline->lanes[*place - 1];
    lane->unsorted |= lane->count > 0 && compare_tasks(&lane->tasks[lane->count - 1], task) > 0;
    return VECTOR_ADD(lane->tasks, lane->count, lane->capacity, *task);
}

/* Returns the index of a kind; -1: no memory. */
static int32_t kind_of(struct report_timeline *timeline, const struct timeline_task *task)
{
    int depth = timeline->options.depth;
    bool computes = timeline->options.recorded && task->kind == TASK_OTHER; /* a kernel */
    struct kind kind = {computes ? TASK_FORWARD : task->kind,
                        depth > 0 && task->stage >= 0 ? task->stage / depth : -1,
                        task->name ? task->name : timeline_kind_names[task->kind]};
    const int numbers[2] = {(int)kind.kind, kind.chunk};
    uint64_t hash = hash_bytes(hash_bytes(0, numbers, sizeof numbers), kind.name, strlen(kind.name));
    int64_t *place = hash_map_place(&timeline->kind_of, hash | 1);
    if (!place)
        return -1;
    if (*place == 0) {
        kind.name = arena_string(&timeline->arena, kind.name);
        if (!kind.name || !VECTOR_ADD(timeline->kinds, timeline->kind_count, timeline->kind_capacity, kind))
            return -1;
        *place = (int64_t)timeline->kind_count;
    }
    return (int32_t)(*place - 1);
}

static bool take_task(void *context, const struct timeline_task *task, struct error *err)
{
    struct report_timeline *timeline = context;
    if (!(task->begin >= 0 && task->begin <= task->end && isfinite(task->end)))
        return error_set(err, ERROR_INPUT, "a task that lasts from %g s to %g s cannot be drawn", task->begin,
                         task->end);
    if (timeline->tasks == (timeline->options.most > 0 ? timeline->options.most : REPORT_MAX_TASKS)) {
        timeline->missing++;
        return true;
    }
    if (stop_obeyed_at((size_t)timeline->tasks, err))
        return false;
    bool numbered = task->microbatch >= 0 && task->microbatch < INT32_MAX;
    const struct task kept = {task->begin, task->end, kind_of(timeline, task),
                              numbered ? (int32_t)task->microbatch : -1};
    timeline->tasks++;
    timeline->end = fmax(timeline->end, task->end);
    return (kept.kind >= 0 && add_task(timeline, task->device, task->stream, &kept)) || error_memory(err);
}

static bool take_memory(void *context, const struct timeline_memory *memory, struct error *err)
{
    struct report_timeline *timeline = context;
    const struct task step = {.begin = fmax(0, memory->time),
                              .end = memory->parameters + memory->gradients + memory->optimizer +
                                     memory->activations + memory->working};
    if (timeline->points == REPORT_MAX_TASKS || !isfinite(step.begin) || !isfinite(step.end))
        return true;
    timeline->points++;
    return add_task(timeline, memory->device, MEMORY, &step) || error_memory(err);
}

struct timeline_sink report_timeline_sink(struct report_timeline *timeline)
{
    return (struct timeline_sink){.context = timeline, .task = take_task, .memory = take_memory};
}

/* ---- order and ticks ---- */

static int compare_lanes(const void *a, const void *b)
{
    const struct lane *one = a, *other = b;
    if (one->device != other->device)
        return one->device < other->device ? -1 : 1;
    return (one->stream > other->stream) - (one->stream < other->stream);
}

static int64_t ticks(const struct report_timeline *timeline, double time)
{
    return llround(time / timeline->tick);
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void sort_lanes(struct report_timeline *timeline)
{
    if (timeline->lane_count > 0)
        qsort(timeline->lanes, timeline->lane_count, sizeof *timeline->lanes, compare_lanes);
    hash_map_release(&timeline->lane_of); /* of another order */
    timeline->lane_of = (struct hash_map){.places = NULL};
    for (size_t l = 0; l < timeline->lane_count; l++)
        if (timeline->lanes[l].unsorted && timeline->lanes[l].stream != MEMORY) /* steps come in order */
            qsort(timeline->lanes[l].tasks, timeline->lanes[l].count, sizeof(struct task), compare_tasks);
}

static void find_tick(struct report_timeline *timeline)
{
    int64_t common = 0;
    timeline->tick = 1e-9;
    while (timeline->end / timeline->tick > 1e15)
        timeline->tick *= 1000;
    while (timeline->end > 1e-300 && timeline->end / timeline->tick < 1e6)
        timeline->tick /= 1000;
    for (size_t l = 0; l < timeline->lane_count; l++)
        for (size_t i = 0; i < timeline->lanes[l].count && timeline->lanes[l].stream != MEMORY; i++) {
            common = common_divisor(ticks(timeline, timeline->lanes[l].tasks[i].begin), common);
            common = common_divisor(ticks(timeline, timeline->lanes[l].tasks[i].end), common);
        }
    timeline->tick *= common > 1 ? (double)common : 1;
}

/* ---- lanes as bytes ---- */

static void add_varint(struct text *out, uint64_t value)
{
    char bytes[10];
    size_t length = 0;
    for (; value > 127; value >>= 7)
        bytes[length++] = (char)(value | 128);
    bytes[length++] = (char)value;
    text_add_bytes(out, bytes, length);
}

static void add_signed(struct text *out, int64_t value)
{
    add_varint(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* One of the lanes into which a stream's tasks are put. */
struct track {
    struct text bytes;
    int64_t end, label;
    size_t count;
};

/* Adds the index of a duration; false: no memory. */
static bool add_duration(struct report_timeline *timeline, int64_t duration, struct text *out)
{
    int64_t *place = hash_map_place(&timeline->duration_of, (uint64_t)duration + 1);
    if (!place || (*place == 0 && !VECTOR_ADD(timeline->durations, timeline->duration_count,
                                              timeline->duration_capacity, duration)))
        return false;
    *place = *place ? *place : (int64_t)timeline->duration_count;
    add_varint(out, (uint64_t)(*place - 1));
    return true;
}

/* Puts each task into the first track that is free. */
static bool encode_tasks(struct report_timeline *timeline, const struct lane *lane,
                         struct track tracks[REPORT_MAX_BESIDE], struct error *err)
{
    for (size_t i = 0; i < lane->count; i++) {
        const struct task *task = &lane->tasks[i];
        int64_t begin = ticks(timeline, task->begin), end = ticks(timeline, task->end);
        struct track *track = tracks;
        while (track < tracks + REPORT_MAX_BESIDE && track->end > begin)
            track++;
        if (track == tracks + REPORT_MAX_BESIDE) {
            timeline->hidden++;
            continue;
        }
        add_varint(&track->bytes, (uint64_t)(begin - track->end));
        if (stop_obeyed_at(i, err))
            return false;
        if (!add_duration(timeline, end - begin, &track->bytes))
            return error_memory(err);
        add_varint(&track->bytes, (uint64_t)task->kind);
        add_signed(&track->bytes, task->label - track->label);
        track->end = end;
        track->label = task->label;
        track->count++;
    }
    return true;
}

static void encode_memory(const struct report_timeline *timeline, const struct lane *lane, struct text *bytes)
{
    int64_t time = 0, amount = 0;
    for (size_t i = 0; i < lane->count; i++) {
        int64_t now = ticks(timeline, lane->tasks[i].begin),
                next = llround(lane->tasks[i].end / timeline->quantum);
        if (next == amount || now < time)
            continue;
        add_varint(bytes, (uint64_t)(now - time));
        add_signed(bytes, next - amount);
        time = now;
        amount = next;
    }
}

/* Adds a member with these bytes in base64, packed where that is possible. */
static void add_packed(struct text *out, const char *key, const struct text *bytes)
{
    text_format(out, ",\"%s\":\"", key);
#ifdef REHEARSE_HAVE_ZLIB
    uLongf length = compressBound(bytes->length);
    unsigned char *packed = malloc(length);
    const char *data = bytes->data ? bytes->data : "";
    if (packed && compress2(packed, &length, (const Bytef *)data, bytes->length, 6) == Z_OK)
        html_base64(out, packed, length);
    else
        out->failed = true;
    free(packed);
#else
    html_base64(out, (const unsigned char *)bytes->data, bytes->length);
#endif
    text_add(out, "\"");
    out->failed |= bytes->failed;
}

/* ---- lanes as JSON ---- */

/* A device with its lanes, or one stream of a recording; those that are alike are one. */
struct unit {
    struct report_lane head;
    struct text body; /* what follows the names and the number of copies */
    struct text also; /* names of the others */
    int others;
};

struct units {
    struct unit *items;
    size_t count, capacity;
    struct hash_map of_body; /* number from 1, by a hash of the body */
};

static void release_units(struct units *units)
{
    for (size_t i = 0; i < units->count; i++) {
        text_release(&units->items[i].body);
        text_release(&units->items[i].also);
    }
    free(units->items);
    hash_map_release(&units->of_body);
}

static void name_unit(const struct report_timeline *timeline, const struct lane *lane,
                      struct report_lane *head)
{
    *head = (struct report_lane){.copies = 1};
    snprintf(head->name, sizeof head->name, "device %d", lane->device);
    if (timeline->options.name)
        timeline->options.name(timeline->options.context, lane->device, head);
    if (!timeline->options.recorded || head->group[0])
        return;
    snprintf(head->group, sizeof head->group, "%.*s", (int)sizeof head->group - 1, head->name);
    snprintf(head->name, sizeof head->name, "stream %d", lane->stream);
}

/* Adds the lanes of a stream; the first one of a unit continues its map, the others are maps of their own. */
static bool add_stream(struct report_timeline *timeline, const struct lane *lane, bool first,
                       struct text *body, struct error *err)
{
    struct track tracks[REPORT_MAX_BESIDE] = {{.count = 0}};
    bool ok = encode_tasks(timeline, lane, tracks, err), named = lane->stream < STREAM_KINDS;
    for (int i = 0; i < REPORT_MAX_BESIDE && tracks[i].count > 0; i++) {
        if (!first || i > 0)
            text_format(body, "},\n{\"under\":true,\"name\":\"%s\"",
                        timeline->options.recorded || !named ? "beside"
                                                             : timeline_stream_names[lane->stream]);
        text_format(body, ",\"count\":%zu", tracks[i].count);
        add_packed(body, "tasks", &tracks[i].bytes);
        text_release(&tracks[i].bytes);
    }
    return ok;
}

static bool is_alike(const struct unit *one, const struct unit *other)
{
    return one->body.length == other->body.length &&
           memcmp(one->body.data, other->body.data, one->body.length) == 0;
}

/* Keeps a unit, or counts it among the copies of one that does the same; what is apart stays in its own group. */
static bool keep_unit(struct units *units, struct unit *unit, bool apart, struct error *err)
{
    int64_t *place = hash_map_place(&units->of_body, hash_bytes(0, unit->body.data, unit->body.length) | 1);
    if (!place || unit->body.failed)
        return error_memory(err);
    if (*place > 0) {
        struct unit *same = &units->items[*place - 1];
        if (is_alike(same, unit) && (!apart || strcmp(same->head.group, unit->head.group) == 0)) {
            same->head.copies += unit->head.copies;
            if (same->others++ < MAX_NAMED)
                text_format(&same->also, "%s%s%s%s", same->others > 1 ? ", " : "", unit->head.group,
                            unit->head.group[0] ? " " : "", unit->head.name);
            text_release(&unit->body);
            return true;
        }
    }
    *place = (int64_t)units->count + 1;
    return VECTOR_ADD(units->items, units->count, units->capacity, *unit) || error_memory(err);
}

/* Makes a unit of the lanes from *at on, and moves *at behind them. */
static bool add_unit(struct report_timeline *timeline, size_t *at, struct units *units, struct error *err)
{
    struct unit unit = {.others = 0};
    const struct lane *lanes = timeline->lanes,
                      *memory = lanes[*at].stream == MEMORY ? &lanes[(*at)++] : NULL;
    size_t first = *at;
    while (*at < timeline->lane_count && lanes[*at].stream != MEMORY &&
           (*at == first || (lanes[*at].device == lanes[first].device && !timeline->options.recorded)))
        (*at)++;
    if (*at == first)
        return true;
    name_unit(timeline, &lanes[first], &unit.head);
    if (unit.head.limit > 0)
        text_format(&unit.body, ",\"limit\":%.17g", unit.head.limit);
    if (memory) {
        struct text bytes = {0};
        encode_memory(timeline, memory, &bytes);
        add_packed(&unit.body, "memory", &bytes);
        text_release(&bytes);
    }
    bool ok = true;
    for (size_t i = first; i < *at && ok; i++)
        ok = add_stream(timeline, &lanes[i], i == first, &unit.body, err);
    ok = ok && keep_unit(units, &unit, timeline->options.recorded || timeline->options.apart, err);
    if (!ok)
        text_release(&unit.body);
    return ok;
}

/* Adds a member whose text is from outside. */
static void add_string(struct text *out, const char *key, const char *value)
{
    struct json json = {.out = out};
    text_format(out, ",\"%s\":", key);
    json_string(&json, NULL, value);
}

static void add_lanes(const struct units *units, struct text *out)
{
    text_add(out, ",\n\"lanes\":[");
    for (size_t i = 0; i < units->count; i++) {
        const struct unit *unit = &units->items[i];
        text_format(out, "%s{\"copies\":%lld", i > 0 ? ",\n" : "\n", (long long)unit->head.copies);
        add_string(out, "name", unit->head.name);
        add_string(out, "group", unit->head.group);
        add_string(out, "also", text_within(&unit->also, out));
        text_add_bytes(out, unit->body.data, unit->body.length);
        text_add(out, "}");
    }
    text_add(out, "]}\n");
}

static void add_head(const struct report_timeline *timeline, struct text *out)
{
    const struct report_timeline_options *options = &timeline->options;
    struct json json = {.out = out};
    text_format(out, "{\"unit\":\"s\",\"end\":%.17g,\"tick\":%.17g,\"missing\":%lld,\"hidden\":%lld",
                timeline->end, timeline->tick, (long long)timeline->missing, (long long)timeline->hidden);
#ifdef REHEARSE_HAVE_ZLIB
    text_add(out, ",\"packed\":\"deflate\"");
#endif
    if (options->label)
        add_string(out, "label", options->label);
    text_add(out, ",\n\"labels\":");
    json_open_flat(&json, NULL, '[');
    for (int64_t i = 0; options->labels && i < options->label_count; i++)
        json_string(&json, NULL, options->labels[i]);
    json_close(&json);
    if (timeline->points > 0) {
        text_format(out, ",\"memory\":{\"quantum\":%.17g", timeline->quantum);
        add_string(out, "title", options->memory_title);
        add_string(out, "unit", options->memory_unit);
        text_add(out, "}");
    }
    for (size_t i = 0; i < timeline->duration_count; i++)
        text_format(out, i > 0 ? ",%lld" : ",\n\"durations\":[%lld", (long long)timeline->durations[i]);
    text_add(out, timeline->duration_count > 0 ? "],\n\"kinds\":[" : ",\"durations\":[],\n\"kinds\":[");
    for (size_t i = 0; i < timeline->kind_count; i++) {
        const struct kind *kind = &timeline->kinds[i];
        const char *own = options->kind_names ? options->kind_names[kind->kind] : NULL;
        text_format(out, "%s{\"colour\":%d,\"chunk\":%d", i > 0 ? "," : "", gantt_looks[kind->kind].colour,
                    kind->chunk);
        add_string(out, "name", kind->name);
        add_string(out, "legend", own ? own : gantt_looks[kind->kind].title);
        text_add(out, "}");
    }
    text_add(out, "]");
}

bool report_timeline_write(struct report_timeline *timeline, struct text *out, struct error *err)
{
    const char *unit = timeline->options.memory_unit;
    struct units units = {.count = 0};
    bool ok = true;
    timeline->quantum = !unit || strcmp(unit, "B") == 0 ? 1 : 1e-6;
    timeline->hidden = 0;
    sort_lanes(timeline);
    find_tick(timeline);
    for (size_t at = 0; at < timeline->lane_count && ok;)
        ok = add_unit(timeline, &at, &units, err);
    if (ok) {
        add_head(timeline, out);
        add_lanes(&units, out);
    }
    release_units(&units);
    return ok && (!out->failed || error_memory(err));
}

/* Adds what each device does in its first stream. */
static void add_table(const struct report_timeline *timeline, struct text *out)
{
    static const char *const titles[] = {"<lane", ">tasks", ">busy", ">of the time", NULL};
    int64_t lanes = 0;
    text_add(out, "<details><summary>Lanes as a table</summary>\n");
    html_table(out, NULL, titles);
    for (size_t l = 0; l < timeline->lane_count; l++) {
        const struct lane *lane = &timeline->lanes[l];
        struct report_lane head;
        double busy = 0;
        if (lane->stream == MEMORY || (lane->stream != STREAM_COMPUTE && !timeline->options.recorded) ||
            lanes++ >= MAX_TABLED)
            continue;
        for (size_t i = 0; i < lane->count; i++)
            busy += lane->tasks[i].end - lane->tasks[i].begin;
        name_unit(timeline, lane, &head);
        HTML_ROW(out, cell_head(head.name), cell_number(HTML_COUNT, (double)lane->count),
                 cell_number(HTML_TIME, busy), cell_number(HTML_SHARE, busy / timeline->end));
    }
    html_table_end(out);
    report_more(out, lanes, MAX_TABLED, "lanes");
    text_add(out, "</details>\n");
}

bool report_timeline_draw(struct report_timeline *timeline, const char *caption,
                          struct report_drawing *drawing, struct error *err)
{
    drawing->draw = "timeline";
    drawing->caption = caption;
    if (!report_timeline_write(timeline, &drawing->json, err))
        return false;
    add_table(timeline, &drawing->table);
    return !drawing->table.failed || error_memory(err);
}
