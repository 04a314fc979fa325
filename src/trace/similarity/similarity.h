/* The similarity of two traces: docs/compare.md has the definition.
 *
 * A trace is first reduced to a summary of bounded size: samples of the distributions, curves of 100 windows,
 * counts and, for each file, its order of first access. Summaries can be compared any number of times.
 *
 *     struct similarity_trace a = {0}, b = {0};
 *     struct similarity result = {0};
 *     similarity_trace_read(&a, "a.db", &options, &err) && similarity_trace_read(&b, …) &&
 *         similarity_compare(&a, &b, &options, &result, &err)
 */
#ifndef REHEARSE_TRACE_SIMILARITY_SIMILARITY_H
#define REHEARSE_TRACE_SIMILARITY_SIMILARITY_H

#include "core/error.h"
#include "trace/similarity/kernels.h"
#include "trace/store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIMILARITY_BINS = 100, /* windows of a phase */
    SIMILARITY_BAND = 5,   /* tolerated shift of events, in windows */
    SIMILARITY_PARTS = 5,  /* the whole run, then the four phases */
    SIMILARITY_CURVE = SIMILARITY_PARTS * SIMILARITY_BINS,
    SIMILARITY_KERNELS = TRACE_CLASSES + TRACE_OPS, /* the first stream of kernels, by their class */
    SIMILARITY_STREAMS = SIMILARITY_KERNELS + KERNEL_CLASSES,
    SIMILARITY_SERIES = 11,
    SIMILARITY_DATA_FILES = 10, /* fewer have no order to speak of */
    SIMILARITY_VALUES = 100000, /* default */
    SIMILARITY_MAX_VALUES = 1000000,
};

/* The subjects of the components; each kind has a weight. */
enum similarity_kind {
    SIMILARITY_SIZE,
    SIMILARITY_LATENCY,
    SIMILARITY_GAP, /* from one start to the next: inter-arrival time */
    SIMILARITY_RATE,
    SIMILARITY_COUNT,
    SIMILARITY_ORDER,
    SIMILARITY_DURATION,
    SIMILARITY_SERIES_KIND,
    SIMILARITY_KINDS
};
extern const char *const similarity_kind_names[SIMILARITY_KINDS + 1]; /* ends with NULL */
extern const double similarity_kind_weights[SIMILARITY_KINDS];        /* defaults */

struct similarity_options {
    double weights[SIMILARITY_KINDS];
    struct trace_selection selection;   /* the rows that are compared */
    int64_t values;                     /* maximum per distribution; larger ones are sampled */
    int replicates;                     /* of the bootstrap; 0: no intervals */
    const struct kernel_classes *rules; /* a user's, for names of kernels; NULL: none */
    uint64_t seed;
};

/* log10(1 + x) of bytes or microseconds; sorted after the trace is read. */
struct similarity_values {
    double *items;
    size_t count, capacity;
    int64_t seen;
};

/* A class of events or a disk operation. */
struct similarity_stream {
    int64_t ops;
    double bytes, squares; /* sum of sizes, and of their squares */
    double seconds;        /* sum of latencies */
    int64_t before_ns;
    struct similarity_values size, latency, gap;
    double ops_curve[SIMILARITY_CURVE], bytes_curve[SIMILARITY_CURVE], squares_curve[SIMILARITY_CURVE];
    /* calls with known latency, and the sum of log10(1 + latency in microseconds) */
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
    struct similarity_interval *intervals; /* disjoint and in order */
    int count;
    int64_t length_ns;
};

struct similarity_file {
    char *path;
    const char *tail; /* part of the path: the last folder and the name */
    uint32_t rank;    /* order of the first read or write among all files */
    bool data; /* a tenth or more as many bytes as the file with the most: no library, no configuration */
};

struct similarity_trace {
    char *path;
    bool phased;
    bool calls_alone;                 /* it says itself that requests to disks were not recorded */
    int64_t rows;                     /* events and requests */
    struct trace_shortfall shortfall; /* incompleteness, as stated by the trace */
    struct similarity_part parts[SIMILARITY_PARTS];
    struct similarity_stream *streams; /* SIMILARITY_STREAMS: classes, then operations */
    struct similarity_curve *series;   /* SIMILARITY_SERIES */
    struct similarity_values jumps;
    int64_t steps, sequential; /* pairs of consecutive accesses of a thread to a file; those without a gap */
    int64_t visits, revisits;  /* of files; of files visited before */
    struct similarity_file *files; /* read or written; sorted by tail, then path */
    size_t file_count;
    double
        ascending; /* share of pairs of data files first accessed in the order of their names; NAN: too few */
    struct similarity_kernels kernels;
    uint64_t random;
};

/* Reads and reduces a trace. *trace starts as {0}; release it even after a failure. */
bool similarity_trace_read(struct similarity_trace *trace, const char *path,
                           const struct similarity_options *options, struct error *err);
void similarity_trace_release(struct similarity_trace *trace);

extern const char *const similarity_part_names[SIMILARITY_PARTS]; /* "run", "INIT", … */

/* "read", …, "block.read", …. */
const char *similarity_stream_name(int stream);

/* A series that describes the load. */
struct similarity_source {
    const char *name;
    int resource;    /* processors, disks, GPUs, their memory */
    bool own;        /* of the traced processes, else of the whole machine */
    bool adds;       /* summed over its sources; else averaged */
    double min_mean; /* a nearly idle resource is not compared */
};
extern const struct similarity_source similarity_series[SIMILARITY_SERIES];

struct similarity_component {
    enum similarity_kind kind;
    char name[48];
    int of;        /* stream or series; -1: neither */
    bool of_bytes; /* a rate of bytes, not of operations */
    double weight; /* share of the total; the weights of all components sum to 1 */
    double value;
    double low, high;     /* 95 % interval of the bootstrap; NAN: no bootstrap */
    bool drawn;           /* computed from a sample, since there were more than options.values */
    double calls;         /* that it is computed from */
    int part, tenth;      /* of a window: the run or a phase, and the tenth of its calls, from 0 */
    double ratio;         /* of a window: in b relative to a */
    double floor;         /* minimum among repeats; NAN: unknown */
    double squares, z, p; /* sum over repeats; distance by their noise; chance in repeats (NAN: unknown) */
    int pairs;            /* of repeats */
};

/* Sizes, latencies and time that passes by tenths of a class's calls, in the run or a phase: a temporary change
 * moves the whole distribution little, but fills a tenth. 1: equal; 0: a factor of 1000 apart. */
enum { SIMILARITY_TENTHS = 10, SIMILARITY_TENTH_CALLS = 20 /* fewer are ignored */ };

struct similarity {
    double value, low, high, floor;
    struct similarity_component *components;
    size_t count, capacity;
    struct similarity_component *windows; /* no part of the value */
    size_t window_count, window_capacity;
    double *replicates; /* of component i from i · options.replicates */
    size_t replicate_capacity;
    size_t common_files;
};

bool similarity_compare(const struct similarity_trace *a, const struct similarity_trace *b,
                        const struct similarity_options *options, struct similarity *result,
                        struct error *err);
void similarity_release(struct similarity *result);

/* Adds the windows of all classes with enough calls in both; `weights` of kinds. */
bool similarity_add_windows(struct similarity *result, const struct similarity_trace *a,
                            const struct similarity_trace *b, const double *weights);

/* Sets the floors from all pairs among repeats of one run, and judges components and windows. */
bool similarity_add_floor(struct similarity *result, const struct similarity_trace *repeats, size_t count,
                          const struct similarity_options *options, struct error *err);

/* Curves are compared over the phases that both traces have, else over the whole run. Returns the number of
 * parts, from `*first`. */
int similarity_parts(const struct similarity_trace *a, const struct similarity_trace *b, int *first);

/* The data behind a component, as compared. */
struct similarity_look {
    const struct similarity_values *values[2]; /* distributions; NULL: none */
    int parts;                                 /* number of phases with curves; 0: no curves */
    const char *part_names[SIMILARITY_PARTS];
    double curves[2][SIMILARITY_CURVE]; /* smoothed, as compared */
};
void similarity_look(const struct similarity_trace *a, const struct similarity_trace *b,
                     const struct similarity_component *component, struct similarity_look *look);

/* Returns the weight of a kind's components, and sets *value to their mean; 0: there are none. */
double similarity_of_kind(const struct similarity *result, enum similarity_kind kind, double *value);

/* Return the component or window to be named first: the one furthest beyond the noise of repeats, where there are
 * any, else the one with the largest loss of similarity; NULL if nothing is lost. Owned by `result`. */
const struct similarity_component *similarity_worst(const struct similarity *result);
const struct similarity_component *similarity_worst_window(const struct similarity *result);

/* The share of pairs of repeats in which anything at all may be called beyond their noise. */
#define SIMILARITY_ALARM 0.01

bool similarity_is_beyond(const struct similarity_component *component); /* NULL: false */
bool similarity_is_within_noise(const struct similarity *result);

#endif
