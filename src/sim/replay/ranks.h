/* All ranks of a recorded run: a file, a folder, a list of files, or one file into which several ranks were merged.
 *
 *     struct ranks run;
 *     if (ranks_open(&run, paths, count, err))              reads the heads of the files, not their events
 *         for (size_t i = 0; i < run.count; i++) {
 *             ranks_load(&run, i, &replay, err)             one rank at a time: memory is that of the largest
 *             ranks_collect(&run, i, &replay, err)          notes its collectives, 64 bytes each
 *             ranks_steps(&replay, &steps, err)             its training steps
 *             … sums of the caller …
 *             replay_release(&replay);
 *         }
 *     ranks_align(&run, err);                               then run.members[i].offset, run.clocks, run.faults
 *     ranks_release(&run);
 *
 * A rank is a process with the activities of its devices. Devices of one process that bear collectives of their own are
 * told apart by the streams of their activities; their clock is the same.
 *
 * Groups are found by the ranks and the name that NCCL's arguments tell of each kernel, by pg_config where a list of
 * ranks was shortened, and without either by the stream, which is said (`assumed`). The k-th collective of a group on
 * one rank is the k-th on each other, by `Seq` where it is recorded. Sends and receives are matched by their two ranks
 * and group, by `Seq` if both sides have the same numbers, else in order.
 *
 * Nothing that is missing stops a run: ranks that are not there, doubled or cut files, launches without their kernels,
 * clocks that jump and traces without steps are `faults`, each one line that names file, fault and consequence. */
#ifndef REHEARSE_SIM_REPLAY_RANKS_H
#define REHEARSE_SIM_REPLAY_RANKS_H

#include "sim/replay/replay.h"

#define RANKS_MAX_FILES 65536
#define RANKS_MAX_MEDIAN                                                                                     \
    INT64_C(1000000) /* ns: ends farther apart are of collectives that do not belong together */

enum ranks_fault_kind {
    FAULT_MISSING,    /* ranks of the world without a file */
    FAULT_DOUBLED,    /* two files of one rank */
    FAULT_WORLDS,     /* files that tell worlds of different sizes */
    FAULT_NO_RANK,    /* a file does not tell its rank: by the order of names */
    FAULT_TRUNCATED,  /* a file ends early; what is before the cut was read */
    FAULT_DROPPED,    /* launches without a recorded activity */
    FAULT_NO_LAUNCH,  /* activities without a recorded launch, where others have one */
    FAULT_SAMPLED,    /* only samples of the calls of the host */
    FAULT_SKEWED,     /* activities that begin before their launch */
    FAULT_NO_STEPS,   /* no ProfilerStep */
    FAULT_CPU_ONLY,   /* no activity of a device: the operations of the host instead */
    FAULT_MERGED,     /* processes of one file that could not be told apart for sure */
    FAULT_UNMATCHED,  /* a group's ranks recorded different numbers of collectives */
    FAULT_NO_CLOCK,   /* ranks without a common collective: their clocks stay as recorded */
    FAULT_CLOCK_JUMP, /* a rank's clock jumps within the run */
    FAULT_CLOCK_DRIFT,
    FAULT_KINDS
};

extern const char *const ranks_fault_names[FAULT_KINDS];

struct ranks_fault {
    enum ranks_fault_kind kind;
    int32_t member;   /* index; -1: of the whole run */
    const char *text; /* a sentence with file, fault, consequence; in the run's arena */
};

struct ranks_member {
    const char *path;
    const char *host;    /* of the file's name as PyTorch's handler makes it; NULL: unknown */
    int64_t rank, world; /* world -1: unknown. A rank always has a number, `rank_told` or not */
    bool rank_told;
    int32_t part;   /* of a file with several ranks, from 0; -1: the whole file */
    int64_t offset; /* ns to add to this rank's clock for that of the run (ranks_align) */
    bool aligned;   /* by a collective with another rank */
    bool loaded;    /* its faults are noted */
};

struct ranks_group {
    const char *name;        /* as recorded ("0"); of an assumed group its stream's number */
    const char *description; /* "default_pg", "" */
    const int64_t *ranks;    /* sorted; NULL: not told */
    size_t rank_count;
    bool assumed;
};

/* A collective of one rank. Times are ns in its own clock, since run->origin: add the member's offset. */
struct ranks_collective {
    int64_t begin, end;
    uint32_t member, group;
    uint32_t order;    /* in the group, from 0: the same on all its ranks; by `Seq` where recorded */
    uint32_t activity; /* of the member's replay */
    uint32_t name;     /* run->texts: "allreduce"; the kernel's name where no collective is told */
    int64_t bytes;     /* of the rank's input; -1: unknown */
    int32_t peer;      /* of a send or receive: the other rank, or its place in the group; -1: unknown */
    bool message;      /* a send or receive */
    bool sends;        /* likewise, or of groups that are not told, which are not matched */
    bool numbered;     /* its order was recorded (Seq), and decided */
    uint32_t
        again; /* of those with the same order on this rank: several kernels may make one collective. Of a send
                     * and its receive, after ranks_align: the same number above 0 */
};

/* How well the clocks agree: distances of the ends of a collective from their median, after the offsets, in ns. */
struct ranks_clocks {
    size_t matched;      /* collectives seen on at least two ranks */
    int64_t median, p90; /* of the distances */
    int64_t spread;      /* between the smallest and the largest offset */
};

struct ranks {
    struct arena arena;
    struct ranks_member *members; /* by rank, then path, then part */
    size_t count, capacity;
    int64_t world;  /* the largest told; -1: unknown */
    int64_t origin; /* ns, time 0 of the run: where the first member that was collected begins */
    bool has_origin;
    struct ranks_group *groups;
    size_t group_count, group_capacity;
    struct ranks_collective *collectives; /* after ranks_align: by group, order, member; then messages, each
                                          * a send and its receive; then what has no other side */
    size_t collective_count, collective_capacity;
    const char **texts;
    size_t text_count, text_capacity;
    struct ranks_clocks clocks;
    struct ranks_fault *faults;
    size_t fault_count, fault_capacity;
    bool priced; /* set by the caller after ranks_open: files are read by replay_load_priced */
    /* private */
    struct hash_names names, group_ids;
    struct replay whole; /* of a file that was read to see how many ranks it holds; path NULL: none */
};

/* Adds a fault; the text is made as by printf. */
bool ranks_fault(struct ranks *run, enum ranks_fault_kind kind, int32_t member, struct error *err,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Adds a line for each fault, twenty at most, after `before`; files of which the same is told share one. */
void ranks_faults_tell(const struct ranks *run, const char *before, struct text *out);

/* Finds the ranks in files, folders, and what patterns of names match ("run/rank*.json"). A file alone is read, since
 * it may hold several ranks; ranks_load then has it at once. On failure *run holds nothing; on success the caller calls ranks_release. */
bool ranks_open(struct ranks *run, const char *const *paths, size_t count, struct error *err);
void ranks_release(struct ranks *run);

/* Reads member `i`; adds its faults, once. The caller calls replay_release. */
bool ranks_load(struct ranks *run, size_t i, struct replay *replay, struct error *err);

/* Notes the collectives of a loaded member, once for each. */
bool ranks_collect(struct ranks *run, size_t i, const struct replay *replay, struct error *err);

/* After all members were collected: matches collectives and aligns the clocks. */
bool ranks_align(struct ranks *run, struct error *err);

/* Matches sends and receives, once collectives are sorted (groups.c). Private to clocks.c. */
bool ranks_match_messages(struct ranks *run, struct error *err);

/* A training step on the time of its replay (ns from its first event). */
struct ranks_step {
    int64_t number;                   /* N of ProfilerStep#N, step_num of XLA's profiles */
    int64_t begin, end;               /* of the host's annotation */
    int64_t device_begin, device_end; /* of the device's; begin -1: not recorded */
};

/* Lists the steps by begin; the caller frees *steps. No step: *count 0. */
bool ranks_steps(const struct replay *replay, struct ranks_step **steps, size_t *count, struct error *err);

/* How steps were found that nothing marks. */
struct ranks_period {
    size_t length; /* activities of a device in a step; 0: nothing repeats */
    double fit;    /* share of them that have the name of their place in other steps */
};

/* The same of a recording without marks: the period of its kernels and collectives (period.c). They are numbered from
 * 0, and their ends are the begins of the next ones. */
bool ranks_period(const struct replay *replay, struct ranks_step **steps, size_t *count,
                  struct ranks_period *found, struct error *err);

/* Returns the time of an event of a collected member's replay in the run's clock, ns since run->origin. */
int64_t ranks_time(const struct ranks *run, size_t member, const struct replay *replay, int64_t time);

#endif
