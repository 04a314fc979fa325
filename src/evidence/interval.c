#include "evidence/interval.h"

#include "core/doc.h"
#include "core/once.h"
#include "core/statistics.h"

#include <math.h>
#include <string.h>

#define FORMAT "rehearse-residuals/1"

/* The number of nearest residuals that make an interval, and the share of them inside. The share is a little over 0.8,
 * because a quantile of few values is narrower than that of all. */
#define NEIGHBOURS 24
#define SHARE      0.84

/* A different kind counts like a size this many times larger or smaller (as log2). */
#define OTHER_GENERATION 6.0
#define OTHER_SOFTWARE   4.0
#define OTHER_WIDTH      3.0
#define OTHER_EXPERTS    6.0

/* No further apart than the digits that the file keeps. */
#define ALIKE 0.03

/* Further than this from any run: nothing like it was seen, and the interval is this much wider, and wider still the
 * further it is. A guess: there is nothing to learn it from. */
#define FAR   5.0
#define WIDER 2.0

static int bits_of(enum cost_type type)
{
    double bytes = cost_type_bytes(type);
    return bytes < 1.0 ? 4 : bytes < 2.0 ? 8 : 16;
}

struct likeness likeness_of(const struct job *job)
{
    return (struct likeness){
        .generation = job->device->generation,
        .software = job->software->name,
        .bits = bits_of(cost_device_type(job->device, job->type)),
        .experts = job->model->experts > 0,
        .sizes = {log2(job->devices), log2(fmax(architecture_parameters(job->model), 1.0)),
                  log2((double)job->sequence), log2((double)(job->microbatch * job->sequence)),
                  log2(job->pipeline)},
    };
}

static double distance(const struct likeness *a, const struct likeness *b)
{
    double sum = 0.0;
    for (int i = 0; i < INTERVAL_SIZES; i++)
        sum += (a->sizes[i] - b->sizes[i]) * (a->sizes[i] - b->sizes[i]);
    if (strcmp(a->generation, b->generation) != 0)
        sum += OTHER_GENERATION * OTHER_GENERATION;
    if (strcmp(a->software, b->software) != 0)
        sum += OTHER_SOFTWARE * OTHER_SOFTWARE;
    if (a->bits != b->bits)
        sum += OTHER_WIDTH * OTHER_WIDTH;
    if (a->experts != b->experts)
        sum += OTHER_EXPERTS * OTHER_EXPERTS;
    return sqrt(sum);
}

static double quantile(const double *sorted, int count, double share)
{
    double at = fmin(fmax(share * (count + 1) - 1.0, 0.0), count - 1.0);
    int below = (int)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

struct interval interval_of(const struct residuals *residuals, const struct likeness *likeness,
                            double seconds, bool blind)
{
    double near[NEIGHBOURS], found[NEIGHBOURS];
    int count = 0;
    for (int i = 0; i < residuals->count; i++) {
        double away = distance(likeness, &residuals->rows[i].likeness);
        if (blind && away < ALIKE)
            continue;
        int at = count < NEIGHBOURS ? count++ : NEIGHBOURS;
        for (; at > 0 && near[at - 1] > away; at--)
            if (at < NEIGHBOURS) {
                near[at] = near[at - 1];
                found[at] = found[at - 1];
            }
        if (at < NEIGHBOURS) {
            near[at] = away;
            found[at] = residuals->rows[i].log_ratio;
        }
    }
    if (count == 0)
        return (struct interval){.low = 0.0, .high = INFINITY, .extrapolates = true};
    bool extrapolates = near[0] > FAR;
    double wider = extrapolates ? WIDER * near[0] / FAR : 1.0;
    sort_doubles(found, count);
    return (struct interval){
        .low = seconds * exp(wider * quantile(found, count, 0.5 - SHARE / 2.0)),
        .high = seconds * exp(wider * quantile(found, count, 0.5 + SHARE / 2.0)),
        .extrapolates = extrapolates,
    };
}

bool interval_holds(const struct interval *interval, double seconds)
{
    return seconds >= interval->low && seconds <= interval->high;
}

void interval_write(const struct interval *interval, struct json *json)
{
    json_number(json, "low", interval->low);
    json_number(json, "high", interval->high);
    json_bool(json, "extrapolates", interval->extrapolates);
}

void residuals_write(const struct residuals *residuals, const char *source, struct text *out)
{
    text_add(out, "# ln(measured / predicted) of runs, and what they are like; see docs/validate.md.\n"
                  "# Computed from ");
    text_add_printable(out, source, strlen(source), ""); /* one line, whatever a table calls its sources */
    text_add(out,
             "\nformat: " FORMAT "\n"
             "# generation, software, bits, experts, log2 of: devices, parameters, sequence, tokens of a "
             "micro-batch, stages; residual\n"
             "runs:\n");
    for (int i = 0; i < residuals->count; i++) {
        const struct residual *row = &residuals->rows[i];
        text_add(out, "  - [");
        text_add_quoted(out, row->likeness.generation);
        text_add(out, ", ");
        text_add_quoted(out, row->likeness.software);
        text_format(out, ", %d, %s", row->likeness.bits, row->likeness.experts ? "true" : "false");
        for (int s = 0; s < INTERVAL_SIZES; s++)
            text_format(out, ", %.2f", row->likeness.sizes[s]);
        text_format(out, ", %.4f]\n", row->log_ratio);
    }
}

static bool read_row(const struct doc *doc, const struct doc_node *node, struct residuals *residuals,
                     struct error *err)
{
    struct residual *row = &residuals->rows[residuals->count];
    if (!doc_is_list(doc, node, err))
        return false;
    if (node->count != 5 + INTERVAL_SIZES)
        return doc_error(doc, node, err, "expected %d values, found %u", 5 + INTERVAL_SIZES, node->count);
    const char *text[2];
    const struct doc_node *value = node->first_child;
    for (int i = 0; i < 2; i++, value = value->next)
        if (!doc_string(doc, value, &text[i], err))
            return false;
    row->likeness.generation = arena_string(&residuals->arena, text[0]);
    row->likeness.software = arena_string(&residuals->arena, text[1]);
    if (!row->likeness.generation || !row->likeness.software)
        return error_memory(err);
    double bits;
    if (!doc_number(doc, value, 4.0, 64.0, &bits, err))
        return false;
    row->likeness.bits = (int)bits;
    value = value->next;
    if (value->type != DOC_BOOL)
        return doc_error(doc, value, err, "expected true or false");
    row->likeness.experts = value->boolean;
    for (int i = 0; i < INTERVAL_SIZES; i++) {
        value = value->next;
        if (!doc_number(doc, value, 0.0, 100.0, &row->likeness.sizes[i], err))
            return false;
    }
    if (!doc_number(doc, value->next, -10.0, 10.0, &row->log_ratio, err))
        return false;
    residuals->count++;
    return true;
}

static bool read_rows(const struct doc *doc, struct residuals *residuals, struct error *err)
{
    static const char *const keys[] = {"format", "runs"};
    if (!doc_is_map(doc, doc->root, err) || !doc_only_keys(doc, doc->root, keys, 2, err))
        return false;
    if (!doc_need(doc, doc->root, "format", err) || !doc_is_format(doc, doc->root, FORMAT, err))
        return false;
    const struct doc_node *runs = doc_need(doc, doc->root, "runs", err);
    if (!runs || !doc_is_list(doc, runs, err))
        return false;
    residuals->rows = ARENA_ARRAY(&residuals->arena, (size_t)runs->count + 1, struct residual);
    if (!residuals->rows)
        return error_memory(err);
    for (const struct doc_node *node = runs->first_child; node; node = node->next)
        if (!read_row(doc, node, residuals, err))
            return false;
    return true;
}

bool residuals_parse(struct residuals *residuals, const char *path, const char *data, size_t length,
                     struct error *err)
{
    struct doc doc;
    *residuals = (struct residuals){0};
    if (!doc_parse(&doc, DOC_YAML, path, data, length, err))
        return false;
    bool ok = read_rows(&doc, residuals, err);
    doc_release(&doc);
    if (!ok)
        residuals_release(residuals);
    return ok;
}

void residuals_release(struct residuals *residuals)
{
    arena_release(&residuals->arena);
    *residuals = (struct residuals){0};
}

extern const char data_residuals[];
extern const size_t data_residuals_size;

static struct residuals known;

static bool read_known(struct error *err)
{
    return residuals_parse(&known, "residuals.yaml", data_residuals, data_residuals_size, err);
}

const struct residuals *residuals_known(struct error *err)
{
    static struct once once = ONCE_INIT;
    return once_read(&once, read_known, err) ? &known : NULL;
}
