#include "measure/links/node.h"

#include "core/features.h"
#include "measure/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef REHEARSE_HAVE_HWLOC
#include <hwloc.h>

static int32_t count_of(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    int count = hwloc_get_nbobjs_by_type(topology, type);
    return count > 0 ? count : 0;
}

/* Network cards and GPUs, as the system names them. */
static void add_cards(hwloc_topology_t topology, struct node_facts *facts)
{
    size_t length = 0;
    hwloc_obj_t card = NULL;
    while ((card = hwloc_get_next_osdev(topology, card))) {
        hwloc_obj_osdev_type_t type = card->attr->osdev.type;
        bool counts = type == HWLOC_OBJ_OSDEV_NETWORK || type == HWLOC_OBJ_OSDEV_OPENFABRICS ||
                      type == HWLOC_OBJ_OSDEV_GPU || type == HWLOC_OBJ_OSDEV_COPROC;
        if (!counts || !card->name || length + strlen(card->name) + 3 > sizeof facts->cards)
            continue;
        length += (size_t)snprintf(facts->cards + length, sizeof facts->cards - length, "%s%s",
                                   length > 0 ? ", " : "", card->name);
    }
}

static void read_topology(struct node_facts *facts)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return;
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(topology) == 0) {
        hwloc_obj_t machine = hwloc_get_root_obj(topology);
        facts->packages = count_of(topology, HWLOC_OBJ_PACKAGE);
        facts->cores = count_of(topology, HWLOC_OBJ_CORE);
        facts->threads = count_of(topology, HWLOC_OBJ_PU);
        facts->memories = count_of(topology, HWLOC_OBJ_NUMANODE);
        if (machine->total_memory > 0)
            facts->memory = (int64_t)machine->total_memory;
        add_cards(topology, facts);
    }
    hwloc_topology_destroy(topology);
}
#else
static void read_topology(struct node_facts *facts)
{
    facts->threads = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
}
#endif

void node_read_facts(struct node_facts *facts)
{
    struct host_facts host;
    *facts = (struct node_facts){0};
    host_read_facts(&host);
    snprintf(facts->name, sizeof facts->name, "%.*s", (int)sizeof facts->name - 1, host.name);
    snprintf(facts->processor, sizeof facts->processor, "%.*s", (int)sizeof facts->processor - 1,
             host.processor);
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0)
        facts->memory = (int64_t)pages * size;
    read_topology(facts);
}

bool node_is_like(const struct node_facts *a, const struct node_facts *b)
{
    return strcmp(a->processor, b->processor) == 0 && a->packages == b->packages && a->cores == b->cores &&
           a->threads == b->threads && llabs(a->memory - b->memory) <= a->memory / 50;
}
