#include "schedule/action.h"

#include <stdio.h>

const struct action_word action_words[] = {
    {"F", ACTION_FORWARD},
    {"I", ACTION_INPUT},
    {"W", ACTION_WEIGHT},
    {"B", ACTION_BACKWARD},
    {"BW", ACTION_KINDS},
    {"SEND_F", ACTION_SEND_FORWARD},
    {"RECV_F", ACTION_RECEIVE_FORWARD},
    {"SEND_B", ACTION_SEND_BACKWARD},
    {"RECV_B", ACTION_RECEIVE_BACKWARD},
    {"UNSHARD", ACTION_UNSHARD},
    {"RESHARD", ACTION_RESHARD},
    {"REDUCE_GRAD", ACTION_REDUCE_GRADIENT},
    {NULL, ACTION_KINDS},
};

struct action_name action_name(const struct pass *action, enum schedule_letters letters)
{
    struct action_name name = {""};
    const char *word = NULL;
    if (action->kind == ACTION_NONE)
        return name;
    if (letters == LETTERS_OLDER && action->kind == ACTION_INPUT)
        word = "B";
    else if (letters == LETTERS_OLDER && action->kind == ACTION_BACKWARD)
        word = "BW";
    for (const struct action_word *known = action_words; word == NULL && known->word != NULL; known++)
        if (known->kind == action->kind)
            word = known->word;
    if (word == NULL)
        word = "?";
    if (action->microbatch == ACTION_NO_MICROBATCH)
        snprintf(name.text, sizeof name.text, "%u%s", (unsigned)action->stage, word);
    else
        snprintf(name.text, sizeof name.text, "%u%s%u", (unsigned)action->stage, word,
                 (unsigned)action->microbatch);
    return name;
}
