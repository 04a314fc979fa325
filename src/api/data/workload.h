/* The workload of a request: `unet3d_h100 ++workload.reader.read_threads=8`, `workload=unet3d_h100`, and in `set`
 * `reader.read_threads=8`. */
#ifndef REHEARSE_API_DATA_WORKLOAD_H
#define REHEARSE_API_DATA_WORKLOAD_H

#include "api/command.h"
#include "core/arena.h"
#include "feed/workload/workload.h"

/* All changes to a workload, for opening it, for the record and for the rules. */
struct workload_overrides {
    const char **items; /* "reader.read_threads=8" */
    int count;
    size_t capacity;
    struct arena arena;
};

bool workload_overrides_add(struct workload_overrides *overrides, struct error *err, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Whether a folder may follow the workload: the data set that is read. */
enum workload_folder { WORKLOAD_FOLDER_NONE, WORKLOAD_FOLDER_READ };

/* Adds those of words, then those of --set. *name is the workload's. */
bool workload_overrides_of(struct workload_overrides *overrides, const struct rh_list *words,
                           const struct rh_list *set, enum workload_folder folder, const char **name,
                           struct error *err);
void workload_overrides_release(struct workload_overrides *overrides);

/* workload_open that gives the caller the workload's warnings; `call` NULL: it does not. */
bool workload_given_open(struct workload *workload, const char *name, const struct workload_options *options,
                         const struct api_call *call, struct error *err);

#endif
