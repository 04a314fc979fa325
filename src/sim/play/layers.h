/* A plan by layers: templates of passes for the engine, and the devices that do them. Private to sim/play. */
#ifndef REHEARSE_SIM_PLAY_LAYERS_H
#define REHEARSE_SIM_PLAY_LAYERS_H

#include "sim/engine/engine.h"
#include "sim/play/model.h"

/* Groups of a device, by number. Each has one stream. */
enum layer_group {
    GROUP_TENSOR = 1,
    GROUP_CONTEXT,
    GROUP_EXPERT,
    GROUP_GATHER,
    GROUP_SCATTER,
    GROUP_SHOWN, /* what is not hidden of gradients in passes */
    GROUP_GRADIENTS,
    GROUP_TIE,
    GROUP_ALL,
    GROUP_SAVED,  /* all devices, too, on the stream of saves */
    GROUP_COPIES, /* of the same shards */
    GROUP_PAIR,   /* experts, in pairs of passes: on the stream of collectives */
    LAYER_GROUPS
};

/* Labels: those of causes, and finer ones. */
enum layer_label {
    LABEL_INPUT = SIM_CAUSES,
    LABEL_WEIGHT,
    LABEL_RECEIVE,
    LABEL_COPY, /* to the host */
    LAYER_LABELS
};

enum layer_port { PORT_SEND_FORWARD, PORT_SEND_BACK, PORT_RECEIVE_FORWARD, PORT_RECEIVE_BACK, LAYER_PORTS };

/* Ports of a stage's messages. */
struct layer_ports {
    int first[LAYER_PORTS], count[LAYER_PORTS]; /* of a kind; counted from 1 */
    int peer[2];                                /* stages that it sends to; -1: none on another device */
    int route[2];                               /* that these messages take; 0: none */
};

/* Of a device of the result. */
struct layer_device {
    int port_count;
    int *leads_to; /* places: route r leads to leads_to[r - 1]; -1: it is one of the host (host.h) */
    int route_count;
    int host_routes; /* before the first of them */
};

struct layer_orders {
    struct arena arena; /* owns what follows */
    struct engine_template *templates;
    int template_count, template_room;
    struct engine_order *orders;  /* of each device of the result */
    struct layer_device *devices; /* in the same way */
    struct layer_ports *ports;    /* [pipeline][stage], after one another */
    int *first_stage;             /* of each pipeline */
};

/* What equal transfers of a stage add up to. */
struct layer_load {
    double seconds;
    double latency; /* of these: no link changes them */
    double bytes;   /* that one device sends */
    bool unknown;   /* some of them go over no known link */
};

void layer_load_add(struct layer_load *load, const struct play_model *model,
                    const struct plan_transfer *transfer, double weight);

/* Adds the transfers of a pipeline's stage of a purpose and time, with what the plan shows of them, or with what it
 * hides. Gathers: 1, only all-gathers; 0, all but these; -1: all. */
void layer_load_stage(struct layer_load *load, const struct play_model *model, int p, int stage,
                      enum plan_purpose purpose, enum plan_when when, int gathers, bool shown);

/* Returns the number of equal blocks that two places of so many devices fall into (layout.h). */
int layer_blocks(int a, int b);

/* Makes templates and orders; the caller releases the arena, also after a failure. */
bool layer_orders_make(struct layer_orders *orders, const struct play_model *model, struct error *err);

/* Plays the plan by layers: fills in all of the result that play_passes does. Of several iterations (model->host),
 * `seconds` and causes are those of all together, and `makespan` goes to the end of the last task, also of a host's. */
bool play_layers(const struct play_model *model, bool keep, struct sim_result *result, struct error *err);

#endif
