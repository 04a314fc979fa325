/* PyTorch's schedule CSV: what is read is written back as it was; what passes the check can be played and written anew. */
#include "schedule/csv.h"
#include "schedule/streams.h"
#include "walk.h"

#include <stddef.h>
#include <stdint.h>

#define MAX_PLAYED 4096 /* stages of an order that is played */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_timing(const struct schedule_csv *csv, const struct pass_order *order)
{
    static struct pass_cost costs[MAX_PLAYED];
    struct timing_options options = {.costs = costs};
    struct timing timing;
    struct error err = {0};
    if (order->stages > MAX_PLAYED)
        return;
    for (int stage = 0; stage < order->stages; stage++)
        costs[stage] = (struct pass_cost){
            .forward = 1.0, .input = 1.0, .weight = 1.0, .kept = 1.0, .kept_for_weight = 0.5};
    require(timing_of_order(order, &options, true, &timing, &err));
    require(timing.extent.makespan >= 3.0 * order->microbatches && timing.peak >= 1.0);
    bool messages = false;
    for (size_t i = 0; i < csv->count; i++)
        messages |= action_is_message(&csv->actions[i]);
    if (messages) { /* on streams no pass is earlier */
        double makespan = timing.extent.makespan;
        struct streams_lock lock;
        require(streams_time(csv, order, costs, COMM_STREAMS_RANK, &timing, &lock, &err));
        require(timing.extent.makespan >= makespan - 1e-9 * makespan);
    }
    timing_release(&timing);
}

static void check_again(const struct pass_order *order, enum schedule_letters letters)
{
    for (int sends = 0; sends < 2; sends++) {
        const struct schedule_csv_form form = {.letters = letters, .with_sends = sends};
        struct schedule_csv csv;
        struct error err = {0};
        require(schedule_csv_of_order(&csv, order, &form, &err));
        require(schedule_csv_check(&csv, &err));
        schedule_csv_release(&csv);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct schedule_csv csv;
    struct pass_order order;
    struct text text = {0};
    struct error err = {0};
    char *copy = malloc(size ? size : 1); /* of this size exactly: what is read beyond it is found */
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    if (schedule_csv_parse(&csv, "fuzz.csv", copy, size, &err)) {
        schedule_csv_write(&csv, &text);
        require(text.length == size && memcmp(text.data, copy, size) == 0);
        if (schedule_csv_order(&csv, &order, &err)) {
            check_timing(&csv, &order);
            check_again(&order, csv.letters);
        } else {
            require_message(&err);
        }
        pass_order_release(&order);
        schedule_csv_release(&csv);
        text_release(&text);
    } else {
        require_message(&err);
    }
    free(copy);
    return 0;
}
