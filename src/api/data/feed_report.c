#include "api/data/feed.h"

#include "core/unit.h"
#include "dataset/format.h"
#include "feed/workload/compute_time.h"

#include <inttypes.h>
#include <math.h>

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static void report_head(const struct session *session, struct text *out)
{
    const struct workload *workload = session->options.run.workload;
    const struct storage_options *used = storage_options(session->options.run.loader.storage);
    int accelerators = session->options.run.accelerators * comm_size(session->options.run.comm);
    text_format(out, "%s: %d accelerator%s on %d host%s; %s%s below %s\n", workload->name, accelerators,
                plural(accelerators), session->host_count, plural(session->host_count),
                storage_kind_words[used->method], used->direct ? ", direct" : "",
                used->root ? used->root : ".");
}

static void report_data(const struct session *session, struct text *out)
{
    const struct workload *workload = session->options.run.workload;
    const struct run_result *run = &session->run;
    struct unit_texts texts = {0};
    struct distribution step;
    struct error ignored;
    if (run->train.steps == 0)
        return;
    text_format(out, "%" PRId64 " %s files of %" PRId64 " sample%s", session->layout.files_train,
                session->layout.format->name, run->train.options.samples_per_file,
                plural(run->train.options.samples_per_file));
    if (session->data_set >= 0)
        text_format(out, ", %s", unit_text(&texts, (double)session->data_set, UNIT_BYTES));
    if (!compute_time_of_step(workload, run->train.options.accelerators, &step, &ignored))
        step = distribution_constant(0.0);
    text_format(out, "; %d epoch%s of %" PRId64 " steps, batch %" PRId64 ", compute %s\n\n", run->epochs,
                plural(run->epochs), run->train.steps, run->train.options.batch,
                unit_text(&texts, distribution_mean(&step), UNIT_TIME));
}

static void report_percentiles(const char *name, const struct histogram *histogram, struct text *out)
{
    struct unit_texts texts = {0};
    struct metrics_percentiles p = metrics_percentiles(histogram);
    if (histogram->count > 0)
        text_format(out, "  %-12s p50 %s, p90 %s, p99 %s, p99.9 %s, max %s\n", name,
                    unit_text(&texts, p.p50, UNIT_TIME), unit_text(&texts, p.p90, UNIT_TIME),
                    unit_text(&texts, p.p99, UNIT_TIME), unit_text(&texts, p.p999, UNIT_TIME),
                    unit_text(&texts, p.max, UNIT_TIME));
}

static void report_phase(const struct session *session, enum metrics_phase phase, struct text *out)
{
    const struct metrics *whole = &session->run.whole;
    struct metrics_figures f;
    struct error ignored;
    struct unit_texts texts = {0};
    const char *name = phase == METRICS_TRAIN ? "training" : "evaluation";
    if ((phase == METRICS_TRAIN ? session->run.train.steps : session->run.eval.steps) == 0)
        return;
    if (!metrics_figures(whole, phase, METRICS_RUN, &f, &ignored)) {
        text_format(out, "%s: no step counted\n", name);
        return;
    }
    text_format(out, "%s\n  %-12s %.1f %%", name, "AU", 100.0 * f.au);
    if (phase == METRICS_TRAIN)
        text_format(out, " (target %.0f %% %s)", 100.0 * whole->options.au_target, f.met ? "met" : "missed");
    text_format(out, "; without barriers %.1f %%\n", 100.0 * f.au_without_barrier);
    text_format(out, "  %-12s %.5g samples/s, %s\n", "throughput", f.samples_per_second,
                unit_text(&texts, f.bytes_per_second, UNIT_RATE));
    text_format(out, "  %-12s compute %.1f %%, waiting for data %.1f %%, barrier %.1f %%", "time",
                100.0 * f.compute, 100.0 * f.load, 100.0 * f.barrier);
    if (f.copy > 0.0)
        text_format(out, ", copying %.1f %%", 100.0 * f.copy);
    text_format(out, ", late %.2f %%\n", 100.0 * f.late);
    report_percentiles("wait", &whole->wait[phase], out);
    report_percentiles("step", &whole->step[phase], out);
    if (f.accelerators > 1 && f.last_range.max > 0)
        text_format(
            out, "  %-12s accelerator %d waited longest for data (%s); accelerator %d was last %.0f times\n",
            "stragglers", f.load_range.max_at, unit_text(&texts, f.load_range.max, UNIT_TIME),
            f.last_range.max_at, f.last_range.max);
}

static void report_saves(const struct session *session, enum metrics_kind kind, struct text *out)
{
    struct metrics_checkpoints c;
    struct error memory;
    struct unit_texts texts = {0};
    if (!metrics_checkpoints(&session->run.whole, kind, &c, &memory))
        out->failed = true;
    if (out->failed || c.count == 0)
        return;
    text_format(out, "checkpoints %s\n", kind == METRICS_SAVE ? "saved" : "restored");
    text_format(out, "  %d of %s, each in %s on average (max %s)", c.count,
                unit_text(&texts, (double)c.bytes, UNIT_BYTES), unit_text(&texts, c.duration_mean, UNIT_TIME),
                unit_text(&texts, c.duration_max, UNIT_TIME));
    text_format(out, ": %s", unit_text(&texts, c.throughput_mean, UNIT_RATE));
    if (kind == METRICS_SAVE)
        text_format(out, ", %.0f %% of the time in fsync, close and rename", 100.0 * c.sync);
    if (kind == METRICS_SAVE && !session->options.run.workload->checkpoint.fsync &&
        storage_options(session->saves)->method != STORAGE_S3)
        text_add(out, "; not synced: some of it may still be in memory");
    if (kind == METRICS_LOAD && c.from_storage >= 0 && c.all_bytes > 0)
        text_format(out, ", %.3g %% of it from the storage",
                    100.0 * (double)c.from_storage / (double)c.all_bytes);
    text_format(out, "\n  slowest rank %d, %s\n", c.rank_min_at, unit_text(&texts, c.rank_min, UNIT_RATE));
}

/* Returns the bytes delivered to all accelerators. */
static int64_t bytes_of(const struct session *session)
{
    struct metrics_figures figures;
    struct error ignored;
    int64_t sum = 0;
    for (int phase = 0; phase < METRICS_PHASES; phase++)
        if (metrics_figures(&session->run.whole, (enum metrics_phase)phase, METRICS_RUN, &figures, &ignored))
            sum += figures.all.bytes;
    return sum;
}

static double share_of(const struct run_look *look)
{
    return look->bytes > 0 ? 100.0 * (double)look->resident / (double)look->bytes : 0.0;
}

static void report_resident(const struct session *session, struct text *out)
{
    static const char *const drops[] = {[RUN_DROP_NOTHING] = "",
                                        [RUN_DROP_FILES] = "; dropped before each epoch",
                                        [RUN_DROP_SYSTEM] = "; dropped system-wide"};
    const struct run_resident *resident = &session->run.resident;
    struct unit_texts texts = {0};
    if (!resident->before.known || resident->before.bytes == 0)
        return;
    text_format(out, "  %-12s %.0f %% of %" PRId64 " files (%s) at the start", "page cache",
                share_of(&resident->before), resident->before.files,
                unit_text(&texts, (double)resident->before.bytes, UNIT_BYTES));
    if (resident->after.known)
        text_format(out, ", %.0f %% at the end", share_of(&resident->after));
    text_format(out, "%s\n", drops[session->options.run.drop]);
}

static void report_cache(const struct session *session, struct text *out)
{
    const struct run_result *run = &session->run;
    struct unit_texts texts = {0};
    double read = (double)run->counts.bytes, processor = 0.0; /* of this process; of all */
    for (int i = 0; i < session->host_count; i++)
        processor += session->hosts[i].cpu_seconds;
    text_add(out, "host\n");
    report_resident(session, out);
    if (session->device_read >= 0 && read > 0.0)
        text_format(out, "  %-12s %s delivered; the device read %s (system-wide)\n", "device",
                    unit_text(&texts, (double)bytes_of(session), UNIT_BYTES),
                    unit_text(&texts, (double)session->device_read, UNIT_BYTES));
    text_format(out, "  %-12s %s", "processor", unit_text(&texts, processor, UNIT_TIME));
    if (read > 0.0)
        text_format(out, ", reading %.3g s/GB", run->counts.read_cpu / read * 1e9);
    if (run->counts.decode_cpu > 0.0)
        text_format(out, ", decoding %.3g s/GB", run->counts.decode_cpu / read * 1e9);
    if (run->counts.verify_cpu > 0.0)
        text_format(out, ", verifying %.3g s/GB", run->counts.verify_cpu / read * 1e9);
    text_format(out, "; memory %s", unit_text(&texts, (double)run->memory, UNIT_BYTES));
    if (run->late.count > 0)
        text_format(out, "; timers up to %s late (p99)",
                    unit_text(&texts, metrics_percentiles(&run->late).p99, UNIT_TIME));
    text_add(out, "\n");
}

static void report_checks(const struct session *session, struct text *out)
{
    text_add(out, "checks\n");
    static const char *const states[] = {
        [SESSION_FAILED] = "FAIL", [SESSION_PASSED] = "ok", [SESSION_OPEN] = "--"};
    for (int i = 0; i < session->check_count; i++)
        text_format(out, "  %-4s %s%s%s\n", states[session->checks[i].state], session->checks[i].name,
                    *session->checks[i].text ? ": " : "", session->checks[i].text);
    text_format(out, "verdict\n  %s\n", session->verdict_text);
}

static void report_rules(const struct rules_report *rules, struct text *out)
{
    text_format(out, "MLPerf Storage v2.0: %s\n", rules_category_words[rules->category]);
    for (int i = 0; i < rules->count; i++)
        text_format(out, "  %-7s %s (%s): %s\n", rules_verdict_words[rules->findings[i].verdict],
                    rules->findings[i].rule, rules->findings[i].section, rules->findings[i].text);
}

void feed_report(const struct session *session, struct text *out)
{
    report_head(session, out);
    report_data(session, out);
    report_phase(session, METRICS_TRAIN, out);
    report_phase(session, METRICS_EVAL, out);
    report_saves(session, METRICS_SAVE, out);
    report_saves(session, METRICS_LOAD, out);
    report_cache(session, out);
    report_checks(session, out);
    if (session->has_rules)
        report_rules(&session->rules, out);
}

void feed_report_max(const struct session_max *max, struct text *out)
{
    text_format(out, "%s  %9s  %s\n", "accelerators", "AU", "");
    for (int i = 0; i < max->probe_count; i++) {
        const struct session_probe *probe = &max->probes[i];
        text_format(out, "%12d  %7.1f %%", probe->accelerators, 100.0 * probe->au);
        if (!isnan(probe->error))
            text_format(out, "  +- %.1f", 100.0 * probe->error);
        text_add(out, probe->met ? "\n" : "  missed\n");
    }
    if (*max->limits.text) {
        text_add(out, "\n");
        limits_report(&max->limits, out);
    }
    bool again = max->unjudged_at == max->accelerators || max->unjudged_at == max->fails_at;
    text_format(out, "\n%s%d accelerator%s kept %.0f %% busy or more",
                max->unjudged_at > 0 && !again ? "at least " : "", max->accelerators,
                plural(max->accelerators), 100.0 * max->au_target);
    if (max->bounded)
        text_format(out, ", %d not", max->fails_at);
    if (max->unjudged_at > 0)
        text_format(out, "; the search ended at %s%d, which cannot be judged: %s",
                    again ? "the second run of " : "", max->unjudged_at, max->unjudged);
    else if (max->bounded && !max->certain)
        text_add(out, "; both are too close to the target to be certain");
    text_add(out, "\n");
}
