#include "cost/gemm_unseen.h"

#include "core/stop.h"
#include "cost/gemm.h"
#include "devices/tables.h"

#include <math.h>
#include <stdlib.h>

/* By what of a data sheet the balance of a GPU shows: how much power and bandwidth it has for its peak. */
static double difference(const struct cost_device *a, const struct cost_device *b, enum cost_type type)
{
    double faster = a->peak[type] / b->peak[type];
    return fabs(log(a->power / b->power / faster)) + fabs(log(a->bandwidth / b->bandwidth / faster));
}

static const struct cost_device *donor_of(const struct products *products, const struct cost_device *device)
{
    const struct products *other;
    const struct cost_device *best = NULL;
    for (int i = 0; (other = products_known(i)); i++) {
        const struct cost_device *of = tables_device(NULL, other->device);
        if (other->type != products->type || of == device)
            continue;
        if (!best || difference(of, device, products->type) < difference(best, device, products->type))
            best = of;
    }
    return best;
}

bool gemm_unseen_errors(const struct products *products, const char **donor, struct error_score *unseen)
{
    const struct cost_device *device = tables_device(NULL, products->device);
    const struct cost_device *of = donor_of(products, device);
    *unseen = (struct error_score){0};
    *donor = of ? of->name : NULL;
    if (!of)
        return true;
    double *errors = calloc((size_t)products->count + 1, sizeof *errors);
    if (!errors)
        return false;
    struct cost_device guessed = *device;
    guessed.gemm[products->type] = of->gemm[products->type];
    for (int i = 0; i < products->count && !stop_wanted(); i++) {
        const struct product *p = &products->rows[i];
        double formula = gemm_time(device, products->type, p->size).seconds;
        double seconds = gemm_time(&guessed, products->type, p->size).seconds;
        errors[i] = seconds / (formula * exp((double)p->log_ratio)) - 1.0;
    }
    *unseen = error_score_of(errors, products->count);
    free(errors);
    return true;
}
