/* Published plans on mixed devices, as examples/mixed/ describes their clusters. */
#ifndef REHEARSE_TESTS_MIXED_REFERENCE_H
#define REHEARSE_TESTS_MIXED_REFERENCE_H

#include "evidence/mixed_read.h"

/* False: the tables are not there. */
bool mixed_reference_amp(struct mixed_table *table);
bool mixed_reference_sailor(struct mixed_table *table);

#endif
