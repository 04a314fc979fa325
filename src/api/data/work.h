/* Shared by the rh_dataset_ functions: the place of the data, and the threads that process them. */
#ifndef REHEARSE_API_DATA_WORK_H
#define REHEARSE_API_DATA_WORK_H

#include "api/command.h"
#include "core/progress.h"
#include "dataset/generate.h"
#include "feed/place.h"
#include "feed/workload/workload.h"

/* The place of the data: a folder, or another storage. */
struct data_place {
    struct feed_place objects;
    struct dataset_place place;
    char *root;
};

bool data_place_of_folder(struct data_place *data, const char *root, bool sync, const atomic_bool *stop,
                          struct error *err);
bool data_place_of_workload(struct data_place *data, const struct workload *workload, bool sync,
                            const atomic_bool *stop, struct error *err);
void data_place_release(struct data_place *data);

static inline const char *data_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

struct data_work {
    struct dataset_work work;
    struct progress progress;
    double started;
    int64_t all; /* bytes; -1: unknown */
};

/* Starts the call's threads and reports progress; a stop ends the work early. */
bool data_work_begin(struct data_work *job, const char *what, const struct api_call *call, struct error *err);

/* Returns the seconds since data_work_begin. */
double data_work_end(struct data_work *job);

#endif
