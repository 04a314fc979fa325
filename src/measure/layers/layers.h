/* Layers timed on this machine: files of StableHLO by a PJRT plugin, files and models by the kernels of a library.
 *
 * Equal layers are measured once. */
#ifndef REHEARSE_MEASURE_LAYERS_LAYERS_H
#define REHEARSE_MEASURE_LAYERS_LAYERS_H

#include "cost/layer.h"
#include "devices/architecture.h"
#include "measure/host.h"
#include "measure/layers/pjrt.h"
#include "measure/sample.h"
#include "model/profile.h"
#include "model/profile_measured.h"

struct measured_pass {
    bool is_there,
        is_timed; /* a pass that is there and not timed is estimated; of one that is not the notes say why */
    struct sample_result time;
    double seconds;      /* its median, or the estimate */
    double flops, bytes; /* ours: of cost, by the rules xla for files of PJRT; -1: not known */
    int64_t argument_bytes, output_bytes; /* ours */
    struct pjrt_costs costs;              /* the plugin's */
    struct pjrt_memory memory;
    const char *notes; /* NULL: none */
};

struct measured_layer {
    struct profile_layer row; /* of the profile */
    const char *path;
    int same; /* number of the layer with the same text that was measured; its own if it was */
    struct measured_pass forward, backward;
};

struct measured_product {
    struct profile_product row; /* of the profile */
    struct sample_result time;
};

struct measured_layers {
    struct arena arena;
    const char *model;  /* NULL: files */
    const char *device; /* kind of the device */
    double empty;       /* seconds of an empty program, which all passes are less; 0: nothing is subtracted */
    struct profile_measured about; /* for the profile; the caller sets the command */
    int microbatch_size;           /* 0: not known */
    int count;
    struct measured_layer *layers;
    int product_count;
    struct measured_product *products;
    struct sample_options options;
    struct host_facts host;
    struct host_load load;
};

/* Measures every file, and its backward pass where there is one; others are derived and estimated: the measured forward
 * pass times the ratio of the flops of both. On failure *measured holds nothing. */
bool measure_files_pjrt(struct measured_layers *measured, struct pjrt *pjrt, const struct layer_file *files,
                        int count, const struct layer_options *options, const struct sample_options *samples,
                        struct error *err);

/* A model by name. */
struct measure_model {
    int64_t microbatch; /* sequences */
    int64_t sequence;   /* tokens; 0: the model's */
    bool is_bf16;       /* else fp32 */
    const struct software *software;
};

/* 45 further matrix products of usual sizes, for `rehearse calibrate`. */
struct measure_products {
    bool is_bf16;
};

/* Measures the kernels of 'rehearse cost' by oneDNN, each distinct one once; a layer is their sum. `products` may be
 * NULL. */
bool measure_model(struct measured_layers *measured, const struct architecture *model,
                   const struct measure_model *wanted, const struct measure_products *products,
                   const struct sample_options *samples, struct error *err);
bool measure_files_kernels(struct measured_layers *measured, const struct layer_file *files, int count,
                           const struct layer_options *options, const struct hlo_dims *dims,
                           const struct measure_products *products, const struct sample_options *samples,
                           struct error *err);

void measured_release(struct measured_layers *measured);

/* Makes the profile of one device type, with texts of *measured. Fails if a layer has no backward pass. */
bool measured_profile(struct profile *profile, const struct measured_layers *measured, const char *name,
                      struct error *err);

/* The whole as a table for people, and as rehearse-layer-times/1. */
void measured_print(const struct measured_layers *measured, struct text *out);
void measured_write_json(const struct measured_layers *measured, struct json *json);

#endif
