/* Names that options and operands take from tables, for completion: models, devices, links, software, workloads. */
#ifndef REHEARSE_API_NAMES_H
#define REHEARSE_API_NAMES_H

#include "api/option.h"
#include "core/text.h"

/* Appends the known names that an option takes beside files, with blanks between them. Returns whether it takes any;
 * out->failed is set where the tables cannot be read for want of memory. */
bool option_names(const struct option_spec *spec, struct text *out);

/* The same for the operands of a command, by their name in its usage ("WORKLOAD"; NULL: none). */
bool option_operand_names(const char *operands, struct text *out);

#endif
