/* Shared by the writers of launch options. Private to src/launch. */
#ifndef REHEARSE_LAUNCH_PART_H
#define REHEARSE_LAUNCH_PART_H

#include "core/json.h"
#include "plan/plan.h"
#include "plan/split/job.h"

/* The input of a writer. */
struct launch_subject {
    const struct plan *plan;
    const struct job *job; /* without a job: an outline with only degrees, micro-batch and recomputation */
    bool is_job;
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

/* Returns the maximum degrees, micro-batch, recomputation and sharding over all stages. */
struct job launch_outline(const struct plan *plan);

/* Sets the blocks of a stage as software counts them: a model's layers begin with the embedding and end with the head,
 * which are no blocks; all layers of a profile count. `last`: behind the last block. */
void launch_blocks(const struct launch_subject *of, const struct plan_stage *stage, int *first, int *last);

bool launch_write_megatron(const struct launch_subject *of, struct text *out, struct error *err);
bool launch_write_deepspeed(const struct launch_subject *of, struct text *out, struct error *err);
bool launch_write_torchtitan(const struct launch_subject *of, struct text *out, struct error *err);
bool launch_write_pipelining(const struct launch_subject *of, struct text *out, struct error *err);
bool launch_write_oobleck(const struct launch_subject *of, struct text *out, struct error *err);

/* Fails with ERROR_INFEASIBLE unless the plan has a job with all model sizes and one set of degrees. */
bool launch_check_job(const struct launch_subject *of, const char *software, struct error *err);

/* PyTorch's interleaved schedules run in groups of as many micro-batches as there are stages
 * (torch/distributed/pipelining/schedules.py, ScheduleInterleaved1F1B). */
bool launch_check_rounds(const struct job *job, struct error *err);

#endif
