#include "sim/play/host_links.h"

#include <math.h>

/* Finds whole numbers up to `limit` whose quotient is nearly x: convergents of its continued fraction. */
static void find_quotient(double x, double limit, uint32_t *numerator, uint32_t *denominator)
{
    double above = 1.0, below = 0.0, last_above = 0.0, last_below = 1.0, rest = x;
    *numerator = x > 1.0 ? (uint32_t)limit : 1;
    *denominator = x > 1.0 ? 1 : (uint32_t)limit;
    for (int i = 0; i < 64; i++) {
        double whole = floor(rest), next_above = whole * above + last_above,
               next_below = whole * below + last_below;
        if (next_above > limit || next_below > limit)
            break;
        last_above = above, last_below = below;
        above = next_above, below = next_below;
        if (above >= 1.0 && below >= 1.0) {
            *numerator = (uint32_t)above;
            *denominator = (uint32_t)below;
        }
        if (rest - whole < 1e-12)
            break;
        rest = 1.0 / (rest - whole);
    }
}

struct host_storage host_storage_of(const struct play_model *model)
{
    const struct sim_options *options = model->options;
    struct host_storage storage = {.reads = options->load_rate > 0.0,
                                   .writes = options->save_every > 0 && options->save_rate > 0.0,
                                   .write = options->save_rate,
                                   .sample = options->load_bytes,
                                   .weight_of_read = 1,
                                   .weight_of_write = 1};
    if (!(storage.sample > 0.0) && storage.reads)
        storage.sample = storage.writes ? options->save_rate / options->load_rate : 1.0;
    storage.read = options->load_rate * storage.sample;
    if (storage.reads && storage.writes)
        find_quotient(storage.read / storage.write, 0x1p31 / (double)plan_devices_used(model->plan),
                      &storage.weight_of_write, &storage.weight_of_read);
    storage.capacity =
        (storage.reads ? storage.read * storage.weight_of_read : storage.write * storage.weight_of_write) /
        ENGINE_WEIGHT;
    return storage;
}

bool host_link_has_loads(const struct sim_options *options)
{
    return options->host_rate > 0.0 && options->load_bytes > 0.0;
}

/* ---- links ---- */

int host_link_count(const struct layout *layout)
{
    const struct sim_options *options = layout->model->options;
    return !host_is_played(options) ? 0 : options->host_rate > 0.0 ? 1 + 2 * layout->count : 1;
}

/* ---- transfers between nodes ---- */

/* ---- loading and saving ---- */
