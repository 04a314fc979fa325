#include "run/player.h"
#include "core/clock.h"
#include "core/stop.h"
#include "core/vector.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_WAIT 0.02 /* seconds of one wait for messages */

/* ---- buffers ---- */

void *pool_take(struct player_pool *pool, int64_t size, struct error *err)
{
    size_t best = pool->count;
    for (size_t i = 0; i < pool->count; i++)
        if (pool->free_ones[i].size >= size &&
            (best == pool->count || pool->free_ones[i].size <= pool->free_ones[best].size))
            best = i;
    void *bytes;
    if (best < pool->count && pool->free_ones[best].size <= 2 * size + 4096) {
        bytes = pool->free_ones[best].bytes;
        pool->free_ones[best] = pool->free_ones[--pool->count];
    } else {
        int64_t *made = malloc(16 + (size_t)size); /* its size stands before it */
        if (!made)
            return error_memory_null(err);
        *made = size;
        bytes = made + 2;
        pool->total += size;
        if (pool->total > pool->peak)
            pool->peak = pool->total;
    }
    return bytes;
}

static int64_t size_of(const void *bytes)
{
    return ((const int64_t *)bytes)[-2];
}

void pool_give(struct player_pool *pool, void *bytes)
{
    if (!bytes)
        return;
    const struct pool_buffer buffer = {bytes, size_of(bytes)};
    if (!VECTOR_ADD(pool->free_ones, pool->count, pool->capacity, buffer)) {
        pool->total -= buffer.size;
        free((int64_t *)bytes - 2);
    }
}

static void pool_release(struct player_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        free((int64_t *)pool->free_ones[i].bytes - 2);
    free(pool->free_ones);
    *pool = (struct player_pool){.count = 0};
}

/* ---- time, and what a stream is at ---- */

double player_now(const struct player *player)
{
    return clock_now() - player->start;
}

int64_t player_bytes(const struct player *player, double bytes)
{
    return player_share_of(bytes, player->options.byte_share);
}

int64_t player_share_of(double bytes, double share)
{
    double moved = bytes * share;
    return moved > 0.0 ? ((int64_t)ceil(moved) + 7) / 8 * 8 : 0;
}

const struct step *player_step(const struct player *player, const struct player_stream *stream)
{
    return &player->compiled.steps[stream->step];
}

uint32_t player_microbatch(const struct player_device *device, const struct player_stream *stream,
                           const struct step *step)
{
    return device->order->passes[stream->pass].microbatch[step->second];
}

static void player_what(const struct player *player, const struct player_device *device,
                        const struct player_stream *stream, char *text, size_t size)
{
    const struct step *step = player_step(player, stream);
    snprintf(text, size, "device %d, pass %u (micro-batch %u), task %d: %s", device->number, stream->pass,
             player_microbatch(device, stream, step), step->place, player->system->labels[step->label].name);
}

/* ---- kernels that others slow ---- */

void player_share(struct player_device *device, double time, double change)
{
    struct player_stream *kernel = &device->streams[0];
    double speed = fmax(1.0 / 64, 1.0 - device->share);
    if (kernel->state == STREAM_TIMED && kernel->work > 0.0) {
        kernel->work = fmax(0.0, kernel->work - fmax(0.0, time - kernel->since) * speed);
        kernel->since = fmax(kernel->since, time);
    }
    device->share = fmax(0.0, device->share + change);
    speed = fmax(1.0 / 64, 1.0 - device->share);
    if (kernel->state == STREAM_TIMED && kernel->work > 0.0)
        kernel->end = kernel->since + kernel->work / speed;
}

/* ---- the end of a task ---- */

static bool note(struct player *player, struct player_device *device, const struct player_stream *stream)
{
    if (!player->options.keep)
        return true;
    size_t place = (size_t)(stream->number & UINT32_MAX);
    if (!VECTOR_ROOM(device->records, device->record_capacity, place + 1))
        return false;
    device->records[place] =
        (struct player_record){stream->begin, stream->end, stream->cause, stream->pass, stream->step};
    return true;
}

/* As in the engine, memory is a function of time: what is taken and freed at one moment was never there. */
static void change_memory(struct player_device *device, const struct engine_task *task, bool at_end,
                          double time)
{
    if (time > device->moment) {
        device->peak = device->activations > device->peak ? device->activations : device->peak;
        device->moment = time;
    }
    for (int i = 0; i < task->change_count; i++) {
        const struct engine_change *change = &task->changes[i];
        if (change->at_end != at_end || change->memory != MEMORY_ACTIVATIONS)
            continue;
        device->activations += change->bytes;
        device->kept += change->bytes > 0;
        device->freed += change->bytes < 0;
    }
}

static bool finish(struct player *player, struct player_device *device, unsigned s, double now,
                   struct error *err)
{
    struct player_stream *stream = &device->streams[s];
    const struct step *step = player_step(player, stream);
    if (step->flags & STEP_SHARE)
        player_share(device, stream->end, -stream->share);
    if (step->flags & STEP_CHANGES)
        change_memory(device, step->task, true, stream->end);
    histogram_add(&player->late, (int64_t)((now - stream->end) * 1e9));
    if (!note(player, device, stream))
        return error_memory(err);
    if (step->event >= 0)
        device->events[stream->base + (uint32_t)step->event] =
            (struct player_event){stream->end, stream->number};
    if (player->disk && device->number == 0 && sim_task_of_host(step->task) == SIM_HOST_SAVED &&
        !disk_complete(player->disk, err))
        return false;
    if (step->task->label == SIM_OPTIMIZER && device->iterations < player->tasks->iterations)
        device->iteration_ends[device->iterations++] = now;
    device->end = fmax(device->end, now);
    stream->clock = stream->end;
    stream->work = 0.0;
    stream->step++;
    stream->state = STREAM_READY;
    return true;
}

/* ---- the beginning of a task ---- */

static bool enter_pass(const struct player *player, struct player_device *device, unsigned s)
{
    struct player_stream *stream = &device->streams[s];
    while (++stream->pass < device->order->count) {
        const struct engine_pass *pass = &device->order->passes[stream->pass];
        const struct track *track = &player->compiled.templates[pass->template].tracks[s];
        if (track->first == track->last)
            continue;
        stream->step = track->first;
        stream->last = track->last;
        stream->base = device->order->places[device->order->has_marks ? stream->pass : 0].base;
        return true;
    }
    stream->state = STREAM_DONE;
    device->unfinished &= (uint8_t) ~(1u << s);
    return false;
}

static void message_release(struct player *player)
{
    for (int c = 0; player->channels && c < player->system->channel_count; c++) {
        for (size_t i = 0; i < player->channels[c].count; i++)
            pool_give(&player->pool, player->channels[c].messages[i].bytes);
        free(player->channels[c].messages);
    }
    pool_give(&player->pool, player->outgoing);
    free(player->channels);
    player->channels = NULL;
    player->outgoing = NULL;
}

static struct player_message *message_find(struct player *player, const struct player_device *device,
                                           const struct step *step, uint32_t microbatch)
{
    struct player_channel *channel = &player->channels[device->source->ports[step->task->receive - 1]];
    for (size_t i = 0; i < channel->count; i++)
        if (channel->messages[i].microbatch == microbatch)
            return &channel->messages[i];
    return NULL;
}

/* Returns whether all that the task waits for is there; its begin is then known. */
static bool is_ready(struct player *player, struct player_device *device, struct player_stream *stream,
                     const struct step *step, struct player_message **message)
{
    stream->begin = stream->clock;
    stream->cause = -1;
    for (unsigned i = 0; i < step->wait_count; i++) {
        uint32_t wait = step->waits[i];
        if (wait & WAIT_EARLIER) {
            wait =
                device->order->earlier[device->order->places[stream->pass].earlier + (wait & ~WAIT_EARLIER)];
            if (wait == WAIT_NOTHING)
                continue;
        } else {
            wait += stream->base << 1;
        }
        const struct player_event *event = &device->events[wait >> 1];
        if (event->end < 0.0)
            return false;
        if (event->end > stream->begin) {
            stream->begin = event->end;
            stream->cause = event->origin;
        }
    }
    if (step->task->receive == 0)
        return true;
    *message = message_find(player, device, step, player_microbatch(device, stream, step));
    if (!*message)
        return false;
    if ((*message)->comes > stream->begin) {
        stream->begin = (*message)->comes;
        stream->cause = (int64_t)(*message)->origin;
    }
    return true;
}

static double kernel_seconds(const struct player *player, const struct player_device *device,
                             const struct player_stream *stream, const struct step *step)
{
    double jitter = 1.0;
    if (player->system->jitter > 0.0)
        jitter = engine_jitter(player->system->seed, device->source->key, stream->pass, step->place,
                               player->system->jitter);
    return engine_slowed(device->source, stream->begin, step->seconds, jitter);
}

static bool begin_task(struct player *player, struct player_device *device, unsigned s, struct error *err)
{
    struct player_stream *stream = &device->streams[s];
    const struct step *step = player_step(player, stream);
    const struct engine_task *task = step->task;
    if (step->flags & STEP_CHANGES)
        change_memory(device, task, false, stream->begin);
    stream->share = task->share;
    stream->number = (int64_t)device->number << 32 | device->task_count++;
    if (task->group > 0)
        return collective_join(player, device, s, err);
    bool kernel = step->flags & STEP_KERNEL;
    uint32_t template = device->order->passes[stream->pass].template;
    if (kernel && player->compute && compute_has(player->compute, template, step->place)) {
        player->computed += step->seconds;
        compute_begin(player->compute, device->number - player->first, template, step->place);
        stream->state = STREAM_COMPUTES;
        return true;
    }
    if (player->disk && disk_has(player->disk, task)) {
        stream->state = STREAM_DISK;
        return disk_begin(player->disk, device->number - player->first, task,
                          player_bytes(player, task->bytes), err);
    }
    double seconds = kernel ? kernel_seconds(player, device, stream, step) : step->seconds;
    stream->state = STREAM_TIMED;
    stream->end = stream->begin + seconds;
    if (kernel && device->order->share_streams != 0) {
        stream->work = seconds;
        stream->since = stream->begin;
        player_share(device, stream->begin, 0.0);
    }
    if (step->flags & STEP_SHARE)
        player_share(device, stream->begin, task->share);
    if (!(step->flags & STEP_SENDS))
        return true;
    double from = task->send_at_begin ? stream->begin : stream->end;
    return message_send(player, device, s, from + task->delay, err);
}

/* Looks whether what a stream computes, reads or writes has ended; then it is timed. */
static bool look_after(struct player *player, const struct player_device *device,
                       struct player_stream *stream, struct error *err)
{
    int number = device->number - player->first;
    double end;
    if (stream->state == STREAM_COMPUTES) {
        const struct worker_job *job = compute_ended(player->compute, number);
        if (!job)
            return true;
        if (job->failed) {
            *err = job->error;
            return false;
        }
        stream->begin = fmax(stream->begin, job->begin - player->start); /* others may have been first */
        end = job->end;
    } else {
        bool failed;
        if (!disk_ended(player->disk, number, player_step(player, stream)->task, &end, &failed, err))
            return !failed;
    }
    stream->end = fmax(stream->begin, end - player->start);
    stream->state = STREAM_TIMED;
    return true;
}

/* ---- all of it ---- */

/* Does what a stream can do now; *next gets the earliest time at which it can do more. */
static bool run_stream(struct player *player, struct player_device *device, unsigned s, double *next,
                       struct error *err)
{
    struct player_stream *stream = &device->streams[s];
    for (;;) {
        double now =
            stream->state == STREAM_READY ? 0.0 : player_now(player); /* most streams are ready, and wait */
        struct player_message *message = NULL;
        switch ((enum stream_state)stream->state) {
        case STREAM_READY:
            if (stream->step == stream->last && !enter_pass(player, device, s))
                return true;
            if (!is_ready(player, device, stream, player_step(player, stream), &message))
                return true;
            if (message && !message_take(player, device, player_step(player, stream), message, err))
                return false;
            stream->state = STREAM_STARTING;
            break;
        case STREAM_STARTING:
            if (now < stream->begin) {
                *next = fmin(*next, stream->begin);
                return true;
            }
            if (!begin_task(player, device, s, err))
                return false;
            player->moved = true;
            break;
        case STREAM_COMPUTES:
        case STREAM_DISK:
            if (!look_after(player, device, stream, err))
                return false;
            if (stream->state != STREAM_TIMED) {
                *next = fmin(*next, now + (stream->state == STREAM_DISK ? DISK_LOOK : MAX_WAIT));
                return true;
            }
            break;
        case STREAM_TIMED:
            if (now < stream->end) {
                *next = fmin(*next, stream->end);
                return true;
            }
            if (stream->pending > 0) { /* the host's network is slower than the plan's */
                stream->late = true;
                return true;
            }
            if (stream->late)
                stream->end = now;
            stream->late = false;
            if (!finish(player, device, s, now, err))
                return false;
            player->moved = true;
            break;
        default:
            return true;
        }
    }
}

static bool run_devices(struct player *player, double *next, struct error *err)
{
    player->busy = false;
    do {
        player->moved = false;
        *next = INFINITY;
        for (int d = 0; d < player->count; d++) {
            struct player_device *device = &player->devices[d];
            for (unsigned left = device->unfinished, s = 0; left != 0; left >>= 1, s++)
                if ((left & 1) && !run_stream(player, device, s, next, err))
                    return false;
        }
        for (int g = 0; g < player->system->group_count; g++)
            if (player->groups[g].goes && !collective_advance(player, &player->groups[g], err))
                return false;
    } while (player->moved && !player->busy);
    return true;
}

static bool is_done(const struct player *player)
{
    for (int d = 0; d < player->count; d++)
        if (player->devices[d].unfinished)
            return false;
    return true;
}

/* What the first device that is not done waits for. */
static bool say_stuck(const struct player *player, double timeout, struct error *err)
{
    for (int d = 0; d < player->count; d++)
        for (unsigned s = 0; s < ENGINE_STREAMS; s++) {
            const struct player_device *device = &player->devices[d];
            const struct player_stream *stream = &device->streams[s];
            char what[160];
            if (!(device->unfinished >> s & 1) || stream->step == stream->last)
                continue;
            player_what(player, device, stream, what, sizeof what);
            return error_set(err, ERROR_FAILED, "rank %d: nothing has happened for %.0f s; %s waits for %s",
                             player->wire->rank, timeout, what,
                             stream->state == STREAM_MEETS   ? "the others of its collective"
                             : stream->state == STREAM_TIMED ? "its message to be sent"
                                                             : "its message, or for tasks before it");
        }
    return error_set(err, ERROR_FAILED, "rank %d: nothing has happened for %.0f s", player->wire->rank,
                     timeout);
}

/* Empties the eventfd of what has ended meanwhile. */
static void hear_wake(int wake)
{
    uint64_t count;
    while (read(wake, &count, sizeof count) < 0 && errno == EINTR)
        ;
}

bool player_play(struct player *player, double start, double timeout, struct error *err)
{
    player->start = start;
    double last = clock_now() + fmax(0.0, start - clock_now());
    int64_t messages = -1;
    while (clock_now() < start)
        if (!wire_poll(player->wire, start, err))
            return false;
    for (;;) {
        double next;
        if (stop_obeyed(err) || !run_devices(player, &next, err))
            return false;
        if (is_done(player))
            return true;
        double now = clock_now();
        if (isfinite(next) || player->wire->received_messages != messages) {
            messages = player->wire->received_messages;
            last = now;
        } else if (now - last > timeout + 2 * MAX_WAIT) { /* a rank that is silent is named first */
            return say_stuck(player, timeout, err);
        }
        double until =
            isfinite(next) || player->wire->size > 1 ? fmin(next + start, now + MAX_WAIT) : INFINITY;
        if (!wire_poll(player->wire, player->busy ? now : until, err))
            return false;
        if (player->wire->wake >= 0)
            hear_wake(player->wire->wake);
    }
}

/* ---- preparation ---- */

static bool init_device(struct player *player, int d, struct error *err)
{
    struct player_device *device = &player->devices[d];
    device->number = player->first + d;
    device->source = &player->system->devices[device->number];
    device->order = &player->compiled.orders[device->source->order];
    size_t events = (size_t)device->order->places[device->order->count].base;
    device->events = malloc((events + 1) * sizeof *device->events);
    device->iteration_ends = calloc((size_t)player->tasks->iterations + 1, sizeof *device->iteration_ends);
    if (!device->events || !device->iteration_ends)
        return error_memory(err);
    for (size_t i = 0; i < events; i++)
        device->events[i] = (struct player_event){-1.0, -1};
    for (unsigned s = 0; s < ENGINE_STREAMS; s++) {
        device->streams[s] = (struct player_stream){.pass = UINT32_MAX, .cause = -1};
        if (!(device->order->streams >> s & 1))
            device->streams[s].state = STREAM_DONE;
    }
    device->unfinished = device->order->streams;
    return true;
}

bool player_init(struct player *player, const struct sim_tasks *tasks, const struct player_options *options,
                 struct wire *wire, struct talk *talk, struct error *err)
{
    *player = (struct player){
        .tasks = tasks,
        .system = tasks->system,
        .options = *options,
        .wire = wire,
        .talk = talk,
        .start = INFINITY /* others may begin before this rank knows when: what comes then has come */};
    int64_t first = (int64_t)wire->rank * options->per_rank, all = tasks->system->device_count;
    player->first = (int)(first < all ? first : all);
    player->count = (int)(first + options->per_rank < all ? options->per_rank : all - player->first);
    player->devices = calloc((size_t)player->count + 1, sizeof *player->devices);
    if (!player->devices)
        return error_memory(err);
    if (!engine_compile(tasks->system, &player->compiled, err))
        return false;
    for (int d = 0; d < player->count; d++)
        if (!init_device(player, d, err))
            return false;
    return message_init(player, err) && collective_init(player, err);
}

void player_release(struct player *player)
{
    for (int d = 0; player->devices && d < player->count; d++) {
        free(player->devices[d].events);
        free(player->devices[d].records);
        free(player->devices[d].iteration_ends);
    }
    message_release(player);
    collective_release(player);
    pool_release(&player->pool);
    engine_compiled_release(&player->compiled);
    free(player->devices);
    player->devices = NULL;
}
