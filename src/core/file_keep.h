/* Copying the attributes of a replaced file. */
#ifndef REHEARSE_CORE_FILE_KEEP_H
#define REHEARSE_CORE_FILE_KEEP_H

#include <sys/stat.h>

/* Gives the open file owner, group, permissions, access list and user attributes of the file `old` of this
 * path, as far as this process may. Nobody gains access that they did not have to the old one. */
void file_keep(int fd, const char *path, const struct stat *old);

#endif
