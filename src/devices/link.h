/* Links: what connects the devices of a node, and nodes, as collectives see it.
 *
 * The table is data/links.yaml (embedded); a user's own link is a file of the same form, which is told at
 * the head of that one. Every number there names its source.
 *
 * A transfer runs under one of NCCL's three protocols: LL (8-byte stores that carry a flag: quick to start, slow),
 * LL128 (128-byte ones) and Simple (large blocks and fences: slow to start, fast). For a collective of s steps, of
 * which each device sends w bytes on the wire and keeps a part of b/n bytes for itself, a protocol takes
 *
 *     base + sqrt((hop s)^2 + (w / (rate bandwidth) + own (b/n) / bandwidth)^2)
 *
 * : steps and bytes overlap, since the ring is a pipeline. See cost/collective.c. */
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
    double base; /* seconds, of any transfer: launch, first fence */
    double hop;  /* seconds per step */
    double rate; /* share of the bandwidth; 0: the link does not have this protocol */
    double
        upto; /* bytes per device up to which the library chooses it; INFINITY: wherever it is the fastest */
};

/* Reduction and multicast in the switch (NVLink SHARP): no steps, each device sends all bytes once. */
struct link_switch {
    double base; /* seconds */
    double rate; /* share of the bandwidth; 0: there is none */
    double from; /* least devices it is used for */
};

/* Where devices are not all alike near, fewer of them may have other paths: 2 of 8 V100 share one or two of six
 * NVLinks, 8 PCIe cards are on two sockets. */
struct link_share {
    int devices;  /* of the group, in one node; the entry for the least number not below that counts */
    double share; /* of the rates */
};

#define LINK_MAX_SHARES 8

/* What a kind of collective costs. */
struct link_transfer {
    struct link_protocol protocols[LINK_PROTOCOLS];
    double
        own; /* of copying the part that stays, per byte; 1 is as dear as sending it at the full bandwidth */
    struct link_switch nvls;
    int share_count;
    struct link_share shares[LINK_MAX_SHARES]; /* by devices; above the last: 1 */
};

struct cost_link {
    TABLE_NAMED;
    double bandwidth; /* bytes/s per device and direction, datasheet */
    int devices;      /* most devices it connects; 0: no limit */
    struct link_transfer transfers[COLLECTIVE_KINDS];
    double
        barrier; /* seconds all devices take to meet, where all-reduces are single kernels that read their peers'
                       memory (one- and two-shot); 0: there are none */
};

extern const struct table_kind cost_link_kind;

/* The link as such a file. */
void cost_link_write(const struct cost_link *link, struct text *out);

/* Of the rates, what a group of so many devices in a node gets. */
double link_transfer_share(const struct link_transfer *transfer, int devices);

/* "all_reduce", as files write it; "ll", "ll128", "simple". */
const char *collective_kind_name(enum collective_kind kind);
bool collective_kind_find(const char *name, enum collective_kind *kind);
const char *link_protocol_name(enum link_protocol_name protocol);

#endif
