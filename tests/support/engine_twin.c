#include "engine_twin.h"

#include <math.h>
#include <stdlib.h>

#define CLOSE 1e-11

enum { WAITS, COMES, RUNS, ENDED };

struct post {
    int channel;
    uint32_t microbatch;
    double comes;
    bool taken;
};

/* The k-th collective of a group. */
struct gathering {
    int group, there;
    bool begun;
};

struct memory_event {
    double time;
    int device;
    int64_t bytes;
};

struct clock {
    const struct engine_system *system;
    struct twin *twin;
    struct post *posts;
    struct gathering *gatherings;
    struct memory_event *changes;
    int post_count, gathering_count, change_count;
    double now;
};

static const struct engine_device *device_of(const struct clock *clock, const struct twin_task *task)
{
    return &clock->system->devices[task->device];
}

static const struct engine_pass *pass_of(const struct clock *clock, const struct twin_task *task)
{
    return &clock->system->orders[device_of(clock, task)->order].passes[task->pass];
}

static const struct engine_task *source_of(const struct clock *clock, const struct twin_task *task)
{
    return &clock->system->templates[pass_of(clock, task)->template].tasks[task->place];
}

static bool is_kernel(const struct clock *clock, const struct engine_task *source)
{
    enum timeline_kind kind = clock->system->labels[source->label].kind;
    return source->stream == 0 && source->group == 0 && source->route == 0 && kind != TASK_SEND &&
           kind != TASK_RECEIVE && kind != TASK_COLLECTIVE && kind != TASK_LOAD && kind != TASK_SAVE;
}

static const struct engine_route *route_of(const struct clock *clock, const struct twin_task *task)
{
    const struct engine_task *source = source_of(clock, task);
    int route = -1;
    if (source->route > 0)
        route = device_of(clock, task)->routes[source->route - 1];
    else if (source->group > 0)
        route = clock->system->groups[device_of(clock, task)->groups[source->group - 1]].route;
    return route < 0 || task->latency >= task->seconds ? NULL : &clock->system->routes[route];
}

static struct post *find_post(struct clock *clock, const struct twin_task *task)
{
    const struct engine_task *source = source_of(clock, task);
    int channel = device_of(clock, task)->ports[source->receive - 1];
    uint32_t microbatch = pass_of(clock, task)->microbatch[source->second];
    for (int i = 0; i < clock->post_count; i++) {
        struct post *post = &clock->posts[i];
        if (!post->taken && post->channel == channel && post->microbatch == microbatch)
            return post->comes <= clock->now + CLOSE ? post : NULL;
    }
    return NULL;
}

static bool can_come(struct clock *clock, int number)
{
    const struct twin_task *task = &clock->twin->tasks[number];
    const struct engine_task *source = source_of(clock, task);
    for (int i = number - 1; i >= 0 && clock->twin->tasks[i].device == task->device; i--) {
        if (source_of(clock, &clock->twin->tasks[i])->stream == source->stream &&
            clock->twin->tasks[i].state != ENDED)
            return false;
    }
    for (int w = 0; w < ENGINE_WAITS; w++) {
        for (int i = number - 1;
             source->waits[w] > 0 && i >= 0 && clock->twin->tasks[i].device == task->device; i--) {
            if (source_of(clock, &clock->twin->tasks[i])->mark != source->waits[w])
                continue;
            if (clock->twin->tasks[i].state != ENDED)
                return false;
            break;
        }
    }
    return source->receive == 0 || find_post(clock, task) != NULL;
}

static void post(struct clock *clock, const struct twin_task *task)
{
    const struct engine_task *source = source_of(clock, task);
    clock->posts[clock->post_count++] =
        (struct post){.channel = device_of(clock, task)->ports[source->send - 1],
                      .microbatch = pass_of(clock, task)->microbatch[source->second],
                      .comes = clock->now + source->delay};
}

static void change_memory(struct clock *clock, const struct twin_task *task, bool at_end)
{
    const struct engine_task *source = source_of(clock, task);
    for (int i = 0; i < source->change_count; i++) {
        if (source->changes[i].at_end == at_end)
            clock->changes[clock->change_count++] =
                (struct memory_event){clock->now, task->device, source->changes[i].bytes};
    }
}

static void begin(struct clock *clock, struct twin_task *task)
{
    const struct engine_system *system = clock->system;
    const struct engine_task *source = source_of(clock, task);
    double seconds = task->seconds;
    bool has_shares = false;
    for (int i = 0; i < clock->twin->count; i++)
        has_shares |= clock->twin->tasks[i].device == task->device &&
                      source_of(clock, &clock->twin->tasks[i])->share > 0.0;
    if (is_kernel(clock, source)) {
        const struct engine_device *device = device_of(clock, task);
        seconds *= device->factor == 0.0 ? 1.0 : device->factor;
        if (system->jitter > 0.0)
            seconds *=
                engine_jitter(system->seed, device->key, (size_t)task->pass, task->place, system->jitter);
    }
    task->state = RUNS;
    task->begin = clock->now;
    task->flow = route_of(clock, task) != NULL;
    task->fixed = !task->flow && !(is_kernel(clock, source) && has_shares);
    task->fixed_end = clock->now + seconds;
    task->latency_end = clock->now + (task->flow ? task->latency : 0.0);
    task->left = task->flow ? seconds - task->latency : seconds;
    change_memory(clock, task, false);
    if (source->send > 0 && source->send_at_begin)
        post(clock, task);
}

static void come(struct clock *clock, struct twin_task *task)
{
    const struct engine_task *source = source_of(clock, task);
    if (source->receive > 0)
        find_post(clock, task)->taken = true;
    task->seconds = source->seconds;
    task->latency = source->latency;
    task->rate = source->rate;
    if (source->group == 0) {
        begin(clock, task);
        return;
    }
    int group = device_of(clock, task)->groups[source->group - 1];
    task->state = COMES;
    for (task->meeting = 0; task->meeting < clock->gathering_count; task->meeting++) {
        if (clock->gatherings[task->meeting].group == group && !clock->gatherings[task->meeting].begun)
            break;
    }
    if (task->meeting == clock->gathering_count)
        clock->gatherings[clock->gathering_count++] = (struct gathering){.group = group};
    struct gathering *gathering = &clock->gatherings[task->meeting];
    if (++gathering->there < clock->system->groups[group].members)
        return;
    gathering->begun = true;
    double seconds = 0.0, latency = 0.0, rate = 0.0;
    for (int i = 0; i < clock->twin->count; i++) {
        const struct twin_task *member = &clock->twin->tasks[i];
        if (member->state == COMES && member->meeting == task->meeting) {
            seconds = fmax(seconds, member->seconds);
            latency = fmax(latency, member->latency);
            rate = fmax(rate, member->rate);
        }
    }
    for (int i = 0; i < clock->twin->count; i++) {
        struct twin_task *member = &clock->twin->tasks[i];
        if (member->state == COMES && member->meeting == task->meeting) {
            member->seconds = seconds;
            member->latency = latency;
            member->rate = rate;
            begin(clock, member);
        }
    }
}

static bool has_ended(const struct clock *clock, const struct twin_task *task)
{
    if (task->state != RUNS)
        return false;
    if (task->fixed)
        return task->fixed_end <= clock->now + CLOSE;
    return task->latency_end <= clock->now + CLOSE && task->left <= CLOSE;
}

static void end(struct clock *clock, struct twin_task *task)
{
    const struct engine_task *source = source_of(clock, task);
    task->state = ENDED;
    task->end = clock->now;
    change_memory(clock, task, true);
    if (source->send > 0 && !source->send_at_begin)
        post(clock, task);
}

/* Only one member of a collective is its flow; the others do as that one does. */
static bool leads(const struct clock *clock, int number)
{
    const struct twin_task *task = &clock->twin->tasks[number];
    if (source_of(clock, task)->group == 0)
        return true;
    for (int i = 0; i < number; i++) {
        const struct twin_task *other = &clock->twin->tasks[i];
        if (other->state == RUNS && source_of(clock, other)->group > 0 && other->meeting == task->meeting)
            return false;
    }
    return true;
}

static double weight_of(const struct engine_route *route, int link)
{
    double weight = 0.0;
    for (int i = 0; i < route->count; i++)
        weight += route->uses[i].link == (uint32_t)link ? route->uses[i].weight / (double)ENGINE_WEIGHT : 0.0;
    return weight;
}

/* Water rises in all flows at the same time, until each has its rate or touches a full link. */
static void share(struct clock *clock)
{
    const struct engine_system *system = clock->system;
    int flows = 0, *number = malloc(((size_t)clock->twin->count + 1) * sizeof *number);
    double *rate = calloc((size_t)clock->twin->count + 1, sizeof *rate);
    bool *still = calloc((size_t)clock->twin->count + 1, sizeof *still);
    for (int i = 0; i < clock->twin->count; i++) {
        const struct twin_task *task = &clock->twin->tasks[i];
        if (task->state == RUNS && task->flow && task->latency_end <= clock->now + CLOSE && leads(clock, i))
            number[flows++] = i;
    }
    for (int rising = flows; rising > 0;) {
        double rise = INFINITY;
        for (int i = 0; i < flows; i++) {
            if (!still[i])
                rise = fmin(rise, clock->twin->tasks[number[i]].rate - rate[i]);
        }
        for (int link = 0; link < system->link_count; link++) {
            double used = 0.0, weights = 0.0;
            for (int i = 0; i < flows; i++) {
                double weight = weight_of(route_of(clock, &clock->twin->tasks[number[i]]), link);
                used += rate[i] * weight;
                weights += still[i] ? 0.0 : weight;
            }
            if (weights > 0.0)
                rise = fmin(rise, fmax(0.0, system->links[link].capacity - used) / weights);
        }
        for (int i = 0; i < flows; i++)
            rate[i] += still[i] ? 0.0 : rise;
        for (int i = 0; i < flows; i++) {
            double own = clock->twin->tasks[number[i]].rate;
            bool full = rate[i] >= own * (1.0 - 1e-12);
            for (int link = 0; link < system->link_count && !full; link++) {
                double used = 0.0;
                for (int j = 0; j < flows; j++)
                    used += rate[j] * weight_of(route_of(clock, &clock->twin->tasks[number[j]]), link);
                full = weight_of(route_of(clock, &clock->twin->tasks[number[i]]), link) > 0.0 &&
                       used >= system->links[link].capacity * (1.0 - 1e-12);
            }
            rising -= full && !still[i];
            still[i] |= full;
        }
    }
    for (int i = 0; i < clock->twin->count; i++)
        clock->twin->tasks[i].speed = 0.0;
    for (int i = 0; i < flows; i++) {
        struct twin_task *leader = &clock->twin->tasks[number[i]];
        leader->speed = rate[i] / leader->rate;
        for (int j = 0; j < clock->twin->count; j++) {
            struct twin_task *other = &clock->twin->tasks[j];
            if (other->state == RUNS && source_of(clock, leader)->group > 0 &&
                source_of(clock, other)->group > 0 && other->meeting == leader->meeting)
                other->speed = leader->speed;
        }
    }
    free(number);
    free(rate);
    free(still);
}

static void slow(struct clock *clock)
{
    for (int i = 0; i < clock->twin->count; i++) {
        struct twin_task *task = &clock->twin->tasks[i];
        if (task->state != RUNS || task->fixed || task->flow)
            continue;
        double shares = 0.0;
        for (int j = 0; j < clock->twin->count; j++) {
            const struct twin_task *other = &clock->twin->tasks[j];
            if (other->device == task->device && other->state == RUNS)
                shares += source_of(clock, other)->share;
        }
        task->speed = fmax(1.0 / 64.0, 1.0 - shares);
    }
}

/* Moves the clock to the next moment. False: there is none. */
static bool advance(struct clock *clock)
{
    double next = INFINITY;
    share(clock);
    slow(clock);
    for (int i = 0; i < clock->twin->count; i++) {
        const struct twin_task *task = &clock->twin->tasks[i];
        if (task->state != RUNS)
            continue;
        if (task->fixed)
            next = fmin(next, task->fixed_end);
        else if (task->latency_end > clock->now + CLOSE)
            next = fmin(next, task->latency_end);
        else if (task->speed > 0.0)
            next = fmin(next, clock->now + task->left / task->speed);
    }
    for (int i = 0; i < clock->post_count; i++) {
        if (clock->posts[i].comes > clock->now + CLOSE)
            next = fmin(next, clock->posts[i].comes);
    }
    if (isinf(next))
        return false;
    for (int i = 0; i < clock->twin->count; i++) {
        struct twin_task *task = &clock->twin->tasks[i];
        if (task->state == RUNS && !task->fixed && task->latency_end <= clock->now + CLOSE)
            task->left -= task->speed * (next - clock->now);
    }
    clock->now = fmax(clock->now, next);
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct memory_event *x = a, *y = b;
    if (x->device != y->device)
        return x->device - y->device;
    return (x->time > y->time) - (x->time < y->time);
}

static void find_peaks(struct clock *clock)
{
    qsort(clock->changes, (size_t)clock->change_count, sizeof *clock->changes, by_time);
    for (int d = 0, i = 0; d < clock->system->device_count; d++) {
        int64_t total = 0;
        for (int kind = 0; kind < MEMORY_KINDS; kind++)
            total += clock->system->devices[d].memory[kind];
        clock->twin->peaks[d] = total;
        while (i < clock->change_count && clock->changes[i].device == d) {
            double time = clock->changes[i].time;
            for (; i < clock->change_count && clock->changes[i].device == d && clock->changes[i].time <= time;
                 i++)
                total += clock->changes[i].bytes;
            if (total > clock->twin->peaks[d])
                clock->twin->peaks[d] = total;
        }
    }
}

static int add_tasks(const struct engine_system *system, struct twin_task *tasks)
{
    int count = 0;
    for (int d = 0; d < system->device_count; d++) {
        const struct engine_order *order = &system->orders[system->devices[d].order];
        for (size_t pass = 0; pass < order->count; pass++) {
            int places = system->templates[order->passes[pass].template].count;
            for (int place = 0; place < places; place++, count++) {
                if (tasks != NULL)
                    tasks[count] = (struct twin_task){.device = d, .pass = (int)pass, .place = place};
            }
        }
    }
    return count;
}

void twin_play(const struct engine_system *system, struct twin *twin)
{
    *twin = (struct twin){.count = add_tasks(system, NULL)};
    size_t count = (size_t)twin->count + 1;
    twin->tasks = calloc(count, sizeof *twin->tasks);
    twin->peaks = calloc((size_t)system->device_count, sizeof *twin->peaks);
    add_tasks(system, twin->tasks);
    struct clock clock = {.system = system, .twin = twin};
    int changes = 1;
    for (int i = 0; i < twin->count; i++)
        changes += source_of(&clock, &twin->tasks[i])->change_count;
    clock.posts = malloc(count * sizeof *clock.posts);
    clock.gatherings = malloc(count * sizeof *clock.gatherings);
    clock.changes = malloc((size_t)changes * sizeof *clock.changes);
    do {
        for (bool changed = true; changed;) {
            changed = false;
            for (int i = 0; i < twin->count; i++) {
                if (has_ended(&clock, &twin->tasks[i])) {
                    end(&clock, &twin->tasks[i]);
                    changed = true;
                } else if (twin->tasks[i].state == WAITS && can_come(&clock, i)) {
                    come(&clock, &twin->tasks[i]);
                    changed = true;
                }
            }
        }
    } while (advance(&clock));
    for (int i = 0; i < twin->count; i++)
        twin->stuck |= twin->tasks[i].state != ENDED;
    for (int i = 0; i < clock.post_count; i++)
        twin->stuck |= !clock.posts[i].taken;
    twin->makespan = clock.now;
    find_peaks(&clock);
    free(clock.posts);
    free(clock.gatherings);
    free(clock.changes);
}

void twin_release(struct twin *twin)
{
    free(twin->tasks);
    free(twin->peaks);
}
