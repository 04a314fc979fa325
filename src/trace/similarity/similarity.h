/* How alike two traces are: docs/compare.md has the definition.
 *
 * A trace is first reduced to a summary of bounded size: samples of the distributions, curves of 100 windows, counts
 * and, of each file, where and when it was touched. Two summaries are compared as often as is wanted.
 *
 *     struct similarity_trace a = {0}, b = {0};
 *     struct similarity result = {0};
 *     similarity_trace_read(&a, "a.db", &options, &err) && similarity_trace_read(&b, …) &&
 *         similarity_compare(&a, &b, &options, &result, &err)
 */
#ifndef REHEARSE_TRACE_SIMILARITY_SIMILARITY_H
#define REHEARSE_TRACE_SIMILARITY_SIMILARITY_H

#include "core/error.h"
#include "trace/store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIMILARITY_BINS = 100, /* windows of a phase */
    SIMILARITY_BAND = 5,   /* windows by which events may be early or late */
    SIMILARITY_PARTS = 5,  /* the whole run, then the four phases */
    SIMILARITY_CURVE = SIMILARITY_PARTS * SIMILARITY_BINS,
    SIMILARITY_STREAMS = TRACE_CLASSES + TRACE_OPS,
    SIMILARITY_SERIES = 11,
    SIMILARITY_VALUES = 100000, /* by default */
    SIMILARITY_MAX_VALUES = 1000000,
};

/* What the components are about; each kind has a weight. */
enum similarity_kind {
    SIMILARITY_SIZE,
    SIMILARITY_LATENCY,
    SIMILARITY_GAP, /* between one and the next: inter-arrival */
    SIMILARITY_RATE,
    SIMILARITY_COUNT,
    SIMILARITY_ORDER,
    SIMILARITY_DURATION,
    SIMILARITY_SERIES_KIND,
    SIMILARITY_KINDS
};
extern const char *const similarity_kind_names[SIMILARITY_KINDS + 1]; /* ended by NULL */
extern const double similarity_kind_weights[SIMILARITY_KINDS];        /* by default */

struct similarity_options {
    double weights[SIMILARITY_KINDS];
    struct trace_selection selection; /* what of a trace is compared */
    int64_t values;                   /* of a distribution, at most; of more, so many are drawn */
    int replicates;                   /* of the bootstrap; 0: no intervals */
    uint64_t seed;
};

/* log10(1 + x) of bytes or microseconds; sorted once the trace is read. */
struct similarity_values {
    double *items;
    size_t count, capacity;
    int64_t seen;
};

/* A class of event or an operation of a disk. */
struct similarity_stream {
    int64_t ops;
    double bytes, squares; /* sum of sizes, and of their squares */
    int64_t before_ns;
    struct similarity_values size, latency, gap;
    double ops_curve[SIMILARITY_CURVE], bytes_curve[SIMILARITY_CURVE], squares_curve[SIMILARITY_CURVE];
    /* calls whose latency is known, and the sum of log10(1 + its microseconds) */
    double timed_curve[SIMILARITY_CURVE], latency_curve[SIMILARITY_CURVE];
};

struct similarity_curve {
    bool known;
    double mean[SIMILARITY_CURVE], variance[SIMILARITY_CURVE]; /* of the mean */
};

struct similarity_interval {
    int64_t from_ns, to_ns, before_ns; /* time of this phase in earlier intervals */
};

struct similarity_part {
    struct similarity_interval *intervals; /* apart and in order */
    int count;
    int64_t length_ns;
};

struct similarity_file {
    char *path;
    const char *tail; /* of the path: the last folder and the name */
    uint32_t rank;    /* it was the rank-th to be read or written */
};

struct similarity_trace {
    char *path;
    bool phased;
    int64_t rows;                     /* events and requests */
    struct trace_shortfall shortfall; /* what the trace itself says it lacks */
    struct similarity_part parts[SIMILARITY_PARTS];
    struct similarity_stream *streams; /* SIMILARITY_STREAMS: classes, then operations */
    struct similarity_curve *series;   /* SIMILARITY_SERIES */
    struct similarity_values jumps;
    int64_t steps,
        sequential; /* pairs of accesses of one thread that follow each other in a file; those without a gap */
    int64_t visits, revisits;      /* of files; of files visited before */
    struct similarity_file *files; /* read or written, by tail, then by path */
    size_t file_count;
    uint64_t random;
};

/* *trace starts as {0}; release it also after a failure. */
bool similarity_trace_read(struct similarity_trace *trace, const char *path,
                           const struct similarity_options *options, struct error *err);
void similarity_trace_release(struct similarity_trace *trace);

extern const char *const similarity_part_names[SIMILARITY_PARTS]; /* "run", "INIT", … */

/* "read", …, "block.read", …. */
const char *similarity_stream_name(int stream);

/* What says something of a load. */
struct similarity_source {
    const char *name;
    int resource; /* processors, disks, GPUs, their memory */
    bool own;     /* of the processes that were traced, else of the whole machine */
    bool adds;    /* over its sources; else it is averaged */
    double least; /* on average: what is hardly used says nothing */
};
extern const struct similarity_source similarity_series[SIMILARITY_SERIES];

struct similarity_component {
    enum similarity_kind kind;
    char name[48];
    int of;        /* stream or series; -1: neither */
    bool of_bytes; /* a rate of bytes, not of operations */
    double weight; /* share in the whole; the weights of all components sum to 1 */
    double value;
    double low, high; /* 95 % of the bootstrap; NAN: there was none */
    bool drawn;       /* from a sample of the values, of which there were more than options.values */
    double floor;     /* the lowest among repeats; NAN: not known */
};

/* Latencies by tenths of the calls of a class, in the run or in a phase: what goes slower for a while is little of the whole
 * and of its distributions, but all of a tenth. */
enum { SIMILARITY_TENTHS = 10, SIMILARITY_TENTH_CALLS = 20 /* fewer tell nothing */ };
struct similarity_window {
    int stream;   /* -1: none has enough calls */
    int part;     /* the run, or a phase */
    int tenth;    /* of the calls, from 0 */
    double value; /* 1: alike; 0: a factor of 1000 apart */
    double ratio; /* how many times as long calls take in b */
    double floor; /* the lowest among repeats; NAN: not known */
};

struct similarity {
    double value, low, high, floor;
    struct similarity_window window; /* in which latencies are least alike */
    struct similarity_component *components;
    size_t count, capacity;
    double *replicates; /* of component i from i · options.replicates */
    size_t replicate_capacity;
    size_t common_files;
};

bool similarity_compare(const struct similarity_trace *a, const struct similarity_trace *b,
                        const struct similarity_options *options, struct similarity *result,
                        struct error *err);
void similarity_release(struct similarity *result);

/* Of all classes, and all tenths of their calls, the one that is least alike; its floor is NAN. */
struct similarity_window similarity_worst_window(const struct similarity_trace *a,
                                                 const struct similarity_trace *b);

/* Fills the floors from all pairs among repeats of one run. */
bool similarity_add_floor(struct similarity *result, const struct similarity_trace *repeats, size_t count,
                          const struct similarity_options *options, struct error *err);

/* Curves are compared over the phases where both have some, else over the whole run: so many parts from `*first`. */
int similarity_parts(const struct similarity_trace *a, const struct similarity_trace *b, int *first);

/* What a component compares. */
struct similarity_look {
    const struct similarity_values *values[2]; /* distributions; NULL: not of distributions */
    int parts; /* curves, of so many phases that are there; 0: not of curves */
    const char *part_names[SIMILARITY_PARTS];
    double curves[2][SIMILARITY_CURVE]; /* smoothed, as they are compared */
};
void similarity_look(const struct similarity_trace *a, const struct similarity_trace *b,
                     const struct similarity_component *component, struct similarity_look *look);

/* The component that takes most from the whole. NULL when nothing does. */
const struct similarity_component *similarity_worst(const struct similarity *result);

#endif
