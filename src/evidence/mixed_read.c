#include "evidence/mixed_read.h"

#include "core/text.h"
#include "evidence/cells.h"
#include "evidence/mixed_setup.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_DEVICES 65536
#define MAX_BATCH   ((int64_t)1 << 30)

struct reader {
    struct mixed_table *table;
    struct mixed_entries entries;
    const struct mixed_architecture *model;
    const struct mixed_cluster *cluster;
    struct mixed_row *row;
    struct cells cells;
    int64_t batch, microbatch;
    int tensor, data, pipeline;
    const char **device_of; /* of each node */
};

/* ---- cells ---- */

#define cannot(r, ...) cells_refuse(&(r)->cells, __VA_ARGS__)

static const char *cell(const struct reader *r, const char *column)
{
    return cells_text(&r->cells, column);
}

static void *room(struct reader *r, size_t count, size_t size)
{
    void *items = arena_alloc(&r->table->arena, count, size);
    r->cells.no_memory |= !items;
    return items;
}

static bool degree(struct reader *r, const char *column, int64_t max, int64_t *value)
{
    *value = cells_whole(&r->cells, column, 1, max, 0);
    return *value > 0 || cannot(r, "%s: expected a whole number from 1 to %" PRId64 ", found '%s'", column,
                                max, cell(r, column));
}

/* ---- both kinds of tables ---- */

static bool is_amp(const struct csv *csv)
{
    return csv_column(csv, "partition") >= 0;
}

/* Returns whether the columns are those of a table of plans on mixed devices. */
static bool mixed_table_is(const struct csv *csv)
{
    return is_amp(csv) || csv_column(csv, "stage_gpus") >= 0;
}

static bool read_degrees(struct reader *r)
{
    int64_t tensor, data, pipeline;
    if (!degree(r, "gbs", MAX_BATCH, &r->batch) || !degree(r, "mbs", MAX_BATCH, &r->microbatch) ||
        !degree(r, "tp", MAX_DEVICES, &tensor) || !degree(r, "dp", MIXED_MAX_PIPELINES, &data) ||
        !degree(r, "pp", MIXED_MAX_STAGES, &pipeline))
        return false;
    r->tensor = (int)tensor;
    r->data = (int)data;
    r->pipeline = (int)pipeline;
    if (r->batch % (r->microbatch * data) != 0)
        return cannot(r, "the batch does not split into micro-batches of its pipelines");
    return true;
}

/* Numbers between bars, `count` of them. */
static bool read_numbers(struct reader *r, const char *column, int *numbers, int count)
{
    const char *text = cell(r, column);
    for (int i = 0; i < count; i++) {
        char *end;
        double read = text_number(text, &end);
        bool last = i + 1 == count;
        if (end == text || read != floor(read) || !(read >= 0.0 && read <= MIXED_MAX_LAYERS) ||
            *end != (last ? '\0' : '|'))
            return cannot(r, "%s: expected %d whole numbers up to %d between bars, found '%s'", column, count,
                          MIXED_MAX_LAYERS, cell(r, column));
        numbers[i] = (int)read;
        text = end + 1;
    }
    return true;
}

static bool read_stages(struct reader *r, bool bounds)
{
    int *first = room(r, (size_t)r->pipeline + 1, sizeof *first);
    if (!first)
        return false;
    r->row->plan.first = first;
    if (bounds)
        return read_numbers(r, "partition", first, r->pipeline + 1);
    if (!read_numbers(r, "layers_per_stage", first + 1, r->pipeline))
        return false;
    for (int i = 1; i <= r->pipeline; i++)
        first[i] += first[i - 1];
    return true;
}

static bool check_layers(struct reader *r)
{
    int found = r->row->plan.first[r->pipeline];
    return found == r->model->layer_count ||
           cannot(r, "the plan has %d layers, the model has %d", found, r->model->layer_count);
}

/* ---- where replicas are ---- */

static bool lay_nodes(struct reader *r, int count)
{
    struct mixed_node *nodes = room(r, (size_t)count, sizeof *nodes);
    r->device_of = room(r, (size_t)count, sizeof *r->device_of);
    r->row->plan.nodes = nodes;
    r->row->plan.node_count = count;
    return nodes && r->device_of;
}

static bool group_node(struct reader *r, int node, const struct mixed_group *group)
{
    ((struct mixed_node *)r->row->plan.nodes)[node] = group->links;
    r->device_of[node] = group->device;
    return true;
}

static bool make_nodes(struct reader *r)
{
    int count = 0, node = 0;
    for (int g = 0; g < r->cluster->group_count; g++)
        count += r->cluster->groups[g].nodes;
    if (!lay_nodes(r, count))
        return false;
    for (int g = 0; g < r->cluster->group_count; g++)
        for (int i = 0; i < r->cluster->groups[g].nodes; i++)
            group_node(r, node++, &r->cluster->groups[g]);
    return true;
}

/* The node of a rank; -1: there are not so many devices. */
static int node_of_rank(const struct mixed_cluster *cluster, int rank)
{
    int node = 0;
    for (int g = 0; g < cluster->group_count; g++) {
        const struct mixed_group *group = &cluster->groups[g];
        if (rank < group->nodes * group->devices)
            return node + rank / group->devices;
        rank -= group->nodes * group->devices;
        node += group->nodes;
    }
    return -1;
}

/* Ranks in DeepSpeed's order: stages, in each its replicas, in each its tensor parallel ranks. */
static bool place_ranks(struct reader *r, struct mixed_replica *replicas)
{
    if ((double)r->tensor * r->data * r->pipeline > MAX_DEVICES)
        return cannot(r, "more than %d devices", MAX_DEVICES);
    if (!make_nodes(r))
        return false;
    for (int i = 0; i < r->pipeline * r->data; i++) {
        int first = node_of_rank(r->cluster, i * r->tensor);
        int last = node_of_rank(r->cluster, (i + 1) * r->tensor - 1);
        if (last < 0)
            return cannot(r, "the cluster has fewer devices than the plan");
        if (first != last)
            return cannot(r, "tensor parallel devices in several nodes are not modelled");
        replicas[i] = (struct mixed_replica){.tensor = r->tensor, .node = first};
    }
    return true;
}

/* "RTX-2080x8:tp8": a node of its own. Moves *text behind it. */
static bool place_named(struct reader *r, const char **text, int node, struct mixed_replica *replica)
{
    const char *start = *text + strspn(*text, " "), *colon = strstr(start, ":tp");
    char *end;
    double tensor = colon ? text_number(colon + 3, &end) : 0.0;
    if (!colon || tensor != floor(tensor) || !(tensor >= 1.0 && tensor <= MAX_DEVICES))
        return cannot(r, "stage_gpus: expected TYPExN:tpN, found '%.40s'", start);
    *text = end + strspn(end, " ");
    *replica = (struct mixed_replica){.tensor = (int)tensor, .node = node};
    for (int g = 0; g < r->cluster->group_count; g++) {
        size_t length = strlen(r->cluster->groups[g].device);
        if (strncmp(start, r->cluster->groups[g].device, length) == 0 && start[length] == 'x')
            return group_node(r, node, &r->cluster->groups[g]);
    }
    return cannot(r, "the cluster has no device '%.*s'", (int)(colon - start), start);
}

static bool place_stages(struct reader *r, struct mixed_replica *replicas)
{
    const char *text = cell(r, "stage_gpus");
    int count = r->pipeline * r->data;
    if (count > MIXED_MAX_NODES)
        return cannot(r, "more than %d nodes", MIXED_MAX_NODES);
    if (!lay_nodes(r, count))
        return false;
    for (int i = 0; i < count; i++) {
        if (!place_named(r, &text, i, &replicas[i]))
            return false;
        char after = i + 1 == count ? '\0' : (i + 1) % r->data == 0 ? ';' : '+';
        if (*text != after)
            return cannot(r, "stage_gpus: does not have %d stages of %d replicas", r->pipeline, r->data);
        text += after != '\0';
    }
    return true;
}

/* ---- times of replicas ---- */

/* Replicas alike share their times. */
static bool find_times(struct reader *r, struct mixed_replica *replicas, int index)
{
    struct mixed_place place = {
        .setup = &r->table->setup,
        .entries = &r->entries,
        .model = r->model,
        .device = r->device_of[replicas[index].node],
        .tensor = replicas[index].tensor,
        .microbatch = r->microbatch,
    };
    for (int i = 0; i < index; i++)
        if (replicas[i].tensor == place.tensor && strcmp(r->device_of[replicas[i].node], place.device) == 0) {
            replicas[index].times = replicas[i].times;
            return true;
        }
    const char *reason;
    replicas[index].times = mixed_times_at(&place, &r->table->arena, &reason);
    if (replicas[index].times)
        return true;
    r->cells.no_memory |= !reason;
    return reason && cannot(r, "%s", reason);
}

static bool make_model(struct reader *r)
{
    const struct mixed_architecture *from = r->model;
    struct mixed_model *model = room(r, 1, sizeof *model);
    double *parameters = room(r, (size_t)from->layer_count + 1, sizeof *parameters);
    double *outputs = room(r, (size_t)from->layer_count, sizeof *outputs);
    if (!model || !parameters || !outputs)
        return false;
    for (int l = 0; l < from->layer_count; l++) {
        parameters[l + 1] = parameters[l] + mixed_layer_parameters(from, from->kinds[l], r->pipeline == 1);
        outputs[l] = (double)r->microbatch * from->sequence * from->hidden * from->element;
    }
    *model = (struct mixed_model){.layer_count = from->layer_count,
                                  .parameters = parameters,
                                  .outputs = outputs,
                                  .tied = from->tied ? from->vocabulary * from->hidden : 0.0};
    r->row->plan.model = model;
    return true;
}

static bool make_plan(struct reader *r)
{
    struct mixed_plan *plan = &r->row->plan;
    bool amp = is_amp(&r->table->plans);
    int count = r->pipeline * r->data;
    struct mixed_replica *replicas = room(r, (size_t)count, sizeof *replicas);
    int64_t *microbatches = room(r, (size_t)r->data, sizeof *microbatches);
    if (!replicas || !microbatches || !read_stages(r, amp) || !check_layers(r) ||
        !(amp ? place_ranks(r, replicas) : place_stages(r, replicas)) || !make_model(r))
        return false;
    for (int i = 0; i < count; i++)
        if (!find_times(r, replicas, i))
            return false;
    for (int d = 0; d < r->data; d++)
        microbatches[d] = r->batch / (r->microbatch * r->data);
    plan->software = &r->cluster->software;
    plan->stages = r->pipeline;
    plan->pipelines = r->data;
    plan->replicas = replicas;
    plan->microbatches = microbatches;
    struct error err = {0};
    if (mixed_check(plan, &err))
        return true;
    r->cells.no_memory |= err.kind == ERROR_FAILED;
    return cannot(r, "%s", err.text);
}

/* ---- rows ---- */

static void read_measurements(struct reader *r)
{
    const char *outcome = cell(r, "outcome");
    bool amp = is_amp(&r->table->plans);
    r->row->measured = cells_number(&r->cells, amp ? "real_s" : "real_s_per_iter", DOC_POSITIVE, INFINITY);
    r->row->measured_memory = amp ? 0.0 : cells_number(&r->cells, "max_mem_bytes", DOC_POSITIVE, INFINITY);
    if (*outcome && strcmp(outcome, "ok") != 0)
        cannot(r, "did not run: %s", outcome);
}

static void read_row(struct reader *r)
{
    const char *name = cell(r, is_amp(&r->table->plans) ? "experiment" : "cluster");
    r->row->line = r->table->plans.lines[r->cells.row];
    r->cluster = mixed_cluster_find(&r->table->setup, name);
    r->model = mixed_architecture_find(&r->table->setup, cell(r, "model"));
    r->row->cluster = r->cluster ? r->cluster->name : name;
    r->row->label = arena_format(&r->table->arena, "%s: mbs %s, tp %s, dp %s, pp %s", cell(r, "model"),
                                 cell(r, "mbs"), cell(r, "tp"), cell(r, "dp"), cell(r, "pp"));
    r->cells.no_memory |= !r->row->label;
    read_measurements(r);
    if (!r->cluster)
        cannot(r, "cluster '%.80s' is not in the setup", name);
    else if (!r->model)
        cannot(r, "model '%.80s' is not in the setup", cell(r, "model"));
    else if (!r->row->reason && read_degrees(r))
        make_plan(r);
}

/* Two plans do not take the same microseconds and bytes. */
static void mark_copies(struct mixed_table *table)
{
    for (int i = 0; i < table->count; i++)
        for (int j = 0; j < i; j++) {
            struct mixed_row *a = &table->rows[i], *b = &table->rows[j];
            if (a->measured > 0.0 && a->measured_memory > 0.0 && a->measured == b->measured &&
                a->measured_memory == b->measured_memory) {
                a->mark = b->mark = "same measured values as another plan: one is a copy";
            }
        }
}

static double fullest(const struct mixed_plan *plan)
{
    double bytes = 0.0;
    for (int i = 0; i < plan->stages; i++)
        for (int d = 0; d < plan->pipelines; d++)
            bytes = fmax(bytes, mixed_memory(plan, i, d));
    return bytes;
}

static void predict(struct mixed_table *table)
{
    for (int i = 0; i < table->count; i++) {
        struct mixed_row *row = &table->rows[i];
        if (row->reason)
            continue;
        row->predicted = mixed_time(&row->plan);
        row->predicted_memory = fullest(&row->plan);
        if (row->measured > 0.0)
            row->error = row->predicted.seconds / row->measured - 1.0;
        if (!row->mark && row->predicted.launch_bound)
            row->mark = "launches take longer than kernels: only a lower bound";
    }
}

bool mixed_table_make(struct mixed_table *table, struct error *err)
{
    struct reader r = {.table = table, .cells = {.csv = &table->plans, .arena = &table->arena}};
    if (table->plans.row_count > MIXED_MAX_ROWS)
        return error_set(err, ERROR_INPUT, "%s: more than %d plans", table->plans.path, MIXED_MAX_ROWS);
    if (!mixed_entries_read(&r.entries, &table->layers, &table->arena, err))
        return false;
    table->rows = ARENA_ARRAY(&table->arena, (size_t)table->plans.row_count + 1, struct mixed_row);
    if (!table->rows)
        return error_memory(err);
    for (table->count = 0; table->count < table->plans.row_count; table->count++) {
        r.row = &table->rows[table->count];
        r.cells.row = table->count;
        r.cells.reason = &r.row->reason;
        read_row(&r);
    }
    if (r.cells.no_memory)
        return error_memory(err);
    mark_copies(table);
    predict(table);
    return true;
}

static bool load(struct mixed_table *table, const char *plans, const char *layers, const char *setup,
                 struct error *err)
{
    if (!csv_load(&table->plans, plans, err))
        return false;
    if (!mixed_table_is(&table->plans))
        return error_set(err, ERROR_INPUT, "%s: has neither a column 'partition' nor 'stage_gpus'", plans);
    return csv_load(&table->layers, layers, err) && mixed_setup_load(&table->setup, setup, err) &&
           mixed_table_make(table, err);
}

bool mixed_table_load(struct mixed_table *table, const char *plans, const char *layers, const char *setup,
                      struct error *err)
{
    *table = (struct mixed_table){0};
    if (load(table, plans, layers, setup, err))
        return true;
    mixed_table_release(table);
    return false;
}

void mixed_table_release(struct mixed_table *table)
{
    mixed_setup_release(&table->setup);
    csv_release(&table->layers);
    csv_release(&table->plans);
    arena_release(&table->arena);
    *table = (struct mixed_table){0};
}
