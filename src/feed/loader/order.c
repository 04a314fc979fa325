#include "feed/loader/order.h"

#include "core/random.h"

#include <math.h>

#define ROUNDS  8 /* even: see walk() */
#define LARGEST (INT64_C(1) << 62)

/* The generalised Feistel cipher of Black and Rogaway, "Ciphers with arbitrary finite domains" (CT-RSA
 * 2002, method 3): x = right·a + left with a·b ≥ n; a result outside [0, n) is enciphered again (cycle
 * walking). With a ≈ √n and b = ⌈n/a⌉ fewer than a numbers lie outside, so a second walk is rare. */
struct halves {
    uint64_t a, b;
};

static struct halves halves_of(uint64_t n)
{
    uint64_t a = (uint64_t)sqrt((double)n) + 1;
    return (struct halves){a, (n + a - 1) / a};
}

/* Returns a number in [0, range), range < 2³². */
static uint64_t round_value(uint64_t key, int round, uint64_t half, uint64_t range)
{
    return (random_mix(half + key + (uint64_t)round * RANDOM_GOLDEN) >> 32) * range >> 32;
}

static uint64_t walk(struct halves h, uint64_t key, uint64_t x)
{
    uint64_t left = x % h.a, right = x / h.a;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t range = round % 2 == 0 ? h.a : h.b;
        uint64_t sum = left + round_value(key, round, right, range);
        left = right;
        right = sum >= range ? sum - range : sum;
    }
    return right * h.a + left; /* after an even number of rounds each half has its own range again */
}

uint64_t order_permute(uint64_t n, uint64_t key, uint64_t x)
{
    struct halves h = halves_of(n);
    key = random_mix(key + RANDOM_GOLDEN); /* rounds add to it: keys that are neighbours would be alike */
    do
        x = walk(h, key, x);
    while (x >= n);
    return x;
}

/* Returns the samples of an accelerator. Samples or files are dealt out; the first (units mod P)
 * accelerators get one more than the others. */
static int64_t samples_of(const struct order *order, int accelerator)
{
    const struct order_options *o = &order->options;
    int64_t units = o->shard == ORDER_BY_FILE ? o->files : order->samples;
    int64_t part = units / o->accelerators + (accelerator < units % o->accelerators);
    return o->shard == ORDER_BY_FILE ? part * o->samples_per_file : part;
}

static bool check(const struct order_options *o, struct error *err)
{
    int64_t samples;
    if (o->files < 1 || o->samples_per_file < 1 || o->batch < 1 || o->accelerators < 1)
        return error_set(err, ERROR_INPUT,
                         "files, samples per file, batch size and accelerators must be positive");
    if (__builtin_mul_overflow(o->files, o->samples_per_file, &samples) || samples > LARGEST)
        return error_set(err, ERROR_INPUT, "%lld files of %lld samples exceed the supported range",
                         (long long)o->files, (long long)o->samples_per_file);
    if (o->batch > LARGEST / o->accelerators)
        return error_set(err, ERROR_INPUT, "a batch of %lld on %d accelerators exceeds the supported range",
                         (long long)o->batch, o->accelerators);
    return true;
}

bool order_init(struct order *order, const struct order_options *options, struct error *err)
{
    if (!check(options, err))
        return false;
    *order = (struct order){.options = *options, .samples = options->files * options->samples_per_file};
    order->steps = samples_of(order, options->accelerators - 1) / options->batch;
    order->dropped = order->samples - order->steps * options->batch * options->accelerators;
    return order->steps > 0 || error_set(err, ERROR_INPUT,
                                         "%lld samples in %lld files are fewer than one batch of %lld on "
                                         "each of %d accelerators, so no step would run: use more files",
                                         (long long)order->samples, (long long)options->files,
                                         (long long)options->batch, options->accelerators);
}

/* Returns the key of a shuffle; two shuffles of one epoch differ by their stream. */
static uint64_t key_of(const struct order *order, enum order_shuffle shuffle, int64_t epoch, uint64_t stream)
{
    bool random = shuffle == ORDER_RANDOM;
    uint64_t key = random_mix((random ? order->options.entropy : order->options.seed) + RANDOM_GOLDEN);
    if (random || order->options.seed_change_epoch)
        key = random_mix(key + ((uint64_t)epoch + 1) * RANDOM_GOLDEN);
    return random_mix(key + stream * RANDOM_GOLDEN);
}

/* Returns the sample, of `count` in a row, that comes at `position`. */
static int64_t shuffled(const struct order *order, int64_t epoch, uint64_t stream, int64_t count,
                        int64_t position)
{
    enum order_shuffle shuffle = order->options.sample_shuffle;
    if (shuffle == ORDER_OFF)
        return position;
    return (int64_t)order_permute((uint64_t)count, key_of(order, shuffle, epoch, stream), (uint64_t)position);
}

bool order_at(const struct order *order, int64_t epoch, int accelerator, int64_t step, int64_t index,
              struct order_place *place)
{
    const struct order_options *o = &order->options;
    if (accelerator < 0 || accelerator >= o->accelerators || step < 0 || step >= order->steps || index < 0 ||
        index >= o->batch)
        return false;
    int64_t own = step * o->batch + index; /* among this accelerator's */
    int64_t sample, slot;
    if (o->shard == ORDER_BY_FILE) {
        uint64_t stream = 2 + (uint64_t)accelerator;
        sample = shuffled(order, epoch, stream, samples_of(order, accelerator), own);
        slot = sample / o->samples_per_file * o->accelerators + accelerator;
    } else {
        int64_t extra = order->samples % o->accelerators;
        int64_t before =
            order->samples / o->accelerators * accelerator + (accelerator < extra ? accelerator : extra);
        sample = shuffled(order, epoch, 1, order->samples, before + own);
        slot = sample / o->samples_per_file;
    }
    if (o->file_shuffle != ORDER_OFF)
        slot = (int64_t)order_permute((uint64_t)o->files, key_of(order, o->file_shuffle, epoch, 0),
                                      (uint64_t)slot);
    *place = (struct order_place){slot, sample % o->samples_per_file};
    return true;
}

uint64_t order_mark(const struct order *order, const struct order_place *place)
{
    return random_mix((uint64_t)(place->file * order->options.samples_per_file + place->sample) +
                      RANDOM_GOLDEN);
}

uint64_t order_checksum(const struct order *order, int64_t epoch)
{
    uint64_t sum = 0;
    struct order_place place;
    for (int accelerator = 0; accelerator < order->options.accelerators; accelerator++)
        for (int64_t step = 0; step < order->steps; step++)
            for (int64_t index = 0; order_at(order, epoch, accelerator, step, index, &place); index++)
                sum += order_mark(order, &place);
    return sum;
}
