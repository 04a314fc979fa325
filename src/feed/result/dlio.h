/* DLIO's own result files for its tools and MLPerf Storage's: summary.json, R_per_epoch_stats.json and
 * R_output.json, with its keys and formulas (metrics_figures.h lists their errors). Unlike DLIO's they are
 * always valid JSON (null instead of NaN), are written atomically, and have true UTC times. json.h writes the
 * corrected figures. */
#ifndef REHEARSE_FEED_RESULT_DLIO_H
#define REHEARSE_FEED_RESULT_DLIO_H

#include "core/text.h"
#include "feed/result/metrics_figures.h"
#include "feed/result/steps.h"

struct result_dlio {
    bool train, eval, save, load; /* the parts of the workflow that were requested */
    int hosts;
    const char *hostname;
    const char *processor;      /* NULL: unknown */
    const int64_t *host_memory; /* [hosts], bytes */
    const int *host_cpus;       /* [hosts] */
    int64_t files_train, files_eval, samples_per_file;
    double record_length;          /* bytes, the mean */
    int64_t checkpoint_bytes;      /* one checkpoint, all ranks */
    int64_t start, end;            /* of the run; nanoseconds as in feed/metrics.h */
    int64_t realtime;              /* offset to nanoseconds since 1970 */
    const char *cpuinfo, *meminfo; /* texts of /proc/cpuinfo and /proc/meminfo; NULL: omitted */
};

/* `metrics` covers the whole run. */
bool result_dlio_summary(struct text *out, const struct metrics *metrics, const struct result_dlio *facts,
                         struct error *err);

/* `metrics` has the blocks of this accelerator. */
bool result_dlio_epochs(struct text *out, const struct metrics *metrics, int accelerator,
                        const struct result_dlio *facts, struct error *err);
bool result_dlio_output(struct text *out, const struct metrics *metrics, const struct result_steps *steps,
                        int accelerator, const struct result_dlio *facts, struct error *err);

/* Write folder/summary.json, and folder/R_….json per accelerator (steps NULL: no R_output.json). */
bool result_dlio_save_summary(const char *folder, const struct metrics *metrics,
                              const struct result_dlio *facts, struct error *err);
bool result_dlio_save_ranks(const char *folder, const struct metrics *metrics,
                            const struct result_steps *steps, const struct result_dlio *facts,
                            struct error *err);

/* 2026-11-21T02:42:36.904443 and `zone`; nanoseconds since 1970. */
void result_time(char text[40], int64_t realtime, const char *zone);

/* Writes a text atomically as folder/name, and releases it. */
bool result_save(const char *folder, const char *name, struct text *text, struct error *err);

#endif
