/* Transfers between the ranks of a job. Private to this room. */
#ifndef REHEARSE_PLAN_SPLIT_TRANSFER_H
#define REHEARSE_PLAN_SPLIT_TRANSFER_H

#include "plan/split/job.h"

/* Returns the group of `devices` ranks whose neighbours are `apart` ranks apart: tensor parallel ranks are
 * adjacent, data parallel ranks tensor x context apart, as Megatron-LM lays them out. */
struct collective_group job_group(const struct job *job, int devices, int apart);

double job_transfer(const struct job *job, enum collective_kind kind, int devices, int apart, double bytes);

#endif
