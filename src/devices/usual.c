#include "devices/usual.h"

#include <string.h>

/* The ports of the vendor's own systems: DGX A100: 8 x 200 Gb/s, DGX H100 and B200: 8 x 400 Gb/s. */
static const struct {
    const char *generation;
    const char *across;
} networks[] = {
    {"volta", "ib-100g"}, {"turing", "ib-100g"}, {"ampere", "ib-200g"},
    {"ada", "ib-200g"},   {"hopper", "ib-400g"}, {"blackwell", "ib-400g"},
};

struct usual_node usual_node(const struct cost_device *device)
{
    struct usual_node node = {8, "ib-400g"};
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if (strcmp(networks[i].generation, device->generation) == 0)
            node.across = networks[i].across;
    /* GB200 and GB300 NVL72: 72 devices in one NVLink domain */
    if (strcmp(device->name, "gb200") == 0 || strcmp(device->name, "gb300") == 0)
        node.devices = 72;
    return node;
}
