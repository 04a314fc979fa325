#include "sim/play/links.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Who uses a link. */
struct link_user {
    int rank; /* a device; -1: nobody */
    uint32_t causes;
};

/* Bits of the labels of an order's flows, by the group or the route that they have. */
struct flow_labels {
    uint32_t group[LAYER_GROUPS];
    uint32_t *routes;
};

static bool find_labels(const struct play_system *system, int number, struct arena *arena,
                        struct flow_labels *labels)
{
    const struct engine_order *order = &system->engine.orders[number];
    size_t routes = (size_t)system->orders.devices[number].route_count;
    bool *seen = calloc((size_t)system->engine.template_count + 1, sizeof *seen);
    labels->routes = ARENA_ARRAY(arena, routes + 1, uint32_t);
    for (size_t pass = 0; seen && labels->routes && pass < order->count; pass++) {
        uint32_t which = order->passes[pass].template;
        const struct engine_template *template = &system->engine.templates[which];
        for (int i = 0; i < template->count && !seen[which]; i++) {
            const struct engine_task *task = &template->tasks[i];
            uint32_t bit = UINT32_C(1) << play_cause_of(task->label);
            if (task->group > 0 && task->rate > 0.0)
                labels->group[task->group] |= bit;
            if (task->route > 0)
                labels->routes[task->route - 1] |= bit;
        }
        seen[which] = true;
    }
    bool ok = seen && labels->routes;
    free(seen);
    return ok;
}

static void note_route(const struct engine_route *route, int rank, uint32_t causes, struct link_user *users)
{
    for (int i = 0; i < route->count && causes != 0; i++) {
        struct link_user *user = &users[route->uses[i].link];
        user->causes |= causes;
        if (user->rank < 0)
            user->rank = rank;
    }
}

/* Returns the users of all links, in the arena; NULL: out of memory. */
static struct link_user *find_users(const struct play_system *system, struct arena *arena)
{
    const struct engine_system *engine = &system->engine;
    struct link_user *users = ARENA_ARRAY(arena, (size_t)engine->link_count + 1, struct link_user);
    struct flow_labels *labels = ARENA_ARRAY(arena, (size_t)engine->order_count, struct flow_labels);
    bool *known = ARENA_ARRAY(arena, (size_t)engine->group_count + 1, bool);
    for (int o = 0; labels && o < engine->order_count; o++)
        if (!find_labels(system, o, arena, &labels[o]))
            return NULL;
    if (!users || !labels || !known)
        return NULL;
    for (int l = 0; l < engine->link_count; l++)
        users[l].rank = -1;
    for (int d = 0; d < engine->device_count; d++) {
        const struct engine_device *device = &engine->devices[d];
        const struct flow_labels *own = &labels[device->order];
        for (int r = 0; r < device->route_count && r < system->orders.devices[device->order].route_count; r++)
            note_route(&engine->routes[device->routes[r]], device->rank, own->routes[r], users);
        for (int kind = 1; kind < LAYER_GROUPS; kind++) {
            int group = kind <= device->group_count ? device->groups[kind - 1] : 0;
            if (own->group[kind] == 0 || known[group] || engine->groups[group].route < 0)
                continue;
            known[group] = true;
            note_route(&engine->routes[engine->groups[group].route], device->rank, own->group[kind], users);
        }
    }
    return users;
}

/* Sets how many links of the whole system are like each of the system's, and the fabric's number of one of them. */
static bool find_alike(const struct play_system *system, struct arena *arena, int64_t **alike, int **first)
{
    const struct wires *wires = &system->wires;
    const int *class_of = system->symmetry.link_class;
    *alike = ARENA_ARRAY(arena, (size_t)system->engine.link_count + 1, int64_t);
    *first = ARENA_ARRAY(arena, (size_t)system->engine.link_count + 1, int);
    if (!*alike || !*first)
        return false;
    for (int l = wires->link_count - 1; l >= 0; l--) {
        int class = class_of ? class_of[l] : l;
        (*alike)[class]++;
        (*first)[class] = wires->fabric_link[l];
    }
    return true;
}

/* Links of hosts have names of their own. */
static const char *name_link(const struct play_system *system, int link, int fabric_link, int64_t alike,
                             struct arena *arena)
{
    char name[128];
    if (fabric_link < system->wires.fabric.link_count)
        fabric_describe(&system->wires.fabric, fabric_link, name, sizeof name);
    else
        snprintf(name, sizeof name, "%s", system->engine.links[link].name);
    return alike > 1 ? arena_format(arena, "%s (of %" PRId64 " alike)", name, alike)
                     : arena_string(arena, name);
}

bool play_links_name(struct play_system *system, struct error *err)
{
    int count = system->engine.link_count, *first;
    int64_t *alike;
    struct engine_link *links = ARENA_ARRAY(&system->arena, (size_t)count + 1, struct engine_link);
    const struct link_user *users = find_users(system, &system->arena);
    if (!links || !users || !find_alike(system, &system->arena, &alike, &first))
        return error_memory(err);
    for (int l = 0; l < count; l++) {
        links[l] = system->engine.links[l];
        links[l].rank = users[l].rank;
        links[l].name = name_link(system, l, first[l], alike[l], &system->arena);
        if (!links[l].name)
            return error_memory(err);
    }
    system->engine.links = links;
    return true;
}

/* ---- of the result ---- */

struct ranked_link {
    double full, share;
    int number;
};

static int compare_links(const void *a, const void *b)
{
    const struct ranked_link *x = a, *y = b;
    if (x->full != y->full)
        return x->full > y->full ? -1 : 1;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static bool name_causes(uint32_t causes, struct sim_link *link, struct arena *arena)
{
    link->causes = ARENA_ARRAY(arena, SIM_CAUSES, const char *);
    for (int cause = 0; link->causes && cause < SIM_CAUSES; cause++)
        if (causes >> cause & 1)
            link->causes[link->cause_count++] = sim_cause_names[cause];
    return link->causes != NULL;
}

/* Keeps only links that carried something, and of equal ones of the whole system one. */
static bool keep(const struct play_system *system, const struct engine_result *played, struct arena *arena,
                 struct sim_result *result)
{
    int count = system->engine.link_count, kept = 0, *first;
    int64_t *alike;
    struct ranked_link *ranked = ARENA_ARRAY(arena, (size_t)count + 1, struct ranked_link);
    const struct link_user *users = find_users(system, arena);
    if (!ranked || !users || !find_alike(system, arena, &alike, &first))
        return false;
    for (int l = 0; l < count; l++)
        if (played->carried[l] > 0 && users[l].rank >= 0)
            ranked[kept++] = (struct ranked_link){
                played->full[l],
                (double)played->carried[l] / (system->engine.links[l].capacity * played->makespan), l};
    qsort(ranked, (size_t)kept, sizeof *ranked, compare_links);
    kept = kept < LINKS_KEPT ? kept : LINKS_KEPT;
    result->links = ARENA_ARRAY(&result->arena, (size_t)kept + 1, struct sim_link);
    if (!result->links)
        return false;
    for (int i = 0; i < kept; i++) {
        int l = ranked[i].number;
        double unit = system->engine.links[l].unit > 0.0 ? system->engine.links[l].unit : 1.0;
        struct sim_link *link = &result->links[result->link_count++];
        *link = (struct sim_link){
            .name = name_link(system, l, first[l], 1, &result->arena),
            .alike = alike[l],
            .capacity = unit * system->engine.links[l].capacity,
            .bytes = unit * (double)played->carried[l],
            .share = ranked[i].share,
            .full = ranked[i].full,
        };
        if (!link->name || !name_causes(users[l].causes, link, &result->arena))
            return false;
    }
    return true;
}

bool play_links_keep(const struct play_system *system, const struct engine_result *played,
                     struct sim_result *result, struct error *err)
{
    struct arena arena = {0};
    bool ok = keep(system, played, &arena, result) || error_memory(err);
    arena_release(&arena);
    return ok;
}
