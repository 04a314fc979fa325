/* The tensors of a checkpoint's file: what a writer puts there, and what a header says is there. */
#ifndef REHEARSE_FEED_CHECKPOINT_TENSORS_H
#define REHEARSE_FEED_CHECKPOINT_TENSORS_H

#include "core/arena.h"
#include "core/error.h"
#include "feed/workload/workload.h"

#define CHECKPOINT_MAX_DIMS    8
#define CHECKPOINT_MAX_TENSORS 65536 /* in a file */

struct checkpoint_tensor {
    const char *name;
    enum workload_datatype type;
    int dims;
    int64_t shape[CHECKPOINT_MAX_DIMS];
    int64_t bytes;
    int64_t offset; /* of its bytes in the file, if a header was read; else unset */
};

/* A list. {0} is empty; the caller ends it with checkpoint_tensors_release. */
struct checkpoint_tensors {
    struct arena arena; /* of the names */
    struct checkpoint_tensor *items;
    size_t count, capacity;
};

/* Adds a tensor; its name is copied, its bytes follow from its shape. `path` is for errors. */
bool checkpoint_tensors_add(struct checkpoint_tensors *tensors, const char *path,
                            struct checkpoint_tensor tensor, struct error *err);
void checkpoint_tensors_release(struct checkpoint_tensors *tensors);

/* Orders them by name, as safetensors does tensors of one type. */
void checkpoint_tensors_sort(struct checkpoint_tensors *tensors);

/* Fails unless `found`, of the file `path`, has the names, types and shapes of `expected`. */
bool checkpoint_tensors_check(const struct checkpoint_tensors *found,
                              const struct checkpoint_tensors *expected, const char *path, struct error *err);

#endif
