/* A job's life: recordings of the same ranks at several times, a folder for each.
 *
 * Each is explained by itself, and its steps are compared with those of the first one by against.h: the step, the share
 * of a rank's time and the class of kernels that grew most, and the rank whose own time did (all but waits for others).
 * Two explanations are held at a time. */
#ifndef REHEARSE_EXPLAIN_LIFE_H
#define REHEARSE_EXPLAIN_LIFE_H

#include "explain/against.h"

struct explain_hour {
    const char *name, *unlike; /* unlike: how its job differs from that of the first one; "": it does not */
    size_t ranks, steps;
    int64_t begin; /* ns from the first one's begin, by the profiles' clocks */
    const char *verdict, *cause;
    double loss; /* seconds of a step that the largest loss takes; 0: there is none */
    struct explain_change step, share, class; /* against the first one; names NULL: nothing grew */
    struct explain_change rank;
    int64_t slowest; /* the number of that rank; -1: there is one only, or none grew */
};

struct explain_life {
    struct arena arena;
    struct explain_hour *hours; /* in the order of their names */
    size_t count;
};

/* The folders of a job's life, as paths of files for each; count 0: the paths are of one recording. */
struct explain_hours {
    struct arena arena;
    struct explain_hour_files {
        const char *name;
        const char **paths;
        size_t count, capacity;
    } * list;
    size_t count, capacity;
};

/* Are these folders, or the folders in one, recordings of the same ranks? So they are if each tells its ranks, one
 * rank is in all, and half of them come again at least. Reads heads of files. On failure *hours holds nothing. */
bool explain_hours_find(struct explain_hours *hours, const char *const *paths, size_t count,
                        struct error *err);
void explain_hours_release(struct explain_hours *hours);

/* Explains all of them; *last is the explanation of the last one. On failure neither holds anything; on success the
 * caller releases life->arena, and *last. */
bool explain_life(struct explain_life *life, struct explain *last, const struct explain_hours *hours,
                  const struct kernel_classes *kernels, struct error *err);

#endif
