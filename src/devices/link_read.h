/* Reading descriptions of links: the built-in table and users' files, which have one form. */
#ifndef REHEARSE_DEVICES_LINK_READ_H
#define REHEARSE_DEVICES_LINK_READ_H

#include "devices/link.h"

#define LINK_MOST       1000 /* in a file */
#define LINK_NAME_MOST  64   /* characters */
#define LINK_ALIAS_MOST 16

/* `known` are the links that `like:` may name besides those above it in the file; NULL: none. *table is empty before,
 * and after a failure. */
bool link_read(struct cost_link_table *table, const struct cost_link_table *known, const char *path,
               const char *data, size_t length, struct error *err);
bool link_read_file(struct cost_link_table *table, const struct cost_link_table *known, const char *path,
                    struct error *err);

/* The known name that was most likely meant; NULL when none is near. Either table may be NULL. */
const char *link_nearest(const struct cost_link_table *first, const struct cost_link_table *second,
                         const char *name);

#endif
