/* A file that takes another's place looks like it. */
#ifndef REHEARSE_CORE_FILE_KEEP_H
#define REHEARSE_CORE_FILE_KEEP_H

#include <sys/stat.h>

/* Gives the open file owner, group, permissions, access list and user attributes of the file `old` of this path, as far as
 * this process may. Whoever could not read or write the old one cannot read or write the new one. */
void file_keep(int fd, const char *path, const struct stat *old);

#endif
