/* Published plans on mixed devices, as examples/mixed/ has them. */
#ifndef REHEARSE_TESTS_MIXED_REFERENCE_H
#define REHEARSE_TESTS_MIXED_REFERENCE_H

#include "evidence/mixed_read.h"

/* The caller ends the table with mixed_table_release. */
void mixed_reference_amp(struct mixed_table *table);
void mixed_reference_sailor(struct mixed_table *table);

#endif
