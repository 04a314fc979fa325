/* Reads the text of a graph, checks it, and drops nodes that are no operations. */
#include "model/graph.h"

#include "core/hash.h"
#include "core/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MILLISECONDS 1e12 /* 1e9 s, as in every profile */
#define MAX_BYTES        0x1p53
#define SHOWN            60 /* bytes of the file in a message */
#define CYCLE_SHOWN      6

/* ---- text ---- */

struct edge {
    int from, to;
};

struct reader {
    struct graph *graph;
    const char *at, *end; /* the rest of the file */
    const char *line;     /* start of the current line */
    int line_number;
    double bytes; /* of all sizes so far */
    struct edge *edges;
    int node_capacity, edge_capacity;
    struct hash_names ids; /* of nodes: their index + 1 */
    struct error *err;
};

/* A piece of a line. */
struct piece {
    const char *start, *end;
};

static bool fail_at(const struct reader *r, const char *at, const char *what, struct piece found)
{
    int column = 1, length = (int)(found.end - found.start < SHOWN ? found.end - found.start : SHOWN);
    for (const char *c = r->line; c < at; c++)
        column += !text_continues(*c);
    while (length > 0 && found.start + length < found.end && text_continues(found.start[length]))
        length--;
    return error_set(r->err, ERROR_INPUT, "%s:%d:%d: %s, found '%.*s'%s", r->graph->path, r->line_number,
                     column, what, length, found.start, found.end - found.start > length ? "…" : "");
}

static bool starts(struct piece piece, const char *prefix)
{
    size_t length = strlen(prefix);
    return (size_t)(piece.end - piece.start) >= length && memcmp(piece.start, prefix, length) == 0;
}

/* Takes the text before `separator` from the front of `rest`. False: there is no separator, all is taken. */
static bool take(struct piece *rest, const char *separator, struct piece *piece)
{
    size_t length = strlen(separator);
    const char *found = memmem(rest->start, (size_t)(rest->end - rest->start), separator, length);
    *piece = (struct piece){rest->start, found ? found : rest->end};
    rest->start = found ? found + length : rest->end;
    return found != NULL;
}

static struct piece trim(struct piece piece)
{
    while (piece.start < piece.end && isspace((unsigned char)*piece.start))
        piece.start++;
    while (piece.start < piece.end && isspace((unsigned char)piece.end[-1]))
        piece.end--;
    return piece;
}

/* Reads a decimal number from 0 to `max`. */
static bool read_number(const struct reader *r, struct piece piece, double max, double *value)
{
    char text[64], *end = text;
    size_t length = (size_t)(piece.end - piece.start);
    *value = 0;
    if (length > 0 && length < sizeof text) {
        memcpy(text, piece.start, length);
        text[length] = '\0';
        if (strspn(text, "+-.0123456789eE") == length)
            *value = text_number(text, &end);
    }
    if (end == text || *end)
        return fail_at(r, piece.start, "expected a number", piece);
    if (!(*value >= 0 && *value <= max))
        return fail_at(r, piece.start,
                       max == MAX_BYTES ? "expected 0 to 2^53 bytes" : "expected 0 to 1e12 ms", piece);
    return true;
}

static bool read_size(struct reader *r, struct piece piece, int64_t *bytes)
{
    double value;
    if (!read_number(r, piece, MAX_BYTES, &value))
        return false;
    value = nearbyint(value);
    r->bytes += value;
    if (r->bytes >= MAX_BYTES)
        return fail_at(r, piece.start, "expected less than 2^53 bytes in the whole file", piece);
    *bytes += (int64_t)value;
    return true;
}

/* Reads "5", or a list with a size for each tensor: "[5; 6]". */
static bool read_sizes(struct reader *r, struct piece piece, int64_t *bytes)
{
    if (!starts(piece, "["))
        return read_size(r, piece, bytes);
    if (piece.end[-1] != ']')
        return fail_at(r, piece.end, "expected ']' at the end of the list", piece);
    struct piece rest = {piece.start + 1, piece.end - 1};
    bool more = true;
    while (more) {
        struct piece size;
        more = take(&rest, ";", &size);
        if (!read_size(r, trim(size), bytes))
            return false;
    }
    return true;
}

/* Takes "key=value" from the front of `rest`. */
static bool take_field(const struct reader *r, struct piece *rest, const char *key, bool last,
                       struct piece *value)
{
    char expected[64];
    bool more = take(rest, ", ", value);
    snprintf(expected, sizeof expected, "expected '%s='", key);
    if (!starts(*value, key) || value->start + strlen(key) >= value->end || value->start[strlen(key)] != '=')
        return fail_at(r, value->start, expected, *value);
    value->start += strlen(key) + 1;
    if (more == last)
        return fail_at(r, rest->start,
                       last ? "expected the end of the times and sizes" : "expected ', ' and more", *rest);
    return true;
}

static bool read_measures(struct reader *r, struct piece rest, struct graph_node *node)
{
    struct piece value;
    return take_field(r, &rest, "forward_compute_time", false, &value) &&
           read_number(r, value, MAX_MILLISECONDS, &node->forward_ms) &&
           take_field(r, &rest, "backward_compute_time", false, &value) &&
           read_number(r, value, MAX_MILLISECONDS, &node->backward_ms) &&
           take_field(r, &rest, "activation_size", false, &value) &&
           read_sizes(r, value, &node->activation_bytes) &&
           take_field(r, &rest, "parameter_size", true, &value) &&
           read_size(r, value, &node->parameter_bytes);
}

static bool read_node(struct reader *r, struct piece line)
{
    struct graph *graph = r->graph;
    struct piece id, name, measures, rest = line;
    if (!take(&rest, " -- ", &id) || !take(&rest, " -- ", &name))
        return fail_at(r, line.start, "expected 'ID -- NAME -- forward_compute_time=…'", line);
    if (id.start == id.end)
        return fail_at(r, line.start, "expected an identifier", line);
    bool stage = take(&rest, " -- ", &measures);
    bool added;
    uint32_t number = hash_names_id(&r->ids, id.start, (size_t)(id.end - id.start), &added);
    if (number && !added)
        return fail_at(r, id.start, "expected an identifier that no node above has", id);
    if (graph->node_count == r->node_capacity)
        return fail_at(r, id.start, "expected at most 4096 nodes", id);
    struct graph_node *node = &graph->nodes[graph->node_count];
    *node = (struct graph_node){
        .id = arena_copy(&graph->arena, id.start, (size_t)(id.end - id.start)),
        .name = arena_copy(&graph->arena, name.start, (size_t)(name.end - name.start)),
        .line = r->line_number,
        .view = starts(name, "__getitem__"),
    };
    if (!number || !node->id || !node->name)
        return error_memory(r->err);
    graph->node_count++;
    if (!read_measures(r, measures, node))
        return false;
    double ignored; /* PipeDream's optimizer adds a stage */
    const char *key = "stage_id=";
    if (stage && !starts(rest, key))
        return fail_at(r, rest.start, "expected 'stage_id='", rest);
    return !stage || read_number(r, (struct piece){rest.start + strlen(key), rest.end}, 1e9, &ignored);
}

static bool read_edge(struct reader *r, struct piece line)
{
    struct piece ends[2];
    int nodes[2];
    if (!take(&line, " -- ", &ends[0]))
        return fail_at(r, ends[0].start, "expected an edge 'ID -- ID'", ends[0]);
    ends[1] = line;
    for (int i = 0; i < 2; i++) {
        bool added;
        uint32_t number =
            hash_names_id(&r->ids, ends[i].start, (size_t)(ends[i].end - ends[i].start), &added);
        nodes[i] = (int)number - 1;
        if (number == 0)
            return error_memory(r->err);
        if (added)
            return fail_at(r, ends[i].start, "expected the identifier of a node above", ends[i]);
    }
    if (r->graph->read_edges == r->edge_capacity)
        return fail_at(r, ends[0].start, "expected at most 1000000 edges", ends[0]);
    r->edges[r->graph->read_edges++] = (struct edge){nodes[0], nodes[1]};
    return true;
}

static bool read_line(struct reader *r, struct piece line)
{
    if (line.end - line.start > GRAPH_MAX_LINE)
        return fail_at(r, line.start + GRAPH_MAX_LINE, "expected lines of at most 65536 bytes", line);
    if (memchr(line.start, '\0', (size_t)(line.end - line.start)))
        return fail_at(r, line.start, "expected text without NUL bytes", line);
    struct piece content = trim(line);
    if (content.start == content.end)
        return true;
    return content.start == line.start ? read_node(r, content) : read_edge(r, content);
}

static bool read_lines(struct reader *r)
{
    while (r->at < r->end) {
        const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
        struct piece line = {r->at, newline ? newline : r->end};
        r->line = r->at;
        r->line_number++;
        if (!read_line(r, line))
            return false;
        r->at = newline ? newline + 1 : r->end;
    }
    return true;
}

/* ---- operations ---- */

/* Counts, for each node, the edges that leave (or enter) it. */
static void count_edges(const struct reader *r, const bool *gone, bool leaving, int *counts)
{
    memset(counts, 0, (size_t)r->graph->node_count * sizeof *counts);
    for (int e = 0; e < r->graph->read_edges; e++)
        if (!gone[r->edges[e].from] && !gone[r->edges[e].to])
            counts[leaving ? r->edges[e].from : r->edges[e].to]++;
}

/* Drops sources called Input…, then sinks that are views. Returns the number of remaining nodes. */
static int leave_out(const struct reader *r, bool *gone, int *counts)
{
    int left = 0;
    count_edges(r, gone, false, counts);
    for (int i = 0; i < r->graph->node_count; i++)
        gone[i] = counts[i] == 0 && text_starts_with(r->graph->nodes[i].name, "Input");
    count_edges(r, gone, true, counts);
    for (int i = 0; i < r->graph->node_count; i++) {
        gone[i] = gone[i] || (counts[i] == 0 && r->graph->nodes[i].view);
        left += !gone[i];
    }
    return left;
}

/* Lists the neighbours of each remaining node, each once; `seen` and `counts` hold an int per node. */
static bool connect(const struct reader *r, const bool *gone, int *seen, int *counts)
{
    struct graph *graph = r->graph;
    for (int leaving = 0; leaving < 2; leaving++) {
        count_edges(r, gone, leaving, counts);
        for (int i = 0; i < graph->node_count; i++) {
            int **list = leaving ? &graph->nodes[i].next : &graph->nodes[i].previous;
            if (!(*list = ARENA_ARRAY(&graph->arena, (size_t)counts[i], int)))
                return error_memory(r->err);
        }
    }
    for (int e = 0; e < graph->read_edges; e++) {
        struct graph_node *from = &graph->nodes[r->edges[e].from];
        if (!gone[r->edges[e].from] && !gone[r->edges[e].to])
            from->next[from->next_count++] = r->edges[e].to;
    }
    memset(seen, 0, (size_t)graph->node_count * sizeof *seen);
    for (int i = 0; i < graph->node_count; i++) {
        struct graph_node *from = &graph->nodes[i];
        int count = from->next_count;
        from->next_count = 0;
        for (int k = 0; k < count; k++) {
            struct graph_node *to = &graph->nodes[from->next[k]];
            if (seen[from->next[k]] == i + 1)
                continue;
            seen[from->next[k]] = i + 1;
            from->next[from->next_count++] = from->next[k];
            to->previous[to->previous_count++] = i;
        }
    }
    return true;
}

/* Removes dropped nodes; the others move up. */
static void close_up(struct graph *graph, const bool *gone, int *place)
{
    int left = 0;
    for (int i = 0; i < graph->node_count; i++)
        place[i] = gone[i] ? -1 : left++;
    for (int i = 0; i < graph->node_count; i++) {
        if (gone[i])
            continue;
        struct graph_node node = graph->nodes[i];
        for (int k = 0; k < node.next_count; k++)
            node.next[k] = place[node.next[k]];
        for (int k = 0; k < node.previous_count; k++)
            node.previous[k] = place[node.previous[k]];
        graph->nodes[place[i]] = node;
    }
    graph->node_count = left;
}

/* ---- order ---- */

/* Returns the last node that `at` depends on and that waits, too. */
static int waiting_before(const struct graph *graph, const int *waiting, int at)
{
    const struct graph_node *node = &graph->nodes[at];
    for (int k = 0; k < node->previous_count; k++)
        if (waiting[node->previous[k]])
            at = node->previous[k];
    return at;
}

/* Reports a cycle among the nodes that still wait: goes back from any of them until a node comes twice. */
static bool fail_cycle(const struct reader *r, const int *waiting, int *seen)
{
    const struct graph *graph = r->graph;
    struct text text = {0};
    int at = 0, length = 0;
    while (!waiting[at])
        at++;
    memset(seen, 0, (size_t)graph->node_count * sizeof *seen);
    while (!seen[at]) {
        seen[at] = 1;
        at = waiting_before(graph, waiting, at);
    }
    int first = at;
    do {
        if (length++ < CYCLE_SHOWN)
            text_format(&text, "%s'%s'", length > 1 ? " needs " : "", graph->nodes[at].id);
        at = waiting_before(graph, waiting, at);
    } while (at != first);
    text_format(&text, "%s needs '%s'", length > CYCLE_SHOWN ? " needs …" : "", graph->nodes[first].id);
    error_set(r->err, ERROR_INPUT, "%s:%d:1: a cycle of %d nodes: %s", graph->path, graph->nodes[first].line,
              length, text.failed ? graph->nodes[first].id : text.data);
    text_release(&text);
    return false;
}

static bool sort(const struct reader *r, int *waiting, int *seen)
{
    struct graph *graph = r->graph;
    int done = 0;
    graph->order = ARENA_ARRAY(&graph->arena, (size_t)graph->node_count, int);
    if (!graph->order)
        return error_memory(r->err);
    for (int i = 0; i < graph->node_count; i++)
        if (!(waiting[i] = graph->nodes[i].previous_count))
            graph->order[done++] = i;
    for (int k = 0; k < done; k++) {
        const struct graph_node *node = &graph->nodes[graph->order[k]];
        for (int e = 0; e < node->next_count; e++)
            if (--waiting[node->next[e]] == 0)
                graph->order[done++] = node->next[e];
    }
    return done == graph->node_count || fail_cycle(r, waiting, seen);
}

static bool finish(const struct reader *r, bool *gone, int *numbers, int *more_numbers)
{
    struct graph *graph = r->graph;
    int read = graph->read_nodes;
    if (leave_out(r, gone, numbers) == 0)
        return error_set(r->err, ERROR_INPUT, "%s: no operation, only %d inputs or unused nodes", graph->path,
                         read);
    if (!connect(r, gone, numbers, more_numbers))
        return false;
    close_up(graph, gone, numbers);
    return sort(r, numbers, more_numbers);
}

/* ---- the whole ---- */

/* Returns the number of samples in a name such as "vgg-19-pbs-32.txt"; 0: none. */
static int batch_in_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *found = strstr(slash ? slash : path, "pbs-");
    char *end;
    long batch = found ? strtol(found + strlen("pbs-"), &end, 10) : 0;
    return batch > 0 && batch <= PROFILE_MAX_MICROBATCH ? (int)batch : 0;
}

/* Counts the lines that may be nodes, and edges. */
static void count_lines(struct reader *r)
{
    const char *line = r->at;
    while (line < r->end) {
        if (*line == ' ' || *line == '\t')
            r->edge_capacity += r->edge_capacity < GRAPH_MAX_EDGES;
        else
            r->node_capacity += r->node_capacity < GRAPH_MAX_NODES;
        line = memchr(line, '\n', (size_t)(r->end - line));
        line = line ? line + 1 : r->end;
    }
}

static bool parse(struct reader *r)
{
    struct graph *graph = r->graph;
    struct arena scratch = {0};
    count_lines(r);
    size_t nodes = (size_t)r->node_capacity;
    graph->nodes = ARENA_ARRAY(&graph->arena, nodes, struct graph_node);
    r->edges = ARENA_ARRAY(&scratch, (size_t)r->edge_capacity, struct edge);
    bool *gone = ARENA_ARRAY(&scratch, nodes, bool);
    int *numbers = ARENA_ARRAY(&scratch, nodes, int);
    int *more_numbers = ARENA_ARRAY(&scratch, nodes, int);
    bool done = false;
    if (!graph->nodes || !r->edges || !gone || !numbers || !more_numbers) {
        error_memory(r->err);
    } else if (read_lines(r)) {
        graph->read_nodes = graph->node_count;
        done = graph->node_count ? finish(r, gone, numbers, more_numbers)
                                 : error_set(r->err, ERROR_INPUT, "%s: no node in this file", graph->path);
    }
    hash_names_release(&r->ids);
    arena_release(&scratch);
    return done;
}

bool graph_parse(struct graph *graph, const char *path, const char *data, size_t length, struct error *err)
{
    struct reader r = {.graph = graph, .at = data, .end = data + length, .err = err};
    memset(graph, 0, sizeof *graph);
    graph->path = arena_string(&graph->arena, path);
    graph->profile_batch = batch_in_name(path);
    size_t valid = text_valid_utf8(data, length);
    bool done = false;
    if (!graph->path)
        error_memory(err);
    else if (valid < length)
        error_set(err, ERROR_INPUT, "%s: byte %zu is not UTF-8", path, valid + 1);
    else
        done = parse(&r);
    if (!done)
        graph_release(graph);
    return done;
}

void graph_release(struct graph *graph)
{
    arena_release(&graph->arena);
    memset(graph, 0, sizeof *graph);
}

bool graph_recognise(const char *path, const char *data, size_t length)
{
    const char *end = data + length;
    while (data < end && isspace((unsigned char)*data))
        data++;
    const char *newline = memchr(data, '\n', (size_t)(end - data));
    size_t line = (size_t)((newline ? newline : end) - data);
    if (line == 0 || *data == '{' || *data == '[')
        return false;
    return text_ends_with(path, ".txt") || memmem(data, line, " -- ", 4);
}
