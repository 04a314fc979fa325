/* Checksums in hardware where available: CRC-32 of zip and gzip, CRC-32C of TFRecord (Castagnoli). Each
 * continues the sum of the bytes before, initially 0. */
#ifndef REHEARSE_DATASET_SUM_H
#define REHEARSE_DATASET_SUM_H

#include <stddef.h>
#include <stdint.h>

uint32_t dataset_crc32(uint32_t sum, const void *bytes, size_t n);
uint32_t dataset_crc32c(uint32_t sum, const void *bytes, size_t n);

/* Compute the same from tables, on any processor. */
uint32_t dataset_crc32_plain(uint32_t sum, const void *bytes, size_t n);
uint32_t dataset_crc32c_plain(uint32_t sum, const void *bytes, size_t n);

#endif
