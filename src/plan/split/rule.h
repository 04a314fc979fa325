/* Which jobs can exist: one table, which plan, --fix, price, check-plan, validate and --emit share.
 *
 * A rule has a predicate over a whole job. Where it can be judged earlier, its row says so: by one dimension alone, all
 * others at their least, or at the points of a search where more of them are decided. Settings that never become part
 * of a job have the rules of their software (data/rules-*.yaml, launch/rules.h). */
#ifndef REHEARSE_PLAN_SPLIT_RULE_H
#define REHEARSE_PLAN_SPLIT_RULE_H

#include "core/text.h"
#include "plan/split/job.h"

/* Where a rule counts. */
enum job_rule_reach {
    RULE_ALL,     /* for every job, measured ones too */
    RULE_WHOLE,   /* for all but measured ones, which drop rests of batches */
    RULE_PLANNED, /* for plans: what their software is known for, and what is priced */
    RULE_TRIED,   /* for values that a search tries by itself, not for given ones */
};

/* Points of a search at which rules are judged, as bits. */
enum {
    RULE_AT_DEGREES = 1,      /* tensor, context, expert, pipeline and data parallel */
    RULE_AT_SHARDS = 2,       /* and copies of shards */
    RULE_AT_CHUNKS = 4,       /* and micro-batch, chunks and recomputation */
    RULE_AT_SCHEDULE = 8,     /* and the schedule */
    RULE_AT_OFFLOAD = 16,     /* and formats, and what the host holds */
    RULE_AT_SPLIT = 32,       /* tensor, expert and expert tensor parallel */
    RULE_AT_QUESTION = 64,    /* nothing */
    RULE_AT_TECHNIQUES = 128, /* nothing but given techniques */
    RULE_AT_STAGES = 512,     /* that there are several stages */
    RULE_AT_MODE = 256,       /* recomputation */
};

struct job_rule {
    const char *id;
    enum job_rule_reach reach;
    unsigned about; /* bits of enum job_dimension below JOB_TECHNIQUE */
    unsigned alone; /* those of them whose value alone can break it */
    unsigned at;    /* RULE_AT_… */
    const char *of; /* names of the software that has it begin so; NULL: all */
    const char *source;
    bool (*keeps)(const struct job *job);
    void (*say)(const struct job *job, struct text *out); /* what is wrong, and what would be right */
};

extern const struct job_rule job_rules[];
extern const int job_rule_count;

/* Returns the first rule that forbids a value of a dimension whatever the others are; NULL: none. */
const struct job_rule *job_rule_of(const struct job_question *question, enum job_dimension dimension,
                                   int64_t value);

/* Adds it in words: "the 64 heads of 'llama-3-70b' are not a multiple of 3". */
void job_rule_say(const struct job_question *question, enum job_dimension dimension, int64_t value,
                  const struct job_rule *rule, struct text *out);

/* Returns the first rule judged at a point that a job breaks; NULL: none. */
const struct job_rule *job_rule_at(const struct job *job, unsigned at);

static inline bool job_keeps(const struct job *job, unsigned at)
{
    return !job_rule_at(job, at);
}

/* Returns the first rule up to `reach` that a job breaks; NULL: none. */
const struct job_rule *job_rule_broken(const struct job *job, enum job_rule_reach reach);

/* Returns how many rules a planned job breaks, and sets the first of them if there are any. */
int job_rule_count_broken(const struct job *job, const struct job_rule **first);

/* Sets "tp=3: the 64 heads …" (ERROR_INFEASIBLE). Returns false. */
bool job_rule_refuse(const struct job *job, const struct job_rule *rule, struct error *err);

#endif
