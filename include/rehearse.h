/* librehearse: rehearse a training run before paying for it.
 *
 *     struct rh_cost_request cost = RH_INIT(cost);
 *     struct rh_error error;
 *     cost.model = "gpt2-xl";
 *     cost.devices = "rtx-4090,v100-16gb";
 *     rh_profile *profile = rh_cost(&cost, NULL, &error);
 *     if (!profile) {
 *         fprintf(stderr, "%s\n", error.text);
 *         return error.code;
 *     }
 *     printf("%g layers\n", rh_number(profile, "layers"));
 *     rh_free(profile);
 *
 * There is one function for each command of `rehearse`, with one struct of its options. What it makes is a handle,
 * which answers numbers, texts and arrays by name, and writes itself as the command would print it.
 *
 * Times are seconds, sizes bytes. Nothing prints (but what is written to a file named "-"), exits or keeps state of its own
 * but tables that are read once. Strings of a request and of rh_call are read during the call alone: docs/library.md. */
#ifndef REHEARSE_H
#define REHEARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RH_API       __attribute__((visibility("default")))
#define RH_EXTENSION __extension__
#else
#define RH_API
#define RH_EXTENSION
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---- */

/* The exit codes of the command line, and one that only callers of the library meet. */
enum rh_code { RH_DONE, RH_FAILED, RH_USAGE, RH_INPUT, RH_INFEASIBLE, RH_STOPPED };

/* Why something failed: `text` is one line with file, place and cause, as the command prints it. NULL: it is not asked. */
struct rh_error {
    int code;
    char text[1024];
};

/* ---- requests ----
 *
 * A request has a field for each option of its command. Zero and NULL are the option's default, so that a request of
 * RH_INIT alone asks what the command without options asks. It begins with its size: a library that is newer than its
 * caller reads only that much, and one that is older refuses bytes it does not know unless they are zero. */

#if !defined(__cplusplus) || __cplusplus >= 202002L
#define RH_INIT(request)                                                                                     \
    {                                                                                                        \
        .size = sizeof(request)                                                                              \
    }
#else
#define RH_INIT(request)                                                                                     \
    {                                                                                                        \
        sizeof(request)                                                                                      \
    }
#endif

/* A 0 that is meant, of a number whose default is another one: `devices_per_node = RH_ZERO`. */
#define RH_ZERO INT64_MIN

/* All values of an option that may be repeated. */
struct rh_list {
    const char *const *items;
    size_t count;
};

/* ---- how a call is done ---- */

/* Ends calls from another thread or from a signal handler. One may end several calls at once; each of them fails with
 * RH_STOPPED, some tens of milliseconds later; what is recorded, fed or generated ends in order. */
typedef struct rh_stop rh_stop;
RH_API rh_stop *rh_stop_new(void); /* NULL: out of memory */
RH_API void rh_stop_request(rh_stop *stop);
RH_API void rh_stop_free(rh_stop *stop); /* no call may be using it */

/* NULL instead of one, and all zero: the default. */
struct rh_call {
    size_t size;
    int threads;       /* 0: one per processor; the answer is the same */
    double time_limit; /* seconds; 0: none; then the best answer so far, and its gap */
    rh_stop *stop;
    /* Called from the calling thread, ten times a second at most: "searching", "12 of 96". The detail is "" when something
     * begins, and NULL when it ends. Both have to return: by no longjmp, and no exception of C++. */
    void (*progress)(void *user, const char *what, const char *detail);
    void (*warning)(void *user, const char *text);
    void *user;
    const char *line; /* what is asked, as a shell would, for the answer's page; NULL: not known */
};

/* ---- handles ----
 *
 * A handle is made whole and never changes: any number of threads may read it. rh_free ends it (NULL is fine). All that
 * comes out of it is borrowed and ends with it. The names below say what a function expects; another kind of handle is an
 * error with RH_USAGE. */

typedef struct rh_handle rh_handle;
typedef rh_handle rh_profile; /* "profile": seconds and bytes of layers on device types */
typedef rh_handle rh_cluster; /* "cluster": devices, nodes and links */
typedef rh_handle rh_plan;    /* "plan": a pipeline, a training job, or a fleet of pipelines */
typedef rh_handle rh_sweep;   /* "sweep": a plan for each point of some ranges */
typedef rh_handle rh_report;  /* any other answer, and any handle: its forms are what can be read of it */

/* Several of them, for a request. */
struct rh_handles {
    const rh_handle *const *items;
    size_t count;
};

RH_API void rh_free(rh_handle *handle);
RH_API const char *rh_kind(const rh_handle *handle); /* "profile" */

/* Elements are `stride` bytes apart, those of the last dimension stride[dimensions - 1]. A single value has no
 * dimensions. A type is that of Python's struct module, and 's' for const char * (NULL: none). */
struct rh_array {
    const void *data;
    char type; /* 'd' double, 'q' int64_t, 'i' int, '?' bool, 's' const char * */
    int dimensions;
    int64_t shape[2], stride[2];
};

/* A value by its name, and the names themselves: docs/library.md lists them. False, NULL or NAN: there is none of this
 * name, or it is no number or text. An unknown number is a NAN, too. */
RH_API bool rh_get(const rh_handle *handle, const char *name, struct rh_array *array);
RH_API double rh_number(const rh_handle *handle, const char *name);
RH_API const char *rh_string(const rh_handle *handle, const char *name);
RH_API const char *rh_name(const rh_handle *handle, int index); /* NULL: no more */

/* A text that belongs to the caller. Its end is a NUL that `length` does not count. */
struct rh_text {
    char *data;
    size_t length;
};
RH_API void rh_text_free(struct rh_text *text);

/* Writes a handle in one of its forms: "json", as the command with --json, "text", as without, and those that
 * rh_form names. rh_save writes a file, or a folder where the form is one, as a whole or not at all. */
RH_API bool rh_write(const rh_handle *handle, const char *form, struct rh_text *text, struct rh_error *error);
RH_API bool rh_save(const rh_handle *handle, const char *form, const char *path, struct rh_error *error);
RH_API const char *rh_form(const rh_handle *handle, int index); /* NULL: no more */

/* ---- layers ---- */

/* Reads a profile in any format: `rehearse profile show`. */
struct rh_profile_request {
    size_t size;
    const char *path; /* a rehearse-profile/1 file, an Oobleck folder, a folder of these, a graph */
    int64_t microbatch_size;
};
RH_API rh_profile *rh_profile_load(const struct rh_profile_request *request, const struct rh_call *call,
                                   struct rh_error *error);

/* A field, and its name in the version before, which goes with the next. A union without a name is of C11. */
#define RH_RENAMED(type, now, was)                                                                           \
    RH_EXTENSION union {                                                                                     \
        type now;                                                                                            \
        type was;                                                                                            \
    }

/* `rehearse cost`. A profile; a report where files are explained or counted, or `list` is set. */
struct rh_cost_request {
    size_t size;
    struct rh_list files;
    RH_RENAMED(struct rh_list, backward_file, backward);
    struct rh_list dims;
    const char *model, *devices, *software, *across, *links, *calibration, *parameters, *custom_calls;
    int64_t microbatch_size, sequence, tensor, devices_per_node, nodes;
    const char *precision, *recompute, *attention, *rules;
    bool explain, wide, keep_all, no_tf32;
    RH_RENAMED(bool, first_layer, first);
    bool list, no_neighbours, profile;
};
RH_API rh_handle *rh_cost(const struct rh_cost_request *request, const struct rh_call *call,
                          struct rh_error *error);

/* ---- plans ---- */

/* `rehearse plan`: one pipeline, DAPPLE's hybrid, a training job by the name of its model, or a fleet of pipelines; a sweep
 * where global_batch or devices are ranges ("32..4096"). */
struct rh_plan_request {
    size_t size;
    const char *model, *device, *profile, *cluster, *objective, *global_batch, *devices;
    const char *software, *precision, *links, *calibration, *inside, *across, *flags;
    const char *search, *allreduce, *memory, *rules, *import_as;
    const char *price, *plan, *emit, *output, *figure;
    const rh_plan *from; /* a plan instead of a search, as `plan` is one by its file */
    const char *form;    /* "csv", "dot": refused at once where the answer will not have it */
    struct rh_list fix;
    int64_t sequence, microbatch_size, microbatches, devices_per_node, top, profile_batch;
    double headroom, imbalance, tokens, deadline, state_factor, sample_memory;
    bool pareto, explain, no_neighbours, fold_exact_factors /* must be false */, fold_longest_only;
    const char *launcher, *root; /* with emit: a whole script; of flags: rh_price's */
    const char *page;            /* written: the answer as an HTML file */
    bool explain_memory;
    const char *network;
    const char *storage; /* a file */
    int64_t save_every;
};
RH_API rh_handle *rh_plan_find(const struct rh_plan_request *request, const struct rh_call *call,
                               struct rh_error *error);

/* `rehearse check-plan`: plans of any origin are scored, and compared with the optimum. */
struct rh_check_request {
    size_t size;
    struct rh_list plans; /* files */
    const char *profile, *cluster, *model, *device, *links, *calibration, *objective, *allreduce, *memory,
        *rules, *output;
    int64_t microbatch_size, microbatches, global_batch, profile_batch;
    double headroom, state_factor, sample_memory;
    const char *software;
};
RH_API rh_report *rh_check_plan(const struct rh_check_request *request, const struct rh_call *call,
                                struct rh_error *error);

/* `rehearse templates`: the best pipeline for every number of nodes. */
struct rh_templates_request {
    size_t size;
    const char *model, *profile, *cluster, *objective, *software, *precision, *links, *calibration;
    const char *allreduce, *memory, *output;
    const char *nodes; /* "4..8"; NULL: all */
    int64_t sequence, microbatch_size, microbatches;
};
RH_API rh_report *rh_templates(const struct rh_templates_request *request, const struct rh_call *call,
                               struct rh_error *error);

/* ---- simulation ---- */

/* `rehearse simulate`: a plan that is played, a schedule without one, several compared, or a recorded trace (`replay`). */
struct rh_simulate_request {
    size_t size;
    const char *plan; /* a file */
    const rh_plan *from;
    const char *schedule, *forward, *backward, *weight, *comm, *level, *straggler, *reshard, *storage,
        *save_waits;
    const char *write_schedule, *letters;
    RH_RENAMED(const char *, tasks, csv);
    const char *trace, *chakra, *replay, *figure, *style;
    struct rh_list what_if;
    int64_t stages, microbatches, chunks, seed, prefetch, save_every;
    double hidden;
    RH_RENAMED(double, memory_limit, memory);
    double jitter, collective_share, copy_rate, save_rate, host_rate;
    bool send_blocks, compare, no_symmetry, storage_network, with_sends;
    bool keep_tasks;  /* tasks.device, tasks.begin, … as lists */
    const char *page; /* written: the answer as an HTML file */
    const char *comm_streams;
    const char *kernels; /* a file */
    int64_t seeds;
    const char *cluster; /* a file */
};
RH_API rh_report *rh_simulate(const struct rh_simulate_request *request, const struct rh_call *call,
                              struct rh_error *error);

/* ---- many plans ---- */

/* `rehearse sweep`: a plan, or the best plans of a model, played for every combination of devices, batch, schedule and
 * links. */
struct rh_sweep_request {
    size_t size;
    const char *plan; /* a file; without one and `from`: model, device, devices and global_batch */
    const rh_plan *from;
    const char *model, *device, *devices, *global_batch, *software, *precision, *links, *calibration;
    const char *schedule, *inside, *across, *price, *output, *figure;
    struct rh_list link, fix; /* link: "across=0.5,1,2" */
    int64_t sequence, devices_per_node;
    double headroom, imbalance, tokens;
    const char *page; /* written: the answer as an HTML file */
};
RH_API rh_sweep *rh_sweep_plans(const struct rh_sweep_request *request, const struct rh_call *call,
                                struct rh_error *error);

/* `rehearse elastic`: the pipelines that survive lost nodes and each reconfiguration; with failures, rate or mtbf the goodput
 * of policies over failures. */
struct rh_elastic_request {
    size_t size;
    struct rh_list plans, lose, back,
        policies; /* files; "3,7", what is lost, and what returns; "restart,oobleck" */
    const char *cluster, *optimizer, *method, *output, *figure;
    const char *failures, *rate, *life, *save_interval, *spares, *timeline;
    int64_t faults, microbatches, seeds, seed, need, nodes, stages;
    double setup, mtbf, repair, together, shape, days, iteration;
    double detect, restart, load, swap, reconfigure, migrate, reroute, notice, save, copy,
        write; /* seconds */
    bool losses;
    struct rh_handles from;  /* plans, and reports of rh_templates, besides the files */
    const char *page;        /* written: the answer as an HTML file */
    const char *slow_policy; /* "ignore,move" */
    double slow_rate, slow_speed, slow_time, slow_detect;
};
RH_API rh_report *rh_elastic(const struct rh_elastic_request *request, const struct rh_call *call,
                             struct rh_error *error);

/* ---- predictions and measurements ---- */

/* `rehearse explain`: where the time of a recorded job went. */
struct rh_explain_request {
    size_t size;
    struct rh_list traces;  /* files and folders of its ranks */
    struct rh_list against; /* of another run of it */
    const char *plan;       /* or the plan that it follows */
    const char *page;       /* written: the answer as an HTML file */
    const char *kernels;    /* rules for names of kernels: a file */
    const char *trace;      /* of the kernel, recorded beside */
    const char *device;     /* what its products are compared with; NULL: what the trace names */
};
RH_API rh_report *rh_explain(const struct rh_explain_request *request, const struct rh_call *call,
                             struct rh_error *error);

/* `rehearse validate`: measured training runs beside their predictions. A picture that cannot be drawn is no reason to fail,
 * see the value "undrawn". */
struct rh_validate_request {
    size_t size;
    const char *table; /* NULL: the published runs that come with the library */
    const char *gpu, *software, *precision, *recompute, *across, *set;
    RH_RENAMED(const char *, device_file, devices);
    const char *links, *calibration; /* files, as the one above */
    const char *layers, *setup;      /* NULL: rh_check_plan scores plans on mixed devices */
    const char *level, *leave_out, *figure;
    int64_t devices_per_node, worst;
    bool rows, wide, best, simulate, rank, schedules, no_neighbours;
};
RH_API rh_report *rh_validate(const struct rh_validate_request *request, const struct rh_call *call,
                              struct rh_error *error);

/* `rehearse price`: what a launch script or configuration costs as it stands, and the same job planned freely. */
struct rh_price_request {
    size_t size;
    struct rh_list files, set; /* of one job; "NAME=VALUE" */
    const char *device, *model, *software, *inside, *across;
    const char *links, *calibration; /* files */
    const char *plan;                /* written: the job as it stands */
    int64_t devices, sequence, devices_per_node;
    double headroom;
    bool alone, explain, no_neighbours, strict;
    const char *root; /* a folder: files that the descriptions name may lie below it, too */
    bool explain_memory;
    const char *network;
};
RH_API rh_report *rh_price(const struct rh_price_request *request, const struct rh_call *call,
                           struct rh_error *error);

/* `rehearse calibrate`: a device, its links and its generation, fitted to measurements. What is fitted is the values
 * files.text, and `output`. */
struct rh_calibrate_request {
    size_t size;
    struct rh_list jobs, set;              /* of `log`: launch descriptions, "NAME=VALUE" */
    const char *gemm, *collectives, *runs; /* files */
    RH_RENAMED(const char *, log, from);
    const char *device, *model, *software, *across, *name, *rows, *type;
    const char *leave_out; /* with `known`: "all", "rows", "sizes", "groups", "gpu" */
    const char *output;    /* a file, or a folder where there are several */
    int64_t devices, sequence, devices_per_node;
    double launch; /* seconds */
    bool known;
    const char *root; /* of jobs, as rh_price's */
};
RH_API rh_report *rh_calibrate(const struct rh_calibrate_request *request, const struct rh_call *call,
                               struct rh_error *error);

/* `rehearse measure layers`: times of this machine, by a PJRT plugin or oneDNN. With `cores` the calling thread stays on them
 * for the time of the call, and threads that the plugin or oneDNN starts keep them. */
struct rh_measure_layers_request {
    size_t size;
    struct rh_list files;
    RH_RENAMED(struct rh_list, backward_file, backward);
    struct rh_list dims; /* "NAME=N" */
    const char *pjrt, *model, *software, *type;
    RH_RENAMED(const char *, tolerance, precision); /* "2%" */
    const char *clock, *cores;                      /* "wall", "cpu"; "0,2-3" */
    const char *output, *name, *command; /* a profile, the device type in it, and what it records */
    int64_t microbatch_size, sequence;
    double limit; /* seconds */
    bool products;
    RH_RENAMED(bool, first_layer, first);
    const char *compile_options;  /* a file */
    struct rh_list plugin_option; /* "NAME=VALUE" */
};
RH_API rh_report *rh_measure_layers(const struct rh_measure_layers_request *request,
                                    const struct rh_call *call, struct rh_error *error);

/* `rehearse measure links`: every process that mpirun or srun has started calls it; the report of rank 0 has the times, those
 * of the others are empty. */
struct rh_measure_links_request {
    size_t size;
    RH_RENAMED(const char *, tolerance, precision); /* "2%" */
    const char *kinds;                              /* "all_reduce,all_gather" */
    const char *nccl, *cuda;                        /* libraries */
    const char *profile, *device, *output;
    int64_t steps, microbatch_size;
    double smallest, largest; /* bytes */
    double limit, time_out;   /* seconds */
};
RH_API rh_report *rh_measure_links(const struct rh_measure_links_request *request, const struct rh_call *call,
                                   struct rh_error *error);

/* `rehearse run`: a plan is played with real messages, or with losses (kill, cut, back, failures, random, survive), which is a drill. This process
 * alone is the only rank, or several are started: processes of the program rehearse, on this host (`ranks`). Under mpirun and srun, on several
 * hosts, too, every process calls it, and the report of rank 0, or of the one that sees a drill's end, has the values; after
 * a drill a process should leave by _exit, as MPI does not end where ranks are lost. A drill that goes wrong is an answer, see its value "passed". */
struct rh_play_request {
    size_t size;
    struct rh_list plans;           /* files: one; for drills also sets of templates */
    struct rh_handles from;         /* plans, and reports of rh_templates, besides these */
    struct rh_list kill, cut, back; /* "2@1.5s" */
    const char *link, *schedule, *compute, *model, *type, *software;
    const char *data, *storage, *checkpoints, *save_waits;
    RH_RENAMED(const char *, tasks, csv);
    const char *trace, *simulated, *chakra, *figure, *style;
    const char *failures, *cluster;
    const char *hosts, *hostfile, *agent, *program, *network; /* NULL: mpirun and srun start ranks on hosts */
    int64_t ranks, devices_per_rank, iterations, chunks, sequence, seed, save_every, random, drill, faults;
    double byte_share, jitter, time_share, copy_rate, save_rate;
    double timeout, silence, connect; /* seconds; `connect` must be 0 */
    bool pin, priority, survive;
    bool own_process;       /* under mpirun a rank beside the first ends this process where the run fails */
    const char *prometheus; /* a file of metrics, written as it begins and at the end */
};
RH_API rh_report *rh_play(const struct rh_play_request *request, const struct rh_call *call,
                          struct rh_error *error);

/* ---- data ----
 *
 * Data sets and storage may be in a folder or s3://BUCKET/PREFIX. A stop ends the work in order: the error says what is
 * kept, and the same call goes on from there. */

/* `rehearse dataset generate` */
struct rh_dataset_generate_request {
    size_t size;
    struct rh_list workload, set; /* its name or file, then overrides */
    const char *output;
    double data_size; /* --size */
    double compressibility;
    int64_t seed;
    bool dlio_sizes, dry_run, strict, sync, force;
    const char *study; /* NULL, or "unet3d", "bert", "dlrm": instead of the name in `workload` */
    const char *replay,
        *path; /* the files of a recorded job instead of a workload's; only those of this pattern */
};
RH_API rh_report *rh_dataset_generate(const struct rh_dataset_generate_request *request,
                                      const struct rh_call *call, struct rh_error *error);

/* `rehearse dataset verify`: a data set with faults is an answer, see its value "faults". */
struct rh_dataset_verify_request {
    size_t size;
    const char *folder;
    bool quick;
};
RH_API rh_report *rh_dataset_verify(const struct rh_dataset_verify_request *request,
                                    const struct rh_call *call, struct rh_error *error);

/* `rehearse dataset scale` */
struct rh_dataset_scale_request {
    size_t size;
    const char *folder, *output;
    double data_size; /* --size */
    bool sync, force;
};
RH_API rh_report *rh_dataset_scale(const struct rh_dataset_scale_request *request, const struct rh_call *call,
                                   struct rh_error *error);

/* `rehearse feed`: the real storage is loaded with emulated accelerators. A storage that is too slow is an answer, see its
 * value "passed"; so is a run that was stopped. */
struct rh_feed_request {
    size_t size;
    struct rh_list workload, set; /* its name or file, then overrides */
    const char *results, *plan, *method, *drop_caches, *rules;
    const rh_plan *from;
    int64_t accelerators, depth, read_threads_most, steps, epochs, nodes, max;
    double au, request, copy_rate, time_out;
    bool direct, warm, as_planned, no_barrier, decode, verify, find_max_accelerators, timeline, force, strict;
    bool list, show;
    bool keep_steps; /* steps.load_ns, … as lists */
    struct rh_list
        vary; /* "accelerators=1,2,4", "batch=1,2": a grid, whose answer has a value for each point */
    const char *prometheus;  /* a file of metrics, written while it runs and at the end */
    const char *replay;      /* a recorded job instead of a workload */
    const char *pace, *path; /* of the replay: its pace; only files of this pattern */
    const char *requests;    /* a stream of requests instead of a workload: its name or file */
};
RH_API rh_report *rh_feed(const struct rh_feed_request *request, const struct rh_call *call,
                          struct rh_error *error);

/* `rehearse submit`: a submission to MLPerf Storage. One that breaks rules is an answer, see its value "failed". */
struct rh_submit_request {
    size_t size;
    struct rh_list workload, set;
    const char *output, *org, *system_name, *edition, *availability, *method;
    int64_t accelerators;
    double time_out;
    bool direct, force;
    bool check; /* of what is there, without a run */
};
RH_API rh_report *rh_submit(const struct rh_submit_request *request, const struct rh_call *call,
                            struct rh_error *error);

/* ---- runs that were recorded, pictures and pages ---- */

#include "rehearse_records.h"

/* ---- commands by name ----
 *
 * What a binding needs: the same calls, and their options as the table of each command describes them. */

RH_API const char *rh_command(int index); /* "cost"; NULL: no more */

struct rh_option {
    size_t size;
    const char *name;         /* "devices-per-node" */
    const char *field;        /* "devices_per_node" */
    const char *argument;     /* "N"; NULL: none */
    const char *help;         /* its purpose: lower case, no full stop */
    const char *initial;      /* the default, as a user would write it; NULL: none */
    const char *const *words; /* all that it may be, ended by NULL; NULL: anything */
    char type;                /* 'q', 'd', '?', 's' as in rh_array, 'l': struct rh_list; 'h': a handle;
                                 'H': struct rh_handles */
    bool required;
    size_t offset;
    const char *unit; /* "s": the field's unit, without which rh_set takes no number; NULL: none is needed */
    const char *was;  /* "devices-in-node": its name until now, still taken; NULL: none */
    char letter;      /* 'n', as in -n; 0: none */
};

/* The option `index`, from 0, of a command. False: no more of them, or no such command. Set option->size first. */
RH_API bool rh_option(const char *command, int index, struct rh_option *option);

RH_API size_t rh_request_size(const char *command); /* 0: no such command */

/* Sets one field from text as it stands on the command line: "60", "500 ms", "25 GB/s"; a flag by "true" ("", "1") or
 * "false" ("0"). A number that people write in another unit, too, is asked about ("50000" of mtbf: "50000s" or "50000h"); a
 * field has one unit, that of the option. The request borrows the text. Not for lists. */
RH_API bool rh_set(const char *command, void *request, const char *option, const char *value,
                   struct rh_error *error);

RH_API rh_handle *rh_run(const char *command, const void *request, const struct rh_call *call,
                         struct rh_error *error);

RH_API const char *rh_version(void); /* "0.1.0" */

#ifdef __cplusplus
}
#endif

#endif
