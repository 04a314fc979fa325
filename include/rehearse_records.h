/* Part of rehearse.h, which includes it: requests about runs that were recorded, pictures and pages. */
#ifndef REHEARSE_RECORDS_H
#define REHEARSE_RECORDS_H

#ifndef REHEARSE_H
#error "include rehearse.h, of which this is a part"
#endif

/* ---- runs that were recorded ---- */

/* `rehearse compare`: how similar two traces are; all pairs of more. */
struct rh_compare_request {
    size_t size;
    struct rh_list traces, baseline, weights, kinds;
    const char *path, *breakdown, *figure, *style;
    const char *form; /* "json": what the files of `breakdown` are */
    int64_t replicates, values, seed;
    const char *kernels; /* rules for names of kernels: a file */
};
RH_API rh_report *rh_compare(const struct rh_compare_request *request, const struct rh_call *call,
                             struct rh_error *error);

/* `rehearse trace`: runs a command, or looks at what runs, and records what it does. A stop ends the command, then the
 * trace, which is whole. */
struct rh_trace_request {
    size_t size;
    struct rh_list command;
    const char *output, *cgroup, *user;
    int64_t pid;
    double buffer, interval, after;
    bool system, no_bpf, sched, force;
    const char *container;
};
RH_API rh_report *rh_trace(const struct rh_trace_request *request, const struct rh_call *call,
                           struct rh_error *error);

/* `rehearse trace show` */
struct rh_trace_show_request {
    size_t size;
    const char *trace, *path;
    struct rh_list kinds;
    bool keep_rows; /* events.start_ns, … as lists */
};
RH_API rh_report *rh_trace_show(const struct rh_trace_show_request *request, const struct rh_call *call,
                                struct rh_error *error);

/* `rehearse trace import` */
struct rh_trace_import_request {
    size_t size;
    struct rh_list paths;
    const char *output, *zone, *day;
    bool append, force;
};
RH_API rh_report *rh_trace_import(const struct rh_trace_import_request *request, const struct rh_call *call,
                                  struct rh_error *error);

/* `rehearse trace export` */
struct rh_trace_export_request {
    size_t size;
    const char *trace, *format, *output, *workload, *path;
    struct rh_list kinds;
    double from, to;
    bool overlook;
};
RH_API rh_report *rh_trace_export(const struct rh_trace_export_request *request, const struct rh_call *call,
                                  struct rh_error *error);

/* `rehearse trace phases` */
struct rh_trace_phases_request {
    size_t size;
    const char *trace;
    bool store;
};
RH_API rh_report *rh_trace_phases(const struct rh_trace_phases_request *request, const struct rh_call *call,
                                  struct rh_error *error);

/* ---- pictures and pages ----
 *
 * Pictures need gnuplot; the ending of `output` (.svg, .png, .pdf) selects the format. */

/* `rehearse figure plan` */
struct rh_figure_plan_request {
    size_t size;
    const char *plan;    /* a file */
    const rh_plan *from; /* or a plan that was found or loaded before */
    const char *kind, *title, *style, *output;
    int64_t nodes; /* of a set of templates; 0: it is none */
};
RH_API rh_report *rh_figure_plan(const struct rh_figure_plan_request *request, const struct rh_call *call,
                                 struct rh_error *error);

/* `rehearse figure steps`: with an output a picture, and always the tables. */
struct rh_figure_steps_request {
    size_t size;
    struct rh_list folders;
    const char *output, *kind, *event, *style, *workload;
    int64_t gpus, batch, skip_epochs;
    bool as_study;
};
RH_API rh_report *rh_figure_steps(const struct rh_figure_steps_request *request, const struct rh_call *call,
                                  struct rh_error *error);

/* `rehearse figure timeline` */
struct rh_figure_timeline_request {
    size_t size;
    const char *trace, *phase, *workers, *title, *path, *style, *output;
    struct rh_list rows, kinds;
    double margin, first, last, from, to;
};
RH_API rh_report *rh_figure_timeline(const struct rh_figure_timeline_request *request,
                                     const struct rh_call *call, struct rh_error *error);

/* `rehearse figure distribution` */
struct rh_figure_distribution_request {
    size_t size;
    struct rh_list traces, classes, of, kinds;
    const char *phase, *title, *path, *style, *output;
    double margin, first, last, from, to;
};
RH_API rh_report *rh_figure_distribution(const struct rh_figure_distribution_request *request,
                                         const struct rh_call *call, struct rh_error *error);

/* `rehearse figure throughput` */
struct rh_figure_throughput_request {
    size_t size;
    struct rh_list traces, classes, kinds;
    const char *phase, *title, *path, *style, *output;
    double margin, first, last, from, to, every;
};
RH_API rh_report *rh_figure_throughput(const struct rh_figure_throughput_request *request,
                                       const struct rh_call *call, struct rh_error *error);

/* `rehearse report`: all files of a folder on one page, which is the form "html". */
struct rh_report_request {
    size_t size;
    const char *folder, *output, *title;
};
RH_API rh_report *rh_report_make(const struct rh_report_request *request, const struct rh_call *call,
                                 struct rh_error *error);

#endif
