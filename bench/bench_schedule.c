/* Orders of passes made, checked and timed, on one core: seconds of the processor, medians of rounds. A plain twin times the
 * same orders: it sweeps over the devices until all passes have a time, with nothing precomputed. */
#include "core/clock.h"
#include "measure.h"
#include "schedule/check.h"
#include "schedule/schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 9

struct bench_row {
    const char *schedule;
    int devices, chunks, microbatches;
    bool blocks;
};

static void stop_on(bool failed, const struct error *err)
{
    if (failed) {
        fprintf(stderr, "%s\n", err->text);
        exit(1);
    }
}

/* --- the plain twin --- */

static double *twin_slot(const struct pass_order *order, double *ends, int stage, unsigned microbatch)
{
    return &ends[(size_t)stage * (size_t)order->microbatches + microbatch];
}

/* Returns when a pass can begin, NAN: its input is not there. */
static double twin_begin(const struct pass_order *order, const struct timing_options *options,
                         double *forward, double *back, const struct pass *pass, double clock)
{
    int device = order->device_of[pass->stage];
    if (pass->kind == PASS_WEIGHT)
        return clock;
    bool is_forward = pass->kind == PASS_FORWARD;
    int from = is_forward ? pass_order_before(order, pass->stage) : pass_order_after(order, pass->stage);
    if (from < 0)
        return clock;
    double end = *twin_slot(order, is_forward ? forward : back, from, pass->microbatch);
    double send = is_forward ? options->costs[from].send_forward : options->costs[from].send_backward;
    if (order->device_of[from] == device)
        send = 0.0;
    return isnan(end) ? NAN : fmax(clock + (options->send_blocks ? send : 0.0), end + send);
}

static double twin_makespan(const struct pass_order *order, const struct timing_options *options)
{
    size_t slots = (size_t)order->stages * (size_t)order->microbatches;
    double *forward = malloc(slots * sizeof *forward), *back = malloc(slots * sizeof *back), makespan = 0.0;
    double *clock = calloc((size_t)order->devices, sizeof *clock);
    size_t *at = malloc((size_t)order->devices * sizeof *at);
    if (!forward || !back || !clock || !at)
        exit(1);
    for (size_t i = 0; i < slots; i++)
        forward[i] = back[i] = NAN;
    for (int device = 0; device < order->devices; device++)
        at[device] = order->first[device];
    for (bool moved = true; moved;) {
        moved = false;
        for (int device = 0; device < order->devices; device++)
            while (at[device] < order->first[device + 1]) {
                const struct pass *pass = &order->passes[at[device]];
                const struct pass_cost *cost = &options->costs[pass->stage];
                double begin = twin_begin(order, options, forward, back, pass, clock[device]);
                double seconds = pass->kind == PASS_FORWARD  ? cost->forward
                                 : pass->kind == PASS_INPUT  ? cost->input
                                 : pass->kind == PASS_WEIGHT ? cost->weight
                                                             : cost->input + cost->weight;
                if (pass->paired) {
                    double other = twin_begin(order, options, forward, back, pass + 1, clock[device]);
                    begin = isnan(begin) || isnan(other) ? NAN : fmax(begin, other);
                }
                if (isnan(begin))
                    break;
                for (int i = 0; i <= pass->paired; i++) {
                    const struct pass *ends = pass + i;
                    if (i == 1)
                        seconds += ends->kind == PASS_FORWARD ? options->costs[ends->stage].forward
                                                              : options->costs[ends->stage].input +
                                                                    options->costs[ends->stage].weight;
                }
                for (int i = 0; i <= pass->paired; i++)
                    if (pass[i].kind != PASS_WEIGHT)
                        *twin_slot(order, pass[i].kind == PASS_FORWARD ? forward : back, pass[i].stage,
                                   pass[i].microbatch) = begin + seconds;
                clock[device] = begin + seconds;
                makespan = fmax(makespan, clock[device]);
                at[device] += 1U + pass->paired;
                moved = true;
            }
    }
    free(forward);
    free(back);
    free(clock);
    free(at);
    return makespan;
}

/* --- rows --- */

static void run(const struct bench_row *row)
{
    struct error err = {.text = ""};
    int chunks = 0;
    const struct schedule *schedule = schedule_find(row->schedule, &chunks, &err);
    stop_on(schedule == NULL, &err);
    struct schedule_shape shape = {
        .devices = row->devices, .chunks = row->chunks, .microbatches = row->microbatches};
    int stages = schedule_stages(schedule, &shape);
    struct pass_cost *costs = malloc((size_t)stages * sizeof *costs);
    if (costs == NULL)
        exit(1);
    for (int i = 0; i < stages; i++)
        costs[i] = (struct pass_cost){1.0 + 0.01 * (i % 7), 1.2, 0.8, 0.1, 0.1, 0.0, 1.0, 0.5};
    struct timing_options options = {.costs = costs, .send_blocks = row->blocks};
    double make[ROUNDS], check[ROUNDS], time[ROUNDS], twin[ROUNDS], makespan = 0.0, plain = 0.0;
    size_t passes = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct pass_order order;
        struct timing timing;
        double a = clock_processor();
        stop_on(!schedule_make(schedule, &shape, &order, &err), &err);
        double b = clock_processor();
        stop_on(!pass_order_check(&order, NULL, &err), &err);
        double c = clock_processor();
        stop_on(!timing_of_order(&order, &options, false, &timing, &err), &err);
        double d = clock_processor();
        plain = twin_makespan(&order, &options);
        double e = clock_processor();
        make[i] = b - a;
        check[i] = c - b;
        time[i] = d - c;
        twin[i] = e - d;
        makespan = timing.extent.makespan;
        passes = pass_order_count(&order);
        timing_release(&timing);
        pass_order_release(&order);
    }
    double timed = measure_median(time, ROUNDS);
    printf("%-12s %7d %6d %6d %9zu %9.2f %9.2f %9.2f %9.1f %8.2f%s\n", row->schedule, row->devices,
           row->chunks, row->microbatches, passes, 1e3 * measure_median(make, ROUNDS),
           1e3 * measure_median(check, ROUNDS), 1e3 * timed, (double)passes / timed * 1e-6,
           measure_median(twin, ROUNDS) / timed,
           row->blocks || fabs(makespan - plain) < 1e-6 * makespan ? "" : "  the twin differs");
    free(costs);
}

int main(void)
{
    static const struct bench_row rows[] = {
        {"1f1b", 64, 1, 1024, false},        {"1f1b", 64, 1, 1024, true},
        {"interleaved", 16, 8, 1024, false}, {"zb-h1", 64, 1, 1024, false},
        {"chimera", 64, 2, 1024, false},     {"dualpipe", 64, 2, 1024, false},
        {"dualpipev", 32, 2, 1024, false},   {"gpipe", 1024, 1, 1024, false},
        {"zb-v", 16, 2, 256, false},
    };
    printf("%-12s %7s %6s %6s %9s %9s %9s %9s %9s %8s\n", "schedule", "devices", "chunks", "m", "passes",
           "make ms", "check ms", "time ms", "M/s", "twin/it");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        run(&rows[i]);
    printf("making includes one check; the process had at most %.0f MiB\n", measure_peak_mib());
    return 0;
}
