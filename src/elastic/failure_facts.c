#include "elastic/failures.h"

#include <math.h>
#include <string.h>

/* Per 1000 node-days, nodes of 8 GPUs. Computed ones: failures / (nodes x days). */
static const struct failure_fact facts[] = {
    {"rsc-1", "Meta RSC-1, 11 months", 16000, 6.50,
     "arXiv 2410.21680: 6.50 per 1000 node-days; MTTF 1.8 h at 16,384 GPUs"},
    {"rsc-2", "Meta RSC-2, 11 months", 8000, 2.34, "arXiv 2410.21680: 2.34 per 1000 node-days"},
    {"llama-3", "Llama 3 405B, 54 days", 16384, 419 / (2048 * 54e-3),
     "arXiv 2407.21783 table 5: 419 unexpected interruptions of 16,384 H100"},
    {"llama-3-all", "Llama 3 405B, 54 days, with planned interruptions", 16384, 466 / (2048 * 54e-3),
     "arXiv 2407.21783: 466 interruptions of 16,384 H100"},
    {"bloom", "BLOOM 176B on Jean Zay, 48 nodes", 384, 1 / (48 * 7e-3),
     "bigscience chronicles of tr11-176B: about one failed GPU a week on 384 A100"},
    {"aws-p3-spot", "AWS p3 spot instances, 11.4 h", 0, 167 / (24.03 * 11.37 / 24 * 1e-3),
     "Bamboo (NSDI'23) p3 trace: 167 removals of on average 24.03 nodes, in batches of 2.1"},
};

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
