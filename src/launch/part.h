/* What the writers of launch options share. Private to this room. */
#ifndef REHEARSE_LAUNCH_PART_H
#define REHEARSE_LAUNCH_PART_H

#include "core/json.h"
#include "launch/launch.h"

/* What a format leaves to be set elsewhere: said whenever it holds for the job. */
struct launch_note {
    bool (*holds)(const struct job *job);
    const char *text;
};

/* Comments behind "#", one a line: the version that is written for and the job's title, then the notes that hold. */
void launch_add_head(struct text *out, enum launch_format format, const struct launch_note *notes,
                     size_t count, const struct job *job);

/* JSON has no comments: opens a map "rehearse" with the job's title and, under "set_elsewhere", the notes that hold. */
void launch_open_rest(struct json *json, const struct launch_note *notes, size_t count,
                      const struct job *job);

/* A user's name of a model, without what ends a line, a quote or a comment. */
void launch_add_name(struct text *out, const char *name);

/* "llama-3-8b on 16 devices: tensor 4 x pipeline 2 (4 chunks) x context 1 x data 2, 8 micro-batches" */
void launch_add_title(struct text *out, const struct job *job);

bool launch_always(const struct job *job);
bool launch_recomputes(const struct job *job);
bool launch_is_packed(const struct job *job);
bool launch_is_tensor_parallel(const struct job *job);
bool launch_is_context_parallel(const struct job *job);
bool launch_is_expert_parallel(const struct job *job);
bool launch_is_data_parallel(const struct job *job);

bool launch_write_megatron(const struct job *job, struct text *out, struct error *err);
bool launch_write_deepspeed(const struct job *job, struct text *out, struct error *err);
bool launch_write_torchtitan(const struct job *job, struct text *out, struct error *err);
bool launch_write_pipelining(const struct job *job, struct text *out, struct error *err);
bool launch_write_oobleck(const struct job *job, struct text *out, struct error *err);
bool launch_write_dot(const struct job *job, struct text *out, struct error *err);

/* Interleaved schedules of PyTorch go round in groups of as many micro-batches as there are stages
 * (torch/distributed/pipelining/schedules.py, ScheduleInterleaved1F1B). */
bool launch_check_rounds(const struct job *job, struct error *err);

#endif
