/* The split of a transformer's layer, and what its kernels and bytes are. */
#ifndef REHEARSE_COST_LAYER_WORK_H
#define REHEARSE_COST_LAYER_WORK_H

#include "cost/kernel.h"
#include "devices/architecture.h"
#include "devices/degrees.h"
#include "devices/software.h"
#include "devices/technique.h"

/* The split of a layer, and its input. */
struct layer_split {
    int64_t microbatch; /* sequences */
    int64_t sequence;   /* tokens per sequence, over all context parallel ranks */
    /* tokens per document packed into a sequence, each attending only to itself; 0: one document */
    int64_t document;
    struct degrees degrees; /* pipeline and data are not used */
    int expert_tensor;      /* tensor parallel degree of experts that are on several devices; 0: 1 */
    double imbalance;       /* tokens of the busiest experts' device, of the mean; 0: 1 */
    enum cost_type type;    /* of the matrix products */
    int recipe;             /* enum number_recipe, of narrow types */
    double kept_width;      /* bytes of a number of a product's input that is kept; 0: as all activations */
    bool frozen;            /* LoRA: inputs of frozen products are not kept */
    int rank;               /* of LoRA's matrices; 0: there are none */
    unsigned targets;       /* the matrices that they are beside, of adapter_targets; 0: all */
    double
        weight_bytes; /* of a frozen weight that becomes one of 16 bits before each product; 0: it is one */
    double middle_width;           /* of a frozen MLP's activation's input; 0: as all activations */
    int low_rank;                  /* of the optimizer's moments; 0: they are as large as the matrices */
    int norms_split;               /* enum technique_switch: TECHNIQUE_SEQUENCE, */
    int expert_kernels, attention; /* TECHNIQUE_EXPERT_KERNELS and TECHNIQUE_ATTENTION */
    bool fused_mlp;                /* narrow products activate what they write, and cast it */
    bool narrow_attention;         /* in 8 bits */
    const struct software *software;
};

#define LAYER_MAX_KERNELS 192
#define LAYER_MAX_PIECES  12

/* Kept activations that some module of selective recomputation makes again. */
struct layer_piece {
    unsigned modules; /* bit 1 << enum recompute_module: any of these frees it */
    double bytes;
};

/* Of matrices whose moments have a low rank: their numbers, how many fewer each moment has, and those of the
 * projectors. */
struct layer_low {
    double numbers, fewer, projectors;
};

/* The work of one layer for one micro-batch on one device. */
struct layer_work {
    int forward_count, count; /* kernels: first the forward pass, then the backward pass */
    struct kernel kernels[LAYER_MAX_KERNELS];
    /* of each forward kernel: the modules whose recomputation runs it again */
    unsigned modules[LAYER_MAX_KERNELS / 2];
    struct kernel norms; /* both norms of a block, run again by themselves: MODULE_NORMS */
    int piece_count;
    struct layer_piece pieces[LAYER_MAX_PIECES];
    double tensor_bytes;                 /* of one tensor-parallel all-reduce */
    int tensor_forward, tensor_backward; /* number of these all-reduces */
    double context_bytes;                /* keys and values of a context parallel rank's own tokens, */
    double context_query_bytes;          /* and their queries; outputs are as large */
    double expert_bytes;                 /* of one expert-parallel all-to-all; two forward, two backward */
    double parameters;                   /* on this device, without experts */
    double adapters;                     /* of LoRA's matrices, beside these */
    double expert_parameters;
    struct layer_low low, expert_low;
    double largest_matrix;   /* its parameters */
    double activation_bytes; /* kept for the backward pass without recomputation */
    double selective_bytes;  /* with selective recomputation */
    double input_bytes;      /* with full recomputation: the layer's input */
    double working_bytes;    /* the gradients of its widest tensors */
    double output_bytes;     /* to the next layer */
};

/* Returns the bytes that recomputing a set of modules frees; *largest: of them, those that are there again at one
 * time. */
double layer_freed(const struct layer_work *work, unsigned modules, double *largest);

#endif
