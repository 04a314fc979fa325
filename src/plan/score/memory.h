/* The bytes that each device of a stage holds: one model for every planner.
 *
 * Parameters, gradients and optimizer state are held throughout. Activations are kept from a micro-batch's
 * forward pass until its backward pass: under 1F1B a stage that is the i-th from the end of the pipeline has
 * i micro-batches on their way (Narayanan et al. 2021, arXiv:2104.04473, section 2.2), unless the iteration
 * has fewer. The reference planners count one for every stage. */
#ifndef REHEARSE_PLAN_SCORE_MEMORY_H
#define REHEARSE_PLAN_SCORE_MEMORY_H

/* Bytes of parameters, gradients, fp32 master copy and two Adam moments per byte of parameters, as Oobleck counts them.
 * Planners that know precision and sharding sum the state up themselves. */
#define MEMORY_STATE_FACTOR 6

enum memory_model {
    MEMORY_IN_FLIGHT, /* the activations of all micro-batches that 1F1B holds at once */
    MEMORY_REFERENCE, /* those of one */
};

/* Bytes on each device of a stage; 0: unknown to the planner. */
struct memory_stage {
    double state;   /* parameters, gradients, optimizer */
    double kept;    /* activations of one micro-batch, for its backward pass */
    double working; /* additional while a layer is computed */
    double runtime; /* context, communication buffers, fragmentation */
};

/* Returns the number of micro-batches whose activations a stage holds. `from_end`: stages from this one to
 * the end, including it; `microbatches` per iteration; 0: unknown, or never fewer than the stages. */
static inline double memory_in_flight(enum memory_model model, double microbatches, double from_end)
{
    if (model == MEMORY_REFERENCE)
        return 1.0;
    return microbatches > 0.0 && microbatches < from_end ? microbatches : from_end;
}

static inline double memory_of_stage(const struct memory_stage *stage, double in_flight)
{
    return stage->state + in_flight * stage->kept + stage->working + stage->runtime;
}

#endif
