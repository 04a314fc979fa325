/* Which device copies which cells from which: the time of reconfigure.h. */
#include "core/vector.h"
#include "elastic/reconfigure_make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Places of nodes in new instances: the pair of a node and a place that keeps most bytes goes first. */

/* Slots of a shape on one of its nodes. */
static const struct elastic_slot *elastic_slots_at(const struct elastic_shape *shape, int position,
                                                   int *count)
{
    int low = 0, high = shape->slot_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (shape->slots[middle].position < position)
            low = middle + 1;
        else
            high = middle;
    }
    for (*count = 0; low + *count < shape->slot_count && shape->slots[low + *count].position == position;)
        ++*count;
    return &shape->slots[low];
}

/* The place of each node of the cluster in its instance; malloc'ed. NULL: out of memory. */
static int *elastic_positions(const struct elastic_state *state)
{
    int *positions = calloc((size_t)state->node_count + 1, sizeof *positions);
    for (int i = 0; positions && i < state->instance_count; i++)
        for (int p = 0; p < state->kit->shapes[state->instances[i].shape].nodes; p++)
            positions[state->instances[i].nodes[p]] = p;
    return positions;
}

static int overlap(int first, int last, int other_first, int other_last)
{
    int from = first > other_first ? first : other_first, to = last < other_last ? last : other_last;
    return to - from;
}

/* Bytes of a place's slots that a node holds already. */
static double kept_bytes(const struct elastic_kit *kit, const struct elastic_slot *slots, int count,
                         const struct elastic_slot *held, int held_count)
{
    double bytes = 0;
    for (int a = 0; a < count; a++)
        for (int b = 0; b < held_count; b++) {
            int units = overlap(slots[a].from, slots[a].until, held[b].from, held[b].until);
            int segments = overlap(slots[a].first, slots[a].last, held[b].first, held[b].last) + 1;
            if (units > 0 && segments > 0) {
                int first = slots[a].first > held[b].first ? slots[a].first : held[b].first;
                bytes += units * elastic_unit_bytes(kit, first, first + segments - 1);
            }
        }
    return bytes;
}

struct seat {
    double bytes;
    int position, at; /* of the crew's nodes */
};

static int most_first(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;
    if (x->bytes != y->bytes)
        return (x->bytes < y->bytes) - (x->bytes > y->bytes);
    return x->position != y->position ? x->position - y->position : x->at - y->at;
}

struct seating {
    const struct elastic_state *from;
    const int *positions; /* in `from` */
    const struct elastic_shape *shape;
    const struct elastic_crew *crew;
};

static double seat_bytes(const struct seating *seating, int position, int node)
{
    int count, held_count = 0, owner = seating->from->owner[node];
    const struct elastic_slot *slots = elastic_slots_at(seating->shape, position, &count), *held = NULL;
    if (owner >= 0)
        held = elastic_slots_at(&seating->from->kit->shapes[seating->from->instances[owner].shape],
                                seating->positions[node], &held_count);
    return kept_bytes(seating->from->kit, slots, count, held, held_count);
}

static bool seat_crew(const struct seating *seating, int *nodes, struct error *err)
{
    const struct elastic_kit *kit = seating->from->kit;
    size_t all = (size_t)seating->shape->nodes * (size_t)seating->crew->count, count = 0;
    struct seat *seats = calloc(all + 1, sizeof *seats);
    bool *taken = calloc((size_t)seating->crew->count + 1, sizeof *taken);
    if (!seats || !taken) {
        free(seats);
        free(taken);
        return error_memory(err);
    }
    for (int p = 0; p < seating->shape->nodes; p++) {
        nodes[p] = -1;
        for (int i = 0; i < seating->crew->count; i++)
            if (elastic_kind_of(kit, seating->crew->nodes[i]) == seating->shape->kinds[p])
                seats[count++] = (struct seat){seat_bytes(seating, p, seating->crew->nodes[i]), p, i};
    }
    qsort(seats, count, sizeof *seats, most_first);
    for (size_t s = 0; s < count; s++)
        if (nodes[seats[s].position] < 0 && !taken[seats[s].at]) {
            nodes[seats[s].position] = seating->crew->nodes[seats[s].at];
            taken[seats[s].at] = true;
        }
    free(seats);
    free(taken);
    return true;
}

/* Returns whether nobody left or joined: then all places stay. */
static bool is_as_before(const struct elastic_crews *crews, const struct elastic_crew *crew, int shape)
{
    if (crew->origin < 0 || crews->from->instances[crew->origin].shape != shape)
        return false;
    const struct elastic_instance *before = &crews->from->instances[crew->origin];
    return crew->count == crews->from->kit->shapes[shape].nodes &&
           memcmp(crew->nodes, before->nodes, (size_t)crew->count * sizeof *crew->nodes) == 0;
}

static int first_node(const struct elastic_kit *kit, const struct elastic_instance *instance)
{
    int first = instance->nodes[0];
    for (int p = 1; p < kit->shapes[instance->shape].nodes; p++)
        first = instance->nodes[p] < first ? instance->nodes[p] : first;
    return first;
}

/* By nodes, then by first node. */
static void sort_instances(struct elastic_state *state)
{
    for (int i = 1; i < state->instance_count; i++) {
        struct elastic_instance instance = state->instances[i];
        int nodes = state->kit->shapes[instance.shape].nodes, first = first_node(state->kit, &instance),
            at = i;
        for (; at > 0; at--) {
            const struct elastic_instance *before = &state->instances[at - 1];
            int size = state->kit->shapes[before->shape].nodes;
            if (size < nodes || (size == nodes && first_node(state->kit, before) < first))
                break;
            state->instances[at] = *before;
        }
        state->instances[at] = instance;
    }
}

bool elastic_seat_crews(struct elastic_crews *crews, struct error *err)
{
    struct elastic_state *after = &crews->out->after;
    const struct elastic_kit *kit = after->kit;
    int *positions = elastic_positions(crews->from);
    after->instances = calloc(crews->count + 1, sizeof *after->instances);
    after->instance_count = 0;
    bool ok = positions && after->instances ? true : error_memory(err);
    for (int n = 0; n < after->node_count; n++)
        if (after->owner[n] != ELASTIC_GONE)
            after->owner[n] = ELASTIC_SPARE;
    for (size_t i = 0; ok && i < crews->count; i++) {
        const struct elastic_crew *crew = &crews->crews[i];
        if (crew->count == 0)
            continue;
        struct elastic_instance *instance = &after->instances[after->instance_count];
        instance->shape = elastic_crew_shape(crews, crew);
        struct seating seating = {crews->from, positions, &kit->shapes[instance->shape], crew};
        instance->nodes = calloc((size_t)crew->count + 1, sizeof *instance->nodes);
        if (!instance->nodes) {
            ok = error_memory(err);
            break;
        }
        after->instance_count++;
        if (is_as_before(crews, crew, instance->shape))
            memcpy(instance->nodes, crew->nodes, (size_t)crew->count * sizeof *crew->nodes);
        else
            ok = seat_crew(&seating, instance->nodes, err);
    }
    if (ok)
        sort_instances(after);
    for (int i = 0; ok && i < after->instance_count; i++)
        for (int p = 0; p < kit->shapes[after->instances[i].shape].nodes; p++)
            after->owner[after->instances[i].nodes[p]] = i;
    free(positions);
    return ok;
}

#define MAX_MOVES 2000 /* of pieces away from the fullest device */

/* A cell that a device needs. */
struct need {
    int segment, unit, device; /* device: node x per_node + device of the node */
    int source;                /* device; -1: none yet */
    bool inside;
};

struct copying {
    const struct elastic_state *from;
    struct elastic_transition *out;
    int per_node; /* maximum of all kinds */
    int *positions, *new_positions;
    struct need *needs;
    size_t need_count, need_capacity;
    int *cell_of;         /* [cell]: index among needed cells; -1: nobody needs it */
    int *first, *holders; /* of needed cell i: holders[first[i]] to holders[first[i + 1] - 1], devices */
    int cell_count;
    double *load_out, *load_in;     /* [device] seconds, between nodes */
    double *inside_out, *inside_in; /* within the node */
};

static const struct elastic_kind *kind_of(const struct copying *c, int device)
{
    return &c->from->kit->kinds[elastic_kind_of(c->from->kit, device / c->per_node)];
}

static double cell_bytes(const struct copying *c, int segment)
{
    return elastic_unit_bytes(c->from->kit, segment, segment);
}

/* Slots of a node in a state; none for spares. */
static const struct elastic_slot *slots_of(const struct elastic_state *state, const int *positions, int node,
                                           int *count)
{
    *count = 0;
    if (state->owner[node] < 0)
        return NULL;
    return elastic_slots_at(&state->kit->shapes[state->instances[state->owner[node]].shape], positions[node],
                            count);
}

static bool holds(const struct elastic_slot *slots, int count, int device, int segment, int unit)
{
    for (int i = 0; i < count; i++)
        if (slots[i].device == device && slots[i].first <= segment && segment <= slots[i].last &&
            slots[i].from <= unit && unit < slots[i].until)
            return true;
    return false;
}

/* Lists the cells that a node's devices did not hold. */
static bool list_needs(struct copying *c, int node, struct error *err)
{
    int count, held_count;
    const struct elastic_state *after = &c->out->after;
    const struct elastic_slot *slots = slots_of(after, c->new_positions, node, &count);
    const struct elastic_slot *held = slots_of(c->from, c->positions, node, &held_count);
    if (slots == held)
        return true;
    for (int i = 0; i < count; i++)
        for (int s = slots[i].first; s <= slots[i].last; s++)
            for (int u = slots[i].from; u < slots[i].until; u++) {
                struct need need = {s, u, node * c->per_node + slots[i].device, -1, false};
                if (!holds(held, held_count, slots[i].device, s, u) &&
                    !VECTOR_ADD(c->needs, c->need_count, c->need_capacity, need))
                    return error_memory(err);
            }
    return true;
}

/* Calls `visit` for every live device that held a needed cell. */
static void visit_holders(struct copying *c, void (*visit)(struct copying *, int cell, int device))
{
    int units = c->from->kit->units;
    for (int node = 0; node < c->from->node_count; node++) {
        int count;
        const struct elastic_slot *slots = slots_of(c->from, c->positions, node, &count);
        if (c->out->after.owner[node] == ELASTIC_GONE)
            continue;
        for (int i = 0; i < count; i++)
            for (int s = slots[i].first; s <= slots[i].last; s++)
                for (int u = slots[i].from; u < slots[i].until; u++)
                    if (c->cell_of[s * units + u] >= 0)
                        visit(c, c->cell_of[s * units + u], node * c->per_node + slots[i].device);
    }
}

static void count_holder(struct copying *c, int cell, int device)
{
    (void)device;
    c->first[cell + 1]++;
}

static void keep_holder(struct copying *c, int cell, int device)
{
    c->holders[c->first[cell]++] = device;
}

static bool find_holders(struct copying *c, struct error *err)
{
    int cells = c->from->kit->segment_count * c->from->kit->units;
    c->cell_of = calloc((size_t)cells + 1, sizeof *c->cell_of);
    c->first = calloc((size_t)cells + 2, sizeof *c->first);
    if (!c->cell_of || !c->first)
        return error_memory(err);
    for (int i = 0; i < cells; i++)
        c->cell_of[i] = -1;
    for (size_t i = 0; i < c->need_count; i++) {
        int *cell = &c->cell_of[c->needs[i].segment * c->from->kit->units + c->needs[i].unit];
        if (*cell < 0)
            *cell = c->cell_count++;
    }
    visit_holders(c, count_holder);
    for (int i = 0; i < c->cell_count; i++)
        c->first[i + 1] += c->first[i];
    c->holders = calloc((size_t)c->first[c->cell_count] + 1, sizeof *c->holders);
    if (!c->holders)
        return error_memory(err);
    visit_holders(c, keep_holder);
    for (int i = c->cell_count; i > 0; i--) /* keep_holder moved each to its end */
        c->first[i] = c->first[i - 1];
    c->first[0] = 0;
    return true;
}

static int cell_of_need(const struct copying *c, const struct need *need)
{
    return c->cell_of[need->segment * c->from->kit->units + need->unit];
}

/* "7-9, 12": the layers of needed cells that nobody holds. */
static void list_missing(struct copying *c)
{
    const struct elastic_kit *kit = c->from->kit;
    int from = -1;
    for (int s = 0; s <= kit->segment_count; s++) {
        bool missing = false;
        for (int u = 0; s < kit->segment_count && u < kit->units; u++) {
            int cell = c->cell_of[s * kit->units + u];
            missing |= cell >= 0 && c->first[cell] == c->first[cell + 1];
        }
        if (missing && from < 0)
            from = kit->segment_from[s];
        if (missing || from < 0)
            continue;
        struct text *out = &c->out->missing;
        text_format(out, out->length > 0 ? ", %d" : "%d", from);
        if (kit->segment_from[s] - 1 > from)
            text_format(out, "-%d", kit->segment_from[s] - 1);
        from = -1;
    }
}

/* ---- sources ---- */

/* Seconds of a cell between two nodes at a device's port, and within its node. */
static double across_seconds(const struct copying *c, const struct need *need, int device)
{
    return cell_bytes(c, need->segment) / kind_of(c, device)->across;
}

static double inside_seconds(const struct copying *c, const struct need *need, int device)
{
    const struct elastic_kind *kind = kind_of(c, device);
    return cell_bytes(c, need->segment) / (kind->inside > 0 ? kind->inside : kind->across);
}

/* The holder that would end first, one of the need's node before all others; -1: nobody holds it. */
static int best_source(const struct copying *c, const struct need *need, bool *inside)
{
    int cell = cell_of_need(c, need), best = -1;
    double least = INFINITY;
    *inside = false;
    for (int h = c->first[cell]; h < c->first[cell + 1]; h++) {
        int device = c->holders[h];
        bool near = device / c->per_node == need->device / c->per_node;
        if (*inside && !near)
            continue;
        double ends = near ? c->inside_out[device] + inside_seconds(c, need, device)
                           : c->load_out[device] + across_seconds(c, need, device);
        if ((near && !*inside) || ends < least) {
            least = ends;
            best = device;
            *inside = near;
        }
    }
    return best;
}

static void choose_source(struct copying *c, struct need *need)
{
    need->source = best_source(c, need, &need->inside);
    if (need->source < 0)
        return;
    double bytes = cell_bytes(c, need->segment);
    if (need->inside) {
        c->inside_out[need->source] += inside_seconds(c, need, need->source);
        c->inside_in[need->device] += inside_seconds(c, need, need->device);
        c->out->bytes_inside += bytes;
    } else {
        c->load_out[need->source] += across_seconds(c, need, need->source);
        c->load_in[need->device] += across_seconds(c, need, need->device);
        c->out->outcome.bytes_across += bytes;
    }
}

static double fullest(const double *loads, int devices, int *which)
{
    double most = 0;
    for (int d = 0; d < devices; d++)
        if (loads[d] > most) {
            most = loads[d];
            if (which)
                *which = d;
        }
    return most;
}

/* Moves one piece away from the fullest device to one that ends before it. Returns whether there was one. */
static bool relieve(struct copying *c, int fullest_device)
{
    double now = c->load_out[fullest_device], best = now;
    struct need *moved = NULL;
    int to = -1;
    for (size_t i = 0; i < c->need_count; i++) {
        struct need *need = &c->needs[i];
        if (need->source != fullest_device || need->inside)
            continue;
        int cell = cell_of_need(c, need);
        for (int h = c->first[cell]; h < c->first[cell + 1]; h++) {
            double ends = c->load_out[c->holders[h]] + across_seconds(c, need, c->holders[h]);
            if (c->holders[h] != fullest_device && ends < best * (1 - 1e-9)) {
                best = ends;
                moved = need;
                to = c->holders[h];
            }
        }
    }
    if (!moved)
        return false;
    c->load_out[fullest_device] -= across_seconds(c, moved, fullest_device);
    c->load_out[to] += across_seconds(c, moved, to);
    moved->source = to;
    return true;
}

static int fewest_holders(const struct copying *c, const struct need *need)
{
    int cell = cell_of_need(c, need);
    return c->first[cell + 1] - c->first[cell];
}

/* Pieces with one holder first, then the others in order. Returns the time that no choice undercuts. */
static double choose_sources(struct copying *c, int devices)
{
    for (size_t i = 0; i < c->need_count; i++)
        if (fewest_holders(c, &c->needs[i]) == 1)
            choose_source(c, &c->needs[i]);
    double forced = fullest(c->load_out, devices, NULL);
    for (size_t i = 0; i < c->need_count; i++)
        if (fewest_holders(c, &c->needs[i]) != 1)
            choose_source(c, &c->needs[i]);
    double bound =
        fmax(forced, fmax(fullest(c->load_in, devices, NULL), fullest(c->inside_in, devices, NULL)));
    for (int moves = 0, which = 0; moves < MAX_MOVES; moves++)
        if (fullest(c->load_out, devices, &which) <= bound || !relieve(c, which))
            break;
    return bound;
}

static void set_times(struct copying *c, double bound, int devices)
{
    double seconds =
        fmax(fmax(bound, fullest(c->load_out, devices, NULL)), fullest(c->inside_out, devices, NULL));
    double latency = 0;
    for (int k = 0; k < c->from->kit->kind_count; k++)
        latency = fmax(latency, c->from->kit->kinds[k].latency);
    if (c->out->outcome.bytes_across > 0) {
        seconds += latency;
        bound += latency;
    }
    c->out->outcome.seconds = seconds;
    c->out->bound = bound;
}

/* ---- the list of copies ---- */

static int by_pair(const void *a, const void *b)
{
    const struct need *x = a, *y = b;
    if (x->device != y->device)
        return x->device - y->device;
    if (x->source != y->source)
        return x->source - y->source;
    return x->unit != y->unit ? x->unit - y->unit : x->segment - y->segment;
}

/* Segments in a row of one unit are a copy, and units in a row of the same segments. */
static bool list_copies(struct copying *c, struct error *err)
{
    struct elastic_transition *out = c->out;
    out->copies = calloc(c->need_count + 1, sizeof *out->copies);
    if (!out->copies)
        return error_memory(err);
    if (c->need_count > 0)
        qsort(c->needs, c->need_count, sizeof *c->needs, by_pair);
    for (size_t i = 0; i < c->need_count;) {
        const struct need *need = &c->needs[i];
        struct elastic_copy copy = {need->device / c->per_node,
                                    need->device % c->per_node,
                                    need->source / c->per_node,
                                    need->source % c->per_node,
                                    need->segment,
                                    need->segment,
                                    need->unit,
                                    need->unit + 1,
                                    0};
        for (i++;
             i < c->need_count && c->needs[i].device == need->device && c->needs[i].source == need->source &&
             c->needs[i].unit == need->unit && c->needs[i].segment == copy.last + 1;
             i++)
            copy.last++;
        copy.bytes = elastic_unit_bytes(c->from->kit, copy.first, copy.last);
        struct elastic_copy *before = out->copy_count > 0 ? &out->copies[out->copy_count - 1] : NULL;
        if (before && before->to_node == copy.to_node && before->to_device == copy.to_device &&
            before->from_node == copy.from_node && before->from_device == copy.from_device &&
            before->first == copy.first && before->last == copy.last && before->until == copy.from) {
            before->until = copy.until;
            before->bytes += copy.bytes;
        } else
            out->copies[out->copy_count++] = copy;
    }
    return true;
}

static bool make_loads(struct copying *c, size_t devices, struct error *err)
{
    c->load_out = calloc(devices, sizeof(double));
    c->load_in = calloc(devices, sizeof(double));
    c->inside_out = calloc(devices, sizeof(double));
    c->inside_in = calloc(devices, sizeof(double));
    return (c->load_out && c->load_in && c->inside_out && c->inside_in) || error_memory(err);
}

bool elastic_copy_state(const struct elastic_state *from, struct elastic_transition *out, struct error *err)
{
    struct copying c = {.from = from, .out = out};
    for (int k = 0; k < from->kit->kind_count; k++)
        c.per_node =
            from->kit->kinds[k].nodes.devices > c.per_node ? from->kit->kinds[k].nodes.devices : c.per_node;
    int devices = from->node_count * c.per_node;
    c.positions = elastic_positions(from);
    c.new_positions = elastic_positions(&out->after);
    bool ok = (c.positions && c.new_positions) || error_memory(err);
    for (int n = 0; ok && n < from->node_count; n++)
        ok = list_needs(&c, n, err);
    ok = ok && find_holders(&c, err) && make_loads(&c, (size_t)devices + 1, err);
    if (ok) {
        list_missing(&c);
        set_times(&c, choose_sources(&c, devices), devices);
        ok = out->missing.length > 0 || list_copies(&c, err);
    }
    free(c.positions);
    free(c.new_positions);
    free(c.needs);
    free(c.cell_of);
    free(c.first);
    free(c.holders);
    free(c.load_out);
    free(c.load_in);
    free(c.inside_out);
    free(c.inside_in);
    return ok;
}
