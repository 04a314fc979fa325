/* A layer: the forward and backward time of an HLO module on a device, and its memory. A profile: many layers
 * on many devices. */
#ifndef REHEARSE_COST_LAYER_H
#define REHEARSE_COST_LAYER_H

#include "core/parallel.h"
#include "cost/collective_near.h"
#include "cost/derive/derive.h"
#include "cost/derive/fuse.h"
#include "cost/profile_devices.h"
#include "devices/link.h"
#include "devices/tables.h"
#include "model/profile.h"

struct layer_options {
    enum attention_kind attention; /* recognised attention is one kernel, unless ATTENTION_UNFUSED */
    /* keep everything that the backward pass reads; else the minimum from which elementwise work, done in the
     * kernels that read it, computes it */
    bool keep_all;
    bool recompute;     /* keep the inputs only, and run the forward pass again before the backward pass */
    bool no_tf32;       /* products of fp32 numbers in fp32, even where the device has tf32 */
    bool no_neighbours; /* products and collectives by the formula alone, without the nearest measured ones */
    bool training;      /* the times of kernels in training, which reaches a share of their speed alone */
    bool is_first;      /* no input gradients are needed; for a profile: of its first layer */
    int parameter_count;   /* number of arguments that are parameters, listed */
    const int *parameters; /* by index in `parameters`; NULL: derive_arguments' rule */
    struct profile_reach
        reach; /* a collective over more than a node's devices spans nodes; 0 of them: none does */
    const struct tables *tables;             /* the user's; NULL: none */
    const struct custom_calls *custom_calls; /* the user's, count/custom_calls.h; NULL: none */
};

/* How an operation is named in `unknown` of the backward pass whose gradient has no rule. */
#define LAYER_GAP "gradient of "

struct layer_cost {
    struct arena arena;
    struct fused forward;
    struct fused backward;   /* includes the kernels of backward loops */
    struct kernel optimizer; /* the step that follows all micro-batches: Adam, its states in fp32 */
    int64_t parameter_bytes; /* of parameter arguments, and constants that must be parameters */
    int64_t gradient_bytes;  /* of the parameters' gradients: equal */
    int64_t optimizer_bytes; /* two moments, and an fp32 copy of parameters in other types */
    int64_t input_bytes;     /* the other arguments */
    int64_t output_bytes;    /* results that go to the next layer */
    int64_t kept_bytes;      /* kept for the backward pass, without parameters */
    int64_t peak_bytes;      /* maximum memory while this layer alone is trained */
};

/* Prices a layer. `backward`: the given backward pass, or NULL to derive it. The modules must outlive the
 * layer. On failure *layer holds nothing; on success the caller releases it with layer_release. */
bool layer_cost(struct layer_cost *layer, const struct hlo_module *forward, const struct hlo_module *backward,
                const struct layer_options *options, struct error *err);
void layer_release(struct layer_cost *layer);

/* Returns the type of a kernel's products: tf32 for fp32 and fp16 for bf16, depending on the device. */
enum cost_type layer_kernel_type(const struct kernel *kernel, const struct cost_device *device,
                                 const struct layer_options *options);

/* Returns the time of all repeats. For a product with more traffic than operands and result, the rest of its
 * epilogue is added. */
struct kernel_time layer_kernel_time(const struct kernel *kernel, const struct cost_device *device,
                                     const struct layer_options *options);

/* Returns the kind of a collective instruction. */
enum collective_kind layer_collective(enum hlo_opcode opcode);

/* Returns the time of a transfer, of all repeats: its seconds and their interval. `near`, unless NULL, receives the
 * measured collectives that it leans on. */
struct kernel_time layer_transfer_near(const struct fused_transfer *transfer,
                                       const struct cost_device *device, const struct layer_options *options,
                                       struct collective_near *near);

/* Returns the seconds of all kernels and collectives, one after another, and their interval. */
struct kernel_time layer_seconds(const struct fused *fused, const struct cost_device *device,
                                 const struct layer_options *options);

/* What a profile's times leave open. */
struct layer_doubts {
    struct kernel_time times[PROFILE_MAX_DEVICES]; /* by device: of all layers and passes */
    double unbounded_loops;                        /* of unknown trip count: run once */
};

/* A layer's file and, optionally, that of its backward pass. */
struct layer_file {
    const char *path, *backward; /* NULL: derived */
};

struct layer_profile_options {
    struct layer_options layer;
    const struct hlo_dims *dims; /* of sizes that files leave open; NULL: none */
    /* timing: COUNT_REHEARSE: as above; COUNT_XLA_GPU: XLA's own estimate, only with given backward passes
     * (count/xla_time.h); COUNT_XLA_FORK: the fork's estimate, three times as long backwards
     * (count/fork.h) */
    enum count_rules rules;
    int microbatch_size; /* samples in the files' batch; 0: not known */
};

/* Makes a profile with a layer per file, named as the file without folder and ending. Files with equal text
 * are priced once. An unknown custom call is an error, as its time would be missing. On failure *profile
 * holds nothing; on success the caller releases it with profile_release. *doubts (may be NULL) is for the interval of
 * the times by COUNT_REHEARSE. */
bool layer_profile(struct profile *profile, struct layer_doubts *doubts, const struct layer_file *files,
                   int file_count, const struct cost_device *const *devices, int device_count,
                   const struct layer_profile_options *options, struct parallel *pool, struct error *err);

#endif
