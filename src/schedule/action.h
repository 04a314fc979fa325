/* Actions of a rank: passes, and what PyTorch's schedules have beside them; and their names.
 *
 * A name is stage, kind and micro-batch: "3F0". Two generations of letters exist. In files of 2024 B is the gradient of
 * a stage's input and BW the whole backward pass; later I is the gradient of the input and B the whole pass. */
#ifndef REHEARSE_SCHEDULE_ACTION_H
#define REHEARSE_SCHEDULE_ACTION_H

#include "schedule/order.h"

enum action_kind {
    ACTION_FORWARD, /* the first four are the kinds of passes, enum pass_kind */
    ACTION_INPUT,
    ACTION_WEIGHT,
    ACTION_BACKWARD,
    ACTION_SEND_FORWARD, /* the output of the stage's forward pass, to the stage after it */
    ACTION_RECEIVE_FORWARD,
    ACTION_SEND_BACKWARD, /* the gradient of the stage's input, to the stage before it */
    ACTION_RECEIVE_BACKWARD,
    ACTION_UNSHARD,
    ACTION_RESHARD,
    ACTION_REDUCE_GRADIENT,
    ACTION_NONE, /* an empty cell */
    ACTION_KINDS
};

#define ACTION_NO_MICROBATCH UINT32_MAX

enum schedule_letters { LETTERS_NEWER, LETTERS_OLDER };

/* The words of kinds; ended by NULL. A kind may have several, of which the first is of the newer letters. */
struct action_word {
    const char *word;
    uint8_t kind; /* of B: as in the newer letters; of BW: ACTION_KINDS, since it tells the generation */
};
extern const struct action_word action_words[];

/* Writes an action, which is a pass with an enum action_kind: "3RECV_B0"; nothing for an empty cell. */
struct action_name {
    char text[40];
};
struct action_name action_name(const struct pass *action, enum schedule_letters letters);

/* The file that actions come from. */
struct action_source {
    const char *path; /* begins messages; NULL: no file */
    enum schedule_letters letters;
    bool communicates; /* results go to other ranks by SEND and RECV */
};

static inline bool action_is_pass(const struct pass *action)
{
    return action->kind <= ACTION_BACKWARD;
}

/* Returns whether an action belongs to a micro-batch and others wait for it, or it for them: a pass, SEND or RECV. */
static inline bool action_is_ordered(const struct pass *action)
{
    return action->kind < ACTION_UNSHARD;
}

/* Returns whether an action is a SEND or a RECV. */
static inline bool action_is_message(const struct pass *action)
{
    return action_is_ordered(action) && !action_is_pass(action);
}

#endif
