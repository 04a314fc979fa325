#include "engine_programs.h"

#include "core/random.h"

#include <string.h>

enum {
    MAX_DEVICES = 5,
    MAX_LINKS = 4,
    MAX_GROUPS = 3,
    MAX_CHANNELS = 6,
    MAX_PATTERNS = 4, /* the first round, two kinds of middle ones, the last round */
    MAX_TASKS = 64,
    MARKS = 9,
    ROUTES = 3 /* of each device */
};

struct maker {
    struct program *program;
    const struct program_shape *shape;
    uint64_t random;
    int devices, links, groups, channels, rounds, copies;
    struct engine_task tasks[MAX_PATTERNS][MAX_DEVICES][MAX_TASKS];
    int count[MAX_PATTERNS][MAX_DEVICES];
    int sender[MAX_CHANNELS], receiver[MAX_CHANNELS];
    unsigned members[MAX_GROUPS]; /* bits of devices */
    int stream_of[MAX_GROUPS];
    bool group_flows[MAX_GROUPS], merged[MAX_GROUPS]; /* one group over all copies */
    struct engine_use uses[MAX_DEVICES * ROUTES + MAX_GROUPS][MAX_LINKS];
    int use_count[MAX_DEVICES * ROUTES + MAX_GROUPS];
    int sharing[MAX_LINKS]; /* so many copies have one link */
};

static int below(struct maker *maker, int limit)
{
    return (int)(random_next(&maker->random) % (uint64_t)limit);
}

static bool chance(struct maker *maker, int percent)
{
    return below(maker, 100) < percent;
}

static double eighths(struct maker *maker, int limit)
{
    return below(maker, limit + 1) / 8.0;
}

static struct engine_task *add(struct maker *maker, int pattern, int device)
{
    static struct engine_task none;
    int *count = &maker->count[pattern][device];
    struct engine_task *task = *count < MAX_TASKS ? &maker->tasks[pattern][device][(*count)++] : &none;
    *task = (struct engine_task){.seconds = eighths(maker, 16),
                                 .layer = -1,
                                 .label = (uint8_t)below(maker, 3),
                                 .second = chance(maker, 20),
                                 .bytes = below(maker, 10000)};
    for (int i = 0; i < ENGINE_WAITS; i++) {
        if (chance(maker, 20))
            task->waits[i] = (uint16_t)(1 + below(maker, MARKS));
    }
    if (chance(maker, 50))
        task->mark = (uint16_t)(1 + below(maker, MARKS));
    if (chance(maker, 30)) {
        struct engine_change *changes = arena_alloc(&maker->program->arena, 2, sizeof *changes);
        int64_t bytes = 1 + below(maker, 1000);
        enum engine_memory kind = (enum engine_memory)below(maker, MEMORY_KINDS);
        changes[0] = (struct engine_change){.memory = kind, .bytes = bytes};
        changes[1] = (struct engine_change){.memory = kind, .at_end = true, .bytes = -bytes};
        task->changes = changes;
        task->change_count = task->seconds > 0.0 ? 2 : 0;
    }
    return task;
}

static void make_flow(struct maker *maker, struct engine_task *task)
{
    task->latency = task->seconds * below(maker, 4) / 4.0;
    task->rate = 1.0 + below(maker, 8);
    task->label = 2;
}

static void set_stream(struct maker *maker, struct engine_task *task, int stream)
{
    task->stream = (uint8_t)stream;
    if (stream > 0 && maker->shape->shares && chance(maker, 50))
        task->share = below(maker, 8) / 8.0;
}

static void add_message(struct maker *maker, int channel, int pattern)
{
    struct engine_task *send = add(maker, pattern, maker->sender[channel]);
    struct engine_task *receive = add(maker, pattern, maker->receiver[channel]);
    send->second = receive->second = 0;
    send->send = receive->receive = channel + 1;
    send->delay = chance(maker, 50) ? eighths(maker, 8) : 0.0;
    send->send_at_begin = chance(maker, 20);
    if (chance(maker, 50))
        set_stream(maker, send, 2);
    if (chance(maker, 50))
        set_stream(maker, receive, chance(maker, 50) ? 3 : 1);
    if (maker->shape->flows && maker->links > 0 && chance(maker, 60)) {
        make_flow(maker, send);
        send->route = 1 + below(maker, ROUTES);
    }
}

static void add_collective(struct maker *maker, int pattern, int group)
{
    double seconds = eighths(maker, 16);
    uint64_t kept = maker->random;
    for (int d = 0; d < maker->devices; d++) {
        if (!(maker->members[group] >> d & 1))
            continue;
        struct engine_task *task = add(maker, pattern, d);
        task->seconds = seconds;
        set_stream(maker, task, maker->stream_of[group]);
        task->group = group + 1;
        uint64_t here = maker->random;
        maker->random = kept; /* equal for all members */
        make_flow(maker, task);
        task->bytes = below(maker, 1000);
        maker->random = here;
        if (task->seconds <= 0.0)
            task->change_count = 0;
    }
}

static void make_pattern(struct maker *maker, int pattern, int last)
{
    unsigned used = 0;
    int late = maker->channels - 1; /* its messages are received a round later */
    for (int i = 3 + below(maker, 10); i > 0; i--) {
        int device = below(maker, maker->devices), kind = below(maker, 10);
        if (kind < 4 || (kind < 6 && maker->channels < 2) || (kind >= 8 && maker->groups == 0)) {
            struct engine_task *task = add(maker, pattern, device);
            if (chance(maker, 30))
                set_stream(maker, task, chance(maker, 50) ? 1 : 4);
            if (maker->shape->flows && maker->links > 0 && chance(maker, 30)) {
                make_flow(maker, task);
                task->route = 1 + below(maker, ROUTES);
            }
        } else if (kind < 8) {
            int channel = below(maker, maker->channels);
            if (channel != late && !(used >> channel & 1))
                add_message(maker, channel, pattern);
            used |= 1u << channel;
        } else {
            add_collective(maker, pattern, below(maker, maker->groups));
        }
    }
    if (pattern < last) { /* the receivers of the next rounds */
        struct engine_task *send = add(maker, pattern, maker->sender[late]);
        send->send = late + 1;
        send->second = 0;
        set_stream(maker, send, 2);
    }
    if (pattern > 0) {
        struct engine_task *receive = add(maker, pattern, maker->receiver[late]);
        receive->receive = late + 1;
        receive->second = 1;
        set_stream(maker, receive, below(maker, 4));
    }
}

static void make_routes(struct maker *maker)
{
    for (int i = 0; i < MAX_DEVICES * ROUTES + MAX_GROUPS && maker->links > 0; i++) {
        int first = below(maker, maker->links), count = 1 + below(maker, maker->links);
        maker->use_count[i] = count;
        for (int j = 0; j < count; j++)
            maker->uses[i][j] =
                (struct engine_use){.link = (uint32_t)((first + j) % maker->links),
                                    .weight = (uint32_t)(ENGINE_WEIGHT / 2 * (1 + below(maker, 4)))};
    }
}

static const struct engine_label labels[] = {
    {"kernel", TASK_FORWARD}, {"optimizer", TASK_OPTIMIZER}, {"transfer", TASK_COLLECTIVE}};

static void shuffle(struct maker *maker)
{
    for (int i = 1 + below(maker, 4); i > 0; i--) {
        int pattern = below(maker, MAX_PATTERNS), device = below(maker, maker->devices);
        int count = maker->count[pattern][device];
        if (count < 2)
            continue;
        struct engine_task *tasks = maker->tasks[pattern][device];
        int a = below(maker, count), b = below(maker, count);
        struct engine_task kept = tasks[a];
        tasks[a] = tasks[b];
        tasks[b] = kept;
    }
}

/* ---- systems ---- */

/* Of a link's copies, copy c has this one. */
static uint32_t link_of(const struct maker *maker, uint32_t link, int copy, bool whole)
{
    return whole ? link * (uint32_t)maker->copies + (uint32_t)(copy / maker->sharing[link]) : link;
}

/* Adds the route of a copy, or of all copies as one. */
static void put_route(struct maker *maker, struct engine_system *system, struct engine_route *route,
                      int number, int copy, bool whole, bool merged)
{
    struct engine_use *uses = arena_alloc(
        &maker->program->arena, (size_t)maker->use_count[number] * (size_t)maker->copies + 1, sizeof *uses);
    route->uses = uses;
    for (int j = 0; j < maker->use_count[number]; j++) {
        struct engine_use use = maker->uses[number][j];
        int sharing = maker->sharing[use.link];
        if (whole && merged) {
            for (int c = 0; c < maker->copies; c += sharing)
                uses[route->count++] = (struct engine_use){link_of(maker, use.link, c, true), use.weight};
            continue;
        }
        if (!whole && !merged)
            use.weight *= (uint32_t)sharing;
        use.link = link_of(maker, use.link, copy, whole);
        uses[route->count++] = use;
    }
    (void)system;
}

static int *numbers(struct maker *maker, int count, int first, int step)
{
    int *list = arena_alloc(&maker->program->arena, (size_t)count + 1, sizeof *list);
    for (int i = 0; i < count; i++)
        list[i] = first + i * step;
    return list;
}

static void build(struct maker *maker, struct engine_system *system, bool whole)
{
    struct arena *arena = &maker->program->arena;
    int copies = whole ? maker->copies : 1, devices = maker->devices;
    int routes = devices * ROUTES + maker->groups;
    struct engine_template *templates =
        arena_alloc(arena, (size_t)MAX_PATTERNS * (size_t)devices, sizeof *templates);
    struct engine_order *orders = arena_alloc(arena, (size_t)devices, sizeof *orders);
    struct engine_device *all = arena_alloc(arena, (size_t)devices * (size_t)copies, sizeof *all);
    struct engine_link *links = arena_alloc(arena, (size_t)maker->links * (size_t)copies + 1, sizeof *links);
    struct engine_route *ways = arena_alloc(arena, (size_t)routes * (size_t)copies + 1, sizeof *ways);
    struct engine_group *groups =
        arena_alloc(arena, (size_t)maker->groups * (size_t)copies + 1, sizeof *groups);
    uint64_t random = maker->random;
    for (int d = 0; d < devices; d++) {
        for (int p = 0; p < MAX_PATTERNS; p++) {
            struct engine_task *tasks = arena_alloc(arena, MAX_TASKS, sizeof *tasks);
            memcpy(tasks, maker->tasks[p][d], sizeof maker->tasks[p][d]);
            templates[p * devices + d] = (struct engine_template){tasks, maker->count[p][d], {d, p}};
        }
        struct engine_pass *passes = arena_alloc(arena, (size_t)maker->rounds, sizeof *passes);
        orders[d] = (struct engine_order){passes, (size_t)maker->rounds};
    }
    for (int r = 0; r < maker->rounds; r++) {
        int pattern = r == 0 ? 0 : r == maker->rounds - 1 ? MAX_PATTERNS - 1 : 1 + below(maker, 2);
        for (int d = 0; d < devices; d++)
            ((struct engine_pass *)orders[d].passes)[r] = (struct engine_pass){
                (uint32_t)(pattern * devices + d), {(uint32_t)r, (uint32_t)(r > 0 ? r - 1 : 100)}};
    }
    for (int l = 0; l < maker->links; l++) {
        double capacity = 2.0 + below(maker, 12);
        for (int c = 0; c < copies; c++)
            links[l * copies + c] = (struct engine_link){.name = "link", .capacity = capacity};
    }
    for (int c = 0; c < copies; c++) {
        for (int d = 0; d < devices; d++) {
            struct engine_device *device = &all[c * devices + d];
            int *ports = numbers(maker, maker->channels, c, copies);
            /* Messages go to the next copy. */
            for (int i = 0; i < maker->channels; i++) {
                if (maker->receiver[i] == d && maker->sender[i] != d)
                    ports[i] = i * copies + (c + copies - 1) % copies;
            }
            *device = (struct engine_device){.rank = c * devices + d,
                                             .members = whole ? 1 : maker->copies,
                                             .order = d,
                                             .ports = ports,
                                             .port_count = maker->channels,
                                             .routes = numbers(maker, ROUTES, c * routes + d * ROUTES, 1),
                                             .route_count = maker->links > 0 ? ROUTES : 0,
                                             .key = (uint64_t)(c * devices + d) * 7};
            int *mine = numbers(maker, maker->groups, c, copies);
            for (int g = 0; g < maker->groups; g++)
                mine[g] = whole && maker->merged[g] ? g * copies : mine[g];
            device->groups = mine;
            device->group_count = maker->groups;
            for (int m = 0; m < MEMORY_KINDS; m++)
                device->memory[m] = m;
            for (int i = 0; i < ROUTES && maker->links > 0; i++)
                put_route(maker, system, &ways[c * routes + d * ROUTES + i], d * ROUTES + i, c, whole, false);
        }
        for (int g = 0; g < maker->groups; g++) {
            struct engine_group *group = &groups[g * copies + c];
            int members = __builtin_popcount(maker->members[g]), way = c * routes + devices * ROUTES + g;
            *group = (struct engine_group){members * (whole && maker->merged[g] ? copies : 1),
                                           maker->group_flows[g] ? way : -1};
            if (maker->links > 0)
                put_route(maker, system, &ways[way], MAX_DEVICES * ROUTES + g, c, whole, maker->merged[g]);
        }
    }
    for (int d = 0; d < devices; d++) {
        double factor = maker->shape->factors ? 0.5 + eighths(maker, 8) : 1.0;
        for (int c = 0; c < copies; c++)
            all[c * devices + d].factor = factor;
    }
    maker->random = random;
    *system = (struct engine_system){.labels = labels,
                                     .label_count = 3,
                                     .templates = templates,
                                     .template_count = MAX_PATTERNS * devices,
                                     .orders = orders,
                                     .order_count = devices,
                                     .devices = all,
                                     .device_count = devices * copies,
                                     .groups = groups,
                                     .group_count = maker->groups * copies,
                                     .routes = ways,
                                     .route_count = maker->links > 0 ? routes * copies : 0,
                                     .links = links,
                                     .link_count = maker->links * copies,
                                     .channel_count = maker->channels * copies,
                                     .seed = 5,
                                     .jitter = maker->shape->jitter ? 0.3 : 0.0};
}

void program_make(uint64_t seed, const struct program_shape *shape, struct program *program)
{
    static struct maker maker;
    maker = (struct maker){.program = program, .shape = shape, .random = seed, .copies = shape->copies};
    *program = (struct program){.arena = {0}};
    maker.devices = 1 + below(&maker, MAX_DEVICES);
    maker.links = shape->flows ? 1 + below(&maker, MAX_LINKS) : 0;
    maker.groups = below(&maker, MAX_GROUPS + 1);
    maker.channels = 1 + below(&maker, MAX_CHANNELS);
    maker.rounds = 2 + below(&maker, 5);
    for (int i = 0; i < maker.channels; i++) {
        maker.sender[i] = below(&maker, maker.devices);
        maker.receiver[i] = below(&maker, maker.devices);
        if (maker.receiver[i] == maker.sender[i] && maker.copies > 1)
            maker.receiver[i] = (maker.sender[i] + 1) % maker.devices;
    }
    for (int g = 0; g < maker.groups; g++) {
        maker.members[g] = 1u + (unsigned)below(&maker, (1 << maker.devices) - 1);
        maker.stream_of[g] = below(&maker, 3) == 0 ? 0 : 1;
        maker.group_flows[g] = shape->flows && chance(&maker, 60);
        maker.merged[g] = chance(&maker, 50);
    }
    for (int l = 0; l < maker.links; l++) {
        maker.sharing[l] = 1 + below(&maker, maker.copies);
        while (maker.copies % maker.sharing[l] != 0)
            maker.sharing[l]--;
    }
    make_routes(&maker);
    for (int p = 0; p < MAX_PATTERNS; p++)
        make_pattern(&maker, p, MAX_PATTERNS - 1);
    if (shape->shuffled)
        shuffle(&maker);
    build(&maker, &program->whole, true);
    build(&maker, &program->compressed, false);
}

void engine_program_release(struct program *program)
{
    arena_release(&program->arena);
}
