/* Shared by the writers of launch options. Private to src/launch. */
#ifndef REHEARSE_LAUNCH_PART_H
#define REHEARSE_LAUNCH_PART_H

#include "core/json.h"
#include "launch/launch.h"
#include "plan/plan.h"
#include "plan/split/job.h"

/* The input of a writer. */
struct launch_subject {
    const struct plan *plan;
    const struct job *job; /* without a job: an outline with only degrees, micro-batch and recomputation */
    bool is_job;
    const char *const *notes; /* further ones, for every format */
    int note_count;
};

/* A note on a setting that belongs elsewhere. Writers list all their notes with the condition of each. */
struct launch_note {
    bool applies;
    const char *text;
};

/* Adds comments behind "#", one per line: the supported version, the title and the notes that apply. */
void launch_add_head(struct text *out, const char *version, const struct launch_note *notes, size_t count,
                     const struct launch_subject *of);

/* Opens a map "rehearse" with the title and, under "set_elsewhere", the notes: JSON has no comments. */
void launch_open_rest(struct json *json, const struct launch_note *notes, size_t count,
                      const struct launch_subject *of);

/* Adds a model's name without characters that end a line, a quote or a comment. */
void launch_add_name(struct text *out, const char *name);

/* "llama-3-8b on 16 devices: tensor 4 x pipeline 2 (4 chunks) x context 1 x data 2, 8 micro-batches" */
void launch_add_title(struct text *out, const struct launch_subject *of);

/* Sets the blocks of a stage as software counts them: a model's layers begin with the embedding and end with the head,
 * which are no blocks; all layers of a profile count. `last`: behind the last block. */
void launch_blocks(const struct launch_subject *of, const struct plan_stage *stage, int *first, int *last);

/* Appends the options of a subject; on failure *out may hold a part of them. */
bool launch_write_subject(enum launch_format format, const struct launch_subject *of, struct text *out,
                          struct error *err);

/* The writers of one format each. */
typedef bool launch_writer(const struct launch_subject *of, struct text *out, struct error *err);
launch_writer launch_write_megatron, launch_write_deepspeed, launch_write_torchtitan,
    launch_write_torchtitan_python, launch_write_pipelining, launch_write_oobleck;

/* Returns the model of one of torchtitan's names and flavors ("llama3", "8B"), or NULL. */
const char *launch_flavor_model(const char *name, const char *flavor);

/* Returns whether torchtitan has a flavor of all numbers of the job's model. */
bool torchtitan_has_model(const struct job *job);

/* Returns the model of a function of torchtitan's registry ("llama3_8b"), or NULL. */
const char *launch_registry_model(const char *function);

/* Checks that all techniques of a job that are not the software's own are among `can` (bit 1 << enum technique_kind).
 * `title`: the software's own spelling, for the message. */
bool launch_check_techniques(enum launch_format format, const struct job *job, uint64_t can,
                             const char *title, struct error *err);

/* Fails with ERROR_INFEASIBLE unless the plan has a job with all model sizes and one set of degrees. */
bool launch_check_job(const struct launch_subject *of, const char *software, struct error *err);

/* What torchtitan does otherwise, in all of its versions. */
#define TORCHTITAN_NOTES 5
void torchtitan_notes(const struct job *job, struct launch_note notes[TORCHTITAN_NOTES]);

/* Returns the value of fsdp_reshard_after_forward: "always", "never" or "default". */
const char *torchtitan_reshard(const struct job *job);

/* Returns its name of the job's schedule. */
const char *torchtitan_schedule(const struct job *job);

/* ERROR_INFEASIBLE: torchtitan cannot train the job, whatever its version. */
bool torchtitan_check(const struct job *job, struct error *err);

/* Adds the blocks of every chunk by their names, `head` being those of the last one's end; lines begin with
 * `indent`. */
void torchtitan_parts(const struct job *job, const char *indent, const char *head, struct text *out);

/* PyTorch's interleaved schedules run in groups of as many micro-batches as there are stages
 * (torch/distributed/pipelining/schedules.py, ScheduleInterleaved1F1B). */
bool launch_check_rounds(const struct job *job, struct error *err);

#endif
