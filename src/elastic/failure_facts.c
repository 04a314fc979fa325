#include "elastic/failures.h"

#include "names.h"

#include <math.h>
#include <string.h>

/* Per 1000 node-days, nodes of 8 GPUs. Computed ones: failures / (nodes x days). */
static const struct failure_fact facts[] = {ROWS_failure_fact};

const struct failure_fact *failure_facts(int *count)
{
    *count = (int)(sizeof facts / sizeof *facts);
    return facts;
}

const struct failure_fact *failure_fact_named(const char *name)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (strcmp(facts[i].name, name) == 0)
            return &facts[i];
    return NULL;
}

double failure_rate_of_node_days(double per_1000_node_days)
{
    return per_1000_node_days / (1000 * SECONDS_PER_DAY);
}

double failure_mttf(double nodes, double rate)
{
    return 1 / (nodes * rate);
}

double failure_expected_ettr(double nodes, double rate, double restart, double interval, double save,
                             bool *holds)
{
    double failures = nodes * rate;
    *holds =
        failures * (restart + (interval + save) / 2) <= FAILURE_FEW && failures * save <= FAILURE_FEW_SAVES;
    return fmax(0, (1 - failures * (restart + interval / 2)) / (1 + save / interval));
}

double failure_best_interval(double nodes, double rate, double save)
{
    return sqrt(2 * save / (nodes * rate));
}

double failure_exact_ettr(double nodes, double rate, double restart, double interval, double save)
{
    double failures = nodes * rate;
    if (failures <= 0)
        return interval / (interval + save);
    return failures * interval / (exp(failures * restart) * expm1(failures * (interval + save)));
}
