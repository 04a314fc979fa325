/* Plays the graph of a recorded run: one pass over its events in the order of causes. What is asked with --what-if
 * changes durations of activities, and nothing else; begins follow from causes and lags (graph.h). */
#ifndef REHEARSE_SIM_REPLAY_PLAY_H
#define REHEARSE_SIM_REPLAY_PLAY_H

#include "sim/replay/graph.h"
#include "sim/timeline.h"

struct replay_scale {
    const char *
        pattern; /* a glob on names of activities, as of a shell; '*' also spans '/'. "host": the host's work */
    double factor; /* >= 0 */
};

#define REPLAY_MAX_SCALES 64
#define REPLAY_MAX_FACTOR 1e6

/* Reads "PATTERN=FACTOR"; the pattern points into `text`, which is changed and has to live as long. */
bool replay_scale_parse(struct replay_scale *scale, char *text, struct error *err);

/* Returns whether the name of any activity matches, or any call was recorded of the host. */
bool replay_matches(const struct replay *replay, const struct replay_scale *scale);

struct replay_options {
    const struct replay_scale *scales; /* of several that match a name, all count */
    int scale_count;
    bool typical; /* lags are the typical ones, not those measured */
};

/* Times of a device, ns. The span goes from the first start to the last end of its activities. */
struct replay_shares {
    int64_t device, span, compute, communication, memory; /* at least one of the class is running */
    int64_t overlap;                                      /* compute and communication are */
    int64_t idle;                                         /* nothing is */
};

struct replay_busy {
    int64_t device, stream; /* its number there */
    size_t count;
    int64_t busy; /* ns; activities that overlap count once */
};

struct replay_named {
    uint32_t number;                 /* of the text */
    const char *name, *class, *kind; /* kind: name of an enum kernel_class */
    size_t count;
    int64_t total, critical; /* ns, of all, and on the critical path */
};

struct replay_result {
    int64_t *starts, *durations; /* of activities, ns */
    int64_t span;                /* of all devices together */
    struct replay_shares *shares;
    size_t device_count;
    struct replay_busy *busy; /* of each stream */
    size_t stream_count;
    struct replay_named *names; /* longest total first */
    size_t name_count;
    int64_t critical[CAUSE_KINDS]; /* lags on the critical path, by cause; activities on it are in `names` */
    size_t scaled;                 /* activities whose name matched a pattern */
};

/* On failure *result holds nothing; on success the caller calls replay_result_release. */
bool replay_play(const struct replay_graph *graph, const struct replay_options *options,
                 struct replay_result *result, struct error *err);

void replay_result_release(struct replay_result *result);

/* ---- for those who play several graphs together (network.h) ---- */

/* Which lags a pass takes, and the factor of the host's work. */
struct replay_lags {
    bool typical;
    double host;
};

struct replay_lags replay_lags_of(const struct replay_options *options);
int64_t replay_lag_of(const struct replay_edge *edge, const struct replay_lags *lags);

/* The edge of the end of a call that has none. */
struct replay_edge replay_own_time(const struct replay_graph *graph, size_t event);

/* The factor of activities of a name. */
double replay_factor(const struct replay_options *options, const char *name);

/* Makes room for starts and sets durations; then, once starts are set, adds all up but the critical path. The caller
 * calls replay_result_release, also after a failure. */
bool replay_result_begin(const struct replay *replay, const struct replay_options *options,
                         struct replay_result *result, struct error *err);
bool replay_result_sum(const struct replay *replay, struct replay_result *result, struct error *err);

/* Frees starts and durations, and keeps what they add up to. */
void replay_result_forget_times(struct replay_result *result);

/* Gives the activities to a sink, in order of the recorded starts. Of a result: with its times. */
bool replay_give(const struct replay *replay, const struct replay_result *result,
                 const struct timeline_sink *sink, struct error *err);

#endif
