/* A temporary folder for a group of tests: its setup and teardown functions. */
#ifndef REHEARSE_TESTS_SUPPORT_FOLDER_H
#define REHEARSE_TESTS_SUPPORT_FOLDER_H

extern char test_folder[]; /* its path, once it is made */

int folder_make(void **state);
int folder_remove(void **state);

#endif
