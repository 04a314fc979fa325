/* The checker of orders: those of makers, of searches and of files.
 *
 * It shares nothing with the makers, nor with timing.c. An order is right if
 * - each stage is on a device that exists, and each action on the device of its stage;
 * - each micro-batch takes one chain, and there each stage once forwards, and backwards with one full pass or with one
 *   pass for the input and one for the weights: so what a forward pass keeps is freed once, by a pass that comes later;
 * - a pair is one forward and one backward pass;
 * - in a file with communication, each result for another rank has its SEND there and its RECV here, and no other has;
 * - actions do not wait for each other in a circle, over all devices: the sequence of a device counts, and the inputs
 *   of passes. A RECV ends after its SEND. The search for a circle is depth-first over the cells;
 * - no stage needs more versions of its weights than the order says. Weights change after every order->step
 *   micro-batches; the backward pass needs the version of the forward pass.
 *
 * Actions are named as in PyTorch's schedules ("3B0": stage 3, full backward pass, micro-batch 0), devices are ranks;
 * ranks and cells count from 0, and a pair is one cell. Tested against damaged orders and two slow checkers
 * (check_test.c, csv_test.c). */
#ifndef REHEARSE_SCHEDULE_CHECK_H
#define REHEARSE_SCHEDULE_CHECK_H

#include "schedule/action.h"

/* Returns whether the order is right. Else *err has ERROR_INPUT and one fault: "rank 1, cell 7: 3B0 waits for 3F0,
 * which comes later". source: of an order from a file, whose passes may be of any enum action_kind;
 * NULL: an order of passes alone. */
bool pass_order_check(const struct pass_order *order, const struct action_source *source, struct error *err);

#endif
