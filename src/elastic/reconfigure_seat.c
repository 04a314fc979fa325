/* Places of nodes in new instances: the pair of a node and a place that keeps most bytes goes first. */
#include "elastic/reconfigure_make.h"

#include <stdlib.h>
#include <string.h>

const struct elastic_slot *elastic_slots_at(const struct elastic_shape *shape, int position, int *count)
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

int *elastic_positions(const struct elastic_state *state)
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
