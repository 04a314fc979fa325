/* Finds hosts, their kinds, and the places where groups of ranks work. */
#include "measure/links/study.h"

#include <string.h>

/* ---- hosts ---- */

static bool note_node(void *context, int rank, const char *bytes, size_t length, struct error *err)
{
    struct study *study = context;
    if (length != sizeof *study->nodes)
        return error_set(err, ERROR_FAILED, "rank %d runs another version of rehearse", rank);
    if (study->local_of[rank] == 0)
        memcpy(&study->nodes[study->host_of[rank]], bytes, length);
    return true;
}

static void find_hosts(struct study *study, const struct comm *comm)
{
    for (int rank = 0; rank < study->ranks; rank++) {
        int before = 0;
        while (strcmp(comm_host(comm, before), comm_host(comm, rank)) != 0)
            before++;
        int host = before < rank ? study->host_of[before] : study->host_count++;
        study->host_of[rank] = host;
        study->local_of[rank] = study->nodes[host].ranks++;
    }
}

/* Rank 0 compares the nodes, and tells the others. */
static bool find_kinds(struct study *study, struct comm *comm, struct error *err)
{
    struct node_facts own;
    node_read_facts(&own);
    own.ranks = study->nodes[study->host_of[comm_rank(comm)]].ranks;
    if (!comm_gather(comm, &own, sizeof own, note_node, study, "the description of nodes", err))
        return false;
    for (int host = 0; host < study->host_count && comm_rank(comm) == 0; host++) {
        int first = 0;
        while (study->nodes[first].ranks != study->nodes[host].ranks ||
               !node_is_like(&study->nodes[first], &study->nodes[host]))
            first++;
        study->kind_of[host] = first;
    }
    return comm_broadcast(comm, study->kind_of, (size_t)study->host_count * sizeof *study->kind_of,
                          "the kinds of nodes", err);
}

/* ---- places ---- */

/* Adds a place; the caller fills in the colours, -1 so far. */
static int *add_place(struct study *study, struct study_place place)
{
    int *colour = ARENA_ARRAY(&study->arena, (size_t)study->ranks, int);
    if (!colour || !place.name)
        return NULL;
    for (int rank = 0; rank < study->ranks; rank++)
        colour[rank] = -1;
    place.colour = colour;
    study->places[study->place_count++] = place;
    return colour;
}

static bool add_inside(struct study *study, enum place_kind kind, int host, int devices)
{
    const char *name = arena_format(&study->arena, "%d ranks of a host", devices);
    int *colour = add_place(study, (struct study_place){kind, name, host, 1, devices, 1, NULL});
    for (int rank = 0; rank < study->ranks && colour; rank++)
        if (study->host_of[rank] == host && study->local_of[rank] < devices)
            colour[rank] = 0;
    return colour;
}

/* `each`: ranks of each host. Of a pair they are as many groups, else one. */
static bool add_across(struct study *study, enum place_kind kind, int nodes, int each)
{
    bool pair = kind == PLACE_PAIR;
    const char *name =
        arena_format(&study->arena, "%d hosts, %d rank%s of each", nodes, each, each > 1 ? "s" : "");
    int *colour = add_place(
        study, (struct study_place){kind, name, -1, nodes, pair ? 2 : nodes * each, pair ? each : 1, NULL});
    for (int rank = 0; rank < study->ranks && colour; rank++)
        if (study->host_of[rank] < nodes && study->local_of[rank] < each)
            colour[rank] = pair ? study->local_of[rank] : 0;
    return colour;
}

/* The next of 2, 4, ... that is below `all`, then `all`. */
static int next_size(int size, int all)
{
    return 2 * size < all || size == all ? 2 * size : all;
}

static bool add_places(struct study *study)
{
    int each = study->nodes[0].ranks, places = 4 * 32 * (study->host_count + 1);
    for (int host = 1; host < study->host_count; host++)
        each = study->nodes[host].ranks < each ? study->nodes[host].ranks : each;
    study->places = ARENA_ARRAY(&study->arena, (size_t)places, struct study_place);
    if (!study->places)
        return false;
    for (int host = 0; host < study->host_count; host++) {
        if (study->kind_of[host] != host || study->nodes[host].ranks < 2)
            continue;
        if (!add_inside(study, PLACE_PAIR, host, 2))
            return false;
        for (int k = 2; k <= study->nodes[host].ranks; k = next_size(k, study->nodes[host].ranks))
            if (!add_inside(study, PLACE_GROUP, host, k))
                return false;
    }
    if (study->host_count < 2)
        return true;
    if (!add_across(study, PLACE_PAIR, 2, each))
        return false;
    for (int n = 2; n <= study->host_count; n = next_size(n, study->host_count))
        if (!add_across(study, PLACE_GROUP, n, each) ||
            (each > 1 && !add_across(study, PLACE_ONE_EACH, n, 1)))
            return false;
    return true;
}

bool study_begin(struct study *study, struct comm *comm, const struct carrier *carrier, struct error *err)
{
    size_t ranks = (size_t)comm_size(comm);
    *study = (struct study){.ranks = comm_size(comm)};
    study->host_of = ARENA_ARRAY(&study->arena, ranks, int);
    study->local_of = ARENA_ARRAY(&study->arena, ranks, int);
    study->kind_of = ARENA_ARRAY(&study->arena, ranks, int);
    study->nodes = ARENA_ARRAY(&study->arena, ranks, struct node_facts);
    bool ok = study->host_of && study->local_of && study->kind_of && study->nodes;
    ok = comm_agree(comm, ok || error_memory(err), "the start", err);
    if (ok) {
        find_hosts(study, comm);
        ok = find_kinds(study, comm, err);
    }
    if (ok) {
        study->carrier = arena_string(&study->arena, carrier->name);
        study->device = carrier->device ? arena_string(&study->arena, carrier->device) : NULL;
        study->device_memory = carrier->memory;
        ok = comm_agree(comm, (study->carrier && add_places(study)) || error_memory(err), "the start", err);
    }
    if (!ok)
        study_release(study);
    return ok;
}

void study_release(struct study *study)
{
    arena_release(&study->arena);
    *study = (struct study){0};
}
