/* A price as text, and as JSON. */
#include "launch/price.h"

#include "core/fields.h"
#include "core/unit.h"
#include "plan/split/plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct field times[] = {
    FIELD_OUT(struct job_time, "compute", compute, FIELD_DOUBLE),
    FIELD_OUT(struct job_time, "bubble", bubble, FIELD_DOUBLE),
    FIELD_OUT(struct job_time, "tensor", tensor, FIELD_DOUBLE),
    FIELD_OUT(struct job_time, "send", send, FIELD_DOUBLE),
    FIELD_OUT(struct job_time, "data", data, FIELD_DOUBLE),
    FIELD_OUT(struct job_time, "optimizer", optimizer, FIELD_DOUBLE),
    FIELD_OUT(struct job_time, "other", other, FIELD_DOUBLE),
};
static const struct field bytes[] = {
    FIELD_OUT(struct job_memory, "parameters", parameters, FIELD_DOUBLE),
    FIELD_OUT(struct job_memory, "gradients", gradients, FIELD_DOUBLE),
    FIELD_OUT(struct job_memory, "optimizer", optimizer, FIELD_DOUBLE),
    FIELD_OUT(struct job_memory, "activations", activations, FIELD_DOUBLE),
    FIELD_OUT(struct job_memory, "working", working, FIELD_DOUBLE),
    FIELD_OUT(struct job_memory, "runtime", runtime, FIELD_DOUBLE),
};

#define TIMES ((int)(sizeof times / sizeof *times))
#define BYTES ((int)(sizeof bytes / sizeof *bytes))

static bool fits(const struct launch_price *price)
{
    return job_needed(&price->job, price->memory.total) <= (double)price->job.device->memory;
}

static int largest_part(const struct job_memory *memory)
{
    int largest = 0;
    for (int i = 1; i < BYTES; i++)
        if (field_get(memory, &bytes[i]) > field_get(memory, &bytes[largest]))
            largest = i;
    return largest;
}

static double tokens_per_device(const struct job *job, const struct job_time *time)
{
    return (double)job->batch * (double)job->sequence / time->seconds / job->devices;
}

/* ---- what was read ---- */

#define MAX_LISTED 40

static void print_use(const struct launch_options *options, enum launch_use use, const char *title,
                      struct text *out)
{
    int count = 0, all = launch_count(options, use);
    if (all == 0)
        return;
    text_format(out, "%s\n", title);
    for (int i = 0; i < options->argument_count && count < MAX_LISTED; i++) {
        const struct launch_argument *argument = &options->arguments[i];
        if (argument->use != use)
            continue;
        text_format(out, "  %s:%d: %s%s", argument->path, argument->line, argument->name,
                    argument->value ? " " : "");
        if (argument->value)
            text_add_printable(out, argument->value,
                               strlen(argument->value) < 60 ? strlen(argument->value) : 60, "");
        text_format(out, "%s%s\n", argument->note ? ": " : "", argument->note ? argument->note : "");
        count++;
    }
    if (count < all)
        text_format(out, "  and %d more (--json has all)\n", all - count);
}

static void print_read(const struct launch_options *options, struct text *out)
{
    text_format(
        out,
        "%s: %s; %d arguments read, %d without effect on the price, %d not modelled, %d not understood\n",
        options->path, options->reader, launch_count(options, LAUNCH_READ),
        launch_count(options, LAUNCH_IDLE), launch_count(options, LAUNCH_UNMODELLED),
        launch_count(options, LAUNCH_UNKNOWN));
    print_use(options, LAUNCH_UNMODELLED, "not modelled", out);
    print_use(options, LAUNCH_UNKNOWN, "not understood, and not counted", out);
    for (int i = 0; i < options->note_count; i++)
        text_format(out, "note: %s\n", options->notes[i]);
}

/* ---- the job ---- */

static void print_split(const struct job *job, struct text *out)
{
    text_format(out, "tensor %d x context %d x pipeline %d x data %d", job->degrees.tensor,
                job->degrees.context, job->degrees.pipeline, job->degrees.data);
    if (job->degrees.expert > 1)
        text_format(out, ", expert %d", job->degrees.expert);
    if (job->chunks > 1)
        text_format(out, ", %d chunks", job->chunks);
    text_format(out,
                "; micro-batch %" PRId64 ", %" PRId64 " of them; ZeRO %d; recomputation: ", job->microbatch,
                job_microbatches(job), job->sharding);
    technique_write_recompute(out, job->recompute, &job->technique);
    technique_write_others(out, &job->technique, "; ");
    text_add(out, "\n");
}

static void print_job(const struct launch_price *price, struct text *out)
{
    const struct job *job = &price->job;
    const struct architecture *model = job->model;
    text_format(out, "\n%s: %d blocks, hidden %" PRId64 ", %.4g B parameters; on %d x %s%s%s%s", model->name,
                model->layers, model->hidden, architecture_parameters(model) / 1e9, job->devices,
                job->device->name, price->options->device_said ? " (by " : "",
                price->options->device_said ? price->options->device_said : "",
                price->options->device_said ? ")" : "");
    if (job->devices > job->devices_per_node)
        text_format(out, ", %s between nodes", job->across->name);
    text_format(out, "\nglobal batch %" PRId64 " x %" PRId64 " tokens, products in %s, priced as %s\n",
                job->batch, job->sequence, cost_type_name(cost_device_type(job->device, job->type)),
                job->software->name);
    print_split(job, out);
}

/* A line of both columns. */
static void print_part(const char *indent, const char *name, double here, const double *there,
                       enum unit_kind kind, struct text *out)
{
    struct unit_texts texts = {0};
    text_format(out, "%s%-*s %14s", indent, 12 - (int)strlen(indent), name, unit_text(&texts, here, kind));
    if (there)
        text_format(out, "  %14s", unit_text(&texts, *there, kind));
    text_add(out, "\n");
}

/* The parts of a sum that either has. */
static void print_sum(const struct field *parts, int count, const void *here, const void *there,
                      enum unit_kind kind, struct text *out)
{
    for (int i = 0; i < count; i++) {
        double first = field_get(here, &parts[i]), second = there ? field_get(there, &parts[i]) : 0;
        if (first > 0 || second > 0)
            print_part("  ", parts[i].key, first, there ? &second : NULL, kind, out);
    }
}

static void print_parts(const struct launch_price *price, struct text *out)
{
    const struct job_choice *planned = price->planned;
    const struct job_time *time = planned ? &planned->time : NULL;
    const struct job_memory *memory = planned ? &planned->memory : NULL;
    text_format(out, "\n%-12s %14s%s\n", "", "as it stands", planned ? "  planned freely" : "");
    print_part("", "by formula", price->time.seconds, time ? &time->seconds : NULL, UNIT_TIME, out);
    print_sum(times, TIMES, &price->time, time, UNIT_TIME, out);
    text_format(out, "%-12s %14.4g", "tokens/s/dev", tokens_per_device(&price->job, &price->time));
    text_format(out, planned ? "  %14.4g\n" : "\n",
                planned ? tokens_per_device(&planned->job, &planned->time) : 0.0);
    print_part("", "memory", price->memory.total, memory ? &memory->total : NULL, UNIT_BYTES, out);
    print_sum(bytes, BYTES, &price->memory, memory, UNIT_BYTES, out);
}

static void print_fit(const struct launch_price *price, struct text *out)
{
    struct unit_texts texts = {0};
    double limit = (double)price->job.device->memory;
    int largest = largest_part(&price->memory);
    text_add(out, "\n");
    if (price->factor != 1.0)
        text_format(out, "expected as it stands: %s (%s by formula x %.3f by known runs",
                    unit_text(&texts, price->factor * price->time.seconds, UNIT_TIME),
                    unit_text(&texts, price->time.seconds, UNIT_TIME), price->factor / price->own);
    if (price->own != 1.0)
        text_format(out, " x %.3f by your run", price->own);
    text_add(out, price->factor != 1.0 ? ")\n" : "");
    int kinds;
    launch_price_wider(price->options, &kinds);
    plan_print_interval(&price->interval, out);
    if (kinds > 0)
        text_format(out, " (wider by %.0f %% for %d kind%s of settings that %s not modelled)",
                    100 * (price->wider - 1), kinds, kinds > 1 ? "s" : "", kinds > 1 ? "are" : "is");
    text_format(out, "\n%.1f %% of the devices' peak\n",
                100 * job_utilisation(&price->job, &price->time) / price->factor);
    plan_print_nearest(&price->nearest, out);
    if (fits(price)) {
        bool narrow = price->memory.total > (1 - price->headroom) * limit;
        text_format(out, "fits%s: %.0f %% of %s", narrow ? " narrowly" : "",
                    100 * price->memory.total / limit, unit_text(&texts, limit, UNIT_BYTES));
        if (narrow)
            text_format(out, "; plans keep %.0f %% free for what is not predicted", 100 * price->headroom);
        text_add(out, "\n");
    } else {
        double needed = job_needed(&price->job, price->memory.total), rest = needed - price->memory.total;
        text_format(out, "does not fit: %s of %s", unit_text(&texts, needed, UNIT_BYTES),
                    unit_text(&texts, limit, UNIT_BYTES));
        if (rest > 0.0)
            text_format(out, ", with %s of context and cached blocks", unit_text(&texts, rest, UNIT_BYTES));
        text_format(out, "; most of it is %s (%s)\n", bytes[largest].key,
                    unit_text(&texts, field_get(&price->memory, &bytes[largest]), UNIT_BYTES));
    }
}

/* ---- the difference ---- */

static void add_changes(const struct job *from, const struct job *to, struct text *out)
{
    int count = 0;
    for (int d = 0; d < JOB_DIMENSIONS; d++) {
        enum job_dimension dimension = (enum job_dimension)d;
        int64_t a = job_dimension_value(from, dimension), b = job_dimension_value(to, dimension);
        if (a == b)
            continue;
        text_format(out, "%s%s ", count++ > 0 ? ", " : "", job_dimension_name(dimension));
        job_dimension_write(out, dimension, a);
        text_add(out, " to ");
        job_dimension_write(out, dimension, b);
    }
    if (count == 0)
        text_add(out, from->devices != to->devices ? "fewer devices" : "the layout of stages only");
}

static void print_difference(const struct launch_price *price, struct text *out)
{
    const struct job_choice *planned = price->planned;
    struct unit_texts texts = {0};
    if (!planned) {
        if (price->not_planned)
            text_format(out, "\nplanned freely: %s\n", price->not_planned);
        return;
    }
    double gain = price->time.seconds - planned->time.seconds;
    text_add(out, "\nplanned freely: ");
    print_split(&planned->job, out);
    if (fabs(gain) <= 1e-9 * price->time.seconds) {
        text_add(out, "no plan that fits is faster\n");
        return;
    }
    text_format(out, "%.1f %% %s: ", fabs(100 * gain / price->time.seconds),
                gain > 0 ? "less time" : "more time, but it fits with what is kept free");
    add_changes(&price->job, &planned->job, out);
    text_add(out, "\nfrom");
    int count = 0;
    for (int i = 0; i < TIMES; i++) {
        double part = field_get(&price->time, &times[i]) - field_get(&planned->time, &times[i]);
        if (fabs(part) < 0.005 * price->time.seconds)
            continue;
        text_format(out, "%s %s %s%s", count++ > 0 ? "," : "", times[i].key, part > 0 ? "-" : "+",
                    unit_text(&texts, fabs(part), UNIT_TIME));
    }
    text_add(out, "\n");
}

void launch_price_print(const struct launch_price *price, struct text *out)
{
    print_read(price->options, out);
    print_job(price, out);
    print_parts(price, out);
    print_fit(price, out);
    print_difference(price, out);
}

/* ---- JSON ---- */

const char *const launch_use_names[LAUNCH_USES] = {[LAUNCH_UNKNOWN] = "unknown",
                                                   [LAUNCH_READ] = "read",
                                                   [LAUNCH_IDLE] = "idle",
                                                   [LAUNCH_UNMODELLED] = "unmodelled"};

static const struct field argument_fields[] = {
    FIELD(struct launch_argument, name, FIELD_TEXT, 0, 0),
    FIELD(struct launch_argument, value, FIELD_TEXT, 0, 0),
    FIELD_OUT(struct launch_argument, "file", path, FIELD_TEXT),
    FIELD(struct launch_argument, line, FIELD_INT, 0, 0),
    FIELD_WORDS(struct launch_argument, "use", use, launch_use_names),
    FIELD(struct launch_argument, note, FIELD_TEXT, 0, 0),
};

static const struct field note_field[] = {{.type = FIELD_TEXT}};

static const struct field read_fields[] = {
    FIELD_ROWS(struct launch_options, "arguments", arguments, argument_count, argument_fields, FIELD_LIST),
    FIELD_ROWS(struct launch_options, "notes", notes, note_count, note_field, FIELD_LIST),
};

/* Techniques that are the software's own are left out. */
static void write_dimension(struct json *json, enum job_dimension dimension, int64_t value)
{
    struct text word = {0};
    if (dimension >= JOB_TECHNIQUE && value == 0)
        return;
    if (job_dimension_is_number(dimension)) {
        json_integer(json, job_dimension_name(dimension), value);
        return;
    }
    job_dimension_write(&word, dimension, value);
    json_string(json, job_dimension_name(dimension), text_within(&word, json->out));
    text_release(&word);
}

#define RATE_FIELDS(X, of)                                                                                   \
    X(of, DOUBLE, iteration_time) X(of, DOUBLE, tokens_per_second_per_device) X(of, DOUBLE, utilisation)
FIELDS_RECORD(rates, RATE_FIELDS);

static void write_job(const char *key, const struct job *job, const struct job_time *time,
                      const struct job_memory *memory, struct json *json)
{
    const struct rates rates = {time->seconds, tokens_per_device(job, time), job_utilisation(job, time)};
    json_open(json, key, '{');
    json_integer(json, "devices", job->devices);
    json_open(json, "split", '{');
    for (int d = 0; d < JOB_DIMENSIONS; d++)
        write_dimension(json, (enum job_dimension)d, job_dimension_value(job, (enum job_dimension)d));
    json_close(json);
    FIELDS_WRITE(&rates, rates_fields, json);
    FIELDS_LONG_MAP(time, times, json, "time");
    json_number(json, "memory_bytes", memory->total);
    FIELDS_LONG_MAP(memory, bytes, json, "memory");
    json_close(json);
}

/* clang-format off */
#define HEAD_FIELDS(X, of) \
    X(of, TEXT, file) X(of, TEXT, reader) X(of, TEXT, software) X(of, TEXT, model) \
    X(of, DOUBLE, parameters) X(of, TEXT, device_type) X(of, TEXT, device_said_by) \
    X(of, INT, devices_per_node) X(of, TEXT, network) X(of, INT64, global_batch) X(of, INT64, sequence) \
    X(of, TEXT, precision) X(of, FLAG, frozen)
#define INTERVAL_FIELDS(X, of) \
    X(of, DOUBLE, expected) X(of, DOUBLE, low) X(of, DOUBLE, high) X(of, DOUBLE, like_low) X(of, DOUBLE, like_high) \
    X(of, DOUBLE, unlike_low) X(of, DOUBLE, unlike_high) X(of, FLAG, extrapolates)
#define FIT_FIELDS(X, of) X(of, DOUBLE, device_memory_bytes) X(of, FLAG, fits) X(of, TEXT, largest_part)
/* clang-format on */
FIELDS_RECORD(head, HEAD_FIELDS);
FIELDS_RECORD(interval, INTERVAL_FIELDS);
FIELDS_RECORD(fit, FIT_FIELDS);

void launch_price_write(const struct launch_price *price, bool explains, struct json *json)
{
    const struct launch_options *options = price->options;
    const struct job *job = &price->job;
    const struct head head = {options->path,
                              options->reader,
                              job->software->name,
                              job->model->name,
                              architecture_parameters(job->model),
                              job->device->name,
                              options->device_said,
                              job->devices_per_node,
                              job->across->name,
                              job->batch,
                              job->sequence,
                              cost_type_name(job->type),
                              job_is_frozen(job)};
    const struct plan_interval *ends = &price->interval;
    const struct interval interval = {price->factor * price->time.seconds,
                                      ends->low,
                                      ends->high,
                                      ends->like_low,
                                      ends->like_high,
                                      ends->unlike_low,
                                      ends->unlike_high,
                                      ends->extrapolates};
    const struct fit fit = {(double)job->device->memory, fits(price),
                            bytes[largest_part(&price->memory)].key};
    json_open_document(json, "rehearse-price/1");
    FIELDS_WRITE(&head, head_fields, json);
    json_open_flat(json, "counts", '{');
    for (int i = 1; i <= LAUNCH_USES; i++) /* what is unknown is the first use, and written last */
        json_integer(json, launch_use_names[i % LAUNCH_USES],
                     launch_count(options, (enum launch_use)(i % LAUNCH_USES)));
    json_close(json);
    write_job("as_it_stands", job, &price->time, &price->memory, json);
    json_open_flat(json, "interval", '{');
    FIELDS_WRITE(&interval, interval_fields, json);
    plan_write_nearest(&price->nearest, json);
    json_close(json);
    FIELDS_WRITE(&fit, fit_fields, json);
    if (explains)
        job_memory_write(job, json);
    if (price->planned)
        write_job("planned", &price->planned->job, &price->planned->time, &price->planned->memory, json);
    else
        json_null(json, "planned");
    json_string(json, "not_planned", price->planned ? NULL : price->not_planned);
    FIELDS_WRITE(options, read_fields, json);
    json_close(json);
}
