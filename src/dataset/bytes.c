#include "dataset/bytes.h"

#include "core/random.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define UNIT_WORDS (DATASET_UNIT >> 3)

/* mixGamma of the paper: an odd step whose bits change often enough. */
static uint64_t step_of(uint64_t z)
{
    z = (z ^ (z >> 33)) * 0xff51afd7ed558ccdu;
    z = (z ^ (z >> 33)) * 0xc4ceb9fe1a85ec53u;
    z = (z ^ (z >> 33)) | 1;
    return __builtin_popcountll(z ^ (z >> 1)) < 24 ? z ^ 0xaaaaaaaaaaaaaaaau : z;
}

void dataset_bytes_init(struct dataset_bytes *bytes, uint64_t seed, uint64_t file, double compressibility)
{
    uint64_t key = random_mix(random_mix(seed + RANDOM_GOLDEN) + RANDOM_GOLDEN * (file + 1));
    *bytes = (struct dataset_bytes){
        .start = random_mix(key + RANDOM_GOLDEN),
        .step = step_of(key + 2 * RANDOM_GOLDEN),
        .random = (int64_t)lround((1 - compressibility) * UNIT_WORDS) * 8,
        .keep = ~(uint64_t)0,
    };
}

static inline __attribute__((always_inline)) void store(unsigned char *to, uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    memcpy(to, &word, sizeof word);
}

static inline __attribute__((always_inline)) void fill_loop(const struct dataset_bytes *bytes, uint64_t index,
                                                            unsigned char *to, size_t count)
{
    const uint64_t z = bytes->start + index * bytes->step, step = bytes->step;
    const uint64_t keep = bytes->keep, set = bytes->set;
    for (size_t i = 0; i < count; i++)
        store(to + 8 * i, (random_mix(z + i * step) & keep) | set);
}

static void fill_plain(const struct dataset_bytes *bytes, uint64_t index, unsigned char *to, size_t count)
{
    fill_loop(bytes, index, to, count);
}

#if defined(__x86_64__)
/* AVX-512 multiplies eight words of 64 bits at once: four times as fast. */
__attribute__((target("avx512f,avx512dq"))) static void
fill_wide(const struct dataset_bytes *bytes, uint64_t index, unsigned char *to, size_t count)
{
    fill_loop(bytes, index, to, count);
}

static bool wide(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}
#else
#define fill_wide fill_plain
#define wide()    false
#endif

/* Words index … index + count - 1, all random. */
static void fill_random(const struct dataset_bytes *bytes, uint64_t index, unsigned char *to, size_t count)
{
    if (wide())
        fill_wide(bytes, index, to, count);
    else
        fill_plain(bytes, index, to, count);
}

static void fill_zero(const struct dataset_bytes *bytes, unsigned char *to, size_t count)
{
    if (!bytes->set) {
        memset(to, 0, 8 * count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        store(to + 8 * i, bytes->set);
}

static void fill_words(const void *context, int64_t first, size_t count, unsigned char *to)
{
    const struct dataset_bytes *bytes = context;
    uint64_t index = (uint64_t)first;
    const uint64_t unit = UNIT_WORDS, random = (uint64_t)bytes->random / 8;
    if (random == unit) {
        fill_random(bytes, index, to, count);
        return;
    }
    while (count > 0) {
        uint64_t in_unit = index % unit;
        uint64_t left = in_unit < random ? random - in_unit : unit - in_unit;
        size_t now = left < count ? (size_t)left : count;
        if (in_unit < random)
            fill_random(bytes, index, to, now);
        else
            fill_zero(bytes, to, now);
        index += now;
        to += 8 * now;
        count -= now;
    }
}

void dataset_units_fill(dataset_units_fn *make, const void *context, size_t size, int64_t offset, void *to,
                        size_t n)
{
    unsigned char *out = to, unit[DATASET_MAX_UNIT];
    int64_t index = offset / (int64_t)size;
    for (size_t within = (size_t)(offset % (int64_t)size), now; n > 0; within = 0, out += now, n -= now) {
        if (within == 0 && n >= size) {
            make(context, index, n / size, out);
            now = n / size * size;
        } else {
            now = size - within < n ? size - within : n;
            make(context, index, 1, unit);
            memcpy(out, unit + within, now);
        }
        index += within == 0 && now >= size ? (int64_t)(now / size) : 1;
    }
}

void dataset_bytes_fill(const struct dataset_bytes *bytes, int64_t offset, void *to, size_t n)
{
    dataset_units_fill(fill_words, bytes, 8, offset, to, n);
}

uint64_t dataset_draw_bits(uint64_t seed, uint64_t stream, uint64_t index)
{
    return random_mix(random_mix(random_mix(seed + RANDOM_GOLDEN) ^ random_mix(~stream)) +
                      RANDOM_GOLDEN * (index + 1));
}

double dataset_draw_unit(uint64_t seed, uint64_t stream, uint64_t index)
{
    return random_fraction(dataset_draw_bits(seed, stream, index));
}

double dataset_draw_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    double radius = 1 - dataset_draw_unit(seed, stream, 2 * index); /* in (0, 1] */
    double angle = dataset_draw_unit(seed, stream, 2 * index + 1);
    return sqrt(-2 * log(radius)) * cos(6.283185307179586 * angle);
}
