/* How plans become the shapes of a kit; for the files kit*.c alone. */
#ifndef REHEARSE_ELASTIC_KIT_MAKE_H
#define REHEARSE_ELASTIC_KIT_MAKE_H

#include "elastic/kit.h"

#define ELASTIC_SAME_STATE 1e-2 /* relative: bytes of the same layers in pipelines of different degrees */

/* Bytes of the layers before a cut, as a pipeline of some plan has them. */
struct elastic_cut {
    int layer;
    double bytes;
};

struct elastic_maker {
    struct elastic_kit *kit;
    const struct elastic_options *options;
    const struct plan *plan;     /* the one being read */
    int kind_of[PLAN_MAX_TYPES]; /* of its device types; -1: none of the cluster */
    size_t shape_capacity;
    struct elastic_cut *cuts;
    size_t cut_count, cut_capacity;
    double whole;       /* bytes of all layers, as the first pipeline has them */
    struct error small; /* why the last shape was left out; the text is empty if none was */
};

/* Pipelines that a shape is made of: `copies` of each. */
struct elastic_member {
    const struct plan_pipeline *pipeline;
    int copies;
};

/* Adds a shape of these members, on as many nodes as they need; lines get their times from the caller.
 * NULL: out of memory, or too many shapes. *pure: every stage has whole nodes of its own; *idle: devices
 * stay idle. */
struct elastic_shape *elastic_add_shape(struct elastic_maker *maker, const struct elastic_member *members,
                                        int count, struct error *err);

/* Returns how many copies of the pipeline an instance has: the fewest that give each stage whole nodes,
 * else the fewest that fill whole nodes, else all. */
int elastic_copies_together(const struct elastic_maker *maker, const struct plan_pipeline *pipeline);

/* Adds the hybrids with fewer replicas than the plan's: the fastest for every smaller number of nodes. */
bool elastic_add_hybrids(struct elastic_maker *maker, const struct plan_pipeline *pipeline,
                         const struct elastic_line *line, struct error *err);

/* Over how many devices the state of a stage's layers is split: tensor parallel ranks of the pipelines that share
 * states (elastic_shard_pipelines), or, with experts, all devices of the stage in an instance of so many copies, since
 * ranks of one copy hold different experts. */
int elastic_ways(const struct elastic_maker *maker, const struct plan_stage *stage, int copies);

/* Over how many pipelines an instance shards states: those of a group, where the plan has several; else 1. */
int elastic_shard_pipelines(const struct elastic_maker *maker);

/* Adds the shapes of a plan, and its share to what is known of the model. */
bool elastic_take_plan(struct elastic_maker *maker, const struct plan *plan, struct error *err);

/* Sets units, cells of the slots, and the copies of each shape; segments are known. */
bool elastic_make_cells(struct elastic_kit *kit, struct error *err);

#endif
