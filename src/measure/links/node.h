/* A node that measures: its processor, memory, and cards, by hwloc where the program is built with it. */
#ifndef REHEARSE_MEASURE_LINKS_NODE_H
#define REHEARSE_MEASURE_LINKS_NODE_H

#include <stdbool.h>
#include <stdint.h>

/* Plain bytes: ranks send it to rank 0. */
struct node_facts {
    char name[65];
    char processor[128];                        /* "" if unknown */
    char cards[256];                            /* "eth0, cuda0"; "" if unknown */
    int32_t packages, cores, threads, memories; /* memories: NUMA nodes; 0: unknown */
    int32_t ranks;                              /* on it: node_read_facts leaves it */
    int64_t memory;                             /* bytes */
};

void node_read_facts(struct node_facts *facts);

/* Are both nodes of one kind? Names and cards do not count, memory within a fiftieth. */
bool node_is_like(const struct node_facts *a, const struct node_facts *b);

#endif
