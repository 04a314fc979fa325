/* The reference data of other systems, where it is present. */
#ifndef REHEARSE_TESTS_REFERENCE_H
#define REHEARSE_TESTS_REFERENCE_H

/* The path of a file or folder of it ("cost/golden.json"): in the folder that the environment variable
 * REHEARSE_REFERENCE names, else in ../shared/reference beside the source. NULL when it is not there, after
 * printing why the test skips. The text is the caller's, to free. */
char *reference_path(const char *relative);

#endif
