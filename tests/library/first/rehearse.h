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
 * Times are seconds, sizes bytes. Nothing prints, exits or keeps state of its own. Strings of a request and of rh_call
 * are read during the call alone. docs/library.md has the whole story. */
#ifndef REHEARSE_H
#define REHEARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RH_API __attribute__((visibility("default")))
#else
#define RH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---- */

/* The exit codes of the command line, and one that only callers of the library meet. */
enum rh_code { RH_DONE, RH_FAILED, RH_USAGE, RH_INPUT, RH_INFEASIBLE, RH_STOPPED };

/* Why something failed: `text` is one line with file, place and cause, as the command prints it. A caller who does not
 * want to know passes NULL. */
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
 * RH_STOPPED, at most 50 ms later. */
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
    /* Called from the calling thread, ten times a second at most: "searching", "12 % done". */
    void (*progress)(void *user, const char *what, const char *detail);
    void (*warning)(void *user, const char *text);
    void *user;
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
typedef rh_handle rh_report;  /* any other answer, and any handle: its forms are what can be read of it */

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

/* `rehearse cost`. A profile; a report where files are explained or counted, or `list` is set. */
struct rh_cost_request {
    size_t size;
    struct rh_list files, backward, dims;
    const char *model, *devices, *software, *across, *links, *calibration, *parameters, *custom_calls;
    int64_t microbatch_size, sequence, tensor, devices_per_node, nodes;
    const char *precision, *recompute, *attention, *rules;
    bool explain, wide, keep_all, no_tf32, first, list;
};
RH_API rh_handle *rh_cost(const struct rh_cost_request *request, const struct rh_call *call,
                          struct rh_error *error);

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
    char type;                /* 'q', 'd', '?', 's' as in rh_array, 'l': struct rh_list; 'h': a handle */
    bool required;
    size_t offset;
};

/* The option `index`, from 0, of a command. False: no more of them, or no such command. Set option->size first. */
RH_API bool rh_option(const char *command, int index, struct rh_option *option);

RH_API size_t rh_request_size(const char *command); /* 0: no such command */

/* Sets one field from text as it stands on the command line: "60", "500 ms", "25 GB/s". The request borrows the text.
 * Not for lists. */
RH_API bool rh_set(const char *command, void *request, const char *option, const char *value,
                   struct rh_error *error);

RH_API rh_handle *rh_run(const char *command, const void *request, const struct rh_call *call,
                         struct rh_error *error);

RH_API const char *rh_version(void); /* "0.1.0" */

#ifdef __cplusplus
}
#endif

#endif
