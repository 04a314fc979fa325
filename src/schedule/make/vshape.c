/* V shapes with split backward passes: ZB-V, V-Half, V-Min (Qi et al.: Pipeline Parallelism with Controllable Memory,
 * NeurIPS 2024, arXiv 2405.15362; ZB-V also arXiv 2401.10241, section 6).
 *
 * Device d has stage d, the leg down, and stage 2 devices - 1 - d, the leg up. A building block says in which slots the
 * six passes of a micro-batch are on each device; micro-batch i is shifted by 6 i slots. A step along a leg takes a
 * number of slots: down and up forwards, and down and up backwards. If forwards and backwards together take `round`
 * slots on each leg, what a device keeps is the same on all devices, about devices * round / 6 of a device's
 * activations of a micro-batch: round 6 is ZB-V, 3 V-Half, 2 V-Min. At the ends of a leg a block waits for some slots,
 * so that on each device the slots of a block differ modulo 6; W takes the next free ones after its backward pass. Of
 * all such blocks the one is taken that needs the least memory, then the one with the shortest way through.
 *
 * The order of a device is that of the slots. W only fills bubbles, and where bubbles are depends on the times of
 * passes and sends: so list scheduling (fill.h) puts the W of a block elsewhere, or makes an order of its own, within
 * the memory of the block or of the shape, and the fastest of these orders is the result (contest.h). */
#include "schedule/make/contest.h"
#include "schedule/make/make.h"

#define PERIOD   6
#define MAX_WAIT 6

struct block {
    int round;    /* slots of a step forwards and one backwards on a leg */
    int down, up; /* slots of a step forwards on each leg */
    int wait[3];  /* slots from F to F at the turn, to the backward pass, and to the one at the turn */
    long life;    /* slots in which memory is kept on the fullest device, over both stages */
    long way;     /* slots from the first pass to the last backward pass */
};

enum { F_DOWN, F_UP, I_UP, I_DOWN, W_UP, W_DOWN, BLOCK_PASSES };

/* Fills in the slots of a block on a device. Returns false: two of them meet. */
static bool place(const struct block *block, int devices, int device, long slots[static BLOCK_PASSES])
{
    long last = devices - 1, from_end = last - device;
    long turn = block->down * last + block->wait[0], loss = turn + block->up * last + block->wait[1];
    long back = loss + (block->round - block->up) * last + block->wait[2];
    bool used[PERIOD] = {false};
    slots[F_DOWN] = (long)block->down * device;
    slots[F_UP] = turn + block->up * from_end;
    slots[I_UP] = loss + (long)(block->round - block->up) * device;
    slots[I_DOWN] = back + (block->round - block->down) * from_end;
    for (int i = F_DOWN; i <= I_DOWN; i++) {
        if (used[slots[i] % PERIOD])
            return false;
        used[slots[i] % PERIOD] = true;
    }
    for (int i = W_UP; i <= W_DOWN; i++) {
        slots[i] = slots[i == W_UP ? I_UP : I_DOWN] + 1;
        while (used[slots[i] % PERIOD])
            slots[i]++;
        used[slots[i] % PERIOD] = true;
    }
    return true;
}

/* Fills in `life` and `way`. Returns false: on some device two slots meet. */
static bool judge(struct block *block, int devices)
{
    long slots[BLOCK_PASSES];
    block->life = block->way = 0;
    /* Slots are linear in the device, apart from remainders that repeat after six devices: the first and the last six
     * are as good as all. */
    for (int device = 0; device < devices; device++) {
        if (device == PERIOD && devices > 2 * PERIOD)
            device = devices - PERIOD;
        if (!place(block, devices, device, slots))
            return false;
        long life = slots[W_UP] - slots[F_UP] + slots[W_DOWN] - slots[F_DOWN];
        block->life = life > block->life ? life : block->life;
        block->way = slots[I_DOWN] > block->way ? slots[I_DOWN] : block->way;
    }
    return true;
}

static struct block best_block(int devices, int round)
{
    struct block best = {.round = round, .life = -1};
    for (int code = 0; code < (round - 1) * (round - 1) * MAX_WAIT * MAX_WAIT * MAX_WAIT; code++) {
        int rest = code;
        struct block block = {.round = round};
        for (int i = 2; i >= 0; rest /= MAX_WAIT, i--)
            block.wait[i] = 1 + rest % MAX_WAIT;
        block.up = 1 + rest % (round - 1);
        block.down = 1 + rest / (round - 1);
        if (judge(&block, devices) &&
            (best.life < 0 || block.life < best.life || (block.life == best.life && block.way < best.way)))
            best = block;
    }
    return best;
}

/* A pass of a block on a device: every period has it, from period `since` on. */
struct placed {
    enum pass_kind kind;
    int stage;
    long since;
};

static bool add_device(const struct block *block, struct pass_order *order, int device, struct error *err)
{
    static const enum pass_kind kinds[BLOCK_PASSES] = {PASS_FORWARD, PASS_FORWARD, PASS_INPUT,
                                                       PASS_INPUT,   PASS_WEIGHT,  PASS_WEIGHT};
    struct placed placed[PERIOD];
    long slots[BLOCK_PASSES], periods = 0;
    place(block, order->devices, device, slots);
    for (int i = 0; i < BLOCK_PASSES; i++) {
        bool down = i == F_DOWN || i == I_DOWN || i == W_DOWN;
        long since = slots[i] / PERIOD;
        placed[slots[i] % PERIOD] =
            (struct placed){kinds[i], down ? device : order->stages - 1 - device, since};
        periods = since + order->microbatches > periods ? since + order->microbatches : periods;
    }
    for (long period = 0; period < periods; period++)
        for (int i = 0; i < PERIOD; i++) {
            long microbatch = period - placed[i].since;
            if (microbatch >= 0 && microbatch < order->microbatches &&
                !pass_order_add(order, placed[i].kind, placed[i].stage, (int)microbatch, false, err))
                return false;
        }
    pass_order_next_device(order);
    return true;
}

static bool add_devices(const struct block *block, struct pass_order *order, struct error *err)
{
    for (int device = 0; device < order->devices; device++)
        if (!add_device(block, order, device, err))
            return false;
    return true;
}

static bool make_round(const struct schedule_shape *shape, int round, struct pass_order *order,
                       struct error *err)
{
    struct block block = best_block(shape->devices, round);
    for (int stage = shape->devices; stage < order->stages; stage++)
        order->device_of[stage] = (uint16_t)(order->stages - 1 - stage);
    struct contest contest = {.shape = shape, .order = order, .split = true};
    long chunks = (block.life + PERIOD - 1) / PERIOD; /* kept at most; two are a device's for a micro-batch */
    contest.memory_of = 0.5 * (double)chunks;
    return add_devices(&block, order, err) && contest_run(&contest, err);
}

bool maker_zb_v(const struct schedule_shape *shape, struct pass_order *order, struct error *err)
{
    return make_round(shape, 6, order, err);
}

bool maker_v_half(const struct schedule_shape *shape, struct pass_order *order, struct error *err)
{
    return make_round(shape, 3, order, err);
}

bool maker_v_min(const struct schedule_shape *shape, struct pass_order *order, struct error *err)
{
    return make_round(shape, 2, order, err);
}
