/* Which rule of model, software or cluster forbids a value of a dimension. */
#ifndef REHEARSE_PLAN_SPLIT_RULE_H
#define REHEARSE_PLAN_SPLIT_RULE_H

#include "core/text.h"
#include "plan/split/job.h"

enum job_rule {
    RULE_KEPT,
    RULE_SOFTWARE, /* the software does not offer it */
    RULE_HEADS,    /* a number that does not divide evenly: heads, */
    RULE_KV_HEADS, /* key and value heads, */
    RULE_FFN,      /* the width of the MLP, */
    RULE_NODE,     /* devices of a node, */
    RULE_SEQUENCE, /* the sequence in two pieces for each rank, */
    RULE_EXPERTS,  /* experts, */
    RULE_BATCH,    /* the global batch */
    RULE_DENSE,    /* the model has no experts */
    RULE_BLOCKS,   /* more stages than blocks */
    RULE_DEVICES,  /* more than there are */
};

/* Returns the first rule that forbids the value whatever the other dimensions are. Rules between dimensions (their product,
 * chunks of a pipeline, memory) are the search's. */
enum job_rule job_rule_of(const struct job_question *question, enum job_dimension dimension, int64_t value);

/* Adds the rule in words: "the 64 heads of 'llama-3-70b' are not a multiple of 3". */
void job_rule_say(const struct job_question *question, enum job_dimension dimension, int64_t value,
                  enum job_rule rule, struct text *out);

#endif
