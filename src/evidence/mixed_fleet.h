/* Measured plans on devices of several kinds, by the formula that pipelines are searched with (fleet.h). */
#ifndef REHEARSE_EVIDENCE_MIXED_FLEET_H
#define REHEARSE_EVIDENCE_MIXED_FLEET_H

#include "evidence/mixed_read.h"

/* Sets `planner` of every row that is modelled. */
bool fleet_score_measured(struct mixed_table *table, struct error *err);

#endif
