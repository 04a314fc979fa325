/* An iteration on the storage that `rehearse feed` measured, which takes
 *   max(compute, samples / samples_per_second) + checkpoint_bytes / save_rate / save_every
 * The samples of an iteration are loaded beside the one before, and training waits for each save. Rates are those of the
 * storage, whoever shares it. */
#ifndef REHEARSE_PLAN_STORAGE_H
#define REHEARSE_PLAN_STORAGE_H

#include "plan/plan.h"

/* Reads what was measured (rehearse-feed-result/1): at least a rate of loading or of saving. */
bool storage_load(struct plan_storage *storage, struct arena *arena, const char *path, struct error *err);

/* Sets plan->storage. `save_every`: iterations; 0: as the workload of the result says. */
bool storage_of(struct plan *plan, const char *path, double save_every, struct error *err);
void storage_print(const struct plan *plan, struct text *out);

#endif
