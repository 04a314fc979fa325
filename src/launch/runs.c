/* Plans over several device types as runs of other software.
 *
 * Problem. A run of Megatron-LM, torchtitan or DeepSpeed has one set of degrees: its pipelines are alike, have the same
 * cuts and do the same number of micro-batches. A plan over several types may have pipelines of several kinds.
 *
 * Answer. Pipelines that are alike are one run, whatever their devices: a stage's rank works on any device that holds
 * it, so a pipeline over several types is a matter of the order of hosts. Ranks of all three go stage by stage, and in
 * each of them copy by copy (Megatron's order tp-cp-ep-dp-pp; the meshes of torchtitan and of DeepSpeed's topology have
 * pipelines outermost, too). Pipelines of further kinds are further runs, each with its part of the batch. No software
 * averages gradients over runs, which is said beside each with its weight: the mean over its own samples counts by
 * their number. Optimizer states are sharded within a run, so that it may need more memory than the plan: it is refused
 * if it has not got it. All runs have one number format, since gradients scaled for fp16 are no others' mean.
 *
 * Checked: the devices and samples of all runs are those of the plan, and each run passes job_check (tests/launch). */
#include "launch/part.h"

#include "core/unit.h"
#include "plan/fleet/best.h"
#include "plan/split/plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_NOTES 8

struct run {
    struct plan
        plan; /* its pipelines as one of one type; shares everything but its arena with the whole plan */
    struct job job;
    int *members; /* pipelines of the whole plan */
    int member_count, copies;
    int64_t samples;
};

struct runs {
    struct arena arena;
    enum launch_format format;
    const struct plan *plan;
    const struct plan_parts *parts;
    enum cost_type type; /* of all runs */
    const char *lacking; /* types without the products that others have, and these; NULL: none */
    enum cost_type lacked;
    int run_count;
    struct run *runs;
    int64_t samples; /* of all runs */
    struct error *err;
};

static const char *software_of(enum launch_format format)
{
    return format == LAUNCH_MEGATRON    ? "Megatron-LM"
           : format == LAUNCH_DEEPSPEED ? "DeepSpeed"
                                        : "torchtitan";
}

/* ---- pipelines that are alike ---- */

static bool stages_alike(const struct plan_stage *a, const struct plan_stage *b)
{
    const struct degrees *x = &a->degrees, *y = &b->degrees;
    return a->layers.first == b->layers.first && a->layers.last == b->layers.last && a->chunk == b->chunk &&
           x->tensor == y->tensor && x->context == y->context && x->expert == y->expert;
}

static bool pipelines_alike(const struct plan_pipeline *a, const struct plan_pipeline *b)
{
    bool alike = a->stage_count == b->stage_count && a->microbatches == b->microbatches;
    for (int s = 0; s < a->stage_count && alike; s++)
        alike = stages_alike(&a->stages[s], &b->stages[s]);
    return alike;
}

static bool check_pipeline(const struct runs *r, int index)
{
    const struct plan_pipeline *pipeline = &r->plan->pipelines[index];
    const struct plan_stage *first = &pipeline->stages[0];
    for (int s = 1; s < pipeline->stage_count; s++) {
        const struct plan_stage *stage = &pipeline->stages[s];
        int tensor = stage->degrees.tensor, firsts = first->degrees.tensor;
        if (tensor != firsts)
            return error_set(r->err, ERROR_INFEASIBLE,
                             "%s has one tensor parallel degree in a run, and pipeline %d has %d on %s and "
                             "%d on %s: '--fix tp=%d' plans with one; '--emit pipelining' writes this one",
                             software_of(r->format), index, firsts, r->plan->types[first->type].name, tensor,
                             r->plan->types[stage->type].name, firsts < tensor ? firsts : tensor);
    }
    return true;
}

/* Puts every pipeline into the run of those that are like it. */
static bool group_pipelines(struct runs *r)
{
    int count = r->plan->pipeline_count;
    r->runs = ARENA_ARRAY(&r->arena, (size_t)count, struct run);
    for (int p = 0; r->runs && p < count; p++) {
        const struct plan_pipeline *pipeline = &r->plan->pipelines[p];
        int at = 0;
        if (!check_pipeline(r, p))
            return false;
        while (at < r->run_count && !pipelines_alike(&r->plan->pipelines[r->runs[at].members[0]], pipeline))
            at++;
        struct run *run = &r->runs[at];
        if (at == r->run_count) {
            *run = (struct run){.members = ARENA_ARRAY(&r->arena, (size_t)count, int)};
            if (!run->members)
                return error_memory(r->err);
            r->run_count++;
        }
        run->members[run->member_count++] = p;
        run->copies += pipeline->copies;
        int64_t samples =
            pipeline->copies * pipeline->microbatches * (r->plan->microbatch > 0 ? r->plan->microbatch : 1);
        run->samples += samples;
        r->samples += samples;
    }
    return r->runs || error_memory(r->err);
}

/* ---- a number format for all ---- */

/* Chooses the products that all types have which work: the ones of the plan, or their replacement on some. */
static bool choose_type(struct runs *r)
{
    struct plan asked = *r->plan;
    enum cost_type own[PLAN_MAX_TYPES] = {0}, best = COST_TYPE_COUNT;
    struct text lacking = {0};
    asked.arena = (struct arena){0};
    const struct cluster_group *groups = plan_groups_of(&asked, r->parts, r->err);
    bool ok = groups != NULL, differ = false;
    for (int t = 0; t < r->plan->type_count && ok; t++)
        if (plan_type_works(r->plan, t))
            ok = plan_precision_of(r->plan, groups[t].type, &own[t], r->err);
    for (int t = 0; t < r->plan->type_count && ok; t++) {
        if (!plan_type_works(r->plan, t))
            continue;
        bool all = true;
        for (int other = 0; other < r->plan->type_count && all; other++)
            all = !plan_type_works(r->plan, other) || groups[other].type->peak[own[t]] > 0.0;
        if (all && best == COST_TYPE_COUNT)
            best = own[t];
    }
    for (int t = 0; t < r->plan->type_count && ok && best < COST_TYPE_COUNT; t++)
        if (plan_type_works(r->plan, t) && own[t] != best) {
            differ = true;
            r->lacked = own[t];
        }
    for (int t = 0; t < r->plan->type_count && differ; t++)
        if (plan_type_works(r->plan, t) && own[t] == best)
            text_format(&lacking, "%s%s", lacking.length > 0 ? ", " : "", r->plan->types[t].name);
    r->type = best;
    r->lacking = differ && lacking.data ? arena_string(&r->arena, lacking.data) : NULL;
    if (ok && best == COST_TYPE_COUNT)
        ok = error_set(r->err, ERROR_INFEASIBLE, "no number format is supported by all device types");
    text_release(&lacking);
    arena_release(&asked.arena);
    return ok;
}

/* ---- memory ---- */

/* States that the plan shares over all its pipelines are shared over those of the run alone. `more`: the maximum bytes
 * that a device holds beyond the plan. */
static bool check_memory(const struct runs *r, const struct run *run, int number, double *more)
{
    double all = (double)plan_copies(r->plan);
    *more = 0.0;
    if (plan_is_mix(r->plan) || r->plan->sharding < 1)
        return true;
    for (int m = 0; m < run->member_count; m++) {
        const struct plan_pipeline *pipeline = &r->plan->pipelines[run->members[m]];
        for (int s = 0; s < pipeline->stage_count; s++) {
            const struct plan_stage *stage = &pipeline->stages[s];
            const struct plan_device_type *type = &r->plan->types[stage->type];
            double further = stage->bytes.optimizer * (all / run->copies - 1.0);
            if (!(further > 0.0))
                continue;
            *more = fmax(*more, further);
            if (type->nodes.memory > 0 && stage->bytes.total + further > (double)type->nodes.memory) {
                struct unit_texts texts = {0};
                return error_set(r->err, ERROR_INFEASIBLE,
                                 "run %d of %d does not fit: the plan shards optimizer states over %.0f "
                                 "pipelines, %s only over this run's %d: a '%s' needs %s of %s",
                                 number + 1, r->run_count, all, software_of(r->format), run->copies,
                                 type->name, unit_text(&texts, stage->bytes.total + further, UNIT_BYTES),
                                 unit_text(&texts, (double)type->nodes.memory, UNIT_BYTES));
            }
        }
    }
    return true;
}

/* ---- a run ---- */

/* Makes the run's pipelines one, all of whose stages are on the first one's type, and its job. */
static bool make_job(struct runs *r, struct run *run)
{
    const struct plan_pipeline *first = &r->plan->pipelines[run->members[0]];
    struct plan *own = &run->plan;
    *own = *r->plan;
    own->arena = (struct arena){0};
    own->types = ARENA_NEW(&r->arena, struct plan_device_type);
    own->pipelines = ARENA_NEW(&r->arena, struct plan_pipeline);
    struct plan_stage *stages = ARENA_ARRAY(&r->arena, (size_t)first->stage_count, struct plan_stage);
    if (!own->types || !own->pipelines || !stages)
        return error_memory(r->err);
    memcpy(stages, first->stages, (size_t)first->stage_count * sizeof *stages);
    for (int s = 0; s < first->stage_count; s++)
        stages[s].type = stages[s].run_count = 0;
    *own->types = r->plan->types[first->stages[0].type];
    *own->pipelines = *first;
    own->pipelines->copies = run->copies;
    own->pipelines->stages = stages;
    own->type_count = own->pipeline_count = 1;
    own->global_batch = run->samples;
    own->layer_count = first->stages[first->stage_count - 1].layers.last + 1;
    if (!job_remake(&run->job, own, r->parts, r->err))
        return false;
    run->job.type = r->type;
    return true;
}

/* Adds the devices of consecutive ranks, stage by stage; those of one type have no numbers. */
static void add_ranks(const struct runs *r, const struct run *run, struct text *out)
{
    int chunk_stages = run->job.degrees.pipeline, from = 0, until = 0, type = -1;
    bool begun = false;
    for (int s = 0; s <= chunk_stages; s++)
        for (int m = 0; m < run->member_count; m++) {
            const struct plan_pipeline *pipeline = &r->plan->pipelines[run->members[m]];
            int next = s < chunk_stages ? pipeline->stages[s].type : -1;
            if (next != type && type >= 0) {
                const struct plan_device_type *on = &r->plan->types[type];
                text_add(out, begun ? ", " : "");
                text_format(out, "%d-%d on %s", from, until - 1, on->name);
                if (on->nodes.count > 0)
                    text_format(out, " (nodes of %d)", on->nodes.devices);
                begun = true;
                from = until;
            }
            type = next;
            if (next < 0)
                return;
            until += pipeline->copies * plan_stage_devices(&pipeline->stages[s]);
        }
}

static bool add_note(struct runs *r, const char **notes, int *count, struct text *text)
{
    notes[*count] = text->failed ? NULL : arena_string(&r->arena, text->data);
    text_release(text);
    return notes[(*count)++] || error_memory(r->err);
}

/* Adds what a run's own settings do not say. */
static bool add_notes(struct runs *r, const struct run *run, int number, double more, const char **notes,
                      int *count)
{
    const char *software = software_of(r->format);
    struct unit_texts texts = {0};
    struct text text = {0};
    bool ok = true;
    if (r->run_count > 1) {
        text_format(&text,
                    "run %d of %d, in its own file: reads its own %" PRId64 " of the %" PRId64
                    " samples of each iteration",
                    number + 1, r->run_count, run->samples, r->samples);
        ok = add_note(r, notes, count, &text);
        text_format(
            &text,
            "%s does not average gradients over runs: add that before each step (weight of this run: %" PRId64
            "/%" PRId64 ")",
            software, run->samples, r->samples);
        ok = ok && add_note(r, notes, count, &text);
    }
    text_add(&text, "ranks ");
    add_ranks(r, run, &text);
    ok = ok && add_note(r, notes, count, &text);
    if (ok && r->lacking) {
        text_format(&text, "%s everywhere: there is no %s on %s", cost_type_name(r->type),
                    cost_type_name(r->lacked), r->lacking);
        ok = add_note(r, notes, count, &text);
    }
    if (ok && more > 0.0) {
        text_format(&text,
                    "optimizer states are sharded over this run's %d pipeline%s, not over all of the plan: "
                    "up to %s more on a device",
                    run->copies, run->copies == 1 ? "" : "s", unit_text(&texts, more, UNIT_BYTES));
        ok = add_note(r, notes, count, &text);
    }
    text_release(&text);
    return ok;
}

/* Adds the reason of the number format to an error, which may be about it. */
static void explain_type(struct runs *r)
{
    struct error own = *r->err;
    if (own.kind == ERROR_INFEASIBLE && r->lacking)
        error_set(r->err, ERROR_INFEASIBLE, "%.900s (the plan runs in %s, as there is no %s on %s)", own.text,
                  cost_type_name(r->type), cost_type_name(r->lacked), r->lacking);
}

static bool write_run(struct runs *r, int number, struct text *out)
{
    struct run *run = &r->runs[number];
    const char *notes[MAX_NOTES];
    int note_count = 0;
    double more;
    if (!make_job(r, run) || !check_memory(r, run, number, &more) ||
        !add_notes(r, run, number, more, notes, &note_count))
        return false;
    const struct launch_subject of = {
        .plan = &run->plan, .job = &run->job, .is_job = true, .notes = notes, .note_count = note_count};
    if (launch_write_subject(r->format, &of, out, r->err))
        return true;
    explain_type(r);
    return false;
}

static bool write_all(struct runs *r, struct text *out)
{
    bool list = r->format == LAUNCH_DEEPSPEED && r->run_count > 1;
    if (list)
        text_add(out, "[\n");
    for (int i = 0; i < r->run_count; i++) {
        if (i > 0)
            text_add(out, list ? ",\n" : "\n");
        if (!write_run(r, i, out))
            return false;
    }
    if (list)
        text_add(out, "]\n");
    return true;
}

bool launch_write_runs(enum launch_format format, const struct plan *plan, const struct plan_parts *parts,
                       struct text *out, struct error *err)
{
    if (format == LAUNCH_PIPELINING || format == LAUNCH_OOBLECK) /* have pipelines of several kinds */
        return launch_write(format, plan, NULL, out, err);
    struct runs r = {.format = format, .plan = plan, .parts = parts, .err = err};
    struct text written = {0};
    bool ok = group_pipelines(&r) && choose_type(&r) && write_all(&r, &written);
    if (ok && !written.failed && written.data)
        text_add_bytes(out, written.data, written.length);
    ok = ok && ((!written.failed && !out->failed) || error_memory(err));
    for (int i = 0; i < r.run_count; i++)
        arena_release(&r.runs[i].plan.arena);
    text_release(&written);
    arena_release(&r.arena);
    return ok;
}
