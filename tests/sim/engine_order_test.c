/* Orders of passes of all schedules, played by the engine: the same times and memory as schedule/timing has. */
#include "core/arena.h"
#include "core/random.h"
#include "schedule/schedule.h"
#include "sim/engine/engine.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COMPUTE, RECEIVE, SEND, LABELS, MARK = 1, FORWARDS = 5, BACKWARDS = 6, MAX_STAGES = 64 };

static const struct engine_label labels[LABELS] = {
    {"pass", TASK_FORWARD}, {"receive", TASK_RECEIVE}, {"send", TASK_SEND}};

struct game {
    struct arena arena;
    const struct pass_order *order;
    const struct timing_options *options;
};

static double seconds_of(const struct pass_cost *cost, enum pass_kind kind)
{
    return (kind == PASS_FORWARD ? cost->forward : 0.0) +
           (kind == PASS_INPUT || kind == PASS_BACKWARD ? cost->input : 0.0) +
           (kind == PASS_WEIGHT || kind == PASS_BACKWARD ? cost->weight : 0.0);
}

/* Channel 2 s has activations for stage s, channel 2 s + 1 gradients. Returns the port; 0: none. */
static int source(const struct pass_order *order, const struct pass *pass, bool *local)
{
    int from = pass->kind == PASS_FORWARD  ? pass_order_before(order, pass->stage)
               : pass->kind == PASS_WEIGHT ? -1
                                           : pass_order_after(order, pass->stage);
    *local = from >= 0 && order->device_of[from] == order->device_of[pass->stage];
    return from < 0 ? 0 : 2 * pass->stage + (pass->kind == PASS_FORWARD ? 1 : 2);
}

static int target(const struct pass_order *order, const struct pass *pass, bool *local)
{
    int to = pass->kind == PASS_FORWARD  ? pass_order_after(order, pass->stage)
             : pass->kind == PASS_WEIGHT ? -1
                                         : pass_order_before(order, pass->stage);
    *local = to >= 0 && order->device_of[to] == order->device_of[pass->stage];
    return to < 0 ? 0 : 2 * to + (pass->kind == PASS_FORWARD ? 1 : 2);
}

/* Makes the template of a pass, or of a pair. */
static struct engine_template template_of(struct game *game, const struct pass *passes, int count)
{
    const struct timing_options *options = game->options;
    struct engine_task *tasks = arena_alloc(&game->arena, 8, sizeof *tasks);
    struct engine_change *changes = arena_alloc(&game->arena, 4, sizeof *changes);
    int task_count = 0, change_count = 0;
    double seconds = 0.0, least = INFINITY;
    for (int i = 0; i < count; i++) {
        const struct pass_cost *cost = &options->costs[passes[i].stage];
        bool local;
        int port = source(game->order, &passes[i], &local);
        double own = seconds_of(cost, passes[i].kind);
        seconds += own;
        least = fmin(least, own);
        if (port > 0) {
            const struct pass_cost *sender =
                &options->costs[passes[i].kind == PASS_FORWARD ? passes[i].stage - 1 : passes[i].stage + 1];
            double send = passes[i].kind == PASS_FORWARD ? sender->send_forward : sender->send_backward;
            tasks[task_count++] = (struct engine_task){.seconds = options->send_blocks && !local ? send : 0.0,
                                                       .receive = port,
                                                       .label = RECEIVE,
                                                       .second = (uint8_t)i};
        }
        int64_t kept = (int64_t)cost->kept, later = (int64_t)cost->kept_for_weight;
        int64_t bytes = passes[i].kind == PASS_FORWARD  ? kept
                        : passes[i].kind == PASS_INPUT  ? later - kept
                        : passes[i].kind == PASS_WEIGHT ? -later
                                                        : -kept;
        changes[change_count++] =
            (struct engine_change){MEMORY_ACTIVATIONS, passes[i].kind != PASS_FORWARD, bytes};
    }
    if (count == 2)
        seconds -= options->costs[passes[0].stage].hidden * least;
    tasks[task_count++] = (struct engine_task){
        .seconds = seconds, .changes = changes, .change_count = change_count, .mark = MARK, .label = COMPUTE};
    for (int i = 0; i < count; i++) {
        const struct pass_cost *cost = &options->costs[passes[i].stage];
        bool local, forward = passes[i].kind == PASS_FORWARD;
        int port = target(game->order, &passes[i], &local);
        double send = forward ? cost->send_forward : cost->send_backward;
        if (port == 0)
            continue;
        struct engine_task *task = &tasks[task_count++];
        *task = (struct engine_task){.send = port, .label = SEND, .second = (uint8_t)i};
        if (local)
            continue;
        if (options->send_blocks) {
            task->seconds = send;
            task->send_at_begin = true;
        } else if (options->send_in_turn) {
            task->seconds = send;
            task->waits[0] = MARK;
            task->stream = forward ? FORWARDS : BACKWARDS;
        } else {
            task->delay = send;
        }
    }
    return (struct engine_template){tasks, task_count, {passes[0].stage, passes[count - 1].stage}};
}

static struct engine_system system_of(struct game *game)
{
    const struct pass_order *order = game->order;
    size_t devices = (size_t)order->devices, most = pass_order_count(order);
    struct engine_template *templates = arena_alloc(&game->arena, most + 1, sizeof *templates);
    struct engine_pass *passes = arena_alloc(&game->arena, most + 1, sizeof *passes);
    struct engine_order *orders = arena_alloc(&game->arena, devices, sizeof *orders);
    struct engine_device *all = arena_alloc(&game->arena, devices, sizeof *all);
    int *ports = arena_alloc(&game->arena, 2 * (size_t)order->stages, sizeof *ports);
    uint32_t count = 0;
    for (int i = 0; i < 2 * order->stages; i++)
        ports[i] = i;
    for (int d = 0; d < order->devices; d++) {
        orders[d].passes = &passes[count];
        for (size_t i = order->first[d]; i < order->first[d + 1]; i++, count++, orders[d].count++) {
            const struct pass *pass = &order->passes[i];
            bool pair = pass->paired && i + 1 < order->first[d + 1];
            templates[count] = template_of(game, pass, pair ? 2 : 1);
            passes[count] = (struct engine_pass){count, {pass->microbatch, pass[pair].microbatch}};
            i += pair;
        }
        all[d] = (struct engine_device){
            .rank = d, .members = 1, .order = d, .ports = ports, .port_count = 2 * order->stages};
    }
    return (struct engine_system){.labels = labels,
                                  .label_count = LABELS,
                                  .templates = templates,
                                  .template_count = (int)count,
                                  .orders = orders,
                                  .order_count = order->devices,
                                  .devices = all,
                                  .device_count = order->devices,
                                  .channel_count = 2 * order->stages};
}

static double ends[MAX_STAGES];

static bool see(void *context, const struct timeline_task *task, struct error *err)
{
    (void)context;
    (void)err;
    if (task->kind == TASK_FORWARD)
        ends[task->device] = task->end;
    return true;
}

static void compare(const char *name, const struct pass_order *order, const struct timing_options *options)
{
    struct game game = {.order = order, .options = options};
    struct engine_system system = system_of(&game);
    struct engine_result result = {.devices = NULL};
    struct timing timing = {.devices = NULL};
    struct error err;
    struct timeline_sink sink = {.task = see};
    if (!timing_of_order(order, options, false, &timing, &err) || !engine_run(&system, &sink, &result, &err))
        fail_msg("%s: %s", name, err.text);
    for (int d = 0; result.seconds != NULL && timing.devices != NULL && d < order->devices; d++) {
        double busy = result.seconds[d * LABELS + COMPUTE].busy;
        if (fabs(busy - timing.devices[d].busy) > 1e-9)
            fail_msg("%s: device %d: %.17g s busy, but %.17g", name, d, busy, timing.devices[d].busy);
        if ((double)result.devices[d].peak != timing.devices[d].peak)
            fail_msg("%s: device %d: a peak of %lld, but %g", name, d, (long long)result.devices[d].peak,
                     timing.devices[d].peak);
        if (fabs(ends[d] - timing.devices[d].end) > 1e-9)
            fail_msg("%s: device %d ends at %.17g s, but at %.17g", name, d, ends[d], timing.devices[d].end);
    }
    engine_result_release(&result);
    timing_release(&timing);
    arena_release(&game.arena);
}

static bool has_pairs(const struct pass_order *order)
{
    for (size_t i = 0; i < pass_order_count(order); i++) {
        if (order->passes[i].paired)
            return true;
    }
    return false;
}

/* The makers of searched orders take their time; the passes of these orders are no others. */
static bool is_searched(const struct schedule *schedule)
{
    return strcmp(schedule->name, "best") == 0 || strcmp(schedule->name, "zb-1p") == 0 ||
           strcmp(schedule->name, "zb-2p") == 0 || strcmp(schedule->name, "v-1p") == 0;
}

static void schedules_take_the_same_time(void **state)
{
    (void)state;
    uint64_t random = 11;
    int compared = 0;
    for (const struct schedule *schedule = schedules; schedule->name != NULL; schedule++) {
        for (int round = 0; round < (is_searched(schedule) ? 0 : 48); round++) {
            struct pass_cost costs[MAX_STAGES];
            struct timing_options options = {
                .costs = costs, .send_blocks = round % 3 == 1, .send_in_turn = round % 3 == 2};
            for (int s = 0; s < MAX_STAGES; s++)
                costs[s] = (struct pass_cost){.forward = 1.0 + (double)(random_next(&random) % 64) / 64,
                                              .input = 1.0 + (double)(random_next(&random) % 64) / 64,
                                              .weight = 1.0 + (double)(random_next(&random) % 64) / 64,
                                              .send_forward = (double)(random_next(&random) % 64) / 128,
                                              .send_backward = (double)(random_next(&random) % 64) / 128,
                                              .hidden = 0.5,
                                              .kept = 100.0 + (double)(random_next(&random) % 100),
                                              .kept_for_weight = 30.0};
            struct schedule_shape shape = {
                .devices = 2 + 2 * (int)(random_next(&random) % 3), .microbatches = 12, .timing = &options};
            struct pass_order order;
            struct error err;
            if (schedule_stages(schedule, &shape) > MAX_STAGES)
                continue;
            bool made = schedule_make(schedule, &shape, &order, &err);
            bool comparable = made && !(has_pairs(&order) && options.send_blocks) &&
                              !(order.stages > order.devices && options.send_in_turn);
            if (comparable)
                compare(schedule->name, &order, &options);
            compared += comparable;
            pass_order_release(&order);
        }
    }
    assert_true(compared > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_take_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
