/* The built-in tables: devices, links, calibrations and models. */
#ifndef REHEARSE_DEVICES_TABLES_H
#define REHEARSE_DEVICES_TABLES_H

#include "core/error.h"

#include <stdbool.h>

/* Reads all of them, unless they are read; they live as long as the program. To be called before something is looked up by
 * its name: a lookup (cost_device_find, cost_link_find, calibration_of, architecture_find) cannot fail from then on, and
 * NULL means that there is no such thing. What loads a table of the user's does it itself. */
bool cost_tables(struct error *err);

/* The same for lookups: ends the program where memory runs out, as cost_tables was forgotten. */
void cost_tables_needed(void);

/* Each by its own file, for tables.c: on failure nothing is kept; nothing is done where it is read. */
bool device_read_known(struct error *err);
bool link_read_known(struct error *err);
bool calibration_read_known(struct error *err);
bool architecture_read_known(struct error *err);

#endif
