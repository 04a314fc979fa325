/* Shared by the commands of `rehearse dataset`: the place of the data, and threads that work on them. */
#ifndef REHEARSE_CLI_FEED_DATASET_WORK_H
#define REHEARSE_CLI_FEED_DATASET_WORK_H

#include "core/progress.h"
#include "dataset/generate.h"
#include "feed/place.h"
#include "feed/workload/workload.h"

/* The place of the data: a folder, or another storage. */
struct data_place {
    struct dataset_folder folder;
    struct feed_place objects;
    struct dataset_place place;
    char *root;
};

bool data_place_of_folder(struct data_place *data, const char *root, bool sync, struct error *err);
bool data_place_of_workload(struct data_place *data, const struct workload *workload, bool sync,
                            struct error *err);
void data_place_release(struct data_place *data);

struct data_work {
    struct dataset_work work;
    struct progress progress;
    double started;
    int64_t all; /* bytes; -1: unknown */
};

/* Starts threads and the progress line; Ctrl-C ends the work early. */
bool data_work_begin(struct data_work *job, const char *what, int64_t threads, struct error *err);

/* Returns the seconds since data_work_begin. */
double data_work_end(struct data_work *job);

#endif
