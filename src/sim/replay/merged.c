/* Files into which the traces of several processes were merged.
 *
 * Merging tools keep each event and change the processes' numbers (an offset, a label) and some the correlations. So the
 * processes of devices and those of hosts are told by "pid", and which belong together by the correlations of launches:
 * each device's process goes with the host's process that launched most of its activities, before they began. Ranks run
 * the same program, so that correlations may be the same; where several hosts fit nearly alike, those that fit no
 * other device are taken, else the first in order, and the part is `unsure`. A host's process with several devices is one part. */
#include "core/hash.h"
#include "core/statistics.h"
#include "core/vector.h"
#include "sim/replay/classes.h"
#include "sim/replay/parts.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PARTS       1024
#define MAX_CORRELATION (INT64_C(1) << 48)
#define NEARLY          0.95 /* of the votes for the best: cannot be told apart */

struct process {
    uint32_t name; /* text */
    int64_t number;
    int32_t part;
};

struct processes {
    struct process *list;
    size_t count, capacity;
};

static bool add_process(struct processes *processes, const struct replay *replay, uint32_t name,
                        struct error *err)
{
    struct process process = {name, INT64_MAX, -1};
    for (size_t i = 0; i < processes->count; i++)
        if (processes->list[i].name == name)
            return true;
    if (processes->count == MAX_PARTS)
        return error_set(err, ERROR_INPUT, "%s: more than %d processes in one file", replay->path, MAX_PARTS);
    text_whole(replay->texts[name], "", &process.number);
    return VECTOR_ADD(processes->list, processes->count, processes->capacity, process) || error_memory(err);
}

static int by_process(const void *a, const void *b, void *context)
{
    const struct process *x = a, *y = b;
    const struct replay *replay = context;
    int order = order_of(x->number, y->number);
    return order ? order : strcmp(replay->texts[x->name], replay->texts[y->name]);
}

static size_t find_process(const struct processes *processes, uint32_t name)
{
    size_t at = 0;
    while (at < processes->count && processes->list[at].name != name)
        at++;
    return at;
}

struct merge {
    struct replay *replay;
    struct processes devices, hosts;
    uint32_t *next;        /* call with the same correlation; UINT32_MAX: none */
    struct hash_map first; /* call of a correlation */
    size_t *votes;         /* of device * hosts + host */
    size_t *of_stream, *of_thread;
};

static bool list_processes(struct merge *merge, struct error *err)
{
    struct replay *replay = merge->replay;
    bool *used = calloc(replay->stream_count + 1, sizeof *used), done = used || error_memory(err);
    for (size_t i = 0; done && i < replay->count; i++)
        used[replay->activities[i].stream] = true;
    for (size_t i = 0; done && i < replay->stream_count; i++)
        done = !used[i] || add_process(&merge->devices, replay, replay->streams[i].process, err);
    for (size_t i = 0; done && i < replay->call_count; i++) {
        bool again = i > 0 && replay->calls[i].thread == replay->calls[i - 1].thread;
        done = again || replay->calls[i].correlation == 0 || replay->calls[i].kind != CALL_LAUNCH ||
               add_process(&merge->hosts, replay, replay->hosts[replay->calls[i].thread].process, err);
    }
    free(used);
    return done &&
           sort_items_with(merge->devices.list, merge->devices.count, sizeof *merge->devices.list, by_process,
                           replay, err) &&
           sort_items_with(merge->hosts.list, merge->hosts.count, sizeof *merge->hosts.list, by_process,
                           replay, err);
}

static bool vote(struct merge *merge, struct error *err)
{
    struct replay *replay = merge->replay;
    size_t hosts = merge->hosts.count;
    merge->next = malloc((replay->call_count + 1) * sizeof *merge->next);
    merge->votes = calloc(merge->devices.count * hosts + 1, sizeof *merge->votes);
    merge->of_stream = malloc((replay->stream_count + 1) * sizeof *merge->of_stream);
    merge->of_thread = malloc((replay->host_count + 1) * sizeof *merge->of_thread);
    if (!merge->next || !merge->votes || !merge->of_stream || !merge->of_thread)
        return error_memory(err);
    for (size_t i = 0; i < replay->stream_count; i++)
        merge->of_stream[i] = find_process(&merge->devices, replay->streams[i].process);
    for (size_t i = 0; i < replay->host_count; i++)
        merge->of_thread[i] = find_process(&merge->hosts, replay->hosts[i].process);
    for (size_t i = 0; i < replay->call_count; i++) {
        const struct replay_call *call = &replay->calls[i];
        if (call->kind != CALL_LAUNCH || call->correlation <= 0)
            continue;
        int64_t *place = hash_map_place(&merge->first, (uint64_t)call->correlation);
        if (!place)
            return error_memory(err);
        merge->next[i] = *place > 0 ? (uint32_t)(*place - 1) : UINT32_MAX;
        *place = (int64_t)i + 1;
    }
    for (size_t i = 0; i < replay->count; i++) {
        const struct replay_activity *activity = &replay->activities[i];
        const int64_t *place =
            activity->correlation > 0 ? hash_map_find(&merge->first, (uint64_t)activity->correlation) : NULL;
        uint32_t at = place ? (uint32_t)(*place - 1) : UINT32_MAX;
        for (int tries = 0; at != UINT32_MAX && tries < MAX_PARTS; at = merge->next[at], tries++) {
            size_t host = merge->of_thread[replay->calls[at].thread];
            if (replay->calls[at].begin <= activity->start && host < hosts)
                merge->votes[merge->of_stream[activity->stream] * hosts + host]++;
        }
    }
    return true;
}

/* Returns the hosts that fit a device's process nearly best, and the first of them; without those that are taken, unless
 * nothing else fits. */
static size_t candidates(const struct merge *merge, size_t device, const bool *taken, size_t *first)
{
    size_t hosts = merge->hosts.count, best = 0, all = 0, left = 0;
    const size_t *votes = merge->votes + device * hosts;
    for (size_t h = 0; h < hosts; h++)
        best = votes[h] > best ? votes[h] : best;
    for (int pass = 0; pass < 2; pass++)
        for (size_t h = hosts; best > 0 && h-- > 0;) {
            bool fits = (double)votes[h] >= NEARLY * (double)best;
            all += fits && pass == 0;
            if (fits && (pass == 1 ? !taken[h] && all > 1 : true)) {
                left += pass;
                *first = h;
            }
        }
    return all > 1 ? left : all;
}

/* Gives each device's process a host's, those first that only one fits; returns whether there are several parts, which
 * are numbered as their devices. */
static bool assign(struct merge *merge, struct replay_process *parts, size_t *count)
{
    bool taken[MAX_PARTS] = {false};
    size_t host_of[MAX_PARTS], host = 0;
    bool unsure[MAX_PARTS] = {false};
    for (size_t d = 0; d < merge->devices.count; d++)
        host_of[d] = SIZE_MAX;
    for (size_t limit = 1; limit <= merge->hosts.count + 1;) { /* of candidates */
        bool found = false;
        for (size_t d = 0; d < merge->devices.count && !found; d++) {
            size_t fit = host_of[d] == SIZE_MAX ? candidates(merge, d, taken, &host) : 0;
            if (fit == 0 || fit > limit)
                continue;
            host_of[d] = host;
            taken[host] = found = true;
            unsure[d] = fit > 1;
        }
        limit = found ? 1 : limit + 1;
    }
    *count = 0;
    for (size_t d = 0; d < merge->devices.count; d++) {
        struct process *with = host_of[d] != SIZE_MAX ? &merge->hosts.list[host_of[d]] : NULL;
        bool known = with && with->part >= 0;
        int32_t part = known ? with->part : (int32_t)*count;
        merge->devices.list[d].part = part;
        if (with)
            with->part = part;
        if (!known)
            parts[(*count)++] = (struct replay_process){-1, unsure[d]};
    }
    return *count > 1;
}

/* The number in a name such as "rank 3" or "[TP03] 1234"; -1: none. */
static int64_t rank_of(const char *name)
{
    static const char *const labels[] = {"rank", "[TP"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        const char *at = strcasestr(name, labels[i]);
        int64_t rank;
        at = at ? at + strlen(labels[i]) : NULL;
        at = at ? at + strspn(at, " -_:") : NULL;
        if (at && text_whole(at, " ]-_:.,", &rank) && rank >= 0)
            return rank;
    }
    return -1;
}

/* Ranks by labels, where all have another one; else by small numbers of processes, which are the devices'; else in order. */
static void number_parts(const struct merge *merge, struct replay_process *parts, size_t count)
{
    bool used[MAX_PARTS] = {false}, good = true;
    for (int way = 0; way < 3; way++) {
        good = true;
        memset(used, 0, sizeof used);
        for (size_t i = 0; i < count; i++)
            parts[i].rank = way == 2 ? (int64_t)i : -1;
        for (size_t d = 0; way < 2 && d < merge->devices.count; d++) {
            const struct process *process = &merge->devices.list[d];
            int64_t *rank = &parts[process->part].rank;
            int64_t found = way == 0 ? rank_of(merge->replay->texts[process->name]) : process->number;
            if (*rank < 0)
                *rank = found;
        }
        for (size_t i = 0; i < count; i++) {
            int64_t rank = parts[i].rank;
            good = good && rank >= 0 && rank < MAX_PARTS && !used[rank];
            if (good)
                used[rank] = true;
        }
        if (good)
            return;
    }
}

int64_t replay_part_correlation(const struct replay *replay, int32_t part, int64_t correlation)
{
    bool apart = replay->part_count > 0 && part > 0 && correlation > 0 && correlation < MAX_CORRELATION;
    return apart ? correlation | (int64_t)part * MAX_CORRELATION : correlation;
}

/* Streams, threads, correlations and devices of parts. */
static void mark_parts(struct merge *merge)
{
    struct replay *replay = merge->replay;
    bool twice = false;
    for (size_t i = 0; i < replay->stream_count; i++) {
        struct replay_stream *stream = &replay->streams[i];
        size_t at = merge->of_stream[i];
        stream->part = at < merge->devices.count ? merge->devices.list[at].part : 0;
        for (size_t k = 0; k < i; k++)
            twice |= replay->streams[k].device == stream->device && replay->streams[k].part != stream->part;
    }
    for (size_t i = 0; twice && i < replay->stream_count; i++)
        replay->streams[i].device = replay->parts[replay->streams[i].part].rank;
    for (size_t i = 0; i < replay->host_count; i++) {
        size_t at = merge->of_thread[i];
        replay->hosts[i].part = at < merge->hosts.count ? merge->hosts.list[at].part : -1;
    }
    for (size_t i = 0; i < replay->count; i++) {
        struct replay_activity *activity = &replay->activities[i];
        activity->correlation =
            replay_part_correlation(replay, replay->streams[activity->stream].part, activity->correlation);
    }
    for (size_t i = 0; i < replay->call_count; i++) {
        struct replay_call *call = &replay->calls[i];
        call->correlation =
            replay_part_correlation(replay, replay->hosts[call->thread].part, call->correlation);
    }
}

bool replay_find_parts(struct replay *replay, struct error *err)
{
    struct merge merge = {.replay = replay};
    struct replay_process parts[MAX_PARTS];
    size_t count;
    bool done = list_processes(&merge, err);
    if (done && merge.devices.count > 1 && !replay->host_only) {
        done = vote(&merge, err);
        if (done && assign(&merge, parts, &count)) {
            number_parts(&merge, parts, count);
            replay->parts = malloc(count * sizeof *replay->parts);
            done = replay->parts || error_memory(err);
            if (done) {
                memcpy(replay->parts, parts, count * sizeof *replay->parts);
                replay->part_count = count;
                mark_parts(&merge);
            }
        }
    }
    free(merge.devices.list);
    free(merge.hosts.list);
    free(merge.next);
    free(merge.votes);
    free(merge.of_stream);
    free(merge.of_thread);
    hash_map_release(&merge.first);
    return done;
}

/* --- one part ------------------------------------------------------------------------------------------- */

struct copy {
    const struct replay *whole;
    struct replay *part;
    int32_t index;
    int32_t *streams, *calls; /* by index in the whole: that in the part; -1: of another one */
    uint32_t *activities;
};

static bool copy_texts(const struct copy *copy, struct error *err)
{
    const struct replay *whole = copy->whole;
    struct replay *part = copy->part;
    for (size_t i = 0; i < whole->text_count; i++) {
        const char *text = i == 0 ? "" : arena_string(&part->arena, whole->texts[i]);
        if (!text || !VECTOR_ADD(part->texts, part->text_count, part->text_capacity, text))
            return error_memory(err);
    }
    for (size_t i = 0; i < whole->collective_count; i++)
        if (!VECTOR_ADD(part->collectives, part->collective_count, part->collective_capacity,
                        whole->collectives[i]))
            return error_memory(err);
    for (size_t i = 0; i < whole->device_count; i++)
        if (!VECTOR_ADD(part->devices, part->device_count, part->device_capacity, whole->devices[i]))
            return error_memory(err);
    for (size_t i = 0; i < whole->host_count; i++)
        if (!VECTOR_ADD(part->hosts, part->host_count, part->host_capacity, whole->hosts[i]))
            return error_memory(err);
    for (size_t i = 0; i < whole->group_count; i++) {
        struct replay_group group = whole->groups[i];
        int64_t *ranks = ARENA_ARRAY(&part->arena, group.rank_count + 1, int64_t);
        if (ranks && group.rank_count > 0)
            memcpy(ranks, group.ranks, group.rank_count * sizeof *ranks);
        group.ranks = ranks;
        if (!ranks || !VECTOR_ADD(part->groups, part->group_count, part->group_capacity, group))
            return error_memory(err);
    }
    return true;
}

static bool copy_events(struct copy *copy, struct error *err)
{
    const struct replay *whole = copy->whole;
    struct replay *part = copy->part;
    for (size_t i = 0; i < whole->stream_count; i++) {
        bool own = whole->streams[i].part == copy->index;
        copy->streams[i] = own ? (int32_t)part->stream_count : -1;
        if (own && !VECTOR_ADD(part->streams, part->stream_count, part->stream_capacity, whole->streams[i]))
            return error_memory(err);
    }
    for (size_t i = 0; i < whole->call_count; i++) {
        bool own = whole->hosts[whole->calls[i].thread].part == copy->index;
        copy->calls[i] = own ? (int32_t)part->call_count : -1;
        if (own && !VECTOR_ADD(part->calls, part->call_count, part->call_capacity, whole->calls[i]))
            return error_memory(err);
    }
    for (size_t i = 0; i < whole->count; i++) {
        struct replay_activity activity = whole->activities[i];
        bool own = copy->streams[activity.stream] >= 0;
        copy->activities[i] = own ? (uint32_t)part->count : UINT32_MAX;
        if (!own)
            continue;
        activity.stream = (unsigned)copy->streams[activity.stream];
        activity.call = activity.call >= 0 ? copy->calls[activity.call] : -1;
        part->no_launch += activity.call < 0;
        if (!VECTOR_ADD(part->activities, part->count, part->capacity, activity))
            return error_memory(err);
    }
    return true;
}

static bool is_own(const struct copy *copy, const struct replay_mark *mark)
{
    if (mark->thread >= 0)
        return copy->whole->hosts[mark->thread].part == copy->index;
    for (size_t i = 0; i < copy->whole->stream_count; i++)
        if (copy->whole->streams[i].process == mark->process)
            return copy->whole->streams[i].part == copy->index;
    return false;
}

static bool is_step(const struct replay *replay, const struct replay_mark *mark)
{
    return text_starts_with(replay->texts[mark->name], "ProfilerStep#");
}

/* Steps that only one process tells are those of all. */
static bool copy_marks(const struct copy *copy, struct error *err)
{
    const struct replay *whole = copy->whole;
    struct replay *part = copy->part;
    bool steps = false;
    for (size_t i = 0; i < whole->mark_count && !steps; i++)
        steps = is_step(whole, &whole->marks[i]) && is_own(copy, &whole->marks[i]);
    for (size_t i = 0; i < whole->mark_count; i++) {
        const struct replay_mark *mark = &whole->marks[i];
        if ((is_own(copy, mark) || (!steps && is_step(whole, mark))) &&
            !VECTOR_ADD(part->marks, part->mark_count, part->mark_capacity, *mark))
            return error_memory(err);
    }
    for (size_t i = 0; i < whole->sync_count; i++) {
        struct replay_sync sync = whole->syncs[i];
        sync.stream = sync.stream >= 0 ? copy->streams[sync.stream] : -1;
        sync.awaited = sync.awaited >= 0 ? copy->streams[sync.awaited] : -1;
        if (!VECTOR_ADD(part->syncs, part->sync_count, part->sync_capacity, sync))
            return error_memory(err);
    }
    for (size_t i = 0; i < whole->dep_count; i++) {
        struct replay_dep dep = whole->deps[i];
        dep.target = copy->activities[dep.target];
        dep.source = copy->activities[dep.source];
        if (dep.target != UINT32_MAX && dep.source != UINT32_MAX &&
            !VECTOR_ADD(part->deps, part->dep_count, part->dep_capacity, dep))
            return error_memory(err);
    }
    return true;
}

bool replay_take_part(const struct replay *whole, int32_t index, struct replay *part, struct error *err)
{
    struct copy copy = {.whole = whole, .part = part, .index = index};
    *part = (struct replay){.rank = whole->parts[index].rank,
                            .world = whole->world,
                            .origin = whole->origin,
                            .base = whole->base,
                            .cut_at = whole->cut_at,
                            .events = whole->events,
                            .awaits = whole->awaits,
                            .typed = whole->typed,
                            .first_number = whole->first_number,
                            .last_number = whole->last_number,
                            .numbers_seen = whole->numbers_seen,
                            .played = whole->played,
                            .no_activity = index == 0 ? whole->no_activity : 0}; /* of the whole file */
    part->path = arena_string(&part->arena, whole->path);
    copy.streams = malloc((whole->stream_count + 1) * sizeof *copy.streams);
    copy.calls = malloc((whole->call_count + 1) * sizeof *copy.calls);
    copy.activities = malloc((whole->count + 1) * sizeof *copy.activities);
    bool room = part->path && copy.streams && copy.calls && copy.activities;
    bool done = (room || error_memory(err)) && copy_texts(&copy, err) && copy_events(&copy, err) &&
                copy_marks(&copy, err) && replay_classify(part, NULL, err);
    free(copy.streams);
    free(copy.calls);
    free(copy.activities);
    if (!done)
        replay_release(part);
    return done;
}
