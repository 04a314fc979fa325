/* Recorded runs of GPUs, played again: with the times that were recorded, or with kernels that take another time.
 *
 * Read are Kineto's traces (Chrome JSON as PyTorch's profiler writes it, also packed by gzip) and tables of kernels
 * (CSV with the columns start_us, duration_us, stream, category, kernel, and where known correlation, launch_us,
 * launch_duration_us, collective, elements, dtype, group).
 *
 * Also read are Chakra's execution traces, which have causes but no starts (chakra.c): those are played when it is
 * read.
 *
 * A trace holds activities of GPUs (kernels, copies, fills) and those calls of the host that start or await them; all
 * else that the host did is a gap between its calls. graph.h tells how causes are found, play.h how they are played.
 * Times are whole nanoseconds from the first activity or call. Memory (measured by bench_replay) is about 220 bytes for
 * an activity with its launch, while it is played: 48 for the activity, 40 for the call, 8 and 4 for each of their
 * three events, 16 for a cause, 8 for a time. Names and what is told of collectives are kept once; events of other
 * kinds cost nothing. */
#ifndef REHEARSE_SIM_REPLAY_REPLAY_H
#define REHEARSE_SIM_REPLAY_REPLAY_H

#include "core/arena.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/text.h"
#include "core/unit/product_size.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define REPLAY_MAX_RECORDS ((size_t)1 << 23) /* activities, and calls */
#define REPLAY_MAX_STREAMS 4096
#define REPLAY_MAX_MARKS   ((size_t)1 << 20)
#define REPLAY_MAX_GROUPS  65536
#define REPLAY_MAX_SKEW    INT64_C(1000000) /* ns: an activity that begins longer before its launch is a fault */

/* As HolisticTraceAnalysis divides activities, but for collectives of other libraries than NCCL: by rules (classes.h). */
enum replay_class { REPLAY_COMPUTE, REPLAY_COMMUNICATION, REPLAY_MEMORY, REPLAY_CLASSES };

enum replay_category { REPLAY_KERNEL, REPLAY_MEMCPY, REPLAY_MEMSET, REPLAY_CATEGORIES };

struct replay_activity {
    int64_t start, duration; /* ns */
    int64_t correlation;     /* with its launch; 0: none */
    uint32_t place;          /* of the event or row in the file, from 0 */
    uint32_t name;           /* text */
    uint32_t collective;     /* index of what is told of it; 0: nothing */
    int32_t call;            /* index; -1: none recorded */
    unsigned stream : 16;    /* index */
    unsigned category : 4;   /* enum replay_category */
    unsigned class : 4;      /* enum replay_class */
};

/* What a trace tells of a collective: the same for many activities, but for the number. */
struct replay_collective {
    int64_t elements, out_elements; /* of the input and the output; -1: unknown */
    int64_t size, sequence;         /* ranks in the group; number in the group ("Seq"); -1: unknown */
    int64_t source, destination;    /* ranks of a send or receive; -1: unknown */
    int64_t name, dtype, group;     /* texts; 0: none. group: the name of the process group */
    int64_t ranks, description;     /* texts: "[0, 1, 2]", where long "[0, 1, ..., 7]"; "default_pg" */
};

#define REPLAY_NO_COLLECTIVE                                                                                 \
    {                                                                                                        \
        .elements = -1, .out_elements = -1, .size = -1, .sequence = -1, .source = -1, .destination = -1      \
    }

/* A process group of distributedInfo. */
struct replay_group {
    uint32_t name, description; /* texts */
    const int64_t *ranks;       /* in the replay's arena */
    size_t rank_count;
};

/* A span that the program named: ProfilerStep#3, nccl:all_reduce, ## forward ##. */
struct replay_mark {
    int64_t begin, duration;
    uint32_t name;
    int32_t thread;         /* of the host; -1: on a device */
    int64_t device, number; /* of the stream it is shown on, which may have no activity; -1: on the host */
    uint32_t process;       /* text */
};

/* An operation of the host that is a product of matrices (products.h). */
struct replay_operation {
    int64_t begin, end;
    struct product_size size;
    int32_t thread;
    uint32_t type; /* text: of its left operand, "c10::BFloat16" */
};

/* A device that the file describes. */
struct replay_device {
    int64_t id, multiprocessors, memory; /* memory in bytes; -1: unknown */
    uint32_t name;                       /* text */
};

enum replay_call_kind {
    CALL_LAUNCH,
    CALL_STREAM_SYNC, /* awaits what is on a stream */
    CALL_EVENT_SYNC,
    CALL_DEVICE_SYNC,
    CALL_FREE,        /* may await everything: shown by its times */
    CALL_STREAM_WAIT, /* a stream awaits an event of another one */
    CALL_EVENT_RECORD,
    CALL_KINDS
};

struct replay_call {
    int64_t begin, duration, correlation;
    uint32_t place;
    int32_t thread;
    uint32_t sync; /* index of what is told of a wait; 0: nothing */
    uint8_t kind;
    bool launches; /* its name tells that it starts an activity */
    bool graph;    /* or a graph of activities */
};

/* What a trace tells of a call that awaits. */
struct replay_sync {
    int64_t recorded_by; /* correlation of the call that recorded the event that is awaited; 0: unknown */
    int32_t stream,
        awaited; /* the stream that waits or is awaited; the stream of the event; -1: not recorded */
};

/* Why something began when it did (graph.h). */
enum replay_cause {
    CAUSE_ROOT,     /* the first event of a thread or stream: at its recorded time */
    CAUSE_STREAM,   /* the activity before on the stream */
    CAUSE_LAUNCH,   /* its launch */
    CAUSE_WAIT,     /* an activity of another stream, by a recorded wait */
    CAUSE_INFERRED, /* an activity of another stream, inferred */
    CAUSE_HOST,     /* host work between calls, or within one */
    CAUSE_SYNC,     /* a call awaits an activity */
    CAUSE_THREAD,   /* another thread's call */
    /* only in sums: waits for what the trace does not tell */
    CAUSE_STALL, /* and nothing in it says why */
    CAUSE_STALL_GRAPH,
    CAUSE_STALL_SAMPLED,
    CAUSE_STALL_LAUNCH,
    CAUSE_STALL_EVENT,
    CAUSE_KINDS
};

struct kernel_rule;

struct replay_stream {
    int64_t device, number;
    uint32_t process; /* text: "pid" of its activities; 0: not told */
    int32_t part;     /* index; 0 where there are none */
};

struct replay_thread {
    uint32_t process, number; /* texts */
    int32_t part;             /* -1: of none */
};

/* A process of a file into which several were merged, with its devices. */
struct replay_process {
    int64_t rank;
    bool unsure; /* its devices could be those of another one */
};

/* The activity `target` waits for the end of `source`, or only for its start; indices. */
struct replay_dep {
    uint32_t target, source;
    bool start;
};

struct replay {
    struct arena arena;
    const char *path;
    struct replay_activity *activities; /* in order of start, then place */
    struct replay_call *calls;          /* in order of begin, then place */
    size_t count, call_count, capacity, call_capacity;
    struct replay_stream *streams;
    size_t stream_count, stream_capacity;
    const char **texts; /* by id; texts[0] is "" */
    size_t text_count, text_capacity;
    const struct kernel_rule **rules;      /* of each text that names an activity: what it does (classes.h) */
    struct replay_collective *collectives; /* the first one, once there is any, tells nothing */
    size_t collective_count, collective_capacity;
    struct replay_sync *syncs; /* likewise */
    size_t sync_count, sync_capacity;
    struct replay_mark *marks; /* in order of begin; at most REPLAY_MAX_MARKS */
    size_t mark_count, mark_capacity;
    struct replay_operation *operations; /* at most REPLAY_MAX_MARKS */
    size_t operation_count, operation_capacity;
    struct replay_group *groups;
    size_t group_count, group_capacity;
    struct replay_device *devices;
    size_t device_count, device_capacity;
    struct replay_thread *hosts; /* by the calls' thread */
    size_t host_count, host_capacity;
    struct replay_process *parts; /* of a file into which several processes were merged; else none */
    size_t part_count;
    int64_t rank, world; /* -1: unknown */
    int64_t origin;      /* ns in the recording's clock, of time 0 */
    int64_t base;        /* ns since 1970 of the recording's clock at 0 (baseTimeNanoseconds); 0: not told */
    int64_t cut_at;      /* the file ends early, after so many bytes (unpacked); 0: it is whole */
    bool host_only; /* no activity of a device: activities are operations of the host, streams its threads */
    size_t events;  /* in the file, of all kinds */
    size_t no_launch;   /* activities without a recorded launch */
    size_t no_activity; /* launches without a recorded activity, by their names */
    size_t skewed;      /* activities that begin before their launch, by less than REPLAY_MAX_SKEW */
    bool awaits;        /* calls that await the GPU were recorded */
    /* Profilers number all calls of the driver in a row. Of these numbers, so many were seen with a call. */
    int64_t first_number, last_number, numbers_seen;
    bool typed;  /* the file tells classes of activities; else their names do */
    bool priced; /* exchanges without a duration are read: what they take is found later (network.h) */
    bool played; /* an execution trace: `deps` tell all causes, and starts were not recorded but played */
    struct replay_dep *deps;
    size_t dep_count, dep_capacity;
    /* private, while reading */
    struct hash_names names, threads, stream_ids, collective_ids;
};

static inline int64_t replay_end(const struct replay *replay, size_t activity)
{
    return replay->activities[activity].start + replay->activities[activity].duration;
}

extern const char *const replay_class_names[REPLAY_CLASSES], *const replay_category_names[REPLAY_CATEGORIES];

/* Reads a file: a table if its name ends in ".csv" or ".csv.gz"; an execution trace if it ends in ".et" or ".et.gz" or
 * is JSON that says so in its first bytes ("schema"); else Kineto's JSON. On failure *replay holds nothing; on
 * success the caller calls replay_release. */
bool replay_load(struct replay *replay, const char *path, struct error *err);

/* Is a file one of those of which only the name or the first bytes tell that it is a recorded run? Of Chrome's JSON nothing does. */
bool replay_is_named(const char *path, const char *start);

/* The same; of execution traces also those whose exchanges have no durations: these last 1 ns. */
bool replay_load_priced(struct replay *replay, const char *path, struct error *err);

/* Reads text instead; `path` is for messages and chooses the format. */
bool replay_parse(struct replay *replay, const char *path, const char *text, size_t length,
                  struct error *err);

void replay_release(struct replay *replay);

/* What is told of an activity's collective, and of a call that awaits; of others, all is unknown. */
const struct replay_collective *replay_collective_of(const struct replay *replay,
                                                     const struct replay_activity *activity);
const struct replay_sync *replay_sync_of(const struct replay *replay, const struct replay_call *call);

/* Returns whether the trace holds only samples of the calls. A whole trace has every third to fifth number: profilers
 * leave out some kinds of calls. */
bool replay_is_sampled(const struct replay *replay);

/* Appends the table of activities, as replay_load reads it; `starts` and `durations` replace the recorded ones if
 * not NULL. With a stream, text goes there as it comes, all of it; failures to write are left to the stream. */
void replay_write_csv(const struct replay *replay, const int64_t *starts, const int64_t *durations,
                      struct text *out, FILE *stream);

#endif
