/* The engine of the simulator on one core, in CPU time: tasks and flow changes per second, and the memory of a system in
 * which every device is played. `bench_sim [NAME…]` runs only these:
 *
 *   passes  1F1B by passes with messages and memory; the plain twin is schedule/timing, longest paths over one array
 *   layers  a transformer by layers: a kernel and a collective of tensor parallelism four times per layer, gradients
 *           reduced beside the backward pass; the plain twin does the same sums by loops made for this one system
 *   shares  the same, where collectives slow kernels beside them
 *   flows   devices that send through network cards which eight of them share, with kernels beside
 *   slowed-flows  the same, where sending slows kernels
 *   whole   16,384 devices, each played, about 50 M tasks by layers; the twin is the same system, in which devices
 *           that are alike are found and one of each is played
 *   slowed  the same with shares
 *   shared  the same where messages and reductions share network cards
 */
#include "core/clock.h"
#include "measure.h"

#include "core/arena.h"
#include "schedule/timing.h"
#include "sim/engine/engine.h"
#include "sim/engine/fabric.h"
#include "sim/engine/symmetry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RUNS 5

enum { KERNEL, SEND, TENSOR, DATA, LABELS };

static const struct engine_label labels[LABELS] = {{"kernel", TASK_FORWARD},
                                                   {"send", TASK_SEND},
                                                   {"tensor parallel", TASK_COLLECTIVE},
                                                   {"data parallel", TASK_COLLECTIVE}};

struct shape {
    int stages, layers, microbatches;
    int tensor, data; /* degrees; devices of a system played as one: 1 */
    double share;
    bool by_passes;
    bool cards; /* messages and reductions share the network cards of nodes */
};

static struct arena arena;

static double kernel_seconds(int stage, int layer)
{
    return 1e-3 * (1.0 + 0.01 * ((stage * 7 + layer * 3) % 11));
}

#define COLLECTIVE 2e-4
#define DELAY      1e-4
#define REDUCTION  3e-3

static struct engine_change kept = {MEMORY_ACTIVATIONS, false, 1000},
                            freed = {MEMORY_ACTIVATIONS, true, -1000};

/* Ports: 1, 2 forwards from and to the neighbours; 3, 4 backwards. Groups: 1 tensor, 2 data. */
static struct engine_template pass(const struct shape *shape, int stage, bool backward, bool last)
{
    int most = 9 * shape->layers + 8, count = 0;
    struct engine_task *tasks = arena_alloc(&arena, (size_t)most, sizeof *tasks);
    int receive = backward ? (stage < shape->stages - 1 ? 3 : 0) : (stage > 0 ? 1 : 0);
    int send = backward ? (stage > 0 ? 4 : 0) : (stage < shape->stages - 1 ? 2 : 0);
    int parts = shape->by_passes ? 1 : 2;
    for (int i = 0; i < shape->layers; i++) {
        int layer = backward ? shape->layers - 1 - i : i;
        for (int part = 0; part < parts; part++) {
            bool first_task = i == 0 && part == 0, last_task = i == shape->layers - 1 && part == parts - 1;
            struct engine_task *kernel = &tasks[count++];
            *kernel = (struct engine_task){.seconds = kernel_seconds(stage, layer) * (backward ? 2.0 : 1.0),
                                           .receive = first_task ? receive : 0,
                                           .changes = backward ? &freed : &kept,
                                           .change_count = 1,
                                           .waits = {shape->by_passes || first_task ? 0 : 2},
                                           .mark = shape->by_passes ? 0 : 1,
                                           .layer = (int16_t)layer,
                                           .label = KERNEL};
            if (shape->by_passes) {
                kernel->send = last_task ? send : 0;
                kernel->delay = DELAY;
                continue;
            }
            tasks[count++] = (struct engine_task){.seconds = COLLECTIVE,
                                                  .waits = {1},
                                                  .mark = 2,
                                                  .group = 1,
                                                  .share = shape->share,
                                                  .stream = STREAM_COLLECTIVE,
                                                  .label = TENSOR};
            if (last_task && send > 0)
                tasks[count++] = (struct engine_task){
                    .seconds = DELAY, .waits = {2}, .send = send, .stream = STREAM_SEND, .label = SEND};
        }
        if (last && !shape->by_passes)
            tasks[count++] = (struct engine_task){.seconds = REDUCTION,
                                                  .latency = 0.1 * REDUCTION,
                                                  .rate = 40e9,
                                                  .waits = {1},
                                                  .mark = 3,
                                                  .group = 2,
                                                  .share = shape->share,
                                                  .stream = STREAM_HOST,
                                                  .label = DATA};
    }
    if (last && !shape->by_passes)
        tasks[count++] = (struct engine_task){.seconds = 1e-3, .waits = {3}, .label = KERNEL};
    return (struct engine_template){tasks, count, {stage, -1}};
}

static struct engine_order one_forward_one_backward(const struct shape *shape, int stage)
{
    int m = shape->microbatches, ahead = shape->stages - stage < m ? shape->stages - stage : m;
    struct engine_pass *passes = arena_alloc(&arena, 2 * (size_t)m, sizeof *passes);
    uint32_t first = 3 * (uint32_t)stage;
    size_t count = 0;
    for (int f = 0, b = 0; b < m;) {
        if (f < m && f - b < ahead)
            passes[count++] = (struct engine_pass){first, {(uint32_t)f++, 0}};
        else {
            passes[count++] = (struct engine_pass){first + (b == m - 1 ? 2 : 1), {(uint32_t)b, 0}};
            b++;
        }
    }
    return (struct engine_order){passes, count};
}

/* Each node has the devices of a tensor parallel group. Routes 2 d and 2 d + 1 are those of device d's messages forwards and
 * back; those of the groups that reduce gradients, from node to node, follow. */
static struct engine_route *routes_of(const struct shape *shape, struct engine_system *system)
{
    int p = shape->stages, replicas = shape->tensor * shape->data, devices = p * replicas;
    const struct fabric_group nodes = {
        .nodes = p * shape->data, .devices_per_node = shape->tensor, .device = 450e9, .card = 200e9};
    struct fabric fabric = {.groups = &nodes, .group_count = 1};
    if (!fabric_make(&fabric, &arena))
        exit(1);
    struct engine_route *routes =
        arena_alloc(&arena, 2 * (size_t)devices + (size_t)p * (size_t)shape->tensor, sizeof *routes);
    struct engine_link *links = arena_alloc(&arena, (size_t)fabric.link_count, sizeof *links);
    int *ring = arena_alloc(&arena, (size_t)shape->data, sizeof *ring);
    fabric_links(&fabric, links);
    for (int r = 0; r < replicas; r++) {
        for (int s = 0; s < p; s++) {
            int node = r / shape->tensor * p, lane = r % shape->tensor,
                here = (node + s) * shape->tensor + lane;
            int next = (node + (s + 1) % p) * shape->tensor + lane;
            int before = (node + (s + p - 1) % p) * shape->tensor + lane;
            fabric_send(&fabric, here, &next, 1, 25e9, &arena,
                        &routes[2 * ((size_t)r * (size_t)p + (size_t)s)]);
            fabric_send(&fabric, here, &before, 1, 25e9, &arena,
                        &routes[2 * ((size_t)r * (size_t)p + (size_t)s) + 1]);
        }
    }
    for (int s = 0; s < p; s++) {
        for (int lane = 0; lane < shape->tensor; lane++) {
            for (int i = 0; i < shape->data; i++)
                ring[i] = (i * p + s) * shape->tensor + lane;
            fabric_ring(&fabric, ring, shape->data, 40e9, &arena,
                        &routes[2 * (size_t)devices + (size_t)s * (size_t)shape->tensor + (size_t)lane]);
        }
    }
    system->links = links;
    system->link_count = fabric.link_count;
    system->route_count = 2 * devices + p * shape->tensor;
    return routes;
}

static struct engine_system system_of(const struct shape *shape)
{
    struct engine_system network = {.link_count = 0};
    struct engine_route *routes = shape->cards ? routes_of(shape, &network) : NULL;
    int p = shape->stages, replicas = shape->tensor * shape->data, devices = p * replicas;
    struct engine_template *templates = arena_alloc(&arena, 3 * (size_t)p, sizeof *templates);
    struct engine_order *orders = arena_alloc(&arena, (size_t)p, sizeof *orders);
    struct engine_device *all = arena_alloc(&arena, (size_t)devices, sizeof *all);
    struct engine_group *groups =
        arena_alloc(&arena, (size_t)p * (size_t)(shape->tensor + shape->data), sizeof *groups);
    int group_count = p * (shape->tensor + shape->data);
    for (int s = 0; s < p; s++) {
        templates[3 * (size_t)s] = pass(shape, s, false, false);
        templates[3 * (size_t)s + 1] = pass(shape, s, true, false);
        templates[3 * (size_t)s + 2] = pass(shape, s, true, true);
        orders[s] = one_forward_one_backward(shape, s);
        for (int i = 0; i < shape->data; i++)
            groups[s * shape->data + i] = (struct engine_group){shape->tensor, -1};
        for (int i = 0; i < shape->tensor; i++)
            groups[p * shape->data + s * shape->tensor + i] =
                (struct engine_group){shape->data, shape->cards ? 2 * devices + s * shape->tensor + i : -1};
    }
    /* Channels: forwards into stage s, then backwards out of it, of each replica. */
    for (int r = 0; r < replicas; r++) {
        for (int s = 0; s < p; s++) {
            int *ports = arena_alloc(&arena, 4, sizeof *ports);
            int *mine = arena_alloc(&arena, 2, sizeof *mine), *ways = arena_alloc(&arena, 2, sizeof *ways);
            ways[0] = 2 * (r * p + s);
            ways[1] = ways[0] + 1;
            int next = s + 1 < p ? s + 1 : s;
            ports[0] = 2 * (r * p + s);
            ports[1] = 2 * (r * p + next);
            ports[2] = 2 * (r * p + next) + 1;
            ports[3] = 2 * (r * p + s) + 1;
            mine[0] = s * shape->data + r / shape->tensor;
            mine[1] = p * shape->data + s * shape->tensor + r % shape->tensor;
            all[r * p + s] = (struct engine_device){.rank = r * p + s,
                                                    .members = 1,
                                                    .order = s,
                                                    .ports = ports,
                                                    .port_count = 4,
                                                    .groups = mine,
                                                    .group_count = 2,
                                                    .routes = ways,
                                                    .route_count = shape->cards ? 2 : 0};
        }
    }
    return (struct engine_system){.labels = labels,
                                  .label_count = LABELS,
                                  .templates = templates,
                                  .template_count = 3 * p,
                                  .orders = orders,
                                  .order_count = p,
                                  .devices = all,
                                  .device_count = devices,
                                  .groups = groups,
                                  .group_count = group_count,
                                  .routes = routes,
                                  .route_count = network.route_count,
                                  .links = network.links,
                                  .link_count = network.link_count,
                                  .channel_count = 2 * devices};
}

/* ---- plain twins ---- */

/* Returns the CPU seconds of timing_of_order for the same passes. */
static double time_passes(const struct shape *shape, double *makespan)
{
    struct pass_order order;
    struct pass_cost *costs = calloc((size_t)shape->stages, sizeof *costs);
    struct timing timing;
    struct error err;
    if (!pass_order_init(&order, shape->stages, shape->stages, 1, shape->microbatches, &err))
        exit(1);
    for (int s = 0; s < shape->stages; s++) {
        struct engine_order passes = one_forward_one_backward(shape, s);
        for (size_t i = 0; i < passes.count; i++)
            pass_order_add(&order, passes.passes[i].template % 3 == 0 ? PASS_FORWARD : PASS_BACKWARD, s,
                           (int)passes.passes[i].microbatch[0], false, &err);
        pass_order_next_device(&order);
        costs[s] = (struct pass_cost){.forward = kernel_seconds(s, 0),
                                      .input = kernel_seconds(s, 0),
                                      .weight = kernel_seconds(s, 0),
                                      .send_forward = DELAY,
                                      .send_backward = DELAY,
                                      .kept = 1000.0};
    }
    struct timing_options options = {.costs = costs};
    double start = clock_processor();
    if (!timing_of_order(&order, &options, false, &timing, &err))
        exit(1);
    double seconds = clock_processor() - start;
    *makespan = timing.extent.makespan;
    timing_release(&timing);
    pass_order_release(&order);
    free(costs);
    return seconds;
}

/* Layers by loops: each device's passes in turn, as far as their inputs are there. */
static double time_layers(const struct shape *shape, double *makespan)
{
    int p = shape->stages, m = shape->microbatches;
    struct engine_order *orders = calloc((size_t)p, sizeof *orders);
    for (int s = 0; s < p; s++)
        orders[s] = one_forward_one_backward(shape, s);
    double start = clock_processor();
    double *comes[2] = {malloc((size_t)p * (size_t)m * sizeof **comes),
                        malloc((size_t)p * (size_t)m * sizeof **comes)};
    double *clock = calloc((size_t)p, sizeof *clock), *end = calloc((size_t)p, sizeof *end);
    size_t *at = calloc((size_t)p, sizeof *at);
    for (int i = 0; i < p * m; i++)
        comes[0][i] = comes[1][i] = -1.0;
    *makespan = 0.0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int s = 0; s < p; s++) {
            for (; at[s] < orders[s].count; at[s]++, moved = true) {
                const struct engine_pass *pass = &orders[s].passes[at[s]];
                int kind = (int)(pass->template % 3), mb = (int)pass->microbatch[0];
                double input = kind == 0 ? (s > 0 ? comes[0][s * m + mb] : 0.0)
                                         : (s < p - 1 ? comes[1][s * m + mb] : 0.0);
                if (input < 0.0)
                    break;
                double now = fmax(clock[s], input), collective = 0.0, reduced = 0.0;
                for (int i = 0; i < shape->layers; i++) {
                    double kernel =
                        kernel_seconds(s, kind == 0 ? i : shape->layers - 1 - i) * (kind == 0 ? 1.0 : 2.0);
                    for (int part = 0; part < 2; part++) {
                        now = fmax(now, collective) + kernel;
                        collective = fmax(now, end[s]) + COLLECTIVE;
                        end[s] = collective;
                    }
                    if (kind == 2)
                        reduced = fmax(reduced, now) + REDUCTION;
                }
                clock[s] = kind == 2 ? fmax(now, reduced) + 1e-3 : now;
                if (kind == 0 && s < p - 1)
                    comes[0][(s + 1) * m + mb] = collective + DELAY;
                if (kind > 0 && s > 0)
                    comes[1][(s - 1) * m + mb] = collective + DELAY;
                *makespan = fmax(*makespan, fmax(clock[s], collective + (kind > 0 && s > 0 ? DELAY : 0.0)));
            }
        }
    }
    double seconds = clock_processor() - start;
    free(comes[0]);
    free(comes[1]);
    free(clock);
    free(end);
    free(at);
    free(orders);
    return seconds;
}

/* ---- figures ---- */

static double play(const struct engine_system *system, struct engine_result *result)
{
    struct error err;
    double start = clock_processor();
    if (!engine_run(system, NULL, result, &err)) {
        fprintf(stderr, "bench_sim: %s\n", err.text);
        exit(1);
    }
    return clock_processor() - start;
}

static void bench(const char *name, const struct shape *shape, int runs,
                  double (*twin)(const struct shape *, double *))
{
    double seconds[RUNS], twins[RUNS], makespan = 0.0;
    struct engine_system system = system_of(shape);
    struct engine_result result;
    for (int i = 0; i < runs; i++) {
        seconds[i] = play(&system, &result);
        if (twin != NULL)
            twins[i] = twin(shape, &makespan);
        if (i + 1 < runs)
            engine_result_release(&result);
    }
    double median = measure_median(seconds, (size_t)runs);
    printf("%-12s %9.2f M tasks  %8.3f s  %7.1f M tasks/s  makespan %.9g s  peak %.0f MiB", name,
           1e-6 * (double)result.tasks, median, 1e-6 * (double)result.tasks / median, result.makespan,
           measure_peak_mib());
    if (twin != NULL)
        printf("  twin %.3f s (ratio %.2f)%s", measure_median(twins, (size_t)runs),
               median / measure_median(twins, (size_t)runs),
               makespan == result.makespan                            ? ", same bits"
               : fabs(makespan - result.makespan) <= 1e-12 * makespan ? ""
                                                                      : ", WHICH DIFFERS");
    putchar('\n');
    engine_result_release(&result);
}

/* Finds the devices that are alike and plays one of each. */
static double time_symmetry(const struct shape *shape, double *makespan)
{
    struct engine_system system = system_of(shape);
    struct engine_symmetry symmetry;
    struct engine_result result;
    struct error err;
    double start = clock_processor();
    if (!engine_symmetry_find(&system, &symmetry, &err))
        exit(1);
    double seconds = clock_processor() - start;
    seconds += play(&symmetry.system, &result);
    *makespan = result.makespan;
    engine_result_release(&result);
    engine_symmetry_release(&symmetry);
    return seconds;
}

/* Groups of eight devices share a card; each sends to a device of the next group, through both cards. */
static void bench_flows(bool share)
{
    enum { GROUPS = 64, EIGHT = 8, DEVICES = GROUPS * EIGHT, PASSES = 1000 };
    struct engine_task *tasks = arena_alloc(&arena, (size_t)DEVICES * 4, sizeof *tasks);
    struct engine_template *templates = arena_alloc(&arena, DEVICES, sizeof *templates);
    struct engine_order *orders = arena_alloc(&arena, DEVICES, sizeof *orders);
    struct engine_device *devices = arena_alloc(&arena, DEVICES, sizeof *devices);
    struct engine_link *links = arena_alloc(&arena, (size_t)GROUPS * 2, sizeof *links);
    struct engine_route *routes = arena_alloc(&arena, DEVICES, sizeof *routes);
    struct engine_use *uses = arena_alloc(&arena, (size_t)DEVICES * 2, sizeof *uses);
    int *numbers = arena_alloc(&arena, DEVICES, sizeof *numbers);
    struct engine_pass *passes = arena_alloc(&arena, (size_t)DEVICES * PASSES, sizeof *passes);
    for (int g = 0; g < 2 * GROUPS; g++)
        links[g] = (struct engine_link){.capacity = 50e9};
    for (int d = 0; d < DEVICES; d++) {
        numbers[d] = d;
        int to = (d / EIGHT / 2 * 2 + 1 - d / EIGHT % 2) * 2 + 1;
        uses[2 * (size_t)d] = (struct engine_use){(uint32_t)(d / EIGHT * 2), ENGINE_WEIGHT};
        uses[2 * (size_t)d + 1] = (struct engine_use){(uint32_t)to, ENGINE_WEIGHT};
        routes[d] = (struct engine_route){&uses[2 * (size_t)d], 2};
        /* Two kernels and two flows in turns: each kernel waits for the flow before the last. */
        for (int i = 0; i < 2; i++) {
            uint16_t kernel = (uint16_t)(1 + i), flow = (uint16_t)(3 + i);
            tasks[4 * (size_t)d + 2 * (size_t)i] = (struct engine_task){
                .seconds = 1e-3 * (1.0 + 0.1 * (d % 13)), .waits = {flow}, .mark = kernel, .label = KERNEL};
            tasks[4 * (size_t)d + 2 * (size_t)i + 1] =
                (struct engine_task){.seconds = 2e-3 * (1.0 + 0.05 * (d % 7)),
                                     .latency = 1e-5,
                                     .rate = 25e9,
                                     .route = 1,
                                     .waits = {kernel},
                                     .mark = flow,
                                     .share = share ? 0.15 : 0.0,
                                     .stream = STREAM_SEND,
                                     .label = SEND};
        }
        templates[d] = (struct engine_template){&tasks[4 * (size_t)d], 4, {0, -1}};
        for (int i = 0; i < PASSES; i++)
            passes[(size_t)d * PASSES + (size_t)i] = (struct engine_pass){(uint32_t)d, {(uint32_t)i, 0}};
        orders[d] = (struct engine_order){&passes[(size_t)d * PASSES], PASSES};
        devices[d] = (struct engine_device){
            .rank = d, .members = 1, .order = d, .routes = &numbers[d], .route_count = 1};
    }
    struct engine_system system = {.labels = labels,
                                   .label_count = LABELS,
                                   .templates = templates,
                                   .template_count = DEVICES,
                                   .orders = orders,
                                   .order_count = DEVICES,
                                   .devices = devices,
                                   .device_count = DEVICES,
                                   .routes = routes,
                                   .route_count = DEVICES,
                                   .links = links,
                                   .link_count = 2 * GROUPS};
    double seconds[RUNS];
    struct engine_result result;
    for (int i = 0; i < RUNS; i++) {
        seconds[i] = play(&system, &result);
        if (i + 1 < RUNS)
            engine_result_release(&result);
    }
    double median = measure_median(seconds, RUNS);
    printf("%-12s %9.2f M changes %7.3f s  %7.2f M changes/s  makespan %.9g s\n",
           share ? "slowed-flows" : "flows", 1e-6 * (double)result.flow_changes, median,
           1e-6 * (double)result.flow_changes / median, result.makespan);
    engine_result_release(&result);
}

static bool wanted(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0)
            return true;
    }
    return argc < 2;
}

int main(int argc, char **argv)
{
    struct shape passes = {.stages = 64, .layers = 1, .microbatches = 8192, .tensor = 1, .data = 1};
    passes.by_passes = true;
    struct shape layers = {.stages = 16, .layers = 8, .microbatches = 1024, .tensor = 1, .data = 1};
    struct shape whole = {.stages = 16, .layers = 8, .microbatches = 47, .tensor = 8, .data = 128};
    if (wanted(argc, argv, "passes"))
        bench("passes", &passes, RUNS, time_passes);
    if (wanted(argc, argv, "layers"))
        bench("layers", &layers, RUNS, time_layers);
    if (wanted(argc, argv, "flows"))
        bench_flows(false);
    if (wanted(argc, argv, "slowed-flows"))
        bench_flows(true);
    layers.share = 0.125;
    if (wanted(argc, argv, "shares"))
        bench("shares", &layers, RUNS, NULL);
    if (wanted(argc, argv, "whole"))
        bench("whole", &whole, 1, time_symmetry);
    whole.share = 0.125;
    if (wanted(argc, argv, "slowed"))
        bench("slowed", &whole, 1, time_symmetry);
    whole.cards = true;
    if (wanted(argc, argv, "shared"))
        bench("shared", &whole, 1, time_symmetry);
    arena_release(&arena);
    return 0;
}
