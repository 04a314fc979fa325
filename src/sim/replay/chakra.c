/* Execution traces as recorded runs. They tell what waits for what and how long nodes take, but not when they began:
 * that is played here, by list scheduling. A thread of the host, the kernels of the GPU, its sends, receives,
 * collectives and copies do one node at a time each, in the order in which nodes become ready (of those ready at once,
 * as they stand in the file). Nodes wait for those that they depend on for data; only where a file has no such
 * dependencies at all, for those on control. */
#include "sim/chakra/chakra.h"
#include "core/heap.h"
#include "core/vector.h"
#include "sim/replay/parts.h"

#include <stdlib.h>
#include <string.h>

#define MOST_DEPS 60 /* of a node, those that end last: only these can decide */

struct ready {
    int64_t time;
    uint32_t node;
};

struct scheduler {
    const struct chakra *chakra;
    struct replay *replay;
    bool control;      /* dependencies on control count */
    uint32_t *sources; /* of node i: [first[i], first[i + 1]) */
    uint32_t *targets; /* that wait for node i: [first_target[i], first_target[i + 1]) */
    size_t *first, *first_target;
    uint32_t *waiting; /* dependencies that have not ended, of each node */
    int64_t *start, *ready;
    int32_t *streams;
    struct ready *heap;
    size_t heap_count;
    struct error *err;
};

static bool is_before(const void *a, const void *b, const void *context)
{
    const struct ready *first = a, *second = b;
    (void)context;
    return first->time < second->time || (first->time == second->time && first->node < second->node);
}

static const uint64_t *deps_of(const struct scheduler *s, size_t node, uint32_t *count)
{
    const struct chakra_node *at = &s->chakra->nodes[node];
    *count = s->control ? at->control_count : at->data_count;
    return s->chakra->deps + at->deps + (s->control ? at->data_count : 0);
}

static bool find_sources(struct scheduler *s)
{
    const struct chakra *chakra = s->chakra;
    struct chakra_ids ids;
    size_t used = 0;
    if (!chakra_ids_make(&ids, chakra, s->err))
        return false;
    bool found = true;
    for (size_t i = 0; found && i < chakra->count; i++) {
        uint32_t count;
        const uint64_t *deps = deps_of(s, i, &count);
        s->first[i] = used;
        for (uint32_t j = 0; found && j < count; j++) {
            int64_t source = chakra_ids_find(&ids, deps[j]);
            if (source < 0 && s->control)
                continue; /* the root of a tree of calls is often left out */
            found = source >= 0 || error_set(s->err, ERROR_INPUT,
                                             "%s: node %llu ('%.60s') depends on node %llu, which is missing",
                                             chakra->path, (unsigned long long)chakra->nodes[i].id,
                                             chakra->nodes[i].name, (unsigned long long)deps[j]);
            if (found)
                s->sources[used++] = (uint32_t)source;
        }
    }
    s->first[chakra->count] = used;
    chakra_ids_release(&ids);
    return found;
}

static void find_targets(struct scheduler *s)
{
    size_t count = s->chakra->count;
    memset(s->first_target, 0, (count + 2) * sizeof *s->first_target);
    for (size_t i = 0; i < s->first[count]; i++)
        s->first_target[s->sources[i] + 2]++;
    for (size_t i = 1; i < count + 1; i++)
        s->first_target[i + 1] += s->first_target[i];
    for (size_t i = 0; i < count; i++) /* moves each first place, one to the right, to the end */
        for (size_t j = s->first[i]; j < s->first[i + 1]; j++)
            s->targets[s->first_target[s->sources[j] + 1]++] = (uint32_t)i;
}

/* The thread or the engine that does a node. The numbers of streams are those of chrome.c. */
static bool choose_stream(struct scheduler *s, size_t node)
{
    static const int numbers[CHAKRA_TYPES] = {
        [CHAKRA_COMPUTE] = 7,  [CHAKRA_COLLECTIVE] = 20, [CHAKRA_SEND] = 24,
        [CHAKRA_RECEIVE] = 28, [CHAKRA_LOAD] = 32,       [CHAKRA_STORE] = 32};
    const struct chakra_node *at = &s->chakra->nodes[node];
    bool host = at->host || numbers[at->type] == 0;
    return replay_add_stream(s->replay, host ? -1 : 0, host ? at->thread : numbers[at->type],
                             &s->streams[node], s->err);
}

static void push(struct scheduler *s, size_t node)
{
    s->heap[s->heap_count++] = (struct ready){s->ready[node], (uint32_t)node};
    heap_push(s->heap, s->heap_count, sizeof *s->heap, is_before, NULL);
}

static bool in_circle(const struct scheduler *s)
{
    size_t node = 0;
    while (s->waiting[node] == 0)
        node++;
    return error_set(s->err, ERROR_INPUT, "%s: node %llu ('%.60s') is in a cycle of dependencies",
                     s->chakra->path, (unsigned long long)s->chakra->nodes[node].id,
                     s->chakra->nodes[node].name);
}

/* ns. An exchange that is priced later keeps its place among the others by lasting 1 ns. */
static int64_t duration_of(const struct scheduler *s, size_t node)
{
    const struct chakra_node *at = &s->chakra->nodes[node];
    bool exchange = at->type >= CHAKRA_SEND && at->type <= CHAKRA_COLLECTIVE;
    return at->duration == 0 && exchange && s->replay->priced ? 1 : at->duration * 1000;
}

/* Starts all nodes. */
static bool schedule(struct scheduler *s, int64_t *free_at)
{
    size_t done = 0;
    for (size_t i = 0; i < s->chakra->count; i++) {
        s->ready[i] = 0;
        s->waiting[i] = (uint32_t)(s->first[i + 1] - s->first[i]);
        if (s->waiting[i] == 0)
            push(s, i);
    }
    for (; s->heap_count > 0; done++) {
        uint32_t node = s->heap[0].node;
        heap_pop(s->heap, s->heap_count--, sizeof *s->heap, is_before, NULL);
        int64_t *next = &free_at[s->streams[node]];
        s->start[node] = s->ready[node] > *next ? s->ready[node] : *next;
        *next = s->start[node] + duration_of(s, node);
        if (*next > INT64_C(1000000000) * 86400 * 366)
            return error_set(s->err, ERROR_INPUT, "%s: its nodes take more than a year", s->chakra->path);
        for (size_t i = s->first_target[node]; i < s->first_target[node + 1]; i++) {
            uint32_t target = s->targets[i];
            s->ready[target] = *next > s->ready[target] ? *next : s->ready[target];
            if (--s->waiting[target] == 0)
                push(s, target);
        }
    }
    return done == s->chakra->count || in_circle(s);
}

/* What a node tells of its exchange: the names are NCCL's, as in PyTorch's traces. */
static bool add_exchange(struct scheduler *s, const struct chakra_node *at, uint32_t *id)
{
    static const char *const names[] = {"allreduce",      "reduce",    "all_gather", "gather",
                                        "scatter",        "broadcast", "all_to_all", "reduce_scatter",
                                        "reduce_scatter", "barrier"};
    struct replay_collective told = REPLAY_NO_COLLECTIVE;
    bool named = at->collective >= 0 && at->collective < (int)(sizeof names / sizeof *names);
    const char *name = at->type == CHAKRA_SEND      ? "send"
                       : at->type == CHAKRA_RECEIVE ? "recv"
                       : named                      ? names[at->collective]
                                                    : at->name;
    uint32_t text, type;
    told.elements = at->bytes;
    told.source = at->from;
    told.destination = at->to;
    told.sequence = at->type == CHAKRA_COLLECTIVE ? -1 : at->tag;
    if (!replay_add_text(s->replay, name, strlen(name), &text, s->err) ||
        !replay_add_text(s->replay, "Byte", 4, &type, s->err))
        return false;
    told.name = text;
    told.dtype = type;
    return replay_add_collective(s->replay, &told, id, s->err);
}

static bool add_activity(struct scheduler *s, size_t node)
{
    const struct chakra_node *at = &s->chakra->nodes[node];
    bool exchange = at->type == CHAKRA_SEND || at->type == CHAKRA_RECEIVE || at->type == CHAKRA_COLLECTIVE;
    bool copy = at->type == CHAKRA_LOAD || at->type == CHAKRA_STORE || strncmp(at->name, "Memcpy", 6) == 0;
    struct replay_activity activity = {.start = s->start[node],
                                       .duration = duration_of(s, node),
                                       .place = (uint32_t)node,
                                       .stream = (unsigned)s->streams[node],
                                       .call = -1,
                                       .category = copy ? REPLAY_MEMCPY : REPLAY_KERNEL,
                                       .class = exchange ? REPLAY_COMMUNICATION
                                                : copy   ? REPLAY_MEMORY
                                                         : REPLAY_COMPUTE};
    const char *name = *at->name ? at->name : "(no name)";
    if (exchange && at->bytes > 0 && !add_exchange(s, at, &activity.collective))
        return false;
    return replay_add_text(s->replay, name, strlen(name), &activity.name, s->err) &&
           replay_add_activity(s->replay, &activity, s->err);
}

static int by_end(const void *a, const void *b, void *context)
{
    const struct scheduler *s = context;
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    int64_t x = s->start[first] + s->chakra->nodes[first].duration * 1000;
    int64_t y = s->start[second] + s->chakra->nodes[second].duration * 1000;
    return x != y ? (x < y) - (x > y) : (first > second) - (first < second);
}

/* After the activities have been sorted: what waits for what, by their new places. */
static bool add_deps(struct scheduler *s, uint32_t *places)
{
    struct replay *replay = s->replay;
    for (size_t i = 0; i < replay->count; i++)
        places[replay->activities[i].place] = (uint32_t)i;
    for (size_t i = 0; i < replay->count; i++) {
        size_t count = s->first[i + 1] - s->first[i];
        uint32_t *sources = s->sources + s->first[i];
        if (count > MOST_DEPS)
            qsort_r(sources, count, sizeof *sources, by_end, s);
        for (size_t j = 0; j < count && j < MOST_DEPS; j++)
            if (!VECTOR_ADD(replay->deps, replay->dep_count, replay->dep_capacity,
                            (struct replay_dep){places[i], places[sources[j]], false}))
                return error_memory(s->err);
    }
    return true;
}

/* Times that a file does not tell are not 0. */
static bool check_times(const struct scheduler *s)
{
    const struct chakra *chakra = s->chakra;
    size_t timed = 0, untimed = 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < chakra->count; i++) {
        const struct chakra_node *node = &chakra->nodes[i];
        bool exchange = node->type >= CHAKRA_SEND && node->type <= CHAKRA_COLLECTIVE;
        timed += node->duration > 0;
        untimed += exchange && node->bytes > 0 && node->duration == 0;
        bytes += exchange && node->duration == 0 && node->bytes < INT64_C(1) << 40 ? node->bytes : 0;
    }
    if (s->replay->priced && (timed > 0 || untimed > 0))
        return true;
    if (timed == 0)
        return error_set(s->err, ERROR_INPUT,
                         "%s: an execution trace without times: no node has a duration (Chakra's linker "
                         "takes them from a trace of the profiler)",
                         chakra->path);
    return untimed == 0 ||
           error_set(s->err, ERROR_INPUT,
                     "%s: %zu exchanges of %lld bytes have no duration, which is for a simulator of networks "
                     "to find: "
                     "give a trace with what they took ('duration_micros'), such as one of Chakra's linker, "
                     "or all ranks and their cluster (simulate --replay -c)",
                     chakra->path, untimed, (long long)bytes);
}

static bool convert(struct scheduler *s)
{
    size_t count = s->chakra->count;
    if (!find_sources(s) || !check_times(s))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!choose_stream(s, i))
            return false;
    int64_t *free_at = calloc(s->replay->stream_count, sizeof *free_at);
    if (!free_at)
        return error_memory(s->err);
    find_targets(s);
    bool done = schedule(s, free_at);
    free(free_at);
    for (size_t i = 0; done && i < count; i++)
        done = add_activity(s, i);
    s->replay->events = count;
    s->replay->played = s->replay->typed = true;
    return done && replay_finish(s->replay, "nodes", s->err) && add_deps(s, s->waiting);
}

bool replay_read_chakra(struct replay *replay, const char *text, size_t length, struct error *err)
{
    struct chakra chakra;
    if (!chakra_load(&chakra, replay->path, text, length, err))
        return false;
    struct scheduler s = {.chakra = &chakra, .replay = replay, .control = true, .err = err};
    for (size_t i = 0; i < chakra.count && s.control; i++)
        s.control = chakra.nodes[i].data_count == 0;
    size_t nodes = chakra.count + 2, deps = chakra.dep_count + 1;
    s.sources = malloc(deps * sizeof *s.sources);
    s.targets = malloc(deps * sizeof *s.targets);
    s.first = malloc(nodes * sizeof *s.first);
    s.first_target = malloc(nodes * sizeof *s.first_target);
    s.waiting = malloc(nodes * sizeof *s.waiting);
    s.start = malloc(nodes * sizeof *s.start);
    s.ready = malloc(nodes * sizeof *s.ready);
    s.streams = malloc(nodes * sizeof *s.streams);
    s.heap = malloc(nodes * sizeof *s.heap);
    bool done = s.sources && s.targets && s.first && s.first_target && s.waiting && s.start && s.ready &&
                s.streams && s.heap;
    done = done ? convert(&s) : error_memory(err);
    void *lists[] = {s.sources, s.targets, s.first,   s.first_target, s.waiting,
                     s.start,   s.ready,   s.streams, s.heap};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]);
    chakra_release(&chakra);
    return done;
}
