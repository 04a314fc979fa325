/* The parts of a plan that stand in it by name: its model, software, devices and links, found again in the tables. */
#ifndef REHEARSE_PLAN_PARTS_H
#define REHEARSE_PLAN_PARTS_H

#include "devices/software.h"
#include "devices/tables.h"
#include "plan/plan.h"

/* What counts more than the plan's names; NULL: the plan's. */
struct plan_parts {
    const struct tables *tables; /* that names are looked up in; NULL: the built-in ones */
    const struct architecture *model;
    const struct cost_device *device; /* of every device type of this name, or of a plan with one type */
};

/* The nodes of a device type: by name, with the memory and the bandwidths that the plan says. */
struct plan_machine {
    struct cost_device device;
    const struct calibration *calibration;
    struct cost_link inside, across;
    int nodes, per_node; /* nodes 0: the plan does not say */
};

/* Each says in its error which option is needed where the tables do not have the name. */
const struct architecture *plan_model_of(const struct plan *plan, const struct plan_parts *given,
                                         struct error *err);
const struct software *plan_software_of(const struct plan *plan, struct error *err);
bool plan_machine_of(struct plan_machine *machine, const struct plan *plan, int type,
                     const struct plan_parts *given, struct error *err);

/* The devices that the plan was made for: all of the cluster, or as many of them as were asked for. */
int64_t plan_devices_asked(const struct plan *plan);

#endif
