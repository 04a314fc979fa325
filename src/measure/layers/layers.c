#include "measure/layers/layers.h"

#include <math.h>
#include <string.h>

void measured_release(struct measured_layers *measured)
{
    arena_release(&measured->arena);
    memset(measured, 0, sizeof *measured);
}

/* ---- the profile ---- */

static void set_interval(struct profile_interval *to, const struct measured_pass *pass, double *reached)
{
    to->notes = pass->notes;
    if (!pass->is_timed)
        return;
    to->low = pass->time.low;
    to->high = pass->time.high;
    to->samples = pass->time.count;
    *reached = fmax(*reached, pass->time.precision);
}

static bool fill_measured(struct profile *profile, struct profile_measured *to,
                          const struct measured_layers *measured)
{
    struct arena *arena = &profile->arena;
    *to = measured->about;
    to->forward = ARENA_ARRAY(arena, (size_t)measured->count, struct profile_interval);
    to->backward = ARENA_ARRAY(arena, (size_t)measured->count, struct profile_interval);
    to->products = ARENA_ARRAY(arena, (size_t)measured->product_count + 1, struct profile_product);
    if (!to->forward || !to->backward || !to->products)
        return false;
    for (int i = 0; i < measured->count; i++) {
        const struct measured_layer *layer = &measured->layers[i];
        set_interval(&to->forward[i], &layer->forward, &to->reached);
        set_interval(&to->backward[i], &layer->backward, &to->reached);
    }
    for (; to->product_count < measured->product_count; to->product_count++)
        to->products[to->product_count] = measured->products[to->product_count].row;
    return true;
}

static bool fill_profile(struct profile *profile, const struct measured_layers *measured, const char *name)
{
    struct arena *arena = &profile->arena;
    size_t count = (size_t)measured->count;
    profile->path = measured->model ? measured->model : "measured layers";
    profile->model = measured->model;
    profile->source = arena_format(arena, "measured on %s, %s: %s", measured->host.name, measured->host.date,
                                   measured->about.library);
    profile->microbatch_size = measured->microbatch_size;
    profile->layer_count = measured->count;
    profile->device_count = 1;
    profile->layers = ARENA_ARRAY(arena, count, struct profile_layer);
    profile->devices = ARENA_NEW(arena, struct profile_device);
    if (!profile->source || !profile->layers || !profile->devices)
        return false;
    struct profile_device *device = profile->devices;
    device->name = name;
    device->path = profile->path;
    device->forward = ARENA_ARRAY(arena, count, double);
    device->backward = ARENA_ARRAY(arena, count, double);
    device->measured = ARENA_NEW(arena, struct profile_measured);
    if (!device->forward || !device->backward || !device->measured)
        return false;
    for (size_t i = 0; i < count; i++) {
        profile->layers[i] = measured->layers[i].row;
        device->forward[i] = measured->layers[i].forward.seconds;
        device->backward[i] = measured->layers[i].backward.seconds;
    }
    return fill_measured(profile, device->measured, measured);
}

bool measured_profile(struct profile *profile, const struct measured_layers *measured, const char *name,
                      struct error *err)
{
    memset(profile, 0, sizeof *profile);
    for (int i = 0; i < measured->count; i++) {
        if (!measured->layers[i].forward.is_there)
            return error_set(err, ERROR_INPUT, "a profile needs all layers: %s",
                             measured->layers[i].forward.notes);
        if (!measured->layers[i].backward.is_there)
            return error_set(err, ERROR_INPUT,
                             "%s: a profile needs a backward pass, give it with --backward-file: %s",
                             measured->layers[i].path,
                             measured->layers[i].backward.notes ? measured->layers[i].backward.notes
                                                                : "none could be derived");
    }
    if (fill_profile(profile, measured, name))
        return true;
    profile_release(profile);
    return error_memory(err);
}
