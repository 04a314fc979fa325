#include "plan/plan.h"

#include <math.h>

const char *const plan_purposes[PLAN_PURPOSES + 1] = {
    "stage", "tensor", "context", "expert", "shards", "gradients", "expert_gradients", "tie", "norm", NULL};
const char *const plan_whens[PLAN_WHENS + 1] = {"forward", "backward", "after", NULL};

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool alike(const struct plan_transfer *a, const struct plan_transfer *b)
{
    return a->kind == b->kind && a->purpose == b->purpose && a->when == b->when && a->group == b->group &&
           a->per_node == b->per_node && a->link == b->link && same(a->bytes, b->bytes) &&
           same(a->seconds, b->seconds) && same(a->shown, b->shown);
}

bool plan_add_transfer(struct plan *plan, struct plan_stage *stage, struct plan_transfer transfer)
{
    if (transfer.group <= 1 || transfer.count <= 0 || transfer.seconds == 0)
        return true;
    for (int i = 0; i < stage->transfer_count; i++)
        if (alike(&stage->transfers[i], &transfer)) {
            stage->transfers[i].count += transfer.count;
            return true;
        }
    if (stage->transfer_count == PLAN_MAX_TRANSFERS)
        return true; /* planners have far fewer; readers have checked */
    struct plan_transfer *grown = arena_grow(&plan->arena, stage->transfers, stage->transfer_count,
                                             &stage->transfer_room, sizeof *grown);
    if (!grown)
        return false;
    stage->transfers = grown;
    stage->transfers[stage->transfer_count++] = transfer;
    return true;
}

bool plan_add_sends(struct plan *plan, struct plan_stage *stage, struct plan_stage *after, int link,
                    double bytes, double forward, double backward)
{
    struct plan_transfer send = {
        .kind = COLLECTIVE_SEND,
        .purpose = PURPOSE_STAGE,
        .when = WHEN_FORWARD,
        .group = 2,
        .per_node = 1,
        .link = link,
        .count = 1,
        .bytes = bytes,
        .seconds = forward,
        .shown = 1,
    };
    if (!plan_add_transfer(plan, stage, send))
        return false;
    send.when = WHEN_BACKWARD;
    send.seconds = backward;
    return plan_add_transfer(plan, after, send);
}
