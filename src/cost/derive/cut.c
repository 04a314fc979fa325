/* Maximum flow: Dinic 1970, "Algorithm for solution of a problem of maximum flow in networks with power
 * estimation". */
#include "cost/derive/cut.h"

#include "core/stop.h"

#include <string.h>

enum { SOURCE, SINK };

bool cut_init(struct cut *cut, struct arena *arena, int node_count, size_t max_connections)
{
    size_t count = (size_t)node_count;
    *cut = (struct cut){
        .node_count = node_count,
        .edges = ARENA_ARRAY(arena, 2 * max_connections, struct cut_edge),
        .first = ARENA_ARRAY(arena, count, int),
        .level = ARENA_ARRAY(arena, count, int),
        .at = ARENA_ARRAY(arena, count, int),
        .queue = ARENA_ARRAY(arena, count, int),
    };
    if (!cut->first || !cut->level || !cut->at || !cut->queue || !cut->edges)
        return false;
    for (int i = 0; i < node_count; i++)
        cut->first[i] = -1;
    return true;
}

static void add(struct cut *cut, int from, int to, int64_t capacity)
{
    cut->edges[cut->edge_count] = (struct cut_edge){to, cut->first[from], capacity};
    cut->first[from] = cut->edge_count++;
}

void cut_connect(struct cut *cut, int from, int to, int64_t capacity)
{
    add(cut, from, to, capacity);
    add(cut, to, from, 0);
}

/* Distances from `start` along edges with capacity left (backwards: against them), up to that of the sink. */
static void find_levels(struct cut *cut, int start, bool backwards)
{
    int read = 0, written = 0;
    memset(cut->level, -1, (size_t)cut->node_count * sizeof *cut->level);
    cut->level[start] = 0;
    cut->queue[written++] = start;
    while (read < written && (backwards || cut->level[SINK] < 0) && !stop_wanted_at((size_t)read)) {
        int node = cut->queue[read++];
        for (int e = cut->first[node]; e >= 0; e = cut->edges[e].next) {
            int to = cut->edges[e].to;
            if (cut->level[to] < 0 && cut->edges[backwards ? e ^ 1 : e].left > 0) {
                cut->level[to] = cut->level[node] + 1;
                cut->queue[written++] = to;
            }
        }
    }
}

/* Pushes the flow that one path from source to sink can take; 0: there is no path left. `queue` holds its
 * edges: a graph may be deeper than the stack. */
static int64_t push(struct cut *cut)
{
    int node = SOURCE, length = 0;
    while (node != SINK) {
        int e = cut->at[node];
        while (e >= 0 && !(cut->edges[e].left > 0 && cut->level[cut->edges[e].to] == cut->level[node] + 1))
            e = cut->edges[e].next;
        cut->at[node] = e;
        if (e >= 0) {
            cut->queue[length++] = e;
            node = cut->edges[e].to;
        } else if (length == 0) {
            return 0;
        } else { /* a dead end: not this way again */
            e = cut->queue[--length];
            node = cut->edges[e ^ 1].to;
            cut->at[node] = cut->edges[e].next;
        }
    }
    int64_t flow = CUT_NEVER;
    for (int i = 0; i < length; i++)
        if (cut->edges[cut->queue[i]].left < flow)
            flow = cut->edges[cut->queue[i]].left;
    for (int i = 0; i < length; i++) {
        cut->edges[cut->queue[i]].left -= flow;
        cut->edges[cut->queue[i] ^ 1].left += flow;
    }
    return flow;
}

void cut_find(struct cut *cut)
{
    for (;;) {
        find_levels(cut, SOURCE, false);
        if (cut->level[SINK] < 0 || stop_wanted())
            break;
        memcpy(cut->at, cut->first, (size_t)cut->node_count * sizeof *cut->at);
        int64_t flow;
        do
            flow = push(cut);
        while (flow > 0 && flow < CUT_NEVER && !stop_wanted());
        if (flow == CUT_NEVER)
            break; /* cannot be cut: something that must be kept leads to the sink without a value between */
    }
    find_levels(cut, SINK, true);
}

bool cut_reaches_sink(const struct cut *cut, int node)
{
    return cut->level[node] >= 0;
}
