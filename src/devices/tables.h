/* The tables of devices, links, calibrations and models: built-in ones and a user's for one command. A user's
 * entry replaces the built-in one of the same name. */
#ifndef REHEARSE_DEVICES_TABLES_H
#define REHEARSE_DEVICES_TABLES_H

#include "core/error.h"
#include "devices/architecture.h"
#include "devices/calibration.h"
#include "devices/device.h"
#include "devices/link.h"
#include "devices/software.h"
#include "devices/table.h"

enum table_of { TABLE_DEVICES, TABLE_LINKS, TABLE_CALIBRATIONS, TABLE_MODELS, TABLE_SOFTWARE, TABLES };

/* A user's tables, owned by the command and passed to lookups; zero or NULL: none. */
struct tables {
    struct table added[TABLES];
};

/* Reads a user's file (NULL: none), replacing an earlier one of this kind. On failure nothing changes. */
bool tables_add(struct tables *tables, enum table_of which, const char *path, struct error *err);
void tables_release(struct tables *tables);

/* Reads the built-in tables once, for the program's lifetime. Call it before lookups by name: these cannot
 * fail afterwards, and NULL means that there is no such entry. Without it the first lookup reads them, and
 * ends the program if memory is out. Loading a user's table calls it. */
bool tables_ready(struct error *err);
const struct table *tables_known(enum table_of which);

/* Lookups by name or alias, of devices also by the many spellings of devices/device_name.h; NULL: none. */
const struct cost_device *tables_device(const struct tables *tables, const char *name);
const struct cost_link *tables_link(const struct tables *tables, const char *name);
const struct software *tables_software(const struct tables *tables, const char *name);
const struct architecture *architecture_find(const char *name); /* built in */

/* Returns the calibration of the device's generation, else the default values. */
const struct calibration *tables_calibration(const struct tables *tables, const struct cost_device *device);

/* Returns whether a calibration has the built-in parameters of the device, whose errors the published runs show. */
bool tables_is_known(const struct calibration *calibration, const struct cost_device *device);

/* Loads all entries of a file if `name` ends in .yaml, .yml or .json, else the entry of this name, whose
 * texts belong to its table of origin. Errors give the nearest known name. On success the caller releases
 * *table with table_release. */
bool tables_load(const struct tables *tables, enum table_of which, struct table *table, const char *name,
                 struct error *err);

/* Sets "OPTION unknown NOUN 'NAME', did you mean 'NEAREST'?", where the option is "--link: " or "". Returns false. */
bool tables_unknown(enum table_of which, const char *option, const char *name, struct error *err);

/* Read a file or text of one of the tables; `path` is for messages. */
bool tables_read(struct table *table, enum table_of which, const char *path, struct error *err);
bool tables_parse(struct table *table, enum table_of which, const char *path, const char *data, size_t length,
                  struct error *err);

#endif
