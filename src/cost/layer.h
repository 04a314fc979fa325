/* A layer: what a module of HLO takes forwards and backwards on a device, and what it holds in memory. Many layers
 * and devices: a profile. */
#ifndef REHEARSE_COST_LAYER_H
#define REHEARSE_COST_LAYER_H

#include "core/parallel.h"
#include "cost/derive/derive.h"
#include "cost/derive/fuse.h"
#include "devices/link.h"
#include "devices/tables.h"
#include "model/profile.h"

struct layer_options {
    enum attention_kind attention; /* attention that is recognised: one kernel, unless ATTENTION_UNFUSED */
    bool keep_all;  /* keep all that the backward pass reads; else the least from which elementwise work, done
                       in the kernels that read it, leads to all of it */
    bool recompute; /* keep the inputs only, and run the forward pass again before the backward pass */
    bool no_tf32;   /* products of fp32 numbers in fp32, even where the device has tf32 */
    bool is_first;  /* no layer before wants gradients; of a profile: of its first layer */
    int parameter_count;            /* arguments that are parameters, by number, */
    const int *parameters;          /* instead of derive_arguments' rule; NULL: the rule */
    int devices_per_node;           /* a collective of more devices leaves the node; 0: none does */
    const struct cost_link *across; /* between nodes */
    const struct tables *tables;    /* of the user; NULL: none */
};

struct layer_cost {
    struct arena arena;
    int forward_instructions; /* of the forward pass, flat */
    struct fused forward;
    struct fused backward;   /* the kernels of loops backwards are among them */
    struct kernel optimizer; /* the step that follows all micro-batches: Adam, its states in fp32 */
    int64_t parameter_bytes; /* arguments that are parameters, and constants that must be */
    int64_t gradient_bytes;  /* of the parameters: as many */
    int64_t optimizer_bytes; /* its states: two moments, and a copy of parameters that are no fp32 */
    int64_t input_bytes;     /* the other arguments */
    int64_t output_bytes;    /* results that go to the next layer */
    int64_t kept_bytes;      /* what is kept for the backward pass, but parameters */
    int64_t peak_bytes;      /* the most that is there at once while this layer alone is trained */
};

/* `backward`: the given backward pass, or NULL to derive it. The modules must outlive the layer. On failure *layer
 * holds nothing; on success the caller ends it with layer_release. */
bool layer_cost(struct layer_cost *layer, const struct hlo_module *forward, const struct hlo_module *backward,
                const struct layer_options *options, struct error *err);
void layer_release(struct layer_cost *layer);

/* The type that a kernel's products are computed in: tf32 for fp32 where there is tf32, fp16 for bf16 where there is no
 * bf16. */
enum cost_type layer_kernel_type(const struct kernel *kernel, const struct cost_device *device,
                                 const struct layer_options *options);

/* Of all repeats. Of a product with more traffic than its operands and result, the rest of its epilogue is added. */
struct kernel_time layer_kernel_time(const struct kernel *kernel, const struct cost_device *device,
                                     const struct layer_options *options);

/* Of all repeats. */
double layer_transfer_seconds(const struct fused_transfer *transfer, const struct cost_device *device,
                              const struct layer_options *options);

/* Of all kernels and collectives, one after another. */
double layer_seconds(const struct fused *fused, const struct cost_device *device,
                     const struct layer_options *options);

/* Two files: PATH and, if it is given, that of its backward pass. */
struct layer_file {
    const char *path, *backward; /* NULL: derived */
};

struct layer_profile_options {
    struct layer_options layer;
    enum count_rules
        rules;            /* how layers are timed: COUNT_REHEARSE: as above; COUNT_XLA_GPU: as XLA thinks they
                                 take, of given backward passes only (cost/xla_time.h); COUNT_XLA_FORK: as that has
                                 it, three times as long backwards, without memory (cost/fork.h) */
    int microbatch_size;  /* samples in the files' batch; 0: not known */
    int devices_per_node; /* all-reduce times inside a node for up to so many devices, */
    int nodes;            /* and across up to so many nodes; 0: none */
};

/* A layer per file, named as the file without folder and ending. Files with the same text are one layer priced
 * once. A custom call that no table knows is an error: its time would be missing. On failure *profile holds
 * nothing; on success the caller ends it with profile_release. */
bool layer_profile(struct profile *profile, const struct layer_file *files, int file_count,
                   const struct cost_device *const *devices, int device_count,
                   const struct layer_profile_options *options, struct parallel *pool, struct error *err);

#endif
