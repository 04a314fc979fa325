#include "dataset/types.h"

#include <string.h>

static const struct {
    const char *name;
    int bytes;
} elements[DATASET_ELEMENTS] = {
    [DATASET_UINT8] = {"uint8", 1},     [DATASET_INT8] = {"int8", 1},
    [DATASET_UINT16] = {"uint16", 2},   [DATASET_INT16] = {"int16", 2},
    [DATASET_UINT32] = {"uint32", 4},   [DATASET_INT32] = {"int32", 4},
    [DATASET_UINT64] = {"uint64", 8},   [DATASET_INT64] = {"int64", 8},
    [DATASET_FLOAT16] = {"float16", 2}, [DATASET_FLOAT32] = {"float32", 4},
    [DATASET_FLOAT64] = {"float64", 8},
};

static const char *const compressions[DATASET_COMPRESSIONS] = {
    [DATASET_NONE] = "none", [DATASET_GZIP] = "gzip", [DATASET_LZF] = "lzf",
    [DATASET_BZ2] = "bz2",   [DATASET_ZIP] = "zip",   [DATASET_XZ] = "xz",
};

const char *dataset_element_name(enum dataset_element element)
{
    return elements[element].name;
}

int64_t dataset_element_bytes(enum dataset_element element)
{
    return elements[element].bytes;
}

bool dataset_element_find(const char *name, enum dataset_element *element)
{
    for (int i = 0; i < DATASET_ELEMENTS; i++) {
        if (strcmp(name, elements[i].name) == 0) {
            *element = (enum dataset_element)i;
            return true;
        }
    }
    return false;
}

const char *dataset_compression_name(enum dataset_compression compression)
{
    return compressions[compression];
}

bool dataset_compression_find(const char *name, enum dataset_compression *compression)
{
    for (int i = 0; i < DATASET_COMPRESSIONS; i++) {
        if (strcmp(name, compressions[i]) == 0) {
            *compression = (enum dataset_compression)i;
            return true;
        }
    }
    return false;
}
