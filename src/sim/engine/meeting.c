/* Collectives: all members come, begin at once, and end at once. */
#include "sim/engine/inner.h"

#include <math.h>

/* All members are there: they begin. */
static void begins(struct engine *engine, struct meeting *meeting, double end)
{
    for (uint32_t member = meeting->first; member != NOBODY; member = engine->actors[member].next) {
        struct actor *actor = &engine->actors[member];
        const struct step *step = &engine->compiled.steps[actor->step];
        if (actor->arrival < meeting->begin)
            actor->cause = meeting->cause;
        actor->begin = meeting->begin;
        if (step->flags & STEP_SHARE)
            engine_interval_add(engine, member, meeting->begin, end, step->task->share);
    }
}

void engine_meet(struct engine *engine, uint32_t number, uint32_t which, const struct step *step)
{
    struct meeting *meeting = &engine->meetings[which];
    struct actor *actor = &engine->actors[number];
    const struct engine_task *task = step->task;
    if (meeting->there == 0) {
        meeting->begin = NEVER;
        meeting->seconds = meeting->latency = meeting->rate = meeting->bytes = 0.0;
        meeting->first = NOBODY;
    }
    actor->arrival = actor->begin;
    actor->state = ACTOR_MEETING;
    actor->next = meeting->first;
    meeting->first = number;
    meeting->there++;
    if (actor->begin > meeting->begin) {
        meeting->begin = actor->begin;
        meeting->cause = actor->cause >= 0 ? actor->cause : actor->previous;
    }
    /* These are the same for all members of a well-made system. */
    meeting->seconds = fmax(meeting->seconds, task->seconds);
    meeting->latency = fmax(meeting->latency, task->latency);
    meeting->rate = fmax(meeting->rate, task->rate);
    meeting->bytes = fmax(meeting->bytes, task->bytes);
    if (meeting->there < meeting->members)
        return;
    double end = meeting->begin + meeting->seconds;
    if (meeting->route < 0 || meeting->latency >= meeting->seconds || meeting->rate <= 0.0) {
        begins(engine, meeting, end);
        engine_meeting_ends(engine, which, end);
        return;
    }
    begins(engine, meeting, INFINITY);
    uint32_t timer = (uint32_t)engine->system->device_count * ENGINE_STREAMS + which;
    meeting->flow = engine_flow_start(engine, timer, (uint32_t)meeting->route, meeting->begin,
                                      meeting->seconds, meeting->latency, meeting->rate, meeting->bytes);
}

void engine_meeting_ends(struct engine *engine, uint32_t which, double end)
{
    struct meeting *meeting = &engine->meetings[which];
    meeting->there = 0;
    for (uint32_t member = meeting->first; member != NOBODY;) {
        struct actor *actor = &engine->actors[member];
        if (engine->compiled.steps[actor->step].flags & STEP_SHARE)
            engine_interval_close(engine, member, end);
        actor->end = end;
        actor->state = ACTOR_ENDING;
        uint32_t next = actor->next;
        engine_wake(engine, member);
        member = next;
    }
    meeting->first = NOBODY;
}
