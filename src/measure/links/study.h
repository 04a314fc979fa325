/* A study of links: the measurements between the ranks of a run, their places, and their times.
 *
 * Places, in which groups of ranks work:
 *   pair inside    two ranks of a host, of the first host of each kind that has two
 *   pair across    hosts 0 and 1: as many pairs as each has ranks, all at the same time, since they share the card
 *   group inside   2, 4, ... ranks of such a host, and all of them
 *   group across   all ranks of 2, 4, ... hosts, and of all of them
 *   one per host   the first ranks of 2, 4, ... hosts, where hosts have several: for Oobleck's files
 *
 * All ranks hold the same study; only rank 0's nodes are filled in. */
#ifndef REHEARSE_MEASURE_LINKS_STUDY_H
#define REHEARSE_MEASURE_LINKS_STUDY_H

#include "core/arena.h"
#include "measure/links/node.h"
#include "measure/links/point.h"

#define STUDY_MAX_SIZES 128

enum place_kind { PLACE_PAIR, PLACE_GROUP, PLACE_ONE_EACH };

struct study_place {
    enum place_kind kind;
    const char *name;  /* "4 hosts of 2 ranks" */
    int host;          /* inside: the host; across: -1 */
    int nodes;         /* of a group */
    int devices;       /* ranks of a group */
    int pairs;         /* groups that work at the same time */
    const int *colour; /* of each rank; -1: idle */
};

struct study_row {
    int place;
    struct link_work work;
    struct sample_result time;
    double computing; /* LINK_OVERLAP: seconds of the computing alone */
    double alone;     /* and of its messages alone */
};

struct study_options {
    struct sample_options sample;
    int64_t sizes[STUDY_MAX_SIZES]; /* bytes, ascending */
    int size_count;
    bool kinds[COLLECTIVE_KINDS];
    bool collectives; /* false: pairs alone */
    const int64_t
        *layers; /* bytes of all-reduces to measure for Oobleck's files, ascending; 0 entries: none */
    int layer_count;
};

/* Called on rank 0 with the name of the next measurement; may be NULL. */
typedef void study_progress(void *context, const char *what, int64_t bytes);

struct study {
    struct arena arena; /* owns everything below */
    int ranks, host_count;
    int *host_of, *local_of;  /* by rank */
    struct node_facts *nodes; /* by host */
    int *kind_of;             /* by host: the first host with the same hardware */
    const char *carrier, *device;
    int64_t device_memory;
    int place_count;
    struct study_place *places;
    int row_count, row_room;
    struct study_row *rows;
    study_progress *progress;
    void *progress_context;
};

/* Finds hosts and places. On failure *study holds nothing. */
bool study_begin(struct study *study, struct comm *comm, const struct carrier *carrier, struct error *err);

/* Measures everything. All ranks call it. */
bool study_measure(struct study *study, struct comm *comm, struct carrier *carrier,
                   const struct study_options *options, struct error *err);

void study_release(struct study *study);

/* Returns the row of this measurement, or NULL. */
const struct study_row *study_find(const struct study *study, int place, enum link_task task,
                                   enum collective_kind kind, int64_t bytes);

/* The shortest time of a row, or the median. */
double study_seconds(const struct study_row *row, bool shortest);

/* The link of a pair, from shortest times or medians; false: it was not measured. */
struct study_link {
    double latency;   /* seconds: the shortest time of a message, one way */
    double bandwidth; /* bytes/s, of all pairs together: the stream of the largest messages one way */
    double both;      /* the same of each direction, both at once */
    double hidden;    /* share of a message's time that computing hides, without looks at it */
    double polled;    /* with looks; negative: neither is known */
};
bool study_link_of(const struct study *study, int host, bool shortest, struct study_link *link);

#endif
