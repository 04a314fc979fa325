/* Numbers with units, in and out.
 *
 * Bytes: B, kB MB GB TB PB (powers of 1000), KiB MiB GiB TiB PiB (powers of 1024) Rates: bytes as above, or
 * bits (b, kb, Mb, Gb, Tb), per second: `25 Gb/s`, `900 GB/s`, `100 Gbps` Time: s, ms, us (or µs), ns, min, h,
 * d Compute: FLOP/s with k M G T P: `312 TFLOP/s`, `312 TFLOPS` Amounts: k M B (or G) T P, powers of 1000: `15T`
 * Durations: as times, also w, of which none is without a unit: `30` could be days as well as seconds
 * A plain number is in the base unit: bytes, bytes per second, seconds, flop/s, one. Space before the unit is optional.
 *
 * Whole numbers (lengths of sequences, numbers of devices and of samples) may end in k, M or G, which are powers of
 * 1024 there, as people say them: a context of `128k` tokens is 131072, a cluster of `16k` devices 16384. */
#ifndef REHEARSE_CORE_UNIT_H
#define REHEARSE_CORE_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECONDS_PER_DAY 86400.0

enum unit_kind { UNIT_BYTES, UNIT_RATE, UNIT_TIME, UNIT_COMPUTE, UNIT_COUNT, UNIT_DURATION, UNIT_SHARE };

/* Reads all of `text`; false if it is not a finite number with a unit of this kind. */
bool unit_parse(const char *text, enum unit_kind kind, double *value);

/* Reads a whole number at the start of `text`, without leading blanks or a plus; *end is the character after it. False
 * if there is none, or one beyond int64_t. */
bool unit_whole(const char *text, char **end, int64_t *value);

/* Returns an example for error messages: "a size such as 16 GiB". */
const char *unit_example(enum unit_kind kind);

/* Writes `value` with about `digits` significant digits: "1.23 s", "456 ms", "16.0 GiB", "25 GB/s". Returns
 * `buffer`. */
char *unit_format(char *buffer, size_t size, double value, enum unit_kind kind, int digits);

/* Texts for one line of output: each is valid until eight more are made. Start with {0}. */
struct unit_texts {
    char texts[8][32];
    int next;
};

/* Formats with the digits of tables: three for bytes, else four. */
const char *unit_text(struct unit_texts *texts, double value, enum unit_kind kind);

#endif
