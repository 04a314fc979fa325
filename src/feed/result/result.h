/* The result files of a session that was run and judged. */
#ifndef REHEARSE_FEED_RESULT_RESULT_H
#define REHEARSE_FEED_RESULT_RESULT_H

#include "feed/session.h"

/* Writes all files into the folder: DLIO's, result.json, those of MLPerf Storage's verifier and, if
 * requested, the timeline. Every rank writes the files of its own accelerators; all call it. */
bool result_save(const struct session *session, const char *folder, struct error *err);

/* Writes result.json. "passed" (the exit status) requires a counted training step, AU at its target and
 * all checks. Without training AU is ignored. On rank 0. */
bool result_json(const struct session *session, struct json *json, struct error *err);

/* DLIO's own result files for its tools and MLPerf Storage's: summary.json (rank 0),
 * R_per_epoch_stats.json and R_output.json, with its keys and formulas (metrics_figures.h lists their
 * errors). Unlike DLIO's they are always valid JSON (null instead of NaN), are written atomically, and
 * have true UTC times. */
bool result_dlio_summary(const struct session *session, struct json *json, struct error *err);
bool result_dlio_epochs(const struct session *session, int accelerator, struct text *out, struct error *err);
bool result_dlio_output(const struct session *session, int accelerator, struct text *out, struct error *err);

/* Writes a workload below "workload:", as Hydra does. */
void result_configuration(const struct workload *workload, struct text *out);

/* Writes 2026-11-21T02:42:36.904443 and `zone`; `realtime` is nanoseconds since 1970. */
void result_time(char text[40], int64_t realtime, const char *zone);

#endif
