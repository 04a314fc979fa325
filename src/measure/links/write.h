/* Output of a study: tables for people and programs, and files that other commands read. */
#ifndef REHEARSE_MEASURE_LINKS_WRITE_H
#define REHEARSE_MEASURE_LINKS_WRITE_H

#include "core/text.h"
#include "measure/links/fit.h"
#include "model/profile.h"

/* Metadata of the files. */
struct study_facts {
    const char *source;  /* "rehearse 0.1.0, measure links, 2026-11-23T16:00:00Z, 4 ranks on 4 hosts, mpi" */
    const char *carrier; /* of the study */
    const char *device;  /* device type of the nodes in the cluster */
};

/* A table for people: links, then collectives by size, then errors of the fit. */
void study_print(const struct study *study, const struct study_fits *fits, const struct study_facts *facts,
                 struct text *out);

/* rehearse-link-times/1: every measured time with its interval. */
void study_write_json(const struct study *study, const struct study_fits *fits,
                      const struct study_facts *facts, struct json *json);

/* Columns collective, ranks, nodes, bytes, time_us, low_us, high_us: as `rehearse calibrate --collectives` reads. */
void study_write_csv(const struct study *study, struct text *out);

/* rehearse-cluster/1 (YAML): hosts of one kind are a group. False: the ranks do not form a cluster, see *err. */
bool study_write_cluster(const struct study *study, const struct study_facts *facts, struct text *out,
                         struct error *err);

/* Gives every layer of the profile's devices the measured all-reduce of its parameters, by ranks of a host and by
 * hosts with one rank each (Oobleck's counts). In the profile's arena. */
bool study_fill_profile(const struct study *study, struct profile *profile, struct error *err);

#endif
