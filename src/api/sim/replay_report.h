/* What `rehearse simulate --replay` prints. */
#ifndef REHEARSE_API_SIM_REPLAY_REPORT_H
#define REHEARSE_API_SIM_REPLAY_REPORT_H

#include "core/json.h"
#include "figure/style.h"
#include "sim/replay/play.h"

struct replay_report {
    const struct replay *replay;
    const struct replay_graph *graph;
    const struct replay_result *recorded; /* as it was */
    const struct replay_result *typical;  /* with typical lags: shows whether the causes are right */
    const struct replay_result *changed;  /* with --what-if; NULL: not asked for */
    const struct replay_scale *scales;
    int scale_count;
};

void replay_report_print(const struct replay_report *report, struct text *out);
void replay_report_json(const struct replay_report *report, struct json *json);

/* Draws the streams as recorded, and as they were with --what-if; the ending of `path` sets the format. */
bool replay_draw(const struct replay_report *report, const struct figure_style *style, const char *path,
                 struct error *err);

#endif
