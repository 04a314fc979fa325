/* Links between the devices of a node, and between nodes, as seen by collectives.
 *
 * The table is data/links.yaml (embedded); its head describes the form, also of a user's own file. Every
 * number there names its source.
 *
 * A transfer runs under one of NCCL's three protocols: LL (8-byte stores with a flag: quick to start, slow),
 * LL128 (128-byte ones) and Simple (large blocks and fences: slow to start, fast). For a collective of s
 * steps, in which each device sends w bytes on the wire and keeps b/n bytes for itself, a protocol takes
 *
 *     base + sqrt((hop s)^2 + (w / (rate bandwidth) + own (b/n) / bandwidth)^2)
 *
 * because steps and bytes overlap: the ring is a pipeline. See cost/collective.c. */
#ifndef REHEARSE_DEVICES_LINK_H
#define REHEARSE_DEVICES_LINK_H

#include "devices/table.h"

#include <stdbool.h>
#include <stddef.h>

enum collective_kind {
    COLLECTIVE_ALL_REDUCE,
    COLLECTIVE_ALL_GATHER,     /* bytes: of the gathered result */
    COLLECTIVE_REDUCE_SCATTER, /* bytes: of the whole input */
    COLLECTIVE_ALL_TO_ALL,     /* bytes: of one device's send buffer */
    COLLECTIVE_SEND,           /* bytes: of the message, one device to another */
    COLLECTIVE_KINDS
};

enum link_protocol_name { LINK_LL, LINK_LL128, LINK_SIMPLE, LINK_PROTOCOLS };

struct link_protocol {
    double base; /* seconds of every transfer: launch, first fence */
    double hop;  /* seconds per step */
    double rate; /* share of the bandwidth; 0: the link does not have this protocol */
    /* maximum bytes per device for which the library chooses it; INFINITY: whenever it is fastest */
    double upto;
};

/* Reduction and multicast in the switch (NVLink SHARP): no steps; each device sends all bytes once. */
struct link_switch {
    double base; /* seconds */
    double rate; /* share of the bandwidth; 0: none */
    double from; /* minimum devices for its use */
};

/* With unequal paths, fewer devices may have other rates: 2 of 8 V100 share one or two of six NVLinks, 8 PCIe
 * cards are on two sockets. */
struct link_share {
    int devices;  /* of the group, in one node; the first entry not below this number applies */
    double share; /* of the rates */
};

#define LINK_MAX_SHARES 8

/* The costs of a kind of collective. */
struct link_transfer {
    struct link_protocol protocols[LINK_PROTOCOLS];
    /* cost of copying the kept part, per byte; 1: that of sending it at full bandwidth */
    double own;
    struct link_switch nvls;
    int share_count;
    struct link_share shares[LINK_MAX_SHARES]; /* by devices; above the last: 1 */
};

struct cost_link {
    TABLE_NAMED;
    double bandwidth; /* bytes/s per device and direction, datasheet */
    int devices;      /* maximum devices; 0: no limit */
    double typical;   /* share of its rates that networks of its kind reach; 0: all of them */
    /* bandwidth of the link that this one is the typical kind of; 0: none. Of links that are made, not of tables */
    double reference;
    /* bytes that a communicator holds for a neighbour in its rings and trees, and for one with which it exchanges by
     * pairs */
    double buffers, pair_buffers;
    struct link_transfer transfers[COLLECTIVE_KINDS];
    /* seconds for all devices to synchronise in all-reduces that are single kernels reading their peers'
     * memory (one- and two-shot); 0: none */
    double barrier;
    /* seconds that every step takes longer than its protocol says (negative: less), and a message of a byte then takes;
     * of links of a cluster file, not of tables */
    double later, latency;
    bool has_latency;
};

extern const struct table_kind cost_link_kind;

/* Appends the link as a file. */
void cost_link_write(const struct cost_link *link, struct text *out);

/* Returns the share of the rates for a group of so many devices in a node. */
double link_transfer_share(const struct link_transfer *transfer, int devices);

/* "all_reduce", as files write it; "ll", "ll128", "simple". */
const char *collective_kind_name(enum collective_kind kind);
bool collective_kind_find(const char *name, enum collective_kind *kind);
const char *link_protocol_name(enum link_protocol_name protocol);

#endif
