#include "dataset/types.h"

#include <string.h>

const char *const dataset_element_words[] = {
    [DATASET_UINT8] = "uint8",     [DATASET_INT8] = "int8",       [DATASET_UINT16] = "uint16",
    [DATASET_INT16] = "int16",     [DATASET_UINT32] = "uint32",   [DATASET_INT32] = "int32",
    [DATASET_UINT64] = "uint64",   [DATASET_INT64] = "int64",     [DATASET_FLOAT16] = "float16",
    [DATASET_FLOAT32] = "float32", [DATASET_FLOAT64] = "float64",
};

static const int element_bytes[] = {
    [DATASET_UINT8] = 1,   [DATASET_INT8] = 1,    [DATASET_UINT16] = 2,  [DATASET_INT16] = 2,
    [DATASET_UINT32] = 4,  [DATASET_INT32] = 4,   [DATASET_UINT64] = 8,  [DATASET_INT64] = 8,
    [DATASET_FLOAT16] = 2, [DATASET_FLOAT32] = 4, [DATASET_FLOAT64] = 8,
};

const char *const dataset_compression_words[] = {
    [DATASET_NONE] = "none", [DATASET_GZIP] = "gzip", [DATASET_LZF] = "lzf",       [DATASET_BZ2] = "bz2",
    [DATASET_ZIP] = "zip",   [DATASET_XZ] = "xz",     [DATASET_SNAPPY] = "snappy", [DATASET_ZSTD] = "zstd",
};

int64_t dataset_element_bytes(enum dataset_element element)
{
    return element_bytes[element];
}

bool dataset_element_find(const char *name, enum dataset_element *element)
{
    for (int i = 0; i < DATASET_ELEMENTS; i++) {
        if (strcmp(name, dataset_element_words[i]) == 0) {
            *element = (enum dataset_element)i;
            return true;
        }
    }
    return false;
}

bool dataset_compression_find(const char *name, enum dataset_compression *compression)
{
    for (int i = 0; i < DATASET_COMPRESSIONS; i++) {
        if (strcmp(name, dataset_compression_words[i]) == 0) {
            *compression = (enum dataset_compression)i;
            return true;
        }
    }
    return false;
}
