/* Activities by what they do. A name is looked up once. */
#ifndef REHEARSE_SIM_REPLAY_CLASSES_H
#define REHEARSE_SIM_REPLAY_CLASSES_H

#include "sim/replay/replay.h"
#include "trace/kernels.h"

/* Sets rules of all names, and classes of activities. Readers call it with NULL; a caller may call it again with the
 * user's rules, which have to live as long as the replay. */
bool replay_classify(struct replay *replay, const struct kernel_classes *added, struct error *err);

/* Has any activity a rule of the user's? */
bool replay_has_rule_of(const struct replay *replay, const struct kernel_classes *added);

/* The activities of one class and library. */
struct replay_class_sum {
    enum kernel_class class;
    enum replay_class group;
    const char *library;
    size_t count;
    int64_t total; /* ns */
    double share;  /* of the time of all activities */
};

/* Lists the sums, longest first; `durations` replace the recorded ones if not NULL. The caller frees *sums. */
bool replay_sum_classes(const struct replay *replay, const int64_t *durations, struct replay_class_sum **sums,
                        size_t *count, struct error *err);

#endif
