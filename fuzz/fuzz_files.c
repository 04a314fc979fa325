/* Files that users write or pass on, each of them small: the first byte says which ('a': the first of the readers below).
 * What reads holds what its header promises, and what there is a writer for is read back as it was. */
#include "cost/calibrate/samples.h"
#include "cost/count/custom_calls.h"
#include "dataset/layout.h"
#include "devices/calibration.h"
#include "devices/tables.h"
#include "elastic/failures.h"
#include "evidence/interval.h"
#include "evidence/validate.h"
#include "feed/checkpoint/header.h"
#include "feed/checkpoint/manifest.h"
#include "feed/checkpoint/plan.h"
#include "plan/budget.h"
#include "plan/dapple/dapple.h"
#include "run/drill/saved.h"
#include "sim/replay/classes.h"
#include "sim/replay/snapshot.h"
#include "walk.h"

#include <stddef.h>
#include <stdint.h>

#define MAX_RUNS  64  /* that are predicted: each takes a while */
#define MAX_RANKS 256 /* whose files are looked at */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_within(double value, double min, double max)
{
    return value >= min && value <= max; /* NaN is not */
}

/* ---- what ran ---- */

static void read_snapshot(const char *text, size_t length)
{
    static const char *const changes[] = {"expandable_segments=1"};
    struct snapshot snapshot;
    struct error err = {0};
    if (!snapshot_parse(&snapshot, "fuzz.json", text, length, changes, 1, &err)) {
        require_message(&err);
        return;
    }
    require(snapshot.count > 0);
    for (size_t i = 0; i < snapshot.count; i++) {
        const struct snapshot_bytes *played = &snapshot.devices[i].played;
        require(played->start >= 0 && played->end >= 0 && played->most >= played->end);
        require(played->allocated >= 0 && played->allocated <= played->most);
    }
    snapshot_release(&snapshot);
}

/* ---- what hardware and models are ---- */

static void read_devices(const char *text, size_t length)
{
    struct table table;
    struct error err = {0};
    if (!tables_parse(&table, TABLE_DEVICES, "fuzz.yaml", text, length, &err)) {
        require_message(&err);
        return;
    }
    require(table.count > 0);
    for (int i = 0; i < table.count; i++) {
        const struct cost_device *device = &table.devices[i];
        require(table_find(&table, device->name) == device);
        require(device->units > 0 && device->lanes > 0 && device->memory > 0 && device->l2 >= 0);
        require(is_within(device->clock, DBL_MIN, DBL_MAX) && is_within(device->bandwidth, DBL_MIN, DBL_MAX));
        for (int type = 0; type < COST_TYPE_COUNT; type++) {
            require(is_within(device->peak[type], 0, DBL_MAX));
            require(cost_device_type(device, (enum cost_type)type) < COST_TYPE_COUNT);
        }
        require(tables_calibration(NULL, device) != NULL);
    }
    table_release(&table);
}

static void check_link(const struct cost_link *link)
{
    struct table again;
    struct text first = {0}, second = {0};
    struct error err = {0};
    cost_link_write(link, &first);
    if (tables_parse(&again, TABLE_LINKS, "again.yaml", first.data, first.length, &err)) {
        cost_link_write(&again.links[0], &second);
        require(strcmp(first.data, second.data) == 0);
        table_release(&again);
    } else {
        require_message(&err); /* rounded to four digits, a number may lie beyond its limit */
    }
    text_release(&first);
    text_release(&second);
}

static void read_links(const char *text, size_t length)
{
    struct table table;
    struct error err = {0};
    if (!tables_parse(&table, TABLE_LINKS, "fuzz.yaml", text, length, &err)) {
        require_message(&err);
        return;
    }
    require(table.count > 0);
    for (int i = 0; i < table.count; i++) {
        require(table_find(&table, table.links[i].name) == &table.links[i]);
        check_link(&table.links[i]);
    }
    table_release(&table);
}

static void read_architectures(const char *text, size_t length)
{
    struct table table;
    struct error err = {0};
    const char *path = length > 0 && *text == '{' ? "fuzz.json" : "fuzz.yaml";
    if (!tables_parse(&table, TABLE_MODELS, path, text, length, &err)) {
        require_message(&err);
        return;
    }
    for (int i = 0; i < table.count; i++) {
        double parameters = architecture_parameters(&table.models[i]);
        require(is_within(parameters, 1, 9007199254740992.0));
        require(is_within(architecture_embedding_parameters(&table.models[i]), 0, parameters));
        require(is_within(architecture_head_parameters(&table.models[i]), 0, parameters));
    }
    table_release(&table);
}

static void read_calibration(const char *text, size_t length)
{
    struct table table;
    struct error err = {0};
    int count;
    const struct field *parameters = calibration_parameters(&count);
    if (!tables_parse(&table, TABLE_CALIBRATIONS, "fuzz.yaml", text, length, &err)) {
        require_message(&err);
        return;
    }
    for (int i = 0; i < table.count; i++) {
        require(table_find(&table, table.generations[i].name) == &table.generations[i]);
        for (int j = 0; j < count; j++)
            require(is_within(field_get(&table.generations[i], &parameters[j]), parameters[j].min,
                              parameters[j].max));
    }
    table_release(&table);
}

static void read_custom_calls(const char *text, size_t length)
{
    struct custom_calls calls;
    struct error err = {0};
    if (!custom_calls_parse(&calls, "fuzz.yaml", text, length, &err)) {
        require_message(&err);
        return;
    }
    require(calls.count > 0);
    for (int i = 0; i < calls.count; i++) {
        const struct custom_call *call = &calls.calls[i];
        require(call->pattern[0] && call->rule <= CUSTOM_CALL_ATTENTION_BACKWARD);
        require(is_within(call->flops, 0, 1e6) && is_within(call->steps, 0, 1e6));
        custom_call_find(&calls, "cusolver_gesvdj_ffi");
    }
    custom_calls_release(&calls);
}

static void read_kernel_classes(const char *text, size_t length)
{
    struct kernel_classes classes;
    struct error err = {0};
    if (!kernel_classes_parse(&classes, "fuzz.yaml", text, length, &err)) {
        require_message(&err);
        return;
    }
    require(classes.count > 0);
    for (int i = 0; i < classes.count; i++)
        require(classes.rules[i].class > CLASS_UNKNOWN && classes.rules[i].class < KERNEL_CLASSES &&
                classes.rules[i].piece_count > 0);
    require(kernel_class_of(&classes, "void flash_fwd_kernel<1>()")->class > CLASS_UNKNOWN);
    kernel_classes_release(&classes);
}

static void read_dapple(const char *text, size_t length)
{
    struct dapple_cluster cluster, part;
    struct error err = {0};
    if (!dapple_cluster_parse(&cluster, "fuzz.json", text, length, &err)) {
        require_message(&err);
        return;
    }
    int devices = dapple_devices(&cluster);
    require(devices > 0);
    for (int n = 1; n <= devices + 1 && n <= MAX_RANKS; n *= 2) {
        if (dapple_cluster_take(&cluster, n, &part, &err)) {
            require(dapple_devices(&part) == n);
            dapple_cluster_release(&part);
        } else {
            require_message(&err);
        }
    }
    dapple_cluster_release(&cluster);
}

/* ---- what is measured ---- */

/* The table, of which read_samples takes what it knows. */
static void read_csv(const char *text, size_t length, void (*read_samples)(const struct csv *))
{
    struct csv csv;
    struct error err = {0};
    if (!csv_parse(&csv, "fuzz.csv", text, length, &err)) {
        require_message(&err);
        return;
    }
    read_samples(&csv);
    csv_release(&csv);
}

static void take_products(const struct csv *csv)
{
    struct gemm_samples samples;
    struct error err = {0};
    if (!gemm_samples_read(&samples, csv, "h100", COST_BF16, &err)) {
        require_message(&err);
        return;
    }
    require(samples.count + samples.skipped == csv->row_count);
    for (int i = 0; i < samples.count; i++) {
        const struct gemm_sample *sample = &samples.samples[i];
        require(sample->type < COST_TYPE_COUNT && is_within(sample->seconds, DBL_MIN, DBL_MAX));
        require(sample->size.batch > 0 && sample->size.m > 0 && sample->size.n > 0 && sample->size.k > 0);
    }
    gemm_samples_release(&samples);
}

static void read_products(const char *text, size_t length)
{
    read_csv(text, length, take_products);
}

static void take_transfers(const struct csv *csv)
{
    struct link_samples samples;
    struct error err = {0};
    if (!link_samples_read(&samples, csv, NULL, &err)) {
        require_message(&err);
        return;
    }
    require(samples.count + samples.skipped <= csv->row_count);
    for (int i = 0; i < samples.count; i++) {
        const struct link_sample *sample = &samples.samples[i];
        require(sample->kind < COLLECTIVE_KINDS && sample->devices > 1 && sample->nodes > 0);
        require(is_within(sample->bytes, DBL_MIN, DBL_MAX) && is_within(sample->seconds, DBL_MIN, DBL_MAX));
    }
    link_samples_release(&samples);
}

static void read_transfers(const char *text, size_t length)
{
    read_csv(text, length, take_transfers);
}

static void read_runs(const char *text, size_t length)
{
    const struct validation_defaults defaults = {.gpu = "h100", .framework = "megatron-core"};
    struct validation validation;
    struct error err = {0};
    if (!validation_parse(&validation, "fuzz.csv", text, length, &defaults, &err)) {
        require_message(&err);
        return;
    }
    if (validation.count <= MAX_RUNS) {
        validation_predict(&validation, NULL);
        for (int i = 0; i < validation.count; i++)
            if (!validation.runs[i].reason)
                require(is_within(validation.runs[i].predicted.seconds, 0, DBL_MAX));
        validation_score(&validation, NULL, NULL);
        validation_memory(&validation);
    }
    validation_release(&validation);
}

/* ---- what is written to a storage ---- */

static void check_shards(const struct checkpoint_shards *shards)
{
    require(shards->ranks > 0);
    for (int64_t rank = 0; rank < shards->ranks && rank < MAX_RANKS; rank++) {
        int count = checkpoint_shards_count(shards, rank);
        for (int i = 0; i < count && i < MAX_RANKS; i++) {
            struct checkpoint_shard shard;
            checkpoint_shards_get(shards, rank, i, &shard);
            require(shard.bytes >= 0 && memchr(shard.name, 0, sizeof shard.name));
        }
        require(is_within(checkpoint_shards_rank_bytes(shards, rank), 0, DBL_MAX));
    }
}

static void read_plan(const char *text, size_t length)
{
    struct checkpoint_of_plan of;
    struct error err = {0};
    struct plan plan;
    if (!plan_parse(&plan, "fuzz.json", text, length, &err)) {
        require_message(&err);
        return;
    }
    if (!checkpoint_of_plan(&of, &plan, 0, NULL, &err))
        require_message(&err);
    else if (of.sized)
        check_shards(&of.shards);
    else
        require(*of.why);
    plan_release(&plan);
}

static void read_manifest(const char *text, size_t length)
{
    struct checkpoint_manifest manifest;
    struct error err = {0};
    char bytes[64];
    if (!checkpoint_manifest_parse(&manifest, "fuzz.json", text, length, &err)) {
        require_message(&err);
        return;
    }
    for (size_t i = 0; i < manifest.count && i < MAX_RANKS; i++) {
        require(manifest.files[i].rank < manifest.ranks && manifest.files[i].shard.bytes >= 0);
        struct dataset_bytes content = checkpoint_content(&manifest, i);
        dataset_bytes_fill(&content, 0, bytes, sizeof bytes);
    }
    checkpoint_manifest_release(&manifest);
}

struct file_bytes {
    const char *bytes;
};

static bool read_file_bytes(void *context, int64_t offset, void *to, size_t n, struct error *err)
{
    const struct file_bytes *file = context;
    (void)err;
    memcpy(to, file->bytes + offset, n);
    return true;
}

/* The bytes of every tensor are in the file. */
static void read_header(const char *bytes, size_t length, enum workload_checkpoint_format format)
{
    struct checkpoint_tensors tensors;
    struct error err = {0};
    struct file_bytes file = {bytes};
    const struct dataset_source source = {&file, (int64_t)length, read_file_bytes};
    if (!checkpoint_header_read(&tensors, format, "fuzz", &source, &err))
        require_message(&err);
    else
        for (size_t i = 0; i < tensors.count; i++)
            require(tensors.items[i].bytes >= 0 && tensors.items[i].offset >= 0 &&
                    tensors.items[i].bytes <= (int64_t)length - tensors.items[i].offset);
    checkpoint_tensors_release(&tensors);
}

static void read_torch_file(const char *bytes, size_t length)
{
    read_header(bytes, length, WORKLOAD_CHECKPOINT_TORCH);
}

static void read_safetensors_file(const char *bytes, size_t length)
{
    read_header(bytes, length, WORKLOAD_CHECKPOINT_SAFETENSORS);
}

/* Its files are looked at from both ends. */
static void check_layout(const struct dataset_layout *layout)
{
    int64_t count = dataset_files(layout);
    require(count >= 0); /* a set may be empty: checkpoints alone */
    for (int64_t i = 0; i < count; i = i == 0 && count > 1 ? count - 1 : count) {
        struct dataset_file file;
        dataset_file_init(&file, layout, i);
        for (int part = 0; part < dataset_file_parts(&file); part++) {
            struct text path = {0};
            require(dataset_file_path(&file, part, &path) && path.length > 0);
            require(dataset_file_bytes(&file, part) >= -1);
            text_release(&path);
        }
    }
}

static void read_dataset(const char *text, size_t length)
{
    struct dataset_layout layout, again;
    struct text first = {0}, second = {0};
    struct error err = {0};
    if (!dataset_layout_read(&layout, "fuzz.json", text, length, &err)) {
        require_message(&err);
        return;
    }
    check_layout(&layout);
    require(dataset_layout_write(&layout, &first, &err));
    require(dataset_layout_read(&again, "again.json", first.data, first.length, &err));
    require(dataset_layout_write(&again, &second, &err));
    require(strcmp(first.data, second.data) == 0);
    dataset_layout_release(&layout);
    dataset_layout_release(&again);
    text_release(&first);
    text_release(&second);
}

/* A node's losses and returns alternate, in order of time; no more nodes are there than the cluster has. */
static void read_failures(const char *text, size_t length)
{
    struct failure_trace trace = {0};
    struct error err = {0};
    int limit = length % 2 ? 40 : 0;
    if (!failures_parse(&trace, "fuzz.csv", text, length, limit, length, &err)) {
        require_message(&err);
        failures_release(&trace);
        return;
    }
    require(trace.nodes > 0 && trace.present <= trace.nodes && is_within(trace.horizon, DBL_MIN, 1e12));
    char *there = calloc((size_t)trace.nodes, 1);
    for (int node = 0; there && node < trace.present; node++)
        there[node] = 1;
    for (int i = 0; there && i < trace.count; i++) {
        const struct failure_event *event = &trace.events[i];
        require(is_within(event->time, i > 0 ? trace.events[i - 1].time : 0, trace.horizon));
        require(event->node >= 0 && event->node < trace.nodes && there[event->node] != event->returned);
        there[event->node] = (char)event->returned;
    }
    free(there);
    failures_release(&trace);
}

static void read_prices(const char *text, size_t length)
{
    struct budget_prices prices;
    struct error err = {0};
    if (!budget_parse_prices("fuzz.yaml", text, length, NULL, &prices, &err)) {
        require_message(&err);
        return;
    }
    require(prices.count > 0 && prices.count <= BUDGET_MAX_PRICES);
    for (int i = 0; i < prices.count; i++)
        require(is_within(prices.prices[i].per_hour, 0, 1e6));
}

static void read_saved(const char *text, size_t length)
{
    struct saved saved;
    struct error err = {0};
    if (!saved_parse(&saved, "fuzz.json", text, length, &err)) {
        require_message(&err);
        return;
    }
    require(saved.iteration >= 0 && saved.batch > 0 && saved.part_count >= 0);
    for (int part = 0; part < saved.part_count; part++)
        require(saved.parts[part].words > 0);
    saved_release(&saved);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const char *, size_t) = {
        read_devices,        read_links,      read_architectures,    read_calibration,
        read_dapple,         read_products,   read_transfers,        read_runs,
        read_plan,           read_manifest,   read_dataset,          read_failures,
        read_custom_calls,   read_saved,      read_prices,           read_snapshot,
        read_kernel_classes, read_torch_file, read_safetensors_file,
    };
    if (size == 0)
        return 0;
    char *text = malloc(size); /* of this size exactly: what is read beyond it is found */
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    readers[(uint8_t)(data[0] - 'a') % (sizeof readers / sizeof *readers)](text, size - 1);
    free(text);
    return 0;
}
