/* The links of a cluster for the engine, and the routes of transfers over them.
 *
 * Each device has a port to the others of its node. Network cards lead out of a node, each for one device or for
 * several. Above them are levels of switches, each over so many nodes; the uplinks of a switch carry what the cards
 * below it send, divided by the oversubscription. All links carry their capacity in both directions at the same time.
 * Inside a node and below one switch nothing else is shared: switches do not block.
 *
 * A flow's rate is that of one device: the bytes that a device of a ring sends to the next, or that each device sends
 * to all others in an exchange. Rings go through the devices in the order given, so that those of a node should lie
 * together: what a ring sends to another node goes through the cards of all its devices of the node alike. */
#ifndef REHEARSE_SIM_ENGINE_FABRIC_H
#define REHEARSE_SIM_ENGINE_FABRIC_H

#include "core/arena.h"
#include "sim/engine/engine.h"

#define FABRIC_LEVELS 8

/* Nodes that are alike. Nodes, their devices and cards are numbered through all groups. */
struct fabric_group {
    int nodes, devices_per_node;
    int devices_per_card; /* 0: a card for all of a node */
    double device;        /* bytes/s in each direction: of a device's port; */
    double card;          /* of a card */
};

struct fabric_level {
    int nodes;               /* below a switch: a multiple of those of the level before */
    double oversubscription; /* above 0; 1: uplinks carry all that the cards do */
};

struct fabric {
    const struct fabric_group *groups;
    const struct fabric_level *levels; /* the lowest first */
    int group_count, level_count;

    /* set by fabric_make */
    int nodes, devices, cards;
    int link_count;
    struct fabric_part *parts; /* where each group's numbers begin */
    struct fabric_seat *seats; /* of each device */
    int first_link[FABRIC_LEVELS + 3];
    double *capacities; /* of each pair of links */
    double *weights;    /* of each link, while a route is made */
    uint32_t *uses;     /* links that the route uses */
    int *counts;        /* of its devices in each node, or below each switch */
};

/* Sets the rest of a fabric whose groups and levels are given. False: out of memory. */
bool fabric_make(struct fabric *fabric, struct arena *arena);

/* Fills in link_count links; names are like "device out". */
void fabric_links(const struct fabric *fabric, struct engine_link *links);

/* Says what a link is: "card 5 of node 2, out", "uplink of switch 1 of level 0". Returns its device, or the first one
 * of those that it serves. */
int fabric_describe(const struct fabric *fabric, int link, char *name, size_t room);

/* Returns the number of a node's device; -1: there is none. */
int fabric_device(const struct fabric *fabric, int node, int index);

/* Returns the link of a device's card, out or in. */
int fabric_card(const struct fabric *fabric, int device, bool in);

/* Returns the number of devices that a card's link serves, and their first; 0: the link is no card's. */
int fabric_card_devices(const struct fabric *fabric, int link, int *first);

/* A route lies in the arena. Weights on ports and cards are lowered where a flow of that rate would not fit alone: the
 * time of a transfer that is alone is its caller's (cost/collective.h), and the route says with whom it shares. That
 * time knows no uplinks: a flow that they cannot carry is slowed, also alone. A message goes to `count` devices in
 * equal parts. False: out of memory. */
bool fabric_send(struct fabric *fabric, int from, const int *to, int count, double rate, struct arena *arena,
                 struct engine_route *route);
bool fabric_ring(struct fabric *fabric, const int *devices, int count, double rate, struct arena *arena,
                 struct engine_route *route);
bool fabric_exchange(struct fabric *fabric, const int *devices, int count, double rate, struct arena *arena,
                     struct engine_route *route);

#endif
