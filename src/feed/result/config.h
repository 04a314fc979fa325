/* The files that MLPerf Storage's verifier reads beside summary.json: the configuration and overrides in
 * Hydra's layout, and a file whose name marks the folder as a run. */
#ifndef REHEARSE_FEED_RESULT_CONFIG_H
#define REHEARSE_FEED_RESULT_CONFIG_H

#include "feed/workload/workload.h"

struct result_config {
    const struct workload *workload; /* as it was run */
    const char *const *overrides;    /* "reader.read_threads=8", with or without Hydra's "++workload." */
    int override_count;
    const char *version; /* of the program */
    int accelerators;
    int64_t start, end; /* nanoseconds since 1970 */
};

/* Writes folder/dlio_config/config.yaml, overrides.yaml and hydra.yaml, and folder/rehearse_metadata.json. */
bool result_config_save(const char *folder, const struct result_config *facts, struct error *err);

#endif
