/* What `rehearse simulate --replay` prints. */
#ifndef REHEARSE_API_SIM_REPLAY_REPORT_H
#define REHEARSE_API_SIM_REPLAY_REPORT_H

#include "core/json.h"
#include "figure/style.h"
#include "sim/replay/classes.h"
#include "sim/replay/play.h"

struct replay_report {
    const struct replay *replay;
    const struct replay_graph *graph;
    const struct replay_result *recorded; /* as it was */
    const struct replay_result *typical;  /* with typical lags: shows whether the causes are right */
    const struct replay_result *changed;  /* with --what-if; NULL: not asked for */
    const struct replay_scale *scales;
    int scale_count;
    const struct replay_class_sum *classes; /* longest first */
    size_t class_count;
};

#define SIMULATE_NO_RULE "\n%s: no kernel has a name of its rules\n"

/* Is a pattern of --what-if a degree ("dp"), which is for all ranks of a run? */
bool simulate_is_degree(const char *pattern);

/* Plays the ranks of a run: a folder, or a pattern of names. `kernels` NULL: no rules of the user's. */
struct simulate_options;
bool simulate_replay_ranks(const struct simulate_options *given, const struct replay_options *options,
                           const struct kernel_classes *kernels, struct error *err);

/* Draws the streams for a page: as recorded, and as they are with --what-if (`changed`, which may be NULL). */
struct report_drawing;
bool replay_draw_page(const struct replay *replay, const struct replay_result *changed,
                      struct report_drawing *drawing, struct error *err);

#endif
