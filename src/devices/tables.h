/* The tables of devices, links, calibrations and models: those that are built in, and those that a user adds for one
 * command. An added entry takes the place of the built-in one of its name. */
#ifndef REHEARSE_DEVICES_TABLES_H
#define REHEARSE_DEVICES_TABLES_H

#include "core/error.h"
#include "devices/architecture.h"
#include "devices/calibration.h"
#include "devices/device.h"
#include "devices/link.h"
#include "devices/table.h"

enum table_of { TABLE_DEVICES, TABLE_LINKS, TABLE_CALIBRATIONS, TABLE_MODELS, TABLES };

/* What a user adds. It belongs to the command, which hands it to whatever looks something up; zero, or a NULL pointer
 * to it: nothing is added. */
struct tables {
    struct table added[TABLES];
};

/* Reads a user's file (NULL: none); what an earlier file of this kind has added goes. On failure nothing has changed. */
bool tables_add(struct tables *tables, enum table_of which, const char *path, struct error *err);
void tables_release(struct tables *tables);

/* Reads the built-in tables, unless they are read; they live as long as the program. To be called before something is
 * looked up by its name: a lookup cannot fail from then on, and NULL means that there is no such thing. Without it the
 * first lookup reads them, and ends the program where memory runs out. What loads a user's table calls it itself. */
bool tables_ready(struct error *err);
const struct table *tables_known(enum table_of which);

/* Lookups by name or alias; NULL when there is none. */
const struct cost_device *tables_device(const struct tables *tables, const char *name);
const struct cost_link *tables_link(const struct tables *tables, const char *name);
const struct architecture *architecture_find(const char *name); /* built in */

/* The calibration of the device's generation; that of the nearest one that was fitted when it was not. */
const struct calibration *tables_calibration(const struct tables *tables, const struct cost_device *device);

/* A table of what `name` names: of all entries of a file when it ends in .yaml, .yml or .json, else of the entry of this
 * name, whose texts are those of the table that it comes from. Errors say the nearest known name. On success the caller
 * ends it with table_release. */
bool tables_load(const struct tables *tables, enum table_of which, struct table *table, const char *name,
                 struct error *err);

/* A file of one of the tables, and the text of one; `path` is for messages. */
bool tables_read(struct table *table, enum table_of which, const char *path, struct error *err);
bool tables_parse(struct table *table, enum table_of which, const char *path, const char *data, size_t length,
                  struct error *err);

#endif
