#include "plan/budget.h"

#include "core/doc.h"
#include "core/text.h"
#include "core/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HOUR 3600.0

/* ---- prices ---- */

#define EXPECTED "expected dollars per device and hour such as 2.10/h, found"

static bool read_dollars(const char *text, size_t length, double *dollars)
{
    static const char *const ends[] = {"/h", "/hr", "/hour", "$"};
    char number[64];
    if (length > 0 && *text == '$') {
        text++;
        length--;
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        if (length > end && strncmp(text + length - end, ends[i], end) == 0)
            length -= end;
    }
    snprintf(number, sizeof number, "%.*s", length < sizeof number ? (int)length : 0, text);
    return unit_parse(number, UNIT_COUNT, dollars) && *dollars >= 0.0 && *dollars <= 1e6;
}

/* Sets the device that a user's name means; a name that is not known may be that of a profile's device type. */
static bool set_device(const char *name, size_t length, const struct tables *tables,
                       struct budget_price *price)
{
    if (length == 0 || length >= sizeof price->device)
        return false;
    memcpy(price->device, name, length);
    const struct cost_device *device = tables_device(tables, price->device);
    if (device)
        snprintf(price->device, sizeof price->device, "%s", device->name);
    return true;
}

static bool is_new(const struct budget_prices *prices, const struct budget_price *price)
{
    for (int i = 0; i < prices->count; i++)
        if (strcmp(prices->prices[i].device, price->device) == 0)
            return false;
    return true;
}

static bool read_price(const char *text, size_t length, const struct tables *tables,
                       struct budget_price *price, struct error *err)
{
    const char *equals = memchr(text, '=', length);
    *price = (struct budget_price){.per_hour = NAN};
    if (equals && !set_device(text, (size_t)(equals - text), tables, price))
        return error_set(err, ERROR_USAGE, "--price: expected a device before '=' in '%.*s'", (int)length,
                         text);
    if (equals) {
        length -= (size_t)(equals - text) + 1;
        text = equals + 1;
    }
    return read_dollars(text, length, &price->per_hour) ||
           error_set(err, ERROR_USAGE,
                     "--price: " EXPECTED " '%.*s'; a file of prices ends in .yaml or .json", (int)length,
                     text);
}

static bool read_table(const struct doc *doc, const struct tables *tables, struct budget_prices *prices,
                       struct error *err)
{
    prices->count = 0;
    if (!doc_is_map(doc, doc->root, err))
        return false;
    for (const struct doc_node *node = doc->root->first_child; node; node = node->next) {
        struct budget_price *price = &prices->prices[prices->count];
        bool others = strcmp(node->key, "default") == 0;
        const char *text;
        *price = (struct budget_price){.per_hour = NAN};
        if (prices->count == BUDGET_MAX_PRICES)
            return doc_error(doc, node, err, "more than %d prices", BUDGET_MAX_PRICES);
        if (!others && !set_device(node->key, strlen(node->key), tables, price))
            return doc_error(doc, node, err, "expected a device of at most %zu bytes",
                             sizeof price->device - 1);
        if (!is_new(prices, price))
            return doc_error(doc, node, err, "'%s' has two prices", price->device);
        if (!doc_string(doc, node, &text, err))
            return false;
        if (!read_dollars(text, strlen(text), &price->per_hour))
            return doc_error(doc, node, err, EXPECTED " '%s'", text);
        prices->count++;
    }
    return prices->count > 0 || doc_error(doc, doc->root, err, "no prices");
}

bool budget_parse_prices(const char *path, const char *text, size_t length, const struct tables *tables,
                         struct budget_prices *prices, struct error *err)
{
    struct doc doc;
    if (!doc_parse(&doc, doc_syntax_of(path), path, text, length, err))
        return false;
    bool ok = read_table(&doc, tables, prices, err);
    doc_release(&doc);
    return ok;
}

static bool load_prices(const char *path, const struct tables *tables, struct budget_prices *prices,
                        struct error *err)
{
    struct doc doc;
    if (!doc_load(&doc, path, err))
        return false;
    bool ok = read_table(&doc, tables, prices, err);
    doc_release(&doc);
    return ok;
}

bool budget_read_prices(const char *text, const struct tables *tables, struct budget_prices *prices,
                        struct error *err)
{
    prices->count = 0;
    if (text && doc_is_name(text))
        return load_prices(text, tables, prices, err);
    for (const char *at = text; at;) {
        size_t length = strcspn(at, ",");
        struct budget_price *price = &prices->prices[prices->count];
        if (prices->count == BUDGET_MAX_PRICES)
            return error_set(err, ERROR_USAGE, "--price: more than %d prices", BUDGET_MAX_PRICES);
        if (!read_price(at, length, tables, price, err))
            return false;
        if (!is_new(prices, price))
            return error_set(err, ERROR_USAGE, "--price: '%s' has two prices%s",
                             *price->device ? price->device : text,
                             *price->device ? "" : "; a decimal point is a '.', as in 2.10/h");
        prices->count++;
        at = at[length] ? at + length + 1 : NULL;
    }
    return true;
}

/* NAN: it has none. */
static double price_of(const struct budget_prices *prices, const char *device)
{
    double other = NAN;
    for (int i = 0; i < prices->count; i++) {
        if (strcmp(prices->prices[i].device, device) == 0)
            return prices->prices[i].per_hour;
        if (!*prices->prices[i].device)
            other = prices->prices[i].per_hour;
    }
    return other;
}

/* ---- the budget ---- */

double budget_seconds(double tokens, double tokens_per_iteration, double iteration_time)
{
    return ceil(tokens / tokens_per_iteration) * iteration_time;
}

struct sums {
    double devices, dollars_per_hour, watts, computing; /* `computing`: watts x share of the iteration */
};

static bool add_stage(const struct plan *plan, const struct plan_pipeline *pipeline,
                      const struct plan_stage *stage, const struct budget_prices *prices,
                      const struct tables *tables, struct sums *sums, struct error *err)
{
    const struct plan_device_type *type = &plan->types[stage->type];
    const struct cost_device *device = tables_device(tables, type->name);
    const char *name = device ? device->name : type->name;
    double count = (double)plan_stage_devices(stage) * pipeline->copies;
    double watts = device && device->power > 0.0 ? count * device->power : NAN;
    const struct plan_seconds *seconds = &stage->seconds;
    double pass =
        seconds->forward + seconds->backward + (isnan(seconds->recompute) ? 0.0 : seconds->recompute);
    double step = isnan(seconds->optimizer) || stage->chunk > 0 ? 0.0 : seconds->optimizer;
    double busy = ((double)pipeline->microbatches * pass + step) / plan->iteration_time;
    sums->computing += watts * busy;
    if (stage->chunk > 0) /* the same devices as its first chunk's */
        return true;
    sums->devices += count;
    sums->watts += watts;
    if (prices->count == 0)
        return true;
    double price = price_of(prices, name);
    sums->dollars_per_hour += count * price;
    if (!isnan(price))
        return true;
    struct text given = {0};
    for (int i = 0; i < prices->count; i++)
        text_format(&given, "%s%s", i > 0 ? ", " : "", prices->prices[i].device);
    error_set(err, ERROR_USAGE, "--price: '%s' has no price, only: %s", name, given.data ? given.data : "");
    text_release(&given);
    return false;
}

bool budget_of(struct plan *plan, double tokens, const struct budget_prices *prices,
               const struct tables *tables, struct error *err)
{
    struct plan_budget *budget = &plan->budget;
    struct sums sums = {0};
    double per_iteration = (double)plan_samples(plan) * (double)plan->sequence;
    if (!(per_iteration > 0.0) || !(plan->iteration_time > 0.0))
        return error_set(err, ERROR_USAGE, "--%s: the plan does not say how many tokens an iteration has",
                         tokens > 0.0 ? "tokens" : "price");
    for (int p = 0; p < plan->pipeline_count; p++)
        for (int s = 0; s < plan->pipelines[p].stage_count; s++)
            if (!add_stage(plan, &plan->pipelines[p], &plan->pipelines[p].stages[s], prices, tables, &sums,
                           err))
                return false;
    budget->tokens = tokens;
    budget->seconds = tokens > 0.0 ? budget_seconds(tokens, per_iteration, plan->iteration_time) : NAN;
    double hours = budget->seconds / HOUR;
    budget->device_hours = hours * sums.devices;
    budget->dollars_per_hour = prices->count > 0 ? sums.dollars_per_hour : NAN;
    budget->dollars = hours * budget->dollars_per_hour;
    budget->dollars_per_million_tokens =
        budget->dollars_per_hour / HOUR * plan->iteration_time / per_iteration * 1e6;
    budget->watt_hours = hours * sums.watts;
    budget->watt_hours_computing = hours * fmin(sums.computing, sums.watts);
    return true;
}

/* ---- for people ---- */

static void print_energy(double watt_hours, struct text *out)
{
    static const struct {
        double size;
        const char *unit;
    } units[] = {{1e9, "GWh"}, {1e6, "MWh"}, {1e3, "kWh"}, {1.0, "Wh"}};
    int i = 0;
    while (i < 3 && watt_hours < units[i].size)
        i++;
    text_format(out, "%.3g %s", watt_hours / units[i].size, units[i].unit);
}

void budget_print_dollars(double dollars, struct text *out)
{
    if (dollars >= 1e6)
        text_format(out, "$%.4g million", dollars / 1e6);
    else
        text_format(out, dollars >= 1000.0 ? "$%.0f" : "$%.2f", dollars);
}

void budget_print(const struct plan *plan, struct text *out)
{
    const struct plan_budget *budget = &plan->budget;
    char tokens[32];
    if (budget->tokens > 0.0) {
        unit_format(tokens, sizeof tokens, budget->tokens, UNIT_COUNT, 3);
        text_format(out, "\ntraining on %s%stokens, by formula: %.4g %s, %.4g device-hours\n", tokens,
                    tokens[strlen(tokens) - 1] == ' ' ? "" : " ",
                    budget->seconds / (budget->seconds < 2.0 * SECONDS_PER_DAY ? HOUR : SECONDS_PER_DAY),
                    budget->seconds < 2.0 * SECONDS_PER_DAY ? "hours" : "days", budget->device_hours);
    }
    if (budget->dollars_per_million_tokens >= 0.0) {
        text_add(out, budget->tokens > 0.0 ? "  " : "\n");
        if (budget->tokens > 0.0) {
            budget_print_dollars(budget->dollars, out);
            text_add(out, ", ");
        }
        text_format(out, "$%.4g per million tokens, ", budget->dollars_per_million_tokens);
        budget_print_dollars(budget->dollars_per_hour, out);
        text_add(out, " an hour\n");
    }
    if (budget->watt_hours > 0.0) {
        text_add(out, "  energy: ");
        print_energy(budget->watt_hours_computing, out);
        text_add(out, " at full board power while computing, ");
        print_energy(budget->watt_hours, out);
        text_add(out, " all the time\n");
    }
}
