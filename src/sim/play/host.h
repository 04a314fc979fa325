/* The work of hosts beside the iterations: training data is loaded, and checkpoints are copied to the hosts and
 * written.
 *
 * The iterations are played one after the other. Of a plan that loads, the devices that hold a first stage load the
 * samples of the next iteration while one is played, as if the first ones had been there. After some iterations each
 * device copies its part of a checkpoint to its host, on a stream of its own, and the host then writes it; the next
 * copies come when all hosts have written.
 * Passes wait for all copies, or for all writes, or only the next optimizer waits for the copy of its device
 * (sim_options.save_waits).
 *
 * Links. A copy has `copy_rate` for itself, unless the link between device and host is given (`host_rate`, in each
 * direction): then copies and all transfers of the device between nodes, which leave over the same link, share it, and
 * so do in the other direction loading and the collectives between nodes. All devices share the storage. It reads
 * `load_rate` samples/s alone, writes `save_rate` bytes/s alone, and what it does at the same time shares its time. If
 * storage_network, loading and writing also go over the device's link between nodes.
 *
 * Private to sim/play. */
#ifndef REHEARSE_SIM_PLAY_HOST_H
#define REHEARSE_SIM_PLAY_HOST_H

#include "sim/play/writer.h"

bool host_is_played(const struct sim_options *options);

/* The storage as a link: a use at rate r bytes/s takes r * weight / ENGINE_WEIGHT of `capacity`. */
struct host_storage {
    bool reads, writes;
    double sample;      /* bytes of one; any that suits if they are unknown */
    double read, write; /* bytes/s of each alone */
    uint32_t weight_of_read, weight_of_write;
    double capacity;
};

struct host_storage host_storage_of(const struct play_model *model);

/* Returns whether samples are loaded over the link between host and device: if their size is known. */
bool host_link_has_loads(const struct sim_options *options);

/* Returns the bytes of a checkpoint that a device of a place copies: copies of a pipeline share the work, and states
 * that are sharded are different bytes on each of them. */
double host_bytes(const struct play_model *model, int p, int place);

/* Routes of a device after those of its messages. A copy has one only if others share the link. */
enum host_route { HOST_COPY = 1, HOST_WRITE, HOST_LOAD, HOST_ROUTES = HOST_LOAD };

#endif
