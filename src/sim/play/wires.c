#include "sim/play/wires.h"
#include "sim/play/host_links.h"

#include <math.h>
#include <stdlib.h>

#define NO_LIMIT 1e24 /* bytes/s of a link whose bandwidth the plan does not say */
#define KINDS    (LAYER_GROUPS - 1)

/* What the tasks of an order use. */
struct order_use {
    bool group[LAYER_GROUPS];
    double rate[LAYER_GROUPS]; /* the highest of its flows; 0: none */
    double *routes;            /* the same of each route, from 0 */
    double *demands;           /* of each route: that of all streams together */
};

/* Wires that are made. */
struct loom {
    struct wires *wires;
    const struct layout *layout;
    struct layer_orders *orders;
    struct order_use *uses;
    struct arena arena; /* owns what is needed only now */
    int ranks;
    int *seats;     /* of each device: the fabric's; -1: unknown */
    double *demand; /* of each link, bytes/s: of the fabric, and of hosts */
    int links;
};

/* ---- what tasks use ---- */

static void note_task(struct order_use *use, double (*streams)[ENGINE_STREAMS],
                      const struct engine_task *task)
{
    use->group[task->group] = true;
    use->rate[task->group] = fmax(use->rate[task->group], task->rate);
    if (task->route > 0) {
        double *own = &streams[task->route - 1][task->stream];
        use->demands[task->route - 1] += fmax(0.0, task->rate - *own);
        *own = fmax(*own, task->rate);
        use->routes[task->route - 1] = fmax(use->routes[task->route - 1], task->rate);
    }
}

static bool note_order(struct loom *loom, int rank)
{
    const struct engine_order *order = &loom->orders->orders[rank];
    struct order_use *use = &loom->uses[rank];
    size_t routes = (size_t)loom->orders->devices[rank].route_count;
    double(*streams)[ENGINE_STREAMS] = arena_alloc(&loom->arena, routes + 1, sizeof *streams);
    bool *seen = calloc((size_t)loom->orders->template_count + 1, sizeof *seen);
    use->routes = ARENA_ARRAY(&loom->arena, routes + 1, double);
    use->demands = ARENA_ARRAY(&loom->arena, routes + 1, double);
    bool ok = streams && seen && use->routes && use->demands;
    for (size_t pass = 0; ok && pass < order->count; pass++) {
        uint32_t which = order->passes[pass].template;
        const struct engine_template *template = &loom->orders->templates[which];
        for (int i = 0; i < template->count && !seen[which]; i++)
            note_task(use, streams, &template->tasks[i]);
        seen[which] = true;
    }
    free(seen);
    return ok;
}

static bool has_flows(const struct loom *loom)
{
    for (int rank = 0; rank < loom->ranks; rank++) {
        for (int group = 1; group < LAYER_GROUPS; group++)
            if (loom->uses[rank].rate[group] > 0.0)
                return true;
        for (int r = 0; r < loom->orders->devices[rank].route_count; r++)
            if (loom->uses[rank].routes[r] > 0.0)
                return true;
    }
    return false;
}

/* ---- the cluster ---- */

static double capacity_of(const struct play_model *model, int link)
{
    double bandwidth = link >= 0 ? model->plan->links[link].bandwidth : NAN;
    return bandwidth > 0.0 && bandwidth < NO_LIMIT ? bandwidth * play_link_speed(link, &model->change)
                                                   : NO_LIMIT;
}

static bool make_fabric(struct loom *loom)
{
    const struct play_model *model = loom->layout->model;
    const struct plan *plan = model->plan;
    struct fabric *fabric = &loom->wires->fabric;
    struct fabric_group *groups =
        ARENA_ARRAY(&loom->wires->arena, (size_t)plan->type_count + 1, struct fabric_group);
    if (!groups)
        return false;
    struct fabric_level *levels =
        ARENA_ARRAY(&loom->wires->arena, (size_t)plan->network.level_count + 1, struct fabric_level);
    if (!levels)
        return false;
    for (int i = 0; i < plan->network.level_count; i++)
        levels[i] =
            (struct fabric_level){plan->network.levels[i].nodes, plan->network.levels[i].oversubscription};
    *fabric = (struct fabric){.groups = groups, .levels = levels, .level_count = plan->network.level_count};
    for (int t = 0; t < plan->type_count; t++) {
        const struct plan_device_type *type = &plan->types[t];
        if (type->nodes.count > 0 && type->nodes.devices > 0)
            groups[fabric->group_count++] = (struct fabric_group){
                .nodes = type->nodes.count,
                .devices_per_node = type->nodes.devices,
                .devices_per_card = type->across >= 0 && plan->links[type->across].shared_by > 1
                                        ? plan->links[type->across].shared_by
                                        : 1,
                .device = capacity_of(model, type->inside),
                .card = capacity_of(model, type->across),
            };
    }
    return fabric_make(fabric, &loom->wires->arena);
}

static void seat_device(void *context, int device, int node, int index)
{
    struct loom *loom = context;
    loom->seats[device] = fabric_device(&loom->wires->fabric, node, index);
}

/* False: some device has none. */
static bool seat_all(struct loom *loom)
{
    const struct play_model *model = loom->layout->model;
    for (int d = 0; d < loom->layout->count; d++)
        loom->seats[d] = -1;
    for (int p = 0; p < model->pipeline_count; p++)
        for (int place = 0; place < model->pipelines[p].order.devices; place++)
            layout_visit_seats(loom->layout, p, place, seat_device, loom);
    for (int d = 0; d < loom->layout->count; d++)
        if (loom->seats[d] < 0)
            return false;
    return true;
}

/* ---- groups ---- */

/* Numbers the groups of a kind by their first devices. Returns whether some of them are flows; their members are then
 * listed. */
static bool number_groups(struct loom *loom, int kind, int *number)
{
    const struct layout *layout = loom->layout;
    struct wires *wires = loom->wires;
    bool flows = false;
    for (int d = 0; d < layout->count; d++)
        number[d] = -1;
    for (int d = 0; d < layout->count; d++) {
        const struct order_use *use = &loom->uses[layout_rank(layout, d)];
        if (!use->group[kind])
            continue;
        int *of = &number[layout_group_first(layout, d, kind)];
        if (*of < 0) {
            *of = wires->group_count++;
            wires->groups[*of] = (struct engine_group){.route = -1};
        }
        wires->groups[*of].members++;
        wires->group_of[(size_t)d * KINDS + (size_t)kind - 1] = *of;
        flows |= use->rate[kind] > 0.0;
    }
    return flows;
}

/* Makes the route of one group. */
static bool route_group(struct loom *loom, int kind, int group, const int *devices)
{
    struct wires *wires = loom->wires;
    int members = wires->groups[group].members;
    const struct order_use *use = &loom->uses[layout_rank(loom->layout, devices[0])];
    double rate = use->rate[kind];
    int *seats = malloc((size_t)members * sizeof *seats);
    if (!seats)
        return false;
    for (int i = 0; i < members; i++)
        seats[i] = loom->seats[devices[i]];
    struct engine_route *route = &wires->routes[wires->route_count];
    bool ok = true;
    if (rate > 0.0 && members > 1) {
        ok = kind == GROUP_EXPERT || kind == GROUP_PAIR
                 ? fabric_exchange(&wires->fabric, seats, members, rate, &wires->arena, route)
                 : fabric_ring(&wires->fabric, seats, members, rate, &wires->arena, route);
        for (int i = 0; ok && i < route->count; i++)
            loom->demand[route->uses[i].link] += rate * route->uses[i].weight / ENGINE_WEIGHT;
        wires->groups[group].route = wires->route_count++;
    }
    free(seats);
    return ok;
}

/* Makes the routes of groups `first` and on, all of one kind. */
static bool route_groups(struct loom *loom, int kind, int first)
{
    const struct wires *wires = loom->wires;
    size_t groups = (size_t)(wires->group_count - first);
    int *begin = calloc(groups + 1, sizeof *begin);
    int *devices = malloc((size_t)loom->layout->count * sizeof *devices);
    bool ok = begin && devices;
    for (size_t g = 0, at = 0; ok && g < groups; g++) {
        begin[g] = (int)at;
        at += (size_t)wires->groups[first + (int)g].members;
    }
    for (int d = 0; ok && d < loom->layout->count; d++)
        if (loom->uses[layout_rank(loom->layout, d)].group[kind])
            devices[begin[wires->group_of[(size_t)d * KINDS + (size_t)kind - 1] - first]++] = d;
    for (size_t g = 0; ok && g < groups; g++) {
        int group = first + (int)g;
        ok = route_group(loom, kind, group, &devices[begin[g] - wires->groups[group].members]);
    }
    free(devices);
    free(begin);
    return ok;
}

static bool make_groups(struct loom *loom, bool flows)
{
    struct wires *wires = loom->wires;
    size_t count = (size_t)loom->layout->count;
    int *number = ARENA_ARRAY(&loom->arena, count, int);
    wires->groups = ARENA_ARRAY(&wires->arena, count * KINDS + 1, struct engine_group);
    wires->group_of = ARENA_ARRAY(&wires->arena, count * KINDS, int);
    bool ok = number && wires->groups && wires->group_of;
    for (int kind = 1; ok && kind < LAYER_GROUPS; kind++) {
        int first = wires->group_count;
        if (number_groups(loom, kind, number) && flows)
            ok = route_groups(loom, kind, first);
    }
    wires->group_count += wires->group_count == 0; /* lists of devices are not empty */
    if (ok && wires->groups[0].members == 0)
        wires->groups[0] = (struct engine_group){1, -1};
    return ok;
}

/* ---- messages ---- */

static bool route_message(struct loom *loom, int d, int r)
{
    struct wires *wires = loom->wires;
    int rank = layout_rank(loom->layout, d);
    int place = loom->orders->devices[rank].leads_to[r];
    double rate = loom->uses[rank].routes[r];
    if (rate <= 0.0 || place < 0)
        return true;
    struct layout_block to = layout_block(loom->layout, d, place);
    struct engine_route *route = &wires->routes[wires->first_route[d] + r];
    if (!fabric_send(&wires->fabric, loom->seats[d], &loom->seats[to.first], to.count, rate, &wires->arena,
                     route))
        return false;
    for (int i = 0; i < route->count; i++)
        loom->demand[route->uses[i].link] +=
            loom->uses[rank].demands[r] * route->uses[i].weight / ENGINE_WEIGHT;
    return true;
}

/* Numbers the routes of devices' messages; those of groups follow. */
static bool make_routes(struct loom *loom, bool flows)
{
    struct wires *wires = loom->wires;
    const struct layout *layout = loom->layout;
    size_t count = (size_t)layout->count;
    wires->first_route = ARENA_ARRAY(&wires->arena, count + 1, int);
    for (size_t d = 0; wires->first_route && d < count; d++)
        wires->first_route[d + 1] =
            wires->first_route[d] + loom->orders->devices[layout_rank(layout, (int)d)].route_count;
    size_t own = wires->first_route ? (size_t)wires->first_route[count] : 0;
    wires->numbers = ARENA_ARRAY(&wires->arena, own + 1, int);
    wires->routes = ARENA_ARRAY(&wires->arena, own + (flows ? count * KINDS : 0) + 1, struct engine_route);
    if (!wires->first_route || !wires->numbers || !wires->routes)
        return false;
    for (size_t i = 0; i < own; i++)
        wires->numbers[i] = (int)i;
    wires->route_count = (int)own;
    for (int d = 0; flows && d < layout->count; d++)
        for (int r = 0; r < wires->first_route[d + 1] - wires->first_route[d]; r++)
            if (!route_message(loom, d, r))
                return false;
    return true;
}

/* ---- what nobody can fill ---- */

/* Numbers: the storage, then out and in of each device. */
static int host_link_of(const struct fabric *fabric, int device, bool in)
{
    return fabric->link_count + 1 + 2 * device + in;
}

static void host_set_links(const struct layout *layout, struct engine_link *links)
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

/* Fills in the uses of host links beside one of a link of the fabric: a card's devices have equal parts. Returns their
 * number. */
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

/* Sets the routes of loading and saving, lets transfers between nodes use the links of their devices' hosts, and adds
 * what all of them use at most to `demand`. False: out of memory. */
static bool host_join(struct host_joint *joint)
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

/* Numbers the links that may become full, or all that carry something where that is told: -1 for others. */
static bool find_full(struct loom *loom, int *number)
{
    struct wires *wires = loom->wires;
    const struct fabric *fabric = &wires->fabric;
    struct engine_link *all = ARENA_ARRAY(&loom->arena, (size_t)loom->links + 1, struct engine_link);
    wires->links = ARENA_ARRAY(&wires->arena, (size_t)loom->links + 1, struct engine_link);
    wires->fabric_link = ARENA_ARRAY(&wires->arena, (size_t)loom->links + 1, int);
    if (!all || !wires->links || !wires->fabric_link)
        return false;
    fabric_links(fabric, all);
    host_set_links(loom->layout, &all[fabric->link_count]);
    const struct timeline_sink *sink = loom->layout->model->options->sink;
    bool told = sink != NULL && sink->link != NULL;
    for (int l = 0; l < loom->links; l++) {
        number[l] = -1;
        if (loom->demand[l] <= (told ? 0.0 : all[l].capacity * (1.0 + 1e-12)))
            continue;
        number[l] = wires->link_count;
        wires->fabric_link[wires->link_count] = l;
        wires->links[wires->link_count++] = all[l];
    }
    return true;
}

static void shorten(struct engine_route *route, const int *number)
{
    struct engine_use *uses = (struct engine_use *)route->uses;
    int kept = 0;
    for (int i = 0; i < route->count; i++)
        if (number[uses[i].link] >= 0)
            uses[kept++] = (struct engine_use){(uint32_t)number[uses[i].link], uses[i].weight};
    route->count = kept;
}

/* Takes routes from the tasks of an order. */
static void strip(const struct loom *loom, int rank, const bool *kept)
{
    const struct engine_order *order = &loom->orders->orders[rank];
    for (size_t pass = 0; pass < order->count; pass++) {
        const struct engine_template *template = &loom->orders->templates[order->passes[pass].template];
        struct engine_task *tasks = (struct engine_task *)template->tasks;
        for (int i = 0; i < template->count; i++)
            if (tasks[i].route > 0 && !kept[tasks[i].route - 1])
                tasks[i].route = 0;
    }
}

/* Leaves a task's route if some device of its order has links on it; the others then have one that they cannot fill. */
static bool drop_links(struct loom *loom)
{
    static const struct engine_use any = {0, 1};
    struct wires *wires = loom->wires;
    const struct layout *layout = loom->layout;
    int *number = ARENA_ARRAY(&loom->arena, (size_t)loom->links + 1, int);
    bool **kept = ARENA_ARRAY(&loom->arena, (size_t)loom->ranks, bool *);
    if (!number || !kept || !find_full(loom, number))
        return false;
    for (int rank = 0; rank < loom->ranks; rank++)
        if (!(kept[rank] =
                  ARENA_ARRAY(&loom->arena, (size_t)loom->orders->devices[rank].route_count + 1, bool)))
            return false;
    for (int r = 0; r < wires->route_count; r++)
        shorten(&wires->routes[r], number);
    for (int d = 0; d < layout->count; d++)
        for (int r = wires->first_route[d]; r < wires->first_route[d + 1]; r++)
            kept[layout_rank(layout, d)][r - wires->first_route[d]] |= wires->routes[r].count > 0;
    for (int rank = 0; rank < loom->ranks; rank++)
        strip(loom, rank, kept[rank]);
    for (int g = 0; g < wires->group_count; g++)
        if (wires->groups[g].route >= 0 && wires->routes[wires->groups[g].route].count == 0)
            wires->groups[g].route = -1;
    if (wires->link_count == 0) { /* routes lead over some link */
        wires->fabric_link[0] = loom->links;
        wires->links[wires->link_count++] = (struct engine_link){.name = "none", .capacity = NO_LIMIT};
    }
    for (int r = 0; r < wires->route_count; r++)
        if (wires->routes[r].count == 0)
            wires->routes[r] = (struct engine_route){&any, 1};
    return true;
}

/* ---- all of it ---- */

static bool join_hosts(struct loom *loom, bool flows)
{
    struct wires *wires = loom->wires;
    struct host_joint joint = {.layout = loom->layout,
                               .orders = loom->orders,
                               .fabric = &wires->fabric,
                               .routes = wires->routes,
                               .route_count = wires->route_count,
                               .first_route = wires->first_route,
                               .seats = flows ? loom->seats : NULL,
                               .demand = loom->demand,
                               .arena = &wires->arena};
    return host_join(&joint);
}

static bool weave(struct loom *loom)
{
    struct wires *wires = loom->wires;
    size_t count = (size_t)loom->layout->count;
    loom->uses = ARENA_ARRAY(&loom->arena, (size_t)loom->ranks, struct order_use);
    loom->seats = ARENA_ARRAY(&loom->arena, count, int);
    if (!loom->uses || !loom->seats || !make_fabric(loom))
        return false;
    loom->links = wires->fabric.link_count + host_link_count(loom->layout);
    loom->demand = ARENA_ARRAY(&loom->arena, (size_t)loom->links + 1, double);
    for (int rank = 0; rank < loom->ranks; rank++)
        if (!note_order(loom, rank))
            return false;
    bool flows = has_flows(loom) && seat_all(loom);
    return loom->demand && make_routes(loom, flows) && make_groups(loom, flows) && join_hosts(loom, flows) &&
           drop_links(loom);
}

bool wires_make(struct wires *wires, const struct layout *layout, struct layer_orders *orders,
                struct error *err)
{
    struct loom loom = {
        .wires = wires, .layout = layout, .orders = orders, .ranks = layout_rank_count(layout->model)};
    *wires = (struct wires){.group_count = 0};
    bool ok = weave(&loom) || error_memory(err);
    arena_release(&loom.arena);
    return ok;
}

void wires_release(struct wires *wires)
{
    arena_release(&wires->arena);
    *wires = (struct wires){.group_count = 0};
}

const int *wires_groups(const struct wires *wires, int device)
{
    return &wires->group_of[(size_t)device * KINDS];
}

const int *wires_routes(const struct wires *wires, int device)
{
    return &wires->numbers[wires->first_route[device]];
}
