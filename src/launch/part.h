/* What the writers of launch options share. Private to this room. */
#ifndef REHEARSE_LAUNCH_PART_H
#define REHEARSE_LAUNCH_PART_H

#include "core/json.h"
#include "plan/plan.h"
#include "plan/split/job.h"

/* What is written. */
struct launch_subject {
    const struct plan *plan;
    const struct job
        *job; /* of a plan that is none: an outline that has only degrees, micro-batch and recomputation */
    bool is_job;
};

/* What a format leaves to be set elsewhere: said whenever it holds for the job. */
struct launch_note {
    bool (*holds)(const struct job *job);
    const char *text;
};

/* Comments behind "#", one a line: the version that is written for and the title, then the notes that hold. */
void launch_add_head(struct text *out, const char *version, const struct launch_note *notes, size_t count,
                     const struct launch_subject *of);

/* JSON has no comments: opens a map "rehearse" with the title and, under "set_elsewhere", the notes that hold. */
void launch_open_rest(struct json *json, const struct launch_note *notes, size_t count,
                      const struct launch_subject *of);

/* A user's name of a model, without characters that end a line, a quote or a comment. */
void launch_add_name(struct text *out, const char *name);

/* "llama-3-8b on 16 devices: tensor 4 x pipeline 2 (4 chunks) x context 1 x data 2, 8 micro-batches" */
void launch_add_title(struct text *out, const struct launch_subject *of);

/* Degrees, micro-batch, recomputation and sharding of a plan: the largest of all stages. */
struct job launch_outline(const struct plan *plan);

/* Blocks as software counts them: a model's layers begin with the embedding and end with the head, which are no blocks;
 * layers of a profile all count. `last`: behind the last block. */
void launch_blocks(const struct launch_subject *of, const struct plan_stage *stage, int *first, int *last);

bool launch_always(const struct job *job);
bool launch_recomputes(const struct job *job);
bool launch_is_packed(const struct job *job);
bool launch_is_tensor_parallel(const struct job *job);
bool launch_is_context_parallel(const struct job *job);
bool launch_is_expert_parallel(const struct job *job);
bool launch_is_data_parallel(const struct job *job);

bool launch_write_megatron(const struct launch_subject *of, struct text *out, struct error *err);
bool launch_write_deepspeed(const struct launch_subject *of, struct text *out, struct error *err);
bool launch_write_torchtitan(const struct launch_subject *of, struct text *out, struct error *err);
bool launch_write_pipelining(const struct launch_subject *of, struct text *out, struct error *err);
bool launch_write_oobleck(const struct launch_subject *of, struct text *out, struct error *err);

/* False and ERROR_INFEASIBLE where the plan is no job: `software` says all of a model's sizes and one set of degrees. */
bool launch_check_job(const struct launch_subject *of, const char *software, struct error *err);

/* Interleaved schedules of PyTorch go round in groups of as many micro-batches as there are stages
 * (torch/distributed/pipelining/schedules.py, ScheduleInterleaved1F1B). */
bool launch_check_rounds(const struct job *job, struct error *err);

#endif
