/* Links lie in tiers: ports of devices, cards, and one tier for each level of switches. Each thing of a tier has two
 * links, out and in. A route is added up in a table of the weights of all links, and only those that it touched are
 * looked at. */
#include "sim/engine/fabric.h"

#include <math.h>
#include <stdio.h>

enum tier { TIER_DEVICE, TIER_CARD, TIER_SWITCH };

/* Where a group's numbers begin. */
struct fabric_part {
    int node, device, card;
    int cards_per_node;
};

/* A device's place. */
struct fabric_seat {
    int node, card;
};

static int part_of(const struct fabric *fabric, int device)
{
    int g = fabric->group_count - 1;
    while (g > 0 && device < fabric->parts[g].device)
        g--;
    return g;
}

static struct fabric_seat seat_of(const struct fabric *fabric, int device)
{
    return fabric->seats[device];
}

static int switch_of(const struct fabric *fabric, int level, int node)
{
    return node / fabric->levels[level].nodes;
}

static int switches(const struct fabric *fabric, int level)
{
    return (fabric->nodes + fabric->levels[level].nodes - 1) / fabric->levels[level].nodes;
}

static int link_of(const struct fabric *fabric, int tier, int number, bool in)
{
    return 2 * (fabric->first_link[tier] + number) + in;
}

static int tier_of(const struct fabric *fabric, int link)
{
    int tier = TIER_SWITCH + fabric->level_count - 1;
    while (tier > 0 && link / 2 < fabric->first_link[tier])
        tier--;
    return tier;
}

/* ---- making ---- */

static void set_seats(struct fabric *fabric)
{
    for (int g = 0, d = 0; g < fabric->group_count; g++) {
        const struct fabric_group *group = &fabric->groups[g];
        const struct fabric_part *part = &fabric->parts[g];
        int per_card = group->devices_per_card > 0 ? group->devices_per_card : group->devices_per_node;
        for (int n = 0; n < group->nodes; n++)
            for (int i = 0; i < group->devices_per_node; i++)
                fabric->seats[d++] = (struct fabric_seat){
                    part->node + n, part->card + n * part->cards_per_node + i / per_card};
    }
}

static void count_links(struct fabric *fabric)
{
    fabric->nodes = fabric->devices = fabric->cards = 0;
    for (int g = 0; g < fabric->group_count; g++) {
        const struct fabric_group *group = &fabric->groups[g];
        int per_card = group->devices_per_card > 0 ? group->devices_per_card : group->devices_per_node;
        int cards = (group->devices_per_node + per_card - 1) / per_card;
        fabric->parts[g] = (struct fabric_part){fabric->nodes, fabric->devices, fabric->cards, cards};
        fabric->nodes += group->nodes;
        fabric->devices += group->nodes * group->devices_per_node;
        fabric->cards += group->nodes * cards;
    }
    fabric->first_link[TIER_CARD] = fabric->devices;
    fabric->first_link[TIER_SWITCH] = fabric->devices + fabric->cards;
    for (int level = 0; level < fabric->level_count; level++)
        fabric->first_link[TIER_SWITCH + level + 1] =
            fabric->first_link[TIER_SWITCH + level] + switches(fabric, level);
    fabric->link_count = 2 * fabric->first_link[TIER_SWITCH + fabric->level_count];
}

/* A switch has the uplinks of as many nodes as it can have, like those that it has. */
static void set_uplinks(struct fabric *fabric, int level)
{
    const struct fabric_level *of = &fabric->levels[level];
    double *sums = &fabric->capacities[fabric->first_link[TIER_SWITCH + level]];
    for (int g = 0; g < fabric->group_count; g++)
        for (int n = 0; n < fabric->groups[g].nodes; n++)
            sums[switch_of(fabric, level, fabric->parts[g].node + n)] +=
                fabric->groups[g].card * fabric->parts[g].cards_per_node;
    for (int s = 0; s < switches(fabric, level); s++) {
        int left = fabric->nodes - s * of->nodes, nodes = left < of->nodes ? left : of->nodes;
        sums[s] *= (double)of->nodes / nodes / of->oversubscription;
    }
}

bool fabric_make(struct fabric *fabric, struct arena *arena)
{
    fabric->parts = ARENA_ARRAY(arena, (size_t)fabric->group_count + 1, struct fabric_part);
    if (fabric->parts == NULL)
        return false;
    count_links(fabric);
    size_t links = (size_t)fabric->link_count;
    fabric->capacities = ARENA_ARRAY(arena, links / 2 + 1, double);
    fabric->weights = ARENA_ARRAY(arena, links + 1, double);
    fabric->uses = ARENA_ARRAY(arena, links + 1, uint32_t);
    fabric->counts = ARENA_ARRAY(arena, (size_t)fabric->nodes + 1, int);
    fabric->seats = ARENA_ARRAY(arena, (size_t)fabric->devices + 1, struct fabric_seat);
    if (fabric->capacities == NULL || fabric->weights == NULL || fabric->uses == NULL ||
        fabric->counts == NULL || fabric->seats == NULL)
        return false;
    set_seats(fabric);
    for (int g = 0; g < fabric->group_count; g++) {
        const struct fabric_group *group = &fabric->groups[g];
        const struct fabric_part *part = &fabric->parts[g];
        for (int i = 0; i < group->nodes * group->devices_per_node; i++)
            fabric->capacities[part->device + i] = group->device;
        for (int i = 0; i < group->nodes * part->cards_per_node; i++)
            fabric->capacities[fabric->devices + part->card + i] = group->card;
    }
    for (int level = 0; level < fabric->level_count; level++)
        set_uplinks(fabric, level);
    return true;
}

void fabric_links(const struct fabric *fabric, struct engine_link *links)
{
    static const char *const names[][2] = {
        {"device out", "device in"}, {"card out", "card in"}, {"uplink", "downlink"}};
    for (int i = 0; i < fabric->link_count; i++) {
        int tier = tier_of(fabric, i);
        links[i] = (struct engine_link){.name = names[tier > TIER_SWITCH ? TIER_SWITCH : tier][i % 2],
                                        .capacity = fabric->capacities[i / 2]};
    }
}

int fabric_device(const struct fabric *fabric, int node, int index)
{
    for (int g = 0; g < fabric->group_count; g++) {
        int rest = node - fabric->parts[g].node;
        const struct fabric_group *group = &fabric->groups[g];
        if (rest >= 0 && rest < group->nodes && index >= 0 && index < group->devices_per_node)
            return fabric->parts[g].device + rest * group->devices_per_node + index;
    }
    return -1;
}

int fabric_describe(const struct fabric *fabric, int link, char *name, size_t room)
{
    int tier = tier_of(fabric, link), number = link / 2 - fabric->first_link[tier];
    if (tier == TIER_DEVICE) {
        struct fabric_seat seat = seat_of(fabric, number);
        snprintf(name, room, "port of device %d of node %d, %s", number - fabric_device(fabric, seat.node, 0),
                 seat.node, link % 2 ? "in" : "out");
        return number;
    }
    if (tier == TIER_CARD) {
        int g = fabric->group_count - 1;
        while (g > 0 && number < fabric->parts[g].card)
            g--;
        const struct fabric_part *part = &fabric->parts[g];
        const struct fabric_group *group = &fabric->groups[g];
        int rest = number - part->card, node = rest / part->cards_per_node,
            card = rest % part->cards_per_node;
        snprintf(name, room, "card %d of node %d, %s", card, part->node + node, link % 2 ? "in" : "out");
        return part->device + node * group->devices_per_node + card * group->devices_per_card;
    }
    int level = tier - TIER_SWITCH;
    snprintf(name, room, "%s of switch %d of level %d", link % 2 ? "downlink" : "uplink", number, level);
    return fabric_device(fabric, number * fabric->levels[level].nodes, 0);
}

int fabric_card(const struct fabric *fabric, int device, bool in)
{
    return link_of(fabric, TIER_CARD, seat_of(fabric, device).card, in);
}

int fabric_card_devices(const struct fabric *fabric, int link, int *first)
{
    *first = 0;
    if (tier_of(fabric, link) != TIER_CARD)
        return 0;
    char name[64];
    *first = fabric_describe(fabric, link, name, sizeof name);
    const struct fabric_group *group = &fabric->groups[part_of(fabric, *first)];
    int all = group->devices_per_node, each = group->devices_per_card > 0 ? group->devices_per_card : all;
    int before = (*first - fabric->parts[part_of(fabric, *first)].device) % all;
    return all - before < each ? all - before : each;
}

/* ---- routes ---- */

/* A route that is added up. */
struct draft {
    struct fabric *fabric;
    size_t count;
};

static void use(struct draft *draft, int tier, int number, bool in, double weight)
{
    int link = link_of(draft->fabric, tier, number, in);
    if (weight > 0.0 && draft->fabric->weights[link] == 0.0)
        draft->fabric->uses[draft->count++] = (uint32_t)link;
    draft->fabric->weights[link] += weight;
}

/* Lowers what does not fit, and ends the draft. A transfer over no link gets a route over one that it hardly uses,
 * since routes are not empty. */
static bool finish(struct draft *draft, double rate, struct arena *arena, struct engine_route *route)
{
    struct fabric *fabric = draft->fabric;
    struct engine_use *uses = ARENA_ARRAY(arena, draft->count + 1, struct engine_use);
    *route = (struct engine_route){.uses = uses};
    for (size_t i = 0; i < draft->count; i++) {
        uint32_t link = fabric->uses[i];
        double fits = fabric->capacities[link / 2] / rate * (1.0 + 1e-12);
        if ((int)link >= link_of(fabric, TIER_SWITCH, 0, false))
            fits = INFINITY;
        double units = fmin(floor(fits * ENGINE_WEIGHT), round(fabric->weights[link] * ENGINE_WEIGHT));
        if (uses != NULL && units >= 1.0)
            uses[route->count++] = (struct engine_use){link, (uint32_t)units};
        fabric->weights[link] = 0.0;
    }
    if (uses != NULL && route->count == 0)
        uses[route->count++] = (struct engine_use){draft->count > 0 ? fabric->uses[0] : 0, 1};
    return uses != NULL;
}

static void climb(struct draft *draft, int from, int to, double weight)
{
    const struct fabric *fabric = draft->fabric;
    for (int level = 0; level < fabric->level_count; level++) {
        int near = switch_of(fabric, level, from), far = switch_of(fabric, level, to);
        if (near == far)
            return;
        use(draft, TIER_SWITCH + level, near, false, weight);
        use(draft, TIER_SWITCH + level, far, true, weight);
    }
}

bool fabric_send(struct fabric *fabric, int from, const int *to, int count, double rate, struct arena *arena,
                 struct engine_route *route)
{
    struct draft draft = {.fabric = fabric};
    struct fabric_seat near = seat_of(fabric, from);
    for (int i = 0; i < count; i++) {
        struct fabric_seat far = seat_of(fabric, to[i]);
        bool inside = near.node == far.node;
        if (from == to[i])
            continue;
        use(&draft, inside ? TIER_DEVICE : TIER_CARD, inside ? from : near.card, false, 1.0 / count);
        use(&draft, inside ? TIER_DEVICE : TIER_CARD, inside ? to[i] : far.card, true, 1.0 / count);
        climb(&draft, near.node, far.node, 1.0 / count);
    }
    return finish(&draft, rate, arena, route);
}

/* Spreads what a ring sends out of a node, or gets, over the cards of its devices there, `first` to `end` - 1. */
static void use_cards(struct draft *draft, const int *devices, int first, int end, bool in)
{
    for (int i = first; i < end; i++)
        use(draft, TIER_CARD, seat_of(draft->fabric, devices[i]).card, in, 1.0 / (end - first));
}

static int end_of_node(const struct fabric *fabric, const int *devices, int count, int first)
{
    int node = seat_of(fabric, devices[first]).node, end = first + 1;
    while (end < count && seat_of(fabric, devices[end]).node == node)
        end++;
    return end;
}

bool fabric_ring(struct fabric *fabric, const int *devices, int count, double rate, struct arena *arena,
                 struct engine_route *route)
{
    struct draft draft = {.fabric = fabric};
    bool apart = end_of_node(fabric, devices, count, 0) < count;
    for (int first = 0, end; first < count; first = end) {
        end = end_of_node(fabric, devices, count, first);
        for (int i = first; i < end && count > 1; i++) {
            if (i > first || !apart)
                use(&draft, TIER_DEVICE, devices[i], true, 1.0);
            if (i + 1 < end || !apart)
                use(&draft, TIER_DEVICE, devices[i], false, 1.0);
        }
        if (!apart)
            break;
        use_cards(&draft, devices, first, end, true);
        use_cards(&draft, devices, first, end, false);
        climb(&draft, seat_of(fabric, devices[first]).node, seat_of(fabric, devices[end % count]).node, 1.0);
    }
    return finish(&draft, rate, arena, route);
}

/* Counts the devices below each switch of a level (-1: in each node), or forgets the counts. */
static void count_devices(struct fabric *fabric, const int *devices, int count, int level, bool forget)
{
    for (int i = 0; i < count; i++) {
        int node = seat_of(fabric, devices[i]).node;
        int *here = &fabric->counts[level < 0 ? node : switch_of(fabric, level, node)];
        *here = forget ? 0 : *here + 1;
    }
}

/* Each device sends an equal part of its bytes to each other one. Those to other nodes go through the cards. */
bool fabric_exchange(struct fabric *fabric, const int *devices, int count, double rate, struct arena *arena,
                     struct engine_route *route)
{
    struct draft draft = {.fabric = fabric};
    for (int level = -1; level < fabric->level_count && count > 1; level++) {
        count_devices(fabric, devices, count, level, false);
        for (int i = 0; i < count; i++) {
            struct fabric_seat seat = seat_of(fabric, devices[i]);
            int unit = level < 0 ? seat.node : switch_of(fabric, level, seat.node);
            double leaves = (double)(count - fabric->counts[unit]) / (count - 1.0);
            for (int in = 0; in <= 1; in++) {
                use(&draft, level < 0 ? TIER_CARD : TIER_SWITCH + level, level < 0 ? seat.card : unit, in,
                    leaves);
                if (level < 0)
                    use(&draft, TIER_DEVICE, devices[i], in, 1.0 - leaves);
            }
        }
        count_devices(fabric, devices, count, level, true);
    }
    return finish(&draft, rate, arena, route);
}
