/* Options and keys that change nothing and are not named. */
#ifndef REHEARSE_TESTS_LAWS_KEYS_H
#define REHEARSE_TESTS_LAWS_KEYS_H

#include <stdbool.h>

/* Each returns how many there are, and prints them. `beside_flags`: each option beside each flag of the command, too. */
int keys_idle_options(bool beside_flags);
int keys_idle_in_cluster(void);

#endif
