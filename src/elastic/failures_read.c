#include "elastic/failures.h"

#include "core/csv.h"
#include "core/hash.h"
#include "core/heap.h"
#include "core/random.h"
#include "core/stop.h"
#include "core/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TIME 1e12 /* seconds */

/* Numbers of nodes: a heap of those that are free again, and a list of those that are there. */
struct numbers {
    int limit;                      /* of the cluster; 0: none */
    int used;                       /* numbers that were ever taken: 0 … used-1 */
    int *free_ones, *there, *place; /* place of a node in `there`, -1: not there */
    size_t free_capacity, there_capacity, place_capacity;
    int free_count, there_count;
};

struct reading {
    const struct csv *csv;
    struct failure_trace *trace;
    struct numbers numbers;
    struct hash_names names;
    int *node_of_name; /* [id - 1]; -1: not there */
    size_t name_capacity;
    int name_count;
    bool all_there;   /* at the beginning */
    int next_unnamed; /* of nodes that were there at the beginning: the first that no line has named */
};

HEAP_INLINE bool lower_number(const void *a, const void *b, const void *context)
{
    (void)context;
    return *(const int *)a < *(const int *)b;
}

static bool room_for_node(struct numbers *numbers, int node)
{
    return VECTOR_ROOM(numbers->place, numbers->place_capacity, (size_t)node + 1) &&
           VECTOR_ROOM(numbers->there, numbers->there_capacity, (size_t)numbers->there_count + 1);
}

/* Returns the lowest free number, which is there from now on; -1: the cluster is full; -2: out of memory. */
static int take_number(struct numbers *numbers)
{
    int node = numbers->used;
    if (numbers->free_count > 0) {
        heap_pop(numbers->free_ones, (size_t)numbers->free_count, sizeof(int), lower_number, NULL);
        node = numbers->free_ones[--numbers->free_count];
    } else if (node >= (numbers->limit > 0 ? numbers->limit : FAILURES_MAX_NODES)) {
        return -1;
    } else {
        numbers->used++;
    }
    if (!room_for_node(numbers, node))
        return -2;
    numbers->place[node] = numbers->there_count;
    numbers->there[numbers->there_count++] = node;
    return node;
}

static bool drop_number(struct numbers *numbers, int node)
{
    int place = numbers->place[node], last = numbers->there[--numbers->there_count];
    numbers->there[place] = last;
    numbers->place[last] = place;
    numbers->place[node] = -1;
    if (!VECTOR_ADD(numbers->free_ones, numbers->free_count, numbers->free_capacity, node))
        return false;
    heap_push(numbers->free_ones, (size_t)numbers->free_count, sizeof(int), lower_number, NULL);
    return true;
}

static bool put_event(struct reading *reading, double time, int node, bool returned, struct error *err)
{
    struct failure_trace *trace = reading->trace;
    if (trace->count >= FAILURES_MAX_READ)
        return error_set(err, ERROR_INPUT, "%s: more than %d losses and returns", reading->csv->path,
                         FAILURES_MAX_READ);
    return VECTOR_ADD(trace->events, trace->count, trace->capacity,
                      (struct failure_event){.time = time, .node = node, .returned = returned}) ||
           error_memory(err);
}

static bool full(const struct reading *reading, int row, int column, struct error *err)
{
    int limit = reading->numbers.limit;
    return csv_error(reading->csv, row, column, err, "more nodes than the %s %d",
                     limit > 0 ? "cluster's" : "limit of", limit > 0 ? limit : FAILURES_MAX_NODES);
}

static bool fill_cluster(struct reading *reading, int count, struct error *err)
{
    while (reading->numbers.there_count < count)
        if (take_number(&reading->numbers) < 0)
            return error_memory(err);
    reading->trace->present = count;
    return true;
}

/* ---- rows of events ---- */

static bool comes(struct reading *reading, int row, int column, int *known, double time, struct error *err)
{
    if (*known >= 0)
        return csv_error(reading->csv, row, column, err, "node '%s' is added, but it is there already",
                         csv_cell(reading->csv, row, column));
    *known = take_number(&reading->numbers);
    if (*known == -1)
        return full(reading, row, column, err);
    if (*known < 0)
        return error_memory(err);
    return put_event(reading, time, *known, true, err);
}

static bool goes(struct reading *reading, int *known, double time, struct error *err)
{
    int node = *known;
    *known = -1;
    return (drop_number(&reading->numbers, node) || error_memory(err)) &&
           put_event(reading, time, node, false, err);
}

enum happening { NODE_GOES, NODE_COMES, NODE_SLOWS, NODE_RECOVERS, HAPPENINGS };

/* HAPPENINGS: another word. */
static enum happening word_of(const char *word)
{
    static const struct {
        const char *word;
        enum happening what;
    } words[] = {{"add", NODE_COMES}, {"returned", NODE_COMES}, {"remove", NODE_GOES},
                 {"lost", NODE_GOES}, {"slow", NODE_SLOWS},     {"recovered", NODE_RECOVERS}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i].word) == 0)
            return words[i].what;
    return HAPPENINGS;
}

/* A node that no line has named yet is one of those that were there at the beginning. */
static bool find_node(struct reading *reading, int row, int column, int *known, bool added, const char *what,
                      struct error *err)
{
    if (added && reading->all_there && reading->next_unnamed < reading->numbers.used)
        *known = reading->next_unnamed++;
    if (*known >= 0)
        return true;
    if (added && reading->all_there)
        return csv_error(reading->csv, row, column, err,
                         "node '%s' %s, but all %d nodes of the cluster have other names",
                         csv_cell(reading->csv, row, column), what, reading->numbers.used);
    return csv_error(reading->csv, row, column, err, "node '%s' %s, but it is not there",
                     csv_cell(reading->csv, row, column), what);
}

static bool slows(struct reading *reading, int row, int node, double time, bool recovers, struct error *err)
{
    struct failure_trace *trace = reading->trace;
    double speed = 1;
    int column;
    if (!recovers && (!csv_need(reading->csv, "speed", &column, err) ||
                      !csv_number(reading->csv, row, column, 1e-3, 1, &speed, err)))
        return false;
    if (trace->slow_count >= FAILURES_MAX_READ)
        return error_set(err, ERROR_INPUT, "%s: more than %d slow nodes", reading->csv->path,
                         FAILURES_MAX_READ);
    return VECTOR_ADD(trace->slow, trace->slow_count, trace->slow_capacity,
                      (struct failure_slowdown){time, node, speed}) ||
           error_memory(err);
}

static bool read_event(struct reading *reading, int row, int event_column, int node_column, double time,
                       struct error *err)
{
    const struct csv *csv = reading->csv;
    enum happening what = word_of(csv_cell(csv, row, event_column));
    const char *name = csv_cell(csv, row, node_column);
    bool added;
    if (what == HAPPENINGS)
        return csv_error(csv, row, event_column, err,
                         "expected add, remove, returned, lost, slow or recovered, found '%s'",
                         csv_cell(csv, row, event_column));
    if (!*name)
        return csv_error(csv, row, node_column, err, "expected a node's name");
    if (row == 0 && what != NODE_COMES) {
        if (reading->numbers.limit == 0)
            return csv_error(
                csv, row, event_column, err,
                "the first event is of a node that is there: give the number of nodes before it (--nodes)");
        reading->all_there = true;
        if (!fill_cluster(reading, reading->numbers.limit, err))
            return false;
    }
    uint32_t id = hash_names_id(&reading->names, name, strlen(name), &added);
    if (id == 0 ||
        (added && !VECTOR_ADD(reading->node_of_name, reading->name_count, reading->name_capacity, -1)))
        return error_memory(err);
    int *known = &reading->node_of_name[id - 1];
    if (what == NODE_COMES)
        return comes(reading, row, node_column, known, time, err);
    if (!find_node(reading, row, node_column, known, added,
                   what == NODE_GOES ? "is removed" : "is slow or recovers", err))
        return false;
    return what == NODE_GOES ? goes(reading, known, time, err)
                             : slows(reading, row, *known, time, what == NODE_RECOVERS, err);
}

/* ---- rows of counts ---- */

/* Of rows with the same time the last one counts: traces often say "4 until now", "5 from now on". */
static bool read_count(struct reading *reading, int row, int column, double time, uint64_t seed,
                       struct error *err)
{
    const struct csv *csv = reading->csv;
    struct numbers *numbers = &reading->numbers;
    double count, next;
    if (!csv_number(csv, row, column, 0, FAILURES_MAX_NODES, &count, err))
        return false;
    if (count != floor(count))
        return csv_error(csv, row, column, err, "expected a whole number of nodes, found %g", count);
    if (numbers->limit > 0 && count > numbers->limit)
        return full(reading, row, column, err);
    if (row + 1 < csv->row_count &&
        (!csv_number(csv, row + 1, csv_column(csv, "t_s"), 0, MAX_TIME, &next, err) || next <= time))
        return next <= time;
    if (reading->trace->present < 0)
        return fill_cluster(reading, (int)count, err);
    while (numbers->there_count > (int)count) {
        uint64_t draw =
            random_mix(random_mix(seed + RANDOM_GOLDEN) + (uint64_t)reading->trace->count * RANDOM_GOLDEN);
        int node = numbers->there[(int)(random_fraction(draw) * numbers->there_count)];
        if (!drop_number(numbers, node))
            return error_memory(err);
        if (!put_event(reading, time, node, false, err))
            return false;
    }
    while (numbers->there_count < (int)count) {
        int node = take_number(numbers);
        if (node < 0)
            return error_memory(err);
        if (!put_event(reading, time, node, true, err))
            return false;
    }
    return true;
}

/* ---- the table ---- */

static bool read_rows(struct reading *reading, uint64_t seed, struct error *err)
{
    const struct csv *csv = reading->csv;
    int time_column, node_column = -1, column = csv_column(csv, "available");
    bool events = column < 0;
    double last = 0, time;
    if (!csv_need(csv, "t_s", &time_column, err))
        return false;
    if (events && (!csv_need(csv, "event", &column, err) || !csv_need(csv, "node", &node_column, err)))
        return false;
    if (csv->row_count == 0)
        return error_set(err, ERROR_INPUT, "%s: no events", csv->path);
    reading->trace->present = events ? 0 : -1;
    reading->trace->counted = !events;
    for (int row = 0; row < csv->row_count; row++, last = time) {
        if (stop_obeyed_at((size_t)row, err) || !csv_number(csv, row, time_column, 0, MAX_TIME, &time, err))
            return false;
        if (time < last)
            return csv_error(csv, row, time_column, err, "time goes backwards, from %g s to %g s", last,
                             time);
        if (events ? !read_event(reading, row, column, node_column, time, err)
                   : !read_count(reading, row, column, time, seed, err))
            return false;
    }
    if (last <= 0)
        return error_set(err, ERROR_INPUT, "%s: all events are at 0 s", csv->path);
    reading->trace->horizon = last;
    reading->trace->nodes = reading->numbers.limit > 0 ? reading->numbers.limit : reading->numbers.used;
    return reading->trace->nodes != 0 ||
           error_set(err, ERROR_INPUT, "%s: no node is ever available", csv->path);
}

static bool read_table(struct failure_trace *trace, const struct csv *csv, int nodes, uint64_t seed,
                       struct error *err)
{
    struct reading reading = {.csv = csv, .trace = trace, .numbers = {.limit = nodes}};
    bool ok;
    trace->count = trace->slow_count = 0;
    if (nodes < 0 || nodes > FAILURES_MAX_NODES)
        return error_set(err, ERROR_INPUT, "failures: expected at most %d nodes, found %d",
                         FAILURES_MAX_NODES, nodes);
    ok = read_rows(&reading, seed, err);
    hash_names_release(&reading.names);
    free(reading.node_of_name);
    free(reading.numbers.free_ones);
    free(reading.numbers.there);
    free(reading.numbers.place);
    return ok;
}

bool failures_load(struct failure_trace *trace, const char *path, int nodes, uint64_t seed, struct error *err)
{
    struct csv csv;
    if (!csv_load(&csv, path, err))
        return false;
    bool ok = read_table(trace, &csv, nodes, seed, err);
    csv_release(&csv);
    return ok;
}

bool failures_parse(struct failure_trace *trace, const char *path, const char *data, size_t length, int nodes,
                    uint64_t seed, struct error *err)
{
    struct csv csv;
    if (!csv_parse(&csv, path, data, length, err))
        return false;
    bool ok = read_table(trace, &csv, nodes, seed, err);
    csv_release(&csv);
    return ok;
}
