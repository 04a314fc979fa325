/* The material of an elastic run: the nodes there are, and shapes of instances that can be built on them.
 *
 * An instance holds all layers on whole nodes and trains its share of every batch. A shape is a way to
 * build one: a template for n nodes (Oobleck), the copies of a training job's or a fleet's pipeline that
 * fill whole nodes, or DAPPLE's hybrid with as many replicas of each stage as n nodes allow. All numbers
 * come from the plans; layers are never priced again.
 *
 * Time. A pipeline with m micro-batches takes fill + period x ceil(m / step) x step seconds: the plan's
 * own iteration time at the plan's own number of micro-batches, and one period of its slowest device for
 * each further one (1F1B). Interleaved schedules take micro-batches in groups of `step` stages. After the
 * slowest pipeline, D pipelines exchange gradients, which nothing hides:
 *
 *     exchange(D) = min(2 (D - 1) / D bytes / bandwidth + 2 (D - 1) latency,          ring
 *                       2 bytes / bandwidth + 2 ceil(log2 D) latency)                 tree
 *
 * with the gradients of the device that holds most, and the bandwidth of its link between nodes. If the
 * plan was made for D0 > 1 pipelines, it is the plan's exposed exchange x ((D - 1) / D) / ((D0 - 1) / D0)
 * instead.
 *
 * State. A device of a stage holds parameters and optimizer states of the stage's layers, one of `ways`
 * equal shards: of the tensor parallel ranks; with experts, of all devices; and of the pipelines of a group over which
 * states are sharded (ZeRO), where there are several such groups (HSDP). Then an instance has whole groups, so that it
 * holds everything. Parameters that each pipeline of a group has (ZeRO 1 and 2) count with each shard, as each device
 * has to get them. Where all pipelines are one group, no state is left without a lost node's: its loss is answered by a
 * checkpoint, and no instances survive one. The bytes of layers 0 to b are known exactly at every cut b of every shape;
 * nothing else is copied. */
#ifndef REHEARSE_ELASTIC_KIT_H
#define REHEARSE_ELASTIC_KIT_H

#include "cluster/cluster.h"
#include "core/arena.h"
#include "core/error.h"
#include "core/text.h"
#include "devices/degrees.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

#define ELASTIC_MAX_KINDS  8    /* kinds of nodes */
#define ELASTIC_MAX_SHAPES 4096 /* of all files together */
#define ELASTIC_MAX_NODES  65536
#define ELASTIC_MAX_BATCH  100000000 /* micro-batches of an iteration */

/* Nodes that are alike. Nodes of the cluster are numbered kind by kind, as in its file. */
struct elastic_kind {
    const char *name; /* device type */
    struct equal_nodes nodes;
    double inside,
        across;     /* bytes/s of one device in one direction, within its node and to another; 0: unknown */
    double latency; /* seconds of a message to another node */
};

/* Pipelines of a shape that are alike. */
struct elastic_line {
    int copies;
    double fill, period; /* seconds, see above */
    int64_t step;
};

/* One device of a shape: its shard of some layers, of `ways` equal ones. */
struct elastic_slot {
    int position; /* node of the shape, 0 to nodes - 1 */
    int device;   /* of that node */
    struct layer_range layers;
    int shard, ways;
    /* the same in the kit's cells: segments first to last, inclusive, units from to until, exclusive */
    int first, last, from, until;
};

struct elastic_shape {
    const char *name; /* "4 x rtx-4090" */
    const char *path; /* of its file */
    int need[ELASTIC_MAX_KINDS], nodes;
    int *kinds;    /* [position]; ascending */
    int pipelines; /* data-parallel copies of the model: the sum of the lines' */
    int copies;    /* the minimum number of nodes that hold any one shard: so many losses can kill it */
    int line_count;
    struct elastic_line *lines;
    double gradients; /* bytes of the device that holds most */
    double exposed; /* the plan's own exchange of gradients, among exposed_of pipelines; 0: by `gradients` */
    int exposed_of;
    double bandwidth, latency; /* of the slowest link between its nodes and others' */
    int slot_count;
    struct elastic_slot *slots;
};

struct elastic_kit {
    struct arena arena; /* owns everything below */
    int kind_count;
    struct elastic_kind kinds[ELASTIC_MAX_KINDS];
    int shape_count;
    struct elastic_shape *shapes;
    int layer_count;
    /* Cells: the layers between two neighbouring cuts of any shape (a segment), and one of `units` equal
     * parts of each. Every slot holds whole cells. */
    int segment_count, units;
    int *segment_from;     /* first layer of each; segment_count + 1, the last is layer_count */
    double *segment_until; /* bytes of parameters and optimizer states of the segments before; likewise + 1 */
    int64_t batch;         /* micro-batches of an iteration over all pipelines */
    int64_t microbatch;    /* samples; 0: unknown */
    const char *model;     /* NULL: unknown */
    /* "optimizer states": sharded over pipelines (ZeRO); NULL: each pipeline has all of its states */
    const char *sharded;
    int sharded_over; /* pipelines of a group that together holds everything once */
    int shard_groups; /* such groups (HSDP); 1: each shard exists once, and no set of pipelines has a copy */
    bool shards;      /* a plan shards its optimizer states over pipelines */
    bool replicable;  /* a plan's devices have room for ELASTIC_OPTIMIZER_REPLICATED */
};

enum elastic_optimizer {
    ELASTIC_OPTIMIZER_PLAN, /* sharded over pipelines if the plan does so */
    /* every pipeline keeps all states; shapes whose devices are too small are left out */
    ELASTIC_OPTIMIZER_REPLICATED,
};

extern const char *const elastic_optimizers[]; /* ended by NULL */

struct elastic_options {
    const char *const *paths; /* plans and sets of templates */
    size_t path_count;
    const struct text *texts; /* the same as JSON */
    size_t text_count;
    const struct cluster *cluster; /* the nodes; NULL: those of the plan */
    int64_t batch;                 /* micro-batches; 0: those of the plan */
    int optimizer;                 /* enum elastic_optimizer */
};

/* Reads plans and templates of one model. On failure *kit holds nothing; on success the caller releases
 * it. */
bool elastic_kit_load(struct elastic_kit *kit, const struct elastic_options *options, struct error *err);

void elastic_kit_release(struct elastic_kit *kit);

int elastic_kit_nodes(const struct elastic_kit *kit);
/* The kind of node `node` of the cluster, and its first node. */
int elastic_kind_of(const struct elastic_kit *kit, int node);

/* Returns whether states are sharded over all pipelines, so that each shard exists once. */
bool elastic_exists_once(const struct elastic_kit *kit);
extern const char elastic_all_states[]; /* `sharded` of ZeRO 3 */

/* The ways to survive a loss where each shard exists once, for messages. */
#define ELASTIC_PLAN_COPIES                                                                                  \
    "to survive a loss, plan with '--fix zero=3,replicate=2' (HSDP: two copies of all states)"
const char *elastic_ways_to_survive(const struct elastic_kit *kit);

/* Seconds of one pipeline of a line with m micro-batches; 0 for none. */
double elastic_line_seconds(const struct elastic_line *line, int64_t microbatches);

/* The most micro-batches that a pipeline does within so many seconds, at most `limit`; 0: not even one. */
int64_t elastic_line_within(const struct elastic_line *line, double seconds, int64_t limit);

/* Seconds in which `pipelines` pipelines exchange gradients, as far as this shape limits them. */
double elastic_exchange(const struct elastic_shape *shape, int64_t pipelines);

/* Bytes of parameters and optimizer states of one unit of these segments, first to last inclusive. */
double elastic_unit_bytes(const struct elastic_kit *kit, int first, int last);

#endif
