/* What the commands of `rehearse dataset` share: where data lie, and threads that work on them. */
#ifndef REHEARSE_CLI_FEED_DATASET_WORK_H
#define REHEARSE_CLI_FEED_DATASET_WORK_H

#include "core/progress.h"
#include "dataset/generate.h"
#include "feed/place.h"
#include "feed/workload/workload.h"

/* Where data lie: a folder, or a storage that is none. */
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
    int64_t all; /* bytes; -1: not known */
};

/* Shows progress, and ends early on Ctrl-C. */
bool data_work_begin(struct data_work *job, const char *what, int64_t threads, struct error *err);

/* Seconds that it took. */
double data_work_end(struct data_work *job);

#endif
