/* `rehearse simulate --replay` of a memory snapshot. */
#include "sim/replay/snapshot.h"
#include "api/sim/simulate.h"
#include "core/fields.h"
#include "core/unit.h"

#include <inttypes.h>

static void print_row(struct text *out, const char *name, int64_t recorded, int64_t played,
                      const int64_t *changed)
{
    struct unit_texts texts = {0};
    text_format(out, "%-24s %10s %10s", name,
                recorded >= 0 ? unit_text(&texts, (double)recorded, UNIT_BYTES) : "-",
                unit_text(&texts, (double)played, UNIT_BYTES));
    if (recorded > 0)
        text_format(out, " %+8.2f %%", 100.0 * ((double)played / (double)recorded - 1.0));
    if (changed)
        text_format(out, " %*s", recorded > 0 ? 10 : 21, unit_text(&texts, (double)*changed, UNIT_BYTES));
    text_add(out, "\n");
}

static void print_device(const struct snapshot *snapshot, const struct snapshot_device *device,
                         struct text *out)
{
    const struct snapshot_bytes *recorded = &device->recorded, *played = &device->played,
                                *changed = snapshot->is_changed ? &device->changed : NULL;
    text_format(out,
                "%s, device %" PRId64 ": %" PRId64 " allocations and %" PRId64 " frees, of %" PRId64
                " events\n\n",
                snapshot->path, device->device, device->taken, device->freed, device->events);
    text_format(out, "%-24s %10s %10s %10s%s\n", "", "recorded", "model", "error",
                changed ? "    what if" : "");
    print_row(out, "reserved at the start", recorded->start, played->start, changed ? &changed->start : NULL);
    print_row(out, "most reserved", recorded->most, played->most, changed ? &changed->most : NULL);
    print_row(out, "reserved at the end", recorded->end, played->end, changed ? &changed->end : NULL);
    print_row(out, "most in blocks", -1, played->allocated, changed ? &changed->allocated : NULL);
    print_row(out, "most requested", -1, played->requested, changed ? &changed->requested : NULL);
}

static const struct field bytes_fields[] = {
    FIELD_OUT(struct snapshot_bytes, "start", start, FIELD_INT64),
    FIELD_OUT(struct snapshot_bytes, "most", most, FIELD_INT64),
    FIELD_OUT(struct snapshot_bytes, "end", end, FIELD_INT64),
    FIELD_OUT(struct snapshot_bytes, "most_allocated", allocated, FIELD_INT64),
    FIELD_OUT(struct snapshot_bytes, "most_requested", requested, FIELD_INT64),
};

static const struct field device_fields[] = {
    FIELD_OUT(struct snapshot_device, "device", device, FIELD_INT64),
    FIELD_OUT(struct snapshot_device, "events", events, FIELD_INT64),
    FIELD_OUT(struct snapshot_device, "allocations", taken, FIELD_INT64),
    FIELD_OUT(struct snapshot_device, "frees", freed, FIELD_INT64),
    FIELD_OUT(struct snapshot_device, "error", error, FIELD_DOUBLE),
};

static void write_device(struct json *json, const struct snapshot *snapshot,
                         const struct snapshot_device *device)
{
    json_open(json, NULL, '{');
    FIELDS_WRITE(device, device_fields, json);
    json_open_flat(json, "recorded", '{');
    fields_write(&device->recorded, bytes_fields, 3, json);
    json_close(json);
    FIELDS_MAP(&device->played, bytes_fields, json, "model");
    if (snapshot->is_changed)
        FIELDS_MAP(&device->changed, bytes_fields, json, "what_if");
    json_close(json);
}

bool simulate_snapshot(const struct simulate_options *given, struct error *err)
{
    struct snapshot snapshot;
    const struct rh_list *changes = &given->asked.what_if;
    struct text *out = &given->report->text;
    struct json *json = &given->report->json;
    if (given->asked.tasks || given->asked.trace || given->asked.page || given->asked.kernels)
        return error_set(err, ERROR_USAGE, "--%s is not for a memory snapshot, which has no times",
                         given->asked.tasks     ? "tasks"
                         : given->asked.kernels ? "kernels"
                         : given->asked.trace   ? "trace"
                                                : "page");
    if (!snapshot_load(&snapshot, given->asked.replay, changes->items, changes->count, err))
        return false;
    json_open_document(json, "rehearse-replay-memory/1");
    json_string(json, "file", snapshot.path);
    json_bool(json, "private_pools", snapshot.private_pools);
    json_bool(json, "garbage_collection", snapshot.collects);
    json_open(json, "devices", '[');
    for (size_t i = 0; i < snapshot.count; i++) {
        text_add(out, i > 0 ? "\n" : "");
        print_device(&snapshot, &snapshot.devices[i], out);
        write_device(json, &snapshot, &snapshot.devices[i]);
    }
    json_close(json);
    json_close(json);
    if (snapshot.private_pools)
        text_add(out, "not modelled: private pools of CUDA graphs, which are played as common ones\n");
    if (snapshot.collects)
        text_add(out, "not modelled: garbage_collection_threshold\n");
    snapshot_release(&snapshot);
    return true;
}
