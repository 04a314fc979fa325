/* Programs compiled and run by a PJRT plugin: a shared library with which JAX, PyTorch/XLA and others drive a kind of
 * device.
 *
 * Errors name the plugin, the call and the plugin's message. A plugin stays in memory after pjrt_close: the libraries
 * that plugins are made of do not survive being unloaded. */
#ifndef REHEARSE_MEASURE_LAYERS_PJRT_H
#define REHEARSE_MEASURE_LAYERS_PJRT_H

#include "core/error.h"
#include "hlo/module.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pjrt;
struct pjrt_program;

struct pjrt_facts {
    const char *path;
    int major, minor;     /* of the interface */
    const char *platform; /* "cpu", "cuda" */
    const char *version;  /* of the platform, as the plugin words it */
    const char *device;   /* its kind: "NVIDIA H100 80GB HBM3" */
    int device_count;     /* the first is used */
    bool is_gpu;
};

/* Opens a plugin and its first device. `options` of its client are "NAME=VALUE". Threads of the plugin keep the cores of
 * the caller. On failure NULL. */
struct pjrt *pjrt_open(const char *path, const char *const *options, size_t option_count, struct error *err);
void pjrt_close(struct pjrt *pjrt);
const struct pjrt_facts *pjrt_facts_of(const struct pjrt *pjrt);

/* Reads the options of all programs that are compiled from now on: a serialized CompileOptionsProto. Without, they say
 * nothing but one replica and one partition, and the plugin's defaults hold; frameworks send their own. */
bool pjrt_read_options(struct pjrt *pjrt, const char *path, struct error *err);

/* Compiles StableHLO, text or portable artifact. `path` is for messages. */
struct pjrt_program *pjrt_compile(struct pjrt *pjrt, const char *path, const char *code, size_t size,
                                  struct error *err);
void pjrt_release(struct pjrt_program *program);

/* Returns the plugin's number for a type; 0: it has none. */
int pjrt_type_of(enum hlo_type type);

/* Copies the next argument to the device. */
bool pjrt_add_argument(struct pjrt_program *program, const struct hlo_shape *shape, const void *data,
                       struct error *err);

/* Runs the program `count` times, one after another, and waits for each. *seconds: from each call to its end. `before`
 * (may be NULL) runs before each, and its time is not counted. */
bool pjrt_execute(struct pjrt_program *program, struct pjrt_program *before, int64_t count, double *seconds,
                  struct error *err);

/* The plugin's cost analysis of a program. Unknown numbers are -1. */
struct pjrt_costs {
    double flops, transcendentals, bytes;
    char why[256]; /* why there are none; "": there are */
};

struct pjrt_memory {
    int64_t arguments, outputs, alias, temporary, code, peak; /* bytes */
    char why[256];
};

void pjrt_read_costs(struct pjrt_program *program, struct pjrt_costs *costs);
void pjrt_read_memory(struct pjrt_program *program, struct pjrt_memory *memory);

#endif
