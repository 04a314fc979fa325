/* rh_explain: its parts. */
#ifndef REHEARSE_API_EXPLAIN_EXPLAIN_H
#define REHEARSE_API_EXPLAIN_EXPLAIN_H

#include "api/command.h"
#include "explain/against.h"
#include "explain/explain.h"
#include "explain/life.h"
#include "explain/planned.h"
#include "explain/stalls.h"

#include <string.h>

/* The mean of a step, from a sum over all of them. */
static inline double explain_mean(const struct explain *explain, int64_t time)
{
    return (double)time / 1e9 / (double)explain->step_count;
}

static inline double explain_share_of(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* Seconds of a step of the job. */
double explain_step_mean(const struct explain *explain);

/* Of it, those in which the critical path computes as all ranks do: what is no loss, as of jitter the mean of all. */
double explain_compute_mean(const struct explain *explain);

/* What a loss is, in words. */
void explain_loss_tell(const struct explain *explain, const struct explain_loss *loss, struct text *out);

/* A name, which may be a template of hundreds of characters; how many rows a table leaves out. */
static inline void explain_tell_name(const char *name, int width, struct text *out)
{
    bool cut = strlen(name) > (size_t)width;
    text_format(out, "%.*s%s", cut ? width - 3 : width, name, cut ? "..." : "");
}

static inline void explain_tell_rest(size_t count, size_t shown, struct text *out)
{
    if (count > shown)
        text_format(out, "... and %zu more (--json)\n", count - shown);
}

/* "all_reduce in group 0 (8 ranks)". */
void explain_kind_tell(const struct explain *explain, const struct explain_kind *kind, struct text *out);

void explain_print_stalls(const struct explain_stalls *stalls, struct text *out);
void explain_print_files(const struct explain_stalls *stalls, struct text *out);
void explain_write_stalls(const struct explain_stalls *stalls, struct json *json);

void explain_print_life(const struct explain_life *life, struct text *out);
void explain_write_life(const struct explain_life *life, struct json *json);

/* `stalls`: NULL, if there is no trace of the kernel. */
void explain_print(const struct explain *explain, const struct explain_stalls *stalls, struct text *out);
void explain_write(const struct explain *explain, struct json *json);

/* The job as its trace shows it. */
void explain_print_found(const struct explain *explain, struct text *out);
void explain_write_found(const struct explain *explain, struct json *json);

/* What matrix products achieved beside the cost model, of a device (NULL: as the trace names it): to text and JSON. */
bool explain_add_achieved(const struct explain *explain, const char *device, struct text *out,
                          struct json *json, struct error *err);

/* `unlike`: in what jobs and devices differ, or "". */
void explain_print_changes(const struct explain_changes *changes, const char *unlike, struct text *out);
void explain_write_changes(const struct explain_changes *changes, const char *unlike, struct json *json);

void explain_print_planned(const struct explain_planned *planned, struct text *out);
void explain_write_planned(const struct explain_planned *planned, struct json *json);

#endif
