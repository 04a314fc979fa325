/* Models and devices that `rehearse cost` is given by name or as a file. */
#ifndef REHEARSE_API_CHOOSE_H
#define REHEARSE_API_CHOOSE_H

#include "devices/architecture_config.h"
#include "devices/tables.h"
#include "model/profile.h"

struct cost_chosen {
    struct tables added;        /* by the user */
    struct table models;        /* of a file */
    struct architecture config; /* of a config.json */
    struct arena arena;         /* its texts */
    const struct architecture *model;
    struct table tables[PROFILE_MAX_DEVICES];
    int table_count;
    const struct cost_device *devices[PROFILE_MAX_DEVICES];
    int device_count;
};

bool cost_choose_model(struct cost_chosen *chosen, const char *name, struct error *err);

/* Chooses built-in software by name, or that of a file of the user's, which is added to the tables. NULL: an error. */
const struct software *cost_choose_software(struct cost_chosen *chosen, const char *name, struct error *err);

/* "rtx-4090,v100-16gb,mine.yaml" */
bool cost_choose_devices(struct cost_chosen *chosen, const char *list, struct error *err);

void cost_chosen_release(struct cost_chosen *chosen);

#endif
