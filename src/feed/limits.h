/* What limits a run: counters of the kernel before and after its epochs, and what their differences show.
 *
 * A resource is named only where evidence of two kinds agrees, one of them its own. Waiting is one kind however
 * often it is seen: readers, a busy device and the kernel's pressure count the same seconds, and one reader that
 * waits keeps a device "busy" that could serve a hundred. The other kinds are a bound that was reached (a control
 * group's rate, a full link, a queue in the network, all processors in use) and a plateau (twice the readers,
 * hardly more bytes). */
#ifndef REHEARSE_FEED_LIMITS_H
#define REHEARSE_FEED_LIMITS_H

#include "core/json.h"
#include "core/text.h"

#include <stdbool.h>

enum limits_counter {
    LIMITS_DEVICE_BUSY,   /* seconds in which the device had a request */
    LIMITS_DEVICE_QUEUED, /* seconds, summed over its requests */
    LIMITS_DEVICE_READ,   /* bytes */
    LIMITS_OWN_READ,      /* bytes that this process made devices read */
    LIMITS_PRESSURE_CPU,  /* seconds in which some task waited (/proc/pressure) */
    LIMITS_PRESSURE_IO,
    LIMITS_PRESSURE_MEMORY,
    LIMITS_CPU_BUSY, /* seconds of the processors that this process may use, by all */
    LIMITS_REFAULTS, /* bytes that memory had dropped and that were read or swapped in again */
    LIMITS_COUNTERS
};

#define LIMITS_CARDS 16

/* NaN: unknown. A sum of differences has the gauges of the last look. */
struct limits_look {
    double at; /* seconds */
    double counters[LIMITS_COUNTERS];
    struct limits_card {
        char name[16];
        double received; /* bytes */
        double speed;    /* of the link, bytes/s */
    } cards[LIMITS_CARDS];
    int card_count;
    /* gauges: */
    int cpus;          /* that this process may use */
    double group_rate; /* bytes/s that control groups may read from the device; infinite: no limit */
    double round_trip, min_trip; /* seconds, of this process's busy TCP connections */
    double disordered;           /* packets that they received out of order, as after one that was lost */
    char device[64], file_system[64]; /* "": unknown; file_system "s3": objects */
    bool counted;                     /* one block device is known */
};

/* Looks at the machine and the device under a folder; NULL: objects. */
void limits_look(const char *folder, struct limits_look *look);

/* Adds what happened between two looks. */
void limits_add(struct limits_look *sum, const struct limits_look *before, const struct limits_look *after);

enum limits_resource {
    LIMITS_UNCLEAR,
    LIMITS_ACCELERATORS,
    LIMITS_DEVICE,
    LIMITS_NETWORK,
    LIMITS_SERVER, /* of a storage behind a network */
    LIMITS_CPU,
    LIMITS_MEMORY,
    LIMITS_STORAGE, /* only of evidence: for each of device, network, server */
};
extern const char *const limits_words[];

/* One host's run. */
struct limits_facts {
    struct limits_look seen;   /* sum over the epochs */
    double busy, cpu, delayed; /* seconds, sum of its readers: reading, on a processor, waiting for one */
    double readers;            /* number of its reading threads */
    double throttled;          /* seconds that control groups throttled it */
    double bytes;              /* delivered */
    double au, au_target;
    bool missed;              /* a run with more accelerators, or this one, missed the target */
    double from_storage;      /* share of the bytes; NaN: unknown */
    struct limits_rate {      /* of two runs that missed the target, the second with more readers; 0: there */
        double readers, rate; /* was none; bytes/s */
    } rates[2];
};

#define LIMITS_EVIDENCE 16

struct limits {
    enum limits_resource resource;
    char text[256]; /* the verdict in words */
    struct limits_evidence {
        enum limits_resource of;
        enum limits_says { LIMITS_AGAINST, LIMITS_FOR, LIMITS_UNKNOWN } says;
        int kind;           /* pieces of one kind count once */
        const char *source; /* "/proc/stat" */
        char text[224];
    } evidence[LIMITS_EVIDENCE];
    int evidence_count;
};

void limits_judge(const struct limits_facts *facts, struct limits *limits);

/* Write the verdict with its evidence: into an open map, and for people. */
void limits_write(const struct limits *limits, struct json *json);
void limits_report(const struct limits *limits, struct text *out);

#endif
