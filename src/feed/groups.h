/* The files of this process's control groups, of both versions. */
#ifndef REHEARSE_FEED_GROUPS_H
#define REHEARSE_FEED_GROUPS_H

/* Returns the text of a small file of the kernel, which the caller frees; NULL: it cannot be read. */
char *groups_text(const char *path);

/* Calls `visit` with the text of a file of the group of this process and of each of its parents that is visible. A
 * hierarchy of version 1 is named by its controller ("cpu"), that of version 2 by "". */
void groups_each(const char *controller, const char *file, void (*visit)(void *context, const char *text),
                 void *context);

#endif
