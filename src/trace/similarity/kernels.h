/* Kernels of a recorded run as a trace tells them: regions "kernel.NAME", "gpu_memcpy.NAME" and "gpu_memset.NAME" of a process (the
 * device) and a thread (the stream), as imports of profiles make them. A trace that has none of these, nor any call, has its
 * other regions instead. */
#ifndef REHEARSE_TRACE_SIMILARITY_KERNELS_H
#define REHEARSE_TRACE_SIMILARITY_KERNELS_H

#include "core/arena.h"
#include "trace/kernels.h"
#include "trace/store/store.h"

/* Kernels of one name; and the kernels of these names that follow each other on a stream, with the hash of both names. */
struct similarity_kernel {
    const char *name;
    enum kernel_class class;
    int64_t count;
    double seconds;
};
struct similarity_step {
    uint64_t pair;
    int64_t count;
};

/* Unions of intervals of all devices, ns: what runs at all, and at the same time. */
struct similarity_busy {
    int64_t compute, communication, both, idle;
};

struct similarity_kernels {
    struct arena names;
    struct similarity_kernel *kernels; /* sorted by name */
    struct similarity_step *pairs;     /* sorted by pair */
    size_t kernel_count, pair_count;
    int64_t ops; /* kernels in all */
    struct similarity_busy busy;
};

void similarity_kernels_release(struct similarity_kernels *kernels);

struct similarity_runs;

/* `rules`: a user's, or NULL. */
struct similarity_runs *similarity_runs_new(struct trace_reader *reader, const struct kernel_classes *rules,
                                            struct error *err);
void similarity_runs_free(struct similarity_runs *runs); /* NULL is allowed */

/* Takes a region, in order of starts. Returns its class; -1: no kernel. Where memory ends, similarity_runs_end says so. */
int similarity_runs_take(struct similarity_runs *runs, const struct trace_event *event);

/* From now on all regions are taken. */
void similarity_runs_widen(struct similarity_runs *runs);

/* Gives what was taken of a trace that lasts `span` ns; the caller releases *kernels, also after a failure. */
bool similarity_runs_end(struct similarity_runs *runs, int64_t span, struct similarity_kernels *kernels,
                         struct error *err);

/* Shares of kernels, by name and by pairs of names, that two traces have in common: sum of minima over sum of maxima. */
double similarity_common_kernels(const struct similarity_kernels *a, const struct similarity_kernels *b);
double similarity_common_pairs(const struct similarity_kernels *a, const struct similarity_kernels *b);

#endif
