/* Numbers of a plan that cannot be played. */
#include "devices/tables.h"
#include "sim/play/model.h"

#include <math.h>
#include <stdio.h>

#define MAX_BYTES 0x1p50 /* of a device: sums of activations stay whole numbers */

static bool wrong(const struct plan *plan, int p, int s, const char *key, struct error *err, const char *what)
{
    return error_set(err, ERROR_INPUT, "%s%spipelines[%d].stages[%d].%s: %s", plan->path ? plan->path : "",
                     plan->path ? ": " : "", p, s, key, what);
}

/* Names the files that price the plan: a model that it names is known only if it is built in. */
static bool not_priced(const struct plan *plan, int p, int s, const char *key, struct error *err)
{
    char text[512];
    bool unknown = plan->model && !architecture_find(plan->model);
    snprintf(text, sizeof text,
             "unknown%s%.80s%s: 'rehearse check-plan %.120s%s -c CLUSTER -o PRICED' writes a plan with all "
             "seconds, "
             "from %s and the cluster file (rehearse-cluster/1) that it was planned with",
             unknown ? ", and the model '" : "", unknown ? plan->model : "",
             unknown ? "' is not built in" : "", plan->path ? plan->path : "PLAN",
             !plan->model ? " -p PROFILE"
             : unknown    ? " -m MODEL"
                          : "",
             !plan->model ? "the profile (rehearse-profile/1)"
             : unknown    ? "the model's file (rehearse-architecture/1)"
                          : "the model");
    return wrong(plan, p, s, key, err, text);
}

bool play_check_stage(const struct plan *plan, int p, int s, struct error *err)
{
    const struct plan_seconds *seconds = &plan->pipelines[p].stages[s].seconds;
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"seconds.forward", seconds->forward},     {"seconds.backward", seconds->backward},
        {"seconds.recompute", seconds->recompute}, {"seconds.collectives", seconds->collectives},
        {"seconds.send", seconds->send},           {"seconds.gradients", seconds->gradients},
        {"seconds.optimizer", seconds->optimizer}, {"seconds.backward_weight", seconds->backward_weight},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (i < 2 && isnan(numbers[i].value))
            return not_priced(plan, p, s, numbers[i].key, err);
        if (numbers[i].value < 0.0 || isinf(numbers[i].value))
            return wrong(plan, p, s, numbers[i].key, err, "expected a time of at least 0");
    }
    const struct plan_bytes *bytes = &plan->pipelines[p].stages[s].bytes;
    const struct {
        const char *key;
        double value;
    } sizes[] = {
        {"bytes.parameters", bytes->parameters}, {"bytes.gradients", bytes->gradients},
        {"bytes.optimizer", bytes->optimizer},   {"bytes.activations", bytes->activations},
        {"bytes.working", bytes->working},       {"bytes.sent", bytes->sent},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value < 0.0 || sizes[i].value > MAX_BYTES)
            return wrong(plan, p, s, sizes[i].key, err,
                         sizes[i].value < 0.0 ? "expected at least 0 bytes" : "expected at most 1 PiB");
    return true;
}
