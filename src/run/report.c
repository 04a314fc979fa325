#include "run/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a rank says; its iterations' ends follow, and then for each device its tasks, if they are kept. */
struct words {
    int first, devices, iterations;
    double end, processor, planned, drift;
    struct worker_seconds kernels;
    struct run_counts counts;
    int64_t memory, buffers;
    struct histogram late;
};

struct story {
    const struct player *player; /* rank 0's */
    struct run_result *result;
    struct histogram late;
    struct player_record **records; /* of each device, if they are kept */
    int64_t *record_counts;
    bool keeps;
};

/* ---- out ---- */

static int64_t bytes_beside(const struct player *player)
{
    int64_t most = 0;
    for (int d = 0; d < player->count; d++) {
        const struct player_device *device = &player->devices[d];
        int64_t bytes = (int64_t)(sizeof *device + device->record_capacity * sizeof *device->records);
        bytes += (int64_t)(device->order->places[device->order->count].base * sizeof *device->events);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void add_counts(struct run_counts *sum, const struct run_counts *part)
{
    int64_t *sums = (int64_t *)sum;
    for (size_t i = 0; i < sizeof *sum / sizeof *sums; i++)
        sums[i] += ((const int64_t *)part)[i];
}

static bool append(struct text *text, const void *bytes, size_t length, struct error *err)
{
    text_add_bytes(text, bytes, length);
    return !text->failed || error_memory(err);
}

static bool write_words(const struct player *player, double processor, struct text *text, struct error *err)
{
    int iterations = player->tasks->iterations;
    struct words *words = calloc(1, sizeof *words);
    double *ends = calloc((size_t)iterations + 1, sizeof *ends);
    bool ok = words && ends;
    if (!ok)
        error_memory(err);
    for (int d = 0; ok && d < player->count; d++) {
        const struct player_device *device = &player->devices[d];
        words->end = fmax(words->end, device->end);
        words->counts.tasks += device->task_count;
        words->counts.messages += device->sent;
        words->counts.bytes += device->sent_bytes;
        words->counts.kept += device->kept;
        for (int i = 0; i < device->iterations; i++)
            ends[i] = fmax(ends[i], device->iteration_ends[i] * (1.0 + player->drift));
    }
    if (ok) {
        words->first = player->first;
        words->devices = player->count;
        words->iterations = iterations;
        words->processor = processor;
        words->drift = player->drift;
        words->planned = player->computed;
        if (player->compute)
            words->kernels = compute_seconds(player->compute);
        if (player->disk)
            add_counts(&words->counts, disk_counts(player->disk));
        words->counts.collectives_checked = player->checked;
        words->counts.wire_bytes = player->wire->sent_bytes;
        words->counts.copied_bytes = player->copied_bytes;
        words->memory = bytes_beside(player);
        words->buffers = player->pool.peak;
        words->late = player->late;
        ok = append(text, words, sizeof *words, err) &&
             append(text, ends, (size_t)iterations * sizeof *ends, err);
    }
    for (int d = 0; ok && player->options.keep && d < player->count; d++) {
        const struct player_device *device = &player->devices[d];
        for (int64_t i = 0; i < device->task_count; i++) {
            device->records[i].begin *= 1.0 + player->drift;
            device->records[i].end *= 1.0 + player->drift;
        }
        ok = append(text, &device->task_count, sizeof device->task_count, err) &&
             append(text, device->records, (size_t)device->task_count * sizeof *device->records, err);
    }
    free(words);
    free(ends);
    return ok;
}

/* ---- in ---- */

static bool read_part(void *to, size_t length, const char **at, const char *end)
{
    if ((size_t)(end - *at) < length)
        return false;
    memcpy(to, *at, length);
    *at += length;
    return true;
}

static bool is_incomplete(int rank, struct error *err)
{
    return error_set(err, ERROR_FAILED, "the results of rank %d are incomplete", rank);
}

static bool read_tasks(struct story *story, int rank, const struct words *words, const char **at,
                       const char *end, struct error *err)
{
    for (int d = words->first; d < words->first + words->devices; d++) {
        int64_t count;
        if (d >= story->player->system->device_count || !read_part(&count, sizeof count, at, end) ||
            count < 0 || count > (end - *at) / (int64_t)sizeof(struct player_record))
            return is_incomplete(rank, err);
        size_t length = (size_t)count * sizeof(struct player_record);
        story->records[d] = malloc(length + 1);
        if (!story->records[d])
            return error_memory(err);
        if (!read_part(story->records[d], length, at, end))
            return is_incomplete(rank, err);
        story->record_counts[d] = count;
    }
    return true;
}

static bool read_words(void *context, int rank, const void *bytes, size_t length, struct error *err)
{
    struct story *story = context;
    struct run_result *result = story->result;
    const char *at = bytes, *end = at + length;
    struct words *words = malloc(sizeof *words);
    if (!words)
        return error_memory(err);
    bool ok = read_part(words, sizeof *words, &at, end) && words->iterations == result->iterations;
    for (int i = 0; ok && i < words->iterations; i++) {
        double iteration_end;
        ok = read_part(&iteration_end, sizeof iteration_end, &at, end);
        if (ok)
            result->ends[1][i] = fmax(result->ends[1][i], iteration_end);
    }
    if (ok) {
        result->wall = fmax(result->wall, words->end);
        result->processor += words->processor;
        add_counts(&result->counts, &words->counts);
        result->clock_drift = fmax(result->clock_drift, fabs(words->drift));
        result->kernels_planned += words->planned;
        result->kernels_wall += words->kernels.wall;
        result->kernels_processor += words->kernels.processor;
        result->memory = words->memory > result->memory ? words->memory : result->memory;
        result->buffers = words->buffers > result->buffers ? words->buffers : result->buffers;
        histogram_merge(&story->late, &words->late);
        ok = !story->keeps || read_tasks(story, rank, words, &at, end, err);
    } else {
        is_incomplete(rank, err);
    }
    free(words);
    return ok;
}

/* ---- the timeline ---- */

struct place {
    double begin;
    int32_t device;
    uint32_t record;
};

static int by_begin(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->device != y->device ? (x->device > y->device) - (x->device < y->device)
                                  : (x->record > y->record) - (x->record < y->record);
}

static bool tell_task(const struct story *story, const struct place *place, int64_t id, int64_t *const *ids,
                      const struct timeline_sink *sink, struct error *err)
{
    const struct engine_system *system = story->player->system;
    const struct player_record *record = &story->records[place->device][place->record];
    const struct step *step = &story->player->compiled.steps[record->step];
    const struct engine_pass *pass =
        &system->orders[system->devices[place->device].order].passes[record->pass];
    const struct engine_label *label = &system->labels[step->label];
    int64_t cause = -1, from = record->cause >> 32;
    if (record->cause >= 0 && from < system->device_count &&
        (record->cause & UINT32_MAX) < story->record_counts[from])
        cause = ids[from][record->cause & UINT32_MAX];
    const struct timeline_task task = {
        .id = id,
        .cause = cause < id ? cause : -1,
        .device = place->device,
        .stream = step->task->stream,
        .kind = label->kind,
        .stage = system->templates[pass->template].stage[step->second],
        .layer = step->task->layer,
        .microbatch = pass->microbatch[step->second],
        .begin = fmax(0.0, record->begin),
        .end = fmax(0.0, record->end),
        .bytes = label->kind == TASK_LOAD ? step->task->bytes /* as many whatever the share */
                                          : (double)player_bytes(story->player, step->task->bytes),
        .name = label->name,
    };
    ids[place->device][place->record] = id;
    return sink->task(sink->context, &task, err);
}

struct swing {
    double time, bytes;
};

static int by_time(const void *a, const void *b)
{
    const struct swing *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

/* Tells the activations of a device as they came and went. */
static bool tell_memory(const struct story *story, int d, const struct timeline_sink *sink, struct error *err)
{
    const struct engine_device *device = &story->player->system->devices[d];
    struct swing *swings = calloc(2 * (size_t)story->record_counts[d] + 1, sizeof *swings);
    size_t count = 0;
    if (!swings)
        return error_memory(err);
    for (int64_t i = 0; i < story->record_counts[d]; i++) {
        const struct player_record *record = &story->records[d][i];
        const struct engine_task *task = story->player->compiled.steps[record->step].task;
        for (int k = 0; k < task->change_count && k < 2; k++)
            if (task->changes[k].memory == MEMORY_ACTIVATIONS)
                swings[count++] = (struct swing){task->changes[k].at_end ? record->end : record->begin,
                                                 (double)task->changes[k].bytes};
    }
    qsort(swings, count, sizeof *swings, by_time);
    struct timeline_memory memory = {.device = d,
                                     .parameters = (double)device->memory[MEMORY_PARAMETERS],
                                     .gradients = (double)device->memory[MEMORY_GRADIENTS],
                                     .optimizer = (double)device->memory[MEMORY_OPTIMIZER]};
    bool ok = sink->memory(sink->context, &memory, err);
    for (size_t i = 0; ok && i < count; i++) {
        memory.time = fmax(0.0, swings[i].time);
        memory.activations += swings[i].bytes;
        if (i + 1 == count || swings[i + 1].time > swings[i].time)
            ok = sink->memory(sink->context, &memory, err) && talk_work(story->player->talk, err);
    }
    free(swings);
    return ok;
}

static bool tell_all(const struct story *story, const struct timeline_sink *sink, struct error *err)
{
    int devices = story->player->system->device_count;
    size_t all = 0, at = 0;
    for (int d = 0; d < devices; d++)
        all += (size_t)story->record_counts[d];
    struct place *places = malloc((all + 1) * sizeof *places);
    int64_t **ids = calloc((size_t)devices + 1, sizeof *ids);
    bool ok = places && ids;
    for (int d = 0; ok && d < devices; d++) {
        ids[d] = malloc(((size_t)story->record_counts[d] + 1) * sizeof **ids);
        ok = ids[d] != NULL;
        for (int64_t i = 0; ok && i < story->record_counts[d]; i++) {
            ids[d][i] = INT64_MAX;
            places[at++] = (struct place){story->records[d][i].begin, d, (uint32_t)i};
        }
    }
    if (!ok)
        error_memory(err);
    else
        qsort(places, all, sizeof *places, by_begin);
    for (size_t i = 0; ok && i < all && sink->task; i++)
        ok = tell_task(story, &places[i], (int64_t)i, ids, sink, err) && talk_work(story->player->talk, err);
    for (int d = 0; ok && sink->memory && d < devices; d++)
        ok = tell_memory(story, d, sink, err);
    for (int d = 0; ids && d < devices; d++)
        free(ids[d]);
    free(ids);
    free(places);
    return ok;
}

/* ---- all of it ---- */

static void set_lateness(struct run_result *result, const struct histogram *late)
{
    result->late_median = histogram_quantile(late, 0.5) * 1e-9;
    result->late_p99 = histogram_quantile(late, 0.99) * 1e-9;
    result->late_max = late->count > 0 ? (double)late->max * 1e-9 : 0.0;
}

bool report_gather(struct player *player, double processor, const struct timeline_sink *sink,
                   struct run_result *result, struct error *err)
{
    struct text text = {0};
    struct story *story = calloc(1, sizeof *story);
    size_t devices = (size_t)player->system->device_count;
    if (!story)
        return error_memory(err);
    story->player = player;
    story->result = result;
    story->keeps = player->options.keep;
    story->records = calloc(devices + 1, sizeof *story->records);
    story->record_counts = calloc(devices + 1, sizeof *story->record_counts);
    bool ok = story->records && story->record_counts ? write_words(player, processor, &text, err)
                                                     : error_memory(err);
    if (ok && (int64_t)text.length > WIRE_MAX_BYTES)
        ok = error_set(err, ERROR_FAILED, "rank %d has done too many tasks for a timeline",
                       player->wire->rank);
    ok = ok && talk_gather(player->talk, text.data, text.length, read_words, story, err);
    if (ok && player->wire->rank == 0) {
        set_lateness(result, &story->late);
        ok = !sink || tell_all(story, sink, err);
    }
    for (size_t d = 0; story->records && d < devices; d++)
        free(story->records[d]);
    free(story->records);
    free(story->record_counts);
    free(story);
    text_release(&text);
    return ok;
}
