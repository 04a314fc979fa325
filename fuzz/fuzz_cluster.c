/* rehearse-cluster/1: YAML when the first byte is even, JSON when it is odd. */
#include "cluster/cluster.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cluster cluster;
    struct error err;
    if (size == 0)
        return 0;
    const char *path = data[0] % 2 ? "fuzz.json" : "fuzz.yaml";
    if (cluster_parse(&cluster, path, (const char *)data + 1, size - 1, &err))
        cluster_release(&cluster);
    return 0;
}
