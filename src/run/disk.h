/* The work of hosts that is real: samples are read from a data set by the loader of `feed`, and checkpoints are written
 * to files, both beside the iterations, as the tasks of sim/play/host.h say.
 *
 * Samples. Each device that loads is an accelerator of the loader, which reads the samples of one iteration when the
 * device asks for them, epoch after epoch. The numbers of the samples that were read are compared with those that were
 * due.
 *
 * Checkpoints. A device writes FOLDER/checkpoint-N/device-D.bin: as many bytes as its task says, each a function of (N,
 * D, offset). A file has its name only when it is complete and on the disk; the folder has `checkpoint.json` only when
 * all devices have written. Private to run. */
#ifndef REHEARSE_RUN_DISK_H
#define REHEARSE_RUN_DISK_H

#include "run/worker.h"
#include "sim/tasks.h"

#include <stdint.h>

#define DISK_LOOK 1e-3 /* seconds between two looks whether samples are there */

struct run_counts;

/* NULL: as deadlines say. */
struct run_disk {
    const char *data; /* a folder that `rehearse dataset generate` has filled */
    const char *checkpoints;
};

/* Returns the bytes of a sample of a data set; 0: *err. */
double disk_sample_bytes(const char *data, struct error *err);

struct disk;

/* `load_bytes`: of a sample, by which tasks count them. ERROR_INPUT: devices load different numbers of samples. */
struct disk *disk_open(const struct run_disk *options, const struct sim_tasks *tasks, double load_bytes,
                       int first, int count, int wake, struct error *err);
void disk_close(struct disk *disk); /* NULL is allowed */

/* Returns whether a task is done here. */
bool disk_has(const struct disk *disk, const struct engine_task *task);

/* Begins such a task of a device, counted from `first`. `bytes`: of a checkpoint that are written. */
bool disk_begin(struct disk *disk, int device, const struct engine_task *task, int64_t bytes,
                struct error *err);

/* Returns whether the task has ended, and sets *end (clock_now). False with *failed: it failed, see *err. */
bool disk_ended(struct disk *disk, int device, const struct engine_task *task, double *end, bool *failed,
                struct error *err);

/* Called once all devices have written: rank 0 completes the checkpoint, if checkpoints are written. False: the
 * previous one failed. */
bool disk_complete(struct disk *disk, struct error *err);

/* After the run: waits for pending operations. False: samples or files are wrong. */
bool disk_check(struct disk *disk, struct error *err);
const struct run_counts *disk_counts(const struct disk *disk); /* of samples and files */

#endif
