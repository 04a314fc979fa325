#include "sim/play/host_links.h"

#include <math.h>
#include <stdlib.h>

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

/* Numbers: the storage, then out and in of each device. */
static int host_link_of(const struct fabric *fabric, int device, bool in)
{
    return fabric->link_count + 1 + 2 * device + in;
}

int host_link_count(const struct layout *layout)
{
    const struct sim_options *options = layout->model->options;
    return !host_is_played(options) ? 0 : options->host_rate > 0.0 ? 1 + 2 * layout->count : 1;
}

void host_set_links(const struct layout *layout, struct engine_link *links)
{
    const struct sim_options *options = layout->model->options;
    const struct host_storage storage = host_storage_of(layout->model);
    if (host_link_count(layout) > 0)
        links[0] =
            (struct engine_link){.name = "storage",
                                 .capacity = storage.capacity > 0.0 ? storage.capacity : 1.0,
                                 .unit = ENGINE_WEIGHT / (double)(storage.reads ? storage.weight_of_read
                                                                                : storage.weight_of_write)};
    for (int i = 1; i < host_link_count(layout); i++)
        links[i] = (struct engine_link){.name = i % 2 ? "to the host" : "from the host",
                                        .capacity = options->host_rate};
}

/* ---- transfers between nodes ---- */

/* Fills in the uses of host links beside one of a link of the fabric: a card's devices have equal parts. Returns their number. */
static int beside_card(const struct host_joint *joint, const struct engine_use *use, struct engine_use *out)
{
    int first, count = fabric_card_devices(joint->fabric, (int)use->link, &first), made = 0;
    for (int i = first; i < first + count; i++) {
        int device = joint->device_of[i];
        if (device >= 0)
            out[made++] =
                (struct engine_use){(uint32_t)host_link_of(joint->fabric, device, use->link % 2 == 1),
                                    (use->weight + (uint32_t)count - 1) / (uint32_t)count};
    }
    return made;
}

static bool extend_route(const struct host_joint *joint, struct engine_route *route)
{
    size_t more = 0;
    int first;
    for (int i = 0; i < route->count; i++)
        more += (size_t)fabric_card_devices(joint->fabric, (int)route->uses[i].link, &first);
    if (more == 0)
        return true;
    struct engine_use *uses = ARENA_ARRAY(joint->arena, (size_t)route->count + more, struct engine_use);
    if (!uses)
        return false;
    int count = 0;
    for (int i = 0; i < route->count; i++)
        uses[count++] = route->uses[i];
    for (int i = 0; i < route->count; i++)
        count += beside_card(joint, &route->uses[i], &uses[count]);
    *route = (struct engine_route){uses, count};
    return true;
}

static bool share_host_links(const struct host_joint *joint)
{
    struct engine_use *beside = malloc(((size_t)joint->layout->count + 1) * sizeof *beside);
    bool ok = beside;
    for (int r = 0; ok && r < joint->route_count; r++)
        ok = extend_route(joint, &joint->routes[r]);
    for (int l = 0; ok && l < joint->fabric->link_count; l++) {
        const struct engine_use use = {(uint32_t)l, ENGINE_WEIGHT};
        int count = beside_card(joint, &use, beside);
        for (int i = 0; i < count; i++)
            joint->demand[beside[i].link] += joint->demand[l] / count;
    }
    free(beside);
    return ok;
}

/* ---- loading and saving ---- */

static void add_use(const struct host_joint *joint, struct engine_route *route, int link, uint32_t weight,
                    double rate)
{
    struct engine_use *uses = (struct engine_use *)route->uses;
    uses[route->count++] = (struct engine_use){(uint32_t)link, weight};
    joint->demand[link] += rate * weight / ENGINE_WEIGHT;
}

static bool route_host(const struct host_joint *joint, const struct host_storage *storage, int device,
                       int host_routes)
{ /* a route's number counts from 1 */
    const struct sim_options *options = joint->layout->model->options;
    struct engine_route *own = &joint->routes[joint->first_route[device] + host_routes - 1];
    int at = joint->fabric->link_count;
    bool network = options->storage_network && joint->seats;
    struct engine_use *uses = ARENA_ARRAY(joint->arena, 6, struct engine_use);
    if (!uses)
        return false;
    own[HOST_COPY].uses = &uses[0];
    own[HOST_WRITE].uses = &uses[1];
    own[HOST_LOAD].uses = &uses[3];
    if (options->host_rate > 0.0 && options->save_every > 0)
        add_use(joint, &own[HOST_COPY], host_link_of(joint->fabric, device, false), ENGINE_WEIGHT,
                options->copy_rate > 0.0 ? options->copy_rate : options->host_rate);
    if (storage->writes) {
        add_use(joint, &own[HOST_WRITE], at, storage->weight_of_write, storage->write);
        if (network)
            add_use(joint, &own[HOST_WRITE], fabric_card(joint->fabric, joint->seats[device], false),
                    ENGINE_WEIGHT, storage->write);
    }
    if (!storage->reads)
        return true;
    add_use(joint, &own[HOST_LOAD], at, storage->weight_of_read, storage->read);
    if (network && options->load_bytes > 0.0)
        add_use(joint, &own[HOST_LOAD], fabric_card(joint->fabric, joint->seats[device], true), ENGINE_WEIGHT,
                storage->read);
    if (host_link_has_loads(options))
        add_use(joint, &own[HOST_LOAD], host_link_of(joint->fabric, device, true), ENGINE_WEIGHT,
                storage->read);
    return true;
}

bool host_join(struct host_joint *joint)
{
    const struct layout *layout = joint->layout;
    const struct host_storage storage = host_storage_of(layout->model);
    if (host_link_count(layout) == 0)
        return true;
    bool ok = true;
    if (joint->seats && layout->model->options->host_rate > 0.0) {
        joint->device_of = malloc(((size_t)joint->fabric->devices + 1) * sizeof *joint->device_of);
        ok = joint->device_of;
        for (int i = 0; ok && i < joint->fabric->devices; i++)
            joint->device_of[i] = -1;
        for (int d = 0; ok && d < layout->count; d++)
            joint->device_of[joint->seats[d]] = d;
        ok = ok && share_host_links(joint);
        free(joint->device_of);
    }
    for (int d = 0; ok && d < layout->count; d++)
        ok = route_host(joint, &storage, d, joint->orders->devices[layout_rank(layout, d)].host_routes);
    return ok;
}
