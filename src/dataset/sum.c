#include "dataset/sum.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Polynomials, lowest power in the highest bit. */
#define CRC32  0xedb88320u
#define CRC32C 0x82f63b78u

/* Eight bytes at a time (Kounavis and Berry, A systematic approach to building high performance
 * software-based CRC generators, 2005): table[k][b] is the sum of byte b with k zeros behind it. */
static uint32_t zip_table[8][256], castagnoli_table[8][256];
static pthread_once_t tables_made = PTHREAD_ONCE_INIT;

static void make_table(uint32_t table[8][256], uint32_t polynomial)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t sum = b;
        for (int bit = 0; bit < 8; bit++)
            sum = sum & 1 ? sum >> 1 ^ polynomial : sum >> 1;
        table[0][b] = sum;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xff];
}

static void make_tables(void)
{
    make_table(zip_table, CRC32);
    make_table(castagnoli_table, CRC32C);
}

static uint64_t load(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Continues a sum that is not inverted. */
static uint32_t by_table(uint32_t table[8][256], uint32_t sum, const unsigned char *at, size_t n)
{
    for (; n >= 8; at += 8, n -= 8) {
        uint64_t word = load(at) ^ sum;
        sum = 0;
        for (int k = 0; k < 8; k++)
            sum ^= table[7 - k][word >> (8 * k) & 0xff];
    }
    for (; n > 0; at++, n--)
        sum = sum >> 8 ^ table[0][(sum ^ *at) & 0xff];
    return sum;
}

uint32_t dataset_crc32_plain(uint32_t sum, const void *bytes, size_t n)
{
    pthread_once(&tables_made, make_tables);
    return ~by_table(zip_table, ~sum, bytes, n);
}

uint32_t dataset_crc32c_plain(uint32_t sum, const void *bytes, size_t n)
{
    pthread_once(&tables_made, make_tables);
    return ~by_table(castagnoli_table, ~sum, bytes, n);
}

#if defined(__x86_64__)

/* Folding by carry-less multiplication (Gopal et al., Fast CRC computation for generic polynomials using
 * PCLMULQDQ, Intel 2009, with its constants for the reversed CRC-32): four lanes of 16 bytes, then one, then
 * 32 bits. */
#define TARGET __attribute__((target("pclmul,sse4.1")))

TARGET static inline __m128i fold(__m128i lane, __m128i next, __m128i by)
{
    __m128i low = _mm_clmulepi64_si128(lane, by, 0x00);
    __m128i high = _mm_clmulepi64_si128(lane, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

TARGET static inline __m128i load_lane(const unsigned char *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* Reduces 128 bits to 32 by Barrett's reduction. */
TARGET static uint32_t reduce(__m128i lane)
{
    const __m128i mask = _mm_setr_epi32(-1, 0, -1, 0);
    const __m128i by64 = _mm_set_epi64x(0, 0x0ccaa009e), by32 = _mm_set_epi64x(0, 0x163cd6124);
    const __m128i barrett = _mm_set_epi64x(0x1f7011641, 0x1db710641);
    lane = _mm_xor_si128(_mm_clmulepi64_si128(lane, by64, 0x00), _mm_srli_si128(lane, 8));
    __m128i low = _mm_clmulepi64_si128(_mm_and_si128(lane, mask), by32, 0x00);
    lane = _mm_xor_si128(_mm_srli_si128(lane, 4), low);
    __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(lane, mask), barrett, 0x10);
    quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, mask), barrett, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(lane, quotient), 1);
}

/* Continues a sum over n bytes, a multiple of 16 and at least 64. */
TARGET static uint32_t by_folding(uint32_t sum, const unsigned char *at, size_t n)
{
    const __m128i by512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i by128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    __m128i lanes[4];
    for (int i = 0; i < 4; i++)
        lanes[i] = load_lane(at + 16 * (size_t)i);
    lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128((int)sum));
    for (at += 64, n -= 64; n >= 64; at += 64, n -= 64)
        for (int i = 0; i < 4; i++)
            lanes[i] = fold(lanes[i], load_lane(at + 16 * (size_t)i), by512);
    __m128i lane = lanes[0];
    for (int i = 1; i < 4; i++)
        lane = fold(lane, lanes[i], by128);
    for (; n >= 16; at += 16, n -= 16)
        lane = fold(lane, load_lane(at), by128);
    return reduce(lane);
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t sum, const unsigned char *at,
                                                                 size_t n)
{
    uint64_t wide = sum;
    for (; n >= 8; at += 8, n -= 8)
        wide = _mm_crc32_u64(wide, load(at));
    sum = (uint32_t)wide;
    for (; n > 0; at++, n--)
        sum = _mm_crc32_u8(sum, *at);
    return sum;
}

uint32_t dataset_crc32(uint32_t sum, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    size_t folded = n & ~(size_t)15;
    if (folded < 64 || !__builtin_cpu_supports("pclmul") || !__builtin_cpu_supports("sse4.1"))
        return dataset_crc32_plain(sum, bytes, n);
    return dataset_crc32_plain(~by_folding(~sum, at, folded), at + folded, n - folded);
}

uint32_t dataset_crc32c(uint32_t sum, const void *bytes, size_t n)
{
    if (!__builtin_cpu_supports("sse4.2"))
        return dataset_crc32c_plain(sum, bytes, n);
    return ~by_instruction(~sum, bytes, n);
}

#else

uint32_t dataset_crc32(uint32_t sum, const void *bytes, size_t n)
{
    return dataset_crc32_plain(sum, bytes, n);
}

uint32_t dataset_crc32c(uint32_t sum, const void *bytes, size_t n)
{
    return dataset_crc32c_plain(sum, bytes, n);
}

#endif
