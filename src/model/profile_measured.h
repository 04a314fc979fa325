/* How the times of a device type were measured: the key `measured` of rehearse-profile/1. */
#ifndef REHEARSE_MODEL_PROFILE_MEASURED_H
#define REHEARSE_MODEL_PROFILE_MEASURED_H

#include "core/json.h"
#include "core/unit/product_size.h"
#include "model/read.h"

#define PROFILE_MAX_PRODUCTS 100000

/* One pass of a layer. */
struct profile_interval {
    double low, high;  /* seconds: the 95 % interval of the median; 0: the time is no measurement */
    int samples;       /* that the median is of */
    const char *notes; /* "time limit"; NULL: none */
};

/* A matrix product, for `rehearse calibrate`. */
struct profile_product {
    const char *type; /* "fp32" */
    struct product_size size;
    double seconds, low, high;
};

struct profile_measured {
    /* NULL: not known */
    const char *host, *processor, *system, *date, *command;
    const char *library;  /* its name and version */
    const char *cores;    /* "0-3" */
    const char *clock;    /* "wall" or "cpu" */
    const char *warnings; /* of other load and throttling */
    double precision;     /* wanted: half of an interval's width, as a share of the median */
    double reached;       /* the widest interval's */
    struct profile_interval *forward, *backward; /* by layer */
    int product_count;
    struct profile_product *products;
};

/* Reads a map with a list of `layers` passes. NULL: *r->err is set. */
struct profile_measured *profile_read_measured(const struct profile_reader *r, const struct doc_node *map);

/* Writes the map under the key `measured`. */
void profile_write_measured(const struct profile_measured *measured, int layers, struct json *json);

#endif
