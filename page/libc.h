/* The planner in a page, compiled to WebAssembly: what its C library does not declare. Before each file (-include). */
#ifndef REHEARSE_PAGE_LIBC_H
#define REHEARSE_PAGE_LIBC_H

#include <stddef.h>
#include <sys/types.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif
#define __rlimit_resource_t int

void qsort_r(void *items, size_t count, size_t size,
             int (*compare)(const void *a, const void *b, void *context), void *context);
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags);

#endif
