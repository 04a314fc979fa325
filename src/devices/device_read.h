/* Reading descriptions of devices: the built-in table and users' files, which have one form. */
#ifndef REHEARSE_DEVICES_DEVICE_READ_H
#define REHEARSE_DEVICES_DEVICE_READ_H

#include "devices/device.h"

#define DEVICE_MOST       1000 /* in a file */
#define DEVICE_NAME_MOST  64   /* characters */
#define DEVICE_ALIAS_MOST 16

/* `known` are the devices that `like:` may name besides those above it in the file; NULL: none. *table is empty
 * before, and after a failure. */
bool device_read(struct cost_device_table *table, const struct cost_device_table *known, const char *path,
                 const char *data, size_t length, struct error *err);
bool device_read_file(struct cost_device_table *table, const struct cost_device_table *known,
                      const char *path, struct error *err);

/* Gives the types without own parameters those of the nearest type that has some. */
void device_fill_types(struct cost_device *device);

/* The known name that was most likely meant; NULL when none is near. Either table may be NULL. */
const char *device_nearest(const struct cost_device_table *first, const struct cost_device_table *second,
                           const char *name);

/* The built-in table, while others are read that need it. */
const struct cost_device_table *device_known(void);

#endif
