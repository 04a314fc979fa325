/* Orders on one chain, stage s on device s mod devices, that begin with some forward passes and then alternate: one
 * forward, one backward pass. Device d of p begins with the forward passes of column `ahead`. A split backward pass is
 * followed by the gradient of weights (W) of the backward pass that was `delay` earlier; the last W come at the end.
 *
 *                                              ahead                                   delay
 *     1F1B            PipeDream-Flush (arXiv 2006.09503), DAPPLE (arXiv 2007.01045)
 *                                              p - d - 1                               whole
 *     Seq1F1B         slices of the sequence in the place of micro-batches (arXiv 2406.03488): forwards in their
 *                     sequence, backwards in the reverse one, since a slice attends to those before it; the numbers
 *                     are those of its own code (thunlp/Seq1F1B, megatron/core/pipeline_parallel/schedules.py)
 *                                              p - d - 1 + slices - 1                  whole
 *     eager 1F1B      DAPPLE's policy B: messages hide behind further passes
 *                                              2 (p - d - 1)                           whole
 *     ZB-H1           zero bubbles, handcrafted (arXiv 2401.10241, section 2), memory of 1F1B
 *                                              p - d - 1                               d
 *     ZB-H2           no bubble within a device's span if passes are equal, though devices begin and end one after the
 *                     other: the optimizer step must not wait for all of them (post-validation)
 *                                              2 (p - d - 1)                           2 d
 *     interleaved     Megatron-LM (arXiv 2104.04473; megatron/core/pipeline_parallel/schedules.py), v chunks of a
 *                     device
 *                                              2 (p - d - 1) + (v - 1) group           whole
 *     grouped         the interleaved order of PipeOffload (arXiv 2503.01328): small groups, no second pass ahead, W at
 *                     once (sail-sg/zero-bubble-pipeline-parallelism, scheduler/group_interleaved_1f1b.py)
 *                                              p - d - 1 + (v - 1) group               0
 *     interleaved ZB  PyTorch's ScheduleInterleavedZeroBubble, ZB-H1 with chunks
 *                                              p - d - 1 + (v - 1) group               d
 *
 * With chunks, micro-batches go in groups, each group through all chunks of a device before the next group. Megatron
 * requires that the last group is whole or at least as large as the pipeline; its group is as large as the pipeline by
 * default. Here the group is the smallest of at least that size that fulfils the requirement, so that any number of
 * micro-batches has an order. PipeOffload's is of half a pipeline, the smallest that its authors let be, which keeps
 * the fewest activations; its last group leaves out what there is no micro-batch for.
 *
 * PipeDream (arXiv 1806.03377) and PipeDream-2BW (arXiv 2006.09503) are 1F1B over all iterations of the shape without a
 * flush. PipeDream's weights change after each micro-batch, and device d keeps p - d versions; 2BW's change after each
 * iteration, and 2 versions do if an iteration has at least p micro-batches. */
#include "schedule/make/make.h"

#define WHOLE (-1)

struct alternation {
    int devices, chunks, microbatches, group;
    int slices; /* micro-batches that are slices of one, whose backward passes go in reverse; 0: none */
    long long ahead,
        ahead_per_device; /* forward passes that a device begins with: more for each device after it */
    int delay_per_device; /* WHOLE, or for each device before it */
};

static int group_of(int devices, int microbatches)
{
    if (microbatches <= devices)
        return microbatches;
    int group = devices;
    while (microbatches % group != 0 && microbatches % group < devices)
        group++;
    return group;
}

/* Adds pass number `index` of its kind on a device. */
static bool add(const struct alternation *of, struct pass_order *order, int device, enum pass_kind kind,
                long long index, struct error *err)
{
    long long of_group = (long long)of->group * of->chunks, first = index / of_group * of->group;
    long long within = index % of_group;
    long long size = of->microbatches - first < of->group ? of->microbatches - first : of->group;
    int chunk = (int)(within / size), microbatch = (int)(first + within % size);
    if (microbatch >= order->microbatches)
        return true;
    if (kind != PASS_FORWARD)
        chunk = of->chunks - 1 - chunk;
    if (kind != PASS_FORWARD && of->slices > 1)
        microbatch += of->slices - 1 - 2 * (microbatch % of->slices);
    return pass_order_add(order, kind, chunk * of->devices + device, microbatch, false, err);
}

static bool add_device(const struct alternation *of, struct pass_order *order, int device, struct error *err)
{
    bool split = of->delay_per_device != WHOLE;
    long long count = (long long)of->chunks * of->microbatches,
              delay = split ? (long long)of->delay_per_device * device : 0;
    long long ahead = of->ahead + of->ahead_per_device * (of->devices - device - 1);
    for (long long i = 0; i < ahead && i < count; i++)
        if (!add(of, order, device, PASS_FORWARD, i, err))
            return false;
    for (long long i = 0; i < count; i++)
        if ((i + ahead < count && !add(of, order, device, PASS_FORWARD, i + ahead, err)) ||
            !add(of, order, device, split ? PASS_INPUT : PASS_BACKWARD, i, err) ||
            (split && i >= delay && !add(of, order, device, PASS_WEIGHT, i - delay, err)))
            return false;
    for (long long i = count > delay ? count - delay : 0; split && i < count; i++)
        if (!add(of, order, device, PASS_WEIGHT, i, err))
            return false;
    pass_order_next_device(order);
    return true;
}

static bool add_devices(const struct alternation *of, struct pass_order *order, struct error *err)
{
    for (int device = 0; device < of->devices; device++)
        if (!add_device(of, order, device, err))
            return false;
    return true;
}

/* Adds an order of one stage per device. */
static bool add_plain(struct pass_order *order, int ahead_per_device, int delay_per_device, struct error *err)
{
    const struct alternation of = {.devices = order->devices,
                                   .chunks = 1,
                                   .microbatches = order->microbatches,
                                   .group = order->microbatches,
                                   .ahead_per_device = ahead_per_device,
                                   .delay_per_device = delay_per_device};
    return add_devices(&of, order, err);
}

static bool add_interleaved(struct pass_order *order, int ahead_per_device, int delay_per_device,
                            struct error *err)
{
    struct alternation of = {.devices = order->devices,
                             .chunks = order->stages / order->devices,
                             .microbatches = order->microbatches,
                             .group = group_of(order->devices, order->microbatches),
                             .ahead_per_device = ahead_per_device,
                             .delay_per_device = delay_per_device};
    of.ahead = (of.chunks - 1LL) * of.group;
    return add_devices(&of, order, err);
}

#define MAKER(name, add, ahead_per_device, delay_per_device)                                                 \
    bool maker_##name(const struct schedule_shape *shape, struct pass_order *order, struct error *err)       \
    {                                                                                                        \
        (void)shape;                                                                                         \
        return add(order, ahead_per_device, delay_per_device, err);                                          \
    }
MAKER(1f1b, add_plain, 1, WHOLE)
MAKER(eager_1f1b, add_plain, 2, WHOLE)
MAKER(zb_h1, add_plain, 1, 1)
MAKER(zb_h2, add_plain, 2, 2)
MAKER(interleaved, add_interleaved, 2, WHOLE)
MAKER(interleaved_zb, add_interleaved, 1, 1)

bool maker_group_interleaved(const struct schedule_shape *shape, struct pass_order *order, struct error *err)
{
    (void)shape;
    struct alternation of = {.devices = order->devices,
                             .chunks = order->stages / order->devices,
                             .group = (order->devices + 1) / 2,
                             .ahead_per_device = 1,
                             .delay_per_device = 0};
    of.microbatches = (order->microbatches + of.group - 1) / of.group * of.group;
    of.ahead = (of.chunks - 1LL) * of.group;
    return add_devices(&of, order, err);
}

bool maker_seq_1f1b(const struct schedule_shape *shape, struct pass_order *order, struct error *err)
{
    (void)shape;
    const struct alternation of = {.devices = order->devices,
                                   .chunks = 1,
                                   .microbatches = order->microbatches,
                                   .group = order->microbatches,
                                   .slices = order->slices,
                                   .ahead = order->slices - 1,
                                   .ahead_per_device = 1,
                                   .delay_per_device = WHOLE};
    return add_devices(&of, order, err);
}

bool maker_pipedream(const struct schedule_shape *shape, struct pass_order *order, struct error *err)
{
    order->flushes = false;
    order->step = 1;
    order->weight_versions = shape->devices < order->microbatches ? shape->devices : order->microbatches;
    return maker_1f1b(shape, order, err);
}

bool maker_2bw(const struct schedule_shape *shape, struct pass_order *order, struct error *err)
{
    if (shape->microbatches < shape->devices)
        return error_set(err, ERROR_INPUT,
                         "PipeDream-2BW on %d devices needs at least %d micro-batches of a step, not %d: two "
                         "versions of the weights would not be enough",
                         shape->devices, shape->devices, shape->microbatches);
    order->flushes = false;
    order->weight_versions = shape->devices > 1 ? 2 : 1;
    return maker_1f1b(shape, order, err);
}
