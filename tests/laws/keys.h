/* Options and keys that change nothing and are not named. */
#ifndef REHEARSE_TESTS_LAWS_KEYS_H
#define REHEARSE_TESTS_LAWS_KEYS_H

/* Each returns how many there are, and prints them. */
int keys_idle_options(void);
int keys_idle_in_cluster(void);

#endif
