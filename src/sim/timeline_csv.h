/* The tasks of a timeline as a table: comma-separated values, a line for each task, in the order in which they come. */
#ifndef REHEARSE_SIM_TIMELINE_CSV_H
#define REHEARSE_SIM_TIMELINE_CSV_H

#include "sim/timeline.h"

#include <stdio.h>

/* Writes the header line and returns a sink that writes the tasks; the stream must stay open as long. Failures to write
 * are left to the stream, which is checked where it is closed. */
struct timeline_sink timeline_csv(FILE *out);

#endif
