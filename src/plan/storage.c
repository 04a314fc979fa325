#include "plan/storage.h"

#include "core/unit.h"
#include "plan/fleet/best.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *name_of(const struct doc_node *node)
{
    return node && node->type == DOC_STRING ? node->text : "not given";
}

/* A number that is missing or null stays as it is. */
static bool read_key(const struct doc *doc, const struct doc_node *map, const char *key, double min,
                     double *value, struct error *err)
{
    const struct doc_node *node = doc_find(map, key);
    return !node || node->type == DOC_NULL || doc_number(doc, node, min, INFINITY, value, err);
}

bool storage_load(struct plan_storage *to, struct arena *arena, const char *path, struct error *err)
{
    struct doc doc;
    if (!doc_load(&doc, path, err))
        return false;
    const struct doc_node *root = doc.root, *training = doc_find(root, "training"),
                          *save = doc_find(doc_find(root, "checkpoints"), "save"),
                          *keys = doc_find(doc_find(root, "configuration"), "checkpoint");
    *to = (struct plan_storage){.samples_per_second = NAN, .sample_bytes = NAN, .save_rate = NAN};
    to->workload = arena_string(arena, name_of(doc_find(root, "workload")));
    to->verdict = arena_string(arena, name_of(doc_find(root, "verdict")));
    bool ok = ((to->workload && to->verdict) || error_memory(err)) && doc_is_map(&doc, root, err) &&
              doc_is_format(&doc, root, "rehearse-feed-result/1", err) &&
              read_key(&doc, training, "samples_per_second", DOC_POSITIVE, &to->samples_per_second, err) &&
              read_key(&doc, training, "bytes_per_second", DOC_POSITIVE, &to->sample_bytes, err) &&
              read_key(&doc, save, "bytes_per_second_mean", DOC_POSITIVE, &to->save_rate, err) &&
              read_key(&doc, keys, "steps_between_checkpoints", -1.0, &to->save_every, err) &&
              read_key(&doc, root, "accelerators", 1.0, &to->accelerators, err);
    to->sample_bytes /= to->samples_per_second;
    if (ok && isnan(to->samples_per_second) && isnan(to->save_rate))
        ok = doc_error(&doc, training ? training : root, err,
                       "no rate of loading or saving: give a run that trains or saves checkpoints");
    doc_release(&doc);
    return ok;
}

/* Bytes of parameters and optimizer states, each once. NAN: not known, as where copies share experts and not the rest. */
static double state_of(const struct plan *plan)
{
    double all = 0.0, pipelines = (double)plan_copies(plan), shards = fmax(1.0, plan->technique.replicate);
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++) {
            const struct plan_stage *stage = &plan->pipelines[p].stages[s];
            double copies = plan->pipelines[p].copies;
            double alike = pipelines * stage->degrees.context * stage->degrees.data;
            double groups = shards * (plan_is_mix(plan) ? pipelines / copies : 1.0);
            if (stage->degrees.expert > 1 && plan->sharding < 3)
                return NAN;
            all += plan_stage_devices(stage) * copies *
                   (stage->bytes.parameters / (plan->sharding >= 3 ? groups : alike) +
                    stage->bytes.optimizer / (plan->sharding >= 1 ? groups : alike));
        }
    return all > 0.0 ? all : NAN;
}

bool storage_of(struct plan *plan, const char *path, double save_every, struct error *err)
{
    struct plan_storage *to = &plan->storage;
    double samples = (double)plan_samples(plan);
    if (!storage_load(to, &plan->arena, path, err))
        return false;
    if (save_every > 0.0 && isnan(to->save_rate))
        return error_set(err, ERROR_USAGE, "--save-every: the run of '%s' saved no checkpoint", path);
    to->save_every = save_every > 0.0 ? save_every : to->save_every > 0.0 ? to->save_every : NAN;
    to->compute = isfinite(plan->expected) ? plan->expected : plan->iteration_time;
    if (!(to->compute > 0.0) || !(samples > 0.0))
        return error_set(err, ERROR_USAGE, "--storage: the plan has no time or no samples of an iteration");
    to->load_seconds = samples / to->samples_per_second;
    double paced = fmax(to->compute, to->load_seconds); /* of NAN and a number, the number */
    to->loading = isnan(to->load_seconds) ? NAN : paced - to->compute;
    to->checkpoint_bytes = state_of(plan);
    to->checkpoints = to->checkpoint_bytes / to->save_rate / to->save_every;
    to->seconds = paced + fmax(to->checkpoints, 0.0);
    to->limit = to->checkpoints > paced ? "checkpoints" : to->loading > 0.0 ? "loading" : "compute";
    return true;
}

void storage_print(const struct plan *plan, struct text *out)
{
    const struct plan_storage *at = &plan->storage;
    struct unit_texts texts = {0};
    if (!(at->seconds > 0.0) || !at->workload || !at->verdict || !at->limit)
        return;
    double percent = at->seconds / 100.0;
    text_format(out, "\nwith storage %s: compute %.1f %%, loading %.1f %%, checkpoints %.1f %%; %s limits\n",
                unit_text(&texts, at->seconds, UNIT_TIME), at->compute / percent,
                fmax(at->loading, 0.0) / percent, fmax(at->checkpoints, 0.0) / percent, at->limit);
    if (isnan(at->loading))
        text_add(out, "  loading is not counted: the run did not train\n");
    else
        text_format(out, "  loading %s: %s at %.4g samples/s of %s, beside the iteration before\n",
                    unit_text(&texts, at->loading, UNIT_TIME), unit_text(&texts, at->load_seconds, UNIT_TIME),
                    at->samples_per_second, unit_text(&texts, at->sample_bytes, UNIT_BYTES));
    if (isnan(at->checkpoints))
        text_format(out, "  checkpoints are not counted: %s\n",
                    isnan(at->save_rate)    ? "the run saved none"
                    : isnan(at->save_every) ? "give --save-every, as the run does not say how often"
                                            : "the plan does not say how large its state is");
    else
        text_format(out, "  checkpoints %s: %s at %s, every %.0f iterations\n",
                    unit_text(&texts, at->checkpoints, UNIT_TIME),
                    unit_text(&texts, at->checkpoint_bytes, UNIT_BYTES),
                    unit_text(&texts, at->save_rate, UNIT_RATE), at->save_every);
    text_format(out,
                "  assumed: %" PRId64 " devices share the rates of %.0f accelerators (%s, verdict %s%s)\n",
                plan_devices_used(plan), at->accelerators, at->workload, at->verdict,
                strcmp(at->verdict, "too slow") == 0 ? "" : ": not the limit of the storage");
}
