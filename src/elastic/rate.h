/* The iteration time of any number of live nodes: elastic_instances behind a cache, for policies that ask
 * thousands of times. */
#ifndef REHEARSE_ELASTIC_RATE_H
#define REHEARSE_ELASTIC_RATE_H

#include "elastic/instances.h"

struct elastic_rate;

/* `kit` must outlive the rate. NULL: out of memory. */
struct elastic_rate *elastic_rate_new(const struct elastic_kit *kit, int faults, struct error *err);
void elastic_rate_free(struct elastic_rate *rate);

/* Sets *seconds to the iteration time on `live` nodes of each kind (kit->kind_count entries); INFINITY:
 * they are too few. Where F + 1 copies do not fit any more, as many as fit are kept. False: the machine
 * failed. Not for several threads. */
bool elastic_rate_seconds(struct elastic_rate *rate, const int *live, double *seconds, struct error *err);

/* The iteration seconds of so many live nodes, for policies that know no kinds (elastic_rate of
 * policy/policy.h): of each kind as many as its share of the cluster says, at most one more or less. `rate`
 * is a struct elastic_rate. 0: they are too few, or the machine failed. */
double elastic_rate_nodes(void *rate, int nodes);

#endif
