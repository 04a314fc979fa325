/* torchtitan's rules, for software that has its names. Private to src/launch. */
#ifndef REHEARSE_LAUNCH_READ_TORCHTITAN_H
#define REHEARSE_LAUNCH_READ_TORCHTITAN_H

#include "launch/read/read.h"

extern const struct launch_rules torchtitan_rules;

/* Reads what several arguments say together. `doc`: the file, or NULL. */
bool torchtitan_settle(struct launch_options *options, const struct doc *doc, struct error *err);

/* Sets the stages of a pipeline from the blocks of each of its parts, a multiple of the stages. False: out of memory. */
bool torchtitan_set_parts(struct launch_options *options, const int *parts, int count);
void torchtitan_complete(struct launch_options *options);

#endif
