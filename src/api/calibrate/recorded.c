/* Measurements in recorded runs: traces of profilers as tables, which are then read as any other. Of products of one
 * size the median of their runs counts, of collectives of one kind, size and group that of their transfers: from the
 * begin on the last rank to the end, of those of which all ranks were recorded. */
#include "api/calibrate/calibrate.h"
#include "api/command.h"
#include "core/file.h"
#include "core/statistics.h"
#include "core/vector.h"
#include "explain/achieved.h"
#include "sim/network/network.h"
#include "sim/replay/products.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool calibrate_is_recorded(const char *path)
{
    static const char *const endings[] = {".json.gz", ".json", ".xplane.pb", ".et"};
    char start[4096];
    enum file_kind kind;
    struct error none;
    bool named = false;
    if (file_look(path, &kind, &none) && kind == FILE_FOLDER)
        return true;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        named |= text_ends_with(path, endings[i]);
    FILE *file = named ? fopen(path, "rb") : NULL;
    if (!file)
        return false;
    size_t length = fread(start, 1, sizeof start - 1, file);
    fclose(file);
    start[length] = '\0';
    return !strstr(start, "\"rehearse-"); /* a document of our own */
}

/* ---- collectives ---- */

struct transfer {
    enum collective_kind kind;
    int64_t ranks, bytes, time;
};

static int by_transfer(const void *a, const void *b)
{
    const struct transfer *first = a, *second = b;
    const int64_t x[] = {first->kind, first->ranks, first->bytes, first->time};
    const int64_t y[] = {second->kind, second->ranks, second->bytes, second->time};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        if (x[i] != y[i])
            return order_of(x[i], y[i]);
    return 0;
}

/* The bytes of devices/link.h, from those of a rank's input. False: it is none of our kinds. */
static bool read_kind(const char *name, int64_t ranks, struct transfer *transfer)
{
    const struct network_word *word = network_word_of(name);
    if (!word || word->rooted || word->kind == COLLECTIVE_SEND)
        return false;
    transfer->kind = word->kind;
    transfer->bytes *= word->gathered ? ranks : 1;
    return true;
}

static bool add_transfers(const struct ranks *run, struct transfer **list, size_t *count, struct error *err)
{
    size_t room = 0;
    for (size_t i = 0, end; i < run->collective_count; i = end) {
        const struct ranks_collective *first = &run->collectives[i];
        const struct ranks_group *group = &run->groups[first->group];
        int64_t begin = INT64_MIN, last = INT64_MIN;
        for (end = i;
             end < run->collective_count && (end == i || explain_is_same(first, &run->collectives[end]));
             end++) {
            const struct ranks_collective *at = &run->collectives[end];
            int64_t offset = run->members[at->member].offset;
            begin = at->begin + offset > begin ? at->begin + offset : begin;
            last = at->end + offset > last ? at->end + offset : last;
        }
        struct transfer transfer = {
            .ranks = (int64_t)group->rank_count, .bytes = first->bytes, .time = last - begin};
        if (transfer.ranks > 1 && end - i == group->rank_count && first->bytes > 0 &&
            first->bytes < INT64_MAX / transfer.ranks && transfer.time > 0 &&
            read_kind(run->texts[first->name], transfer.ranks, &transfer) &&
            !VECTOR_ADD(*list, *count, room, transfer))
            return error_memory(err);
    }
    return sort_items(*list, *count, sizeof **list, by_transfer, err);
}

/* Ranks fill nodes of the device's usual size. */
static bool write_transfers(struct calibrate_recorded *recorded, const struct ranks *run, int node,
                            struct error *err)
{
    struct transfer *list = NULL;
    size_t count = 0;
    bool done = add_transfers(run, &list, &count, err);
    text_add(&recorded->collectives, "collective,ranks,nodes,bytes,seconds\n");
    for (size_t i = 0, end; done && i < count; i = end) {
        for (end = i; end < count && list[end].kind == list[i].kind && list[end].ranks == list[i].ranks &&
                      list[end].bytes == list[i].bytes;
             end++)
            ;
        const struct transfer *median = &list[(i + end) / 2];
        text_format(&recorded->collectives, "%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%.9g\n",
                    collective_kind_name(list[i].kind), list[i].ranks, (list[i].ranks + node - 1) / node,
                    list[i].bytes, (double)median->time / 1e9);
        recorded->collective_count++;
    }
    free(list);
    return done;
}

/* ---- products ---- */

static bool write_products(struct calibrate_recorded *recorded, const struct replay *replay,
                           struct error *err)
{
    struct replay_product *list;
    size_t count;
    if (!replay_products(replay, &list, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        enum cost_type format;
        const struct product_size *size = &list[i].size;
        if (!explain_product_type(replay->texts[list[i].type], replay->texts[list[i].kernel], &format))
            continue;
        text_format(&recorded->products, "%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%.9g\n",
                    cost_type_name(format), size->batch, size->m, size->n, size->k,
                    (double)list[i].median / 1e9);
        recorded->product_count++;
    }
    free(list);
    for (size_t i = 0; !recorded->device && i < replay->device_count; i++)
        if (replay->devices[i].name > 0) {
            const char *told = replay->texts[replay->devices[i].name];
            snprintf(recorded->told, sizeof recorded->told, "%s", told);
            recorded->device = tables_device(NULL, told);
        }
    return true;
}

/* A device of the user's own file may be any. */
static bool check_device(const struct calibrate_recorded *recorded, const char *device, struct error *err)
{
    const struct cost_device *given = device ? tables_device(NULL, device) : NULL;
    return !given || !recorded->device || given == recorded->device ||
           error_set(err, ERROR_USAGE,
                     "--device %s: %s was recorded on '%s', which is %s: leave out --device, or fit another "
                     "recording",
                     device, recorded->path, recorded->told, recorded->device->name);
}

bool calibrate_recorded_read(struct calibrate_recorded *recorded, const char *path, const char *device,
                             struct error *err)
{
    struct ranks run;
    if (recorded->path && strcmp(recorded->path, path) == 0)
        return true;
    calibrate_recorded_release(recorded);
    if (!tables_ready(err) || !ranks_open(&run, &path, 1, err))
        return false;
    recorded->path = path;
    text_add(&recorded->products, "dtype,batch,m,n,k,seconds\n");
    bool done = true;
    for (size_t i = 0; done && i < run.count; i++) {
        struct replay replay;
        done = ranks_load(&run, i, &replay, err);
        if (!done)
            break;
        done = ranks_collect(&run, i, &replay, err) && write_products(recorded, &replay, err);
        replay_release(&replay);
    }
    const struct cost_device *known = device ? tables_device(NULL, device) : recorded->device;
    done = done && check_device(recorded, device, err) && ranks_align(&run, err) &&
           write_transfers(recorded, &run, known ? usual_node(known).devices : 8, err);
    ranks_release(&run);
    return done && ((!recorded->products.failed && !recorded->collectives.failed) || error_memory(err));
}

bool calibrate_recorded_table(struct calibrate_recorded *recorded, bool products, struct csv *csv,
                              struct error *err)
{
    const struct text *text = products ? &recorded->products : &recorded->collectives;
    if ((products ? recorded->product_count : recorded->collective_count) > 0)
        return csv_parse(csv, recorded->path, text->data, text->length, err);
    return error_set(err, ERROR_INPUT, "%s: %s", recorded->path,
                     products ? "no matrix product with sizes and kernels: record with record_shapes=True"
                              : "no collective with bytes of which all ranks are here");
}

bool calibrate_take_recorded(struct calibrate_report *report, struct rh_calibrate_request *asked,
                             struct error *err)
{
    struct calibrate_recorded *recorded = &report->recorded;
    if (!asked->log || !calibrate_is_recorded(asked->log))
        return true;
    if (!calibrate_recorded_read(recorded, asked->log, asked->device, err))
        return false;
    if (!asked->gemm && (recorded->product_count > 0 || recorded->collective_count == 0))
        asked->gemm = asked->log;
    if (!asked->collectives && recorded->collective_count > 0)
        asked->collectives = asked->log;
    if (!asked->device && recorded->device)
        asked->device = recorded->device->name;
    if (!asked->device && *recorded->told)
        return error_set(err, ERROR_USAGE,
                         "%s: recorded on '%s', which is no known device: add --device NAME", asked->log,
                         recorded->told);
    asked->log = NULL;
    return true;
}

void calibrate_recorded_release(struct calibrate_recorded *recorded)
{
    text_release(&recorded->products);
    text_release(&recorded->collectives);
    *recorded = (struct calibrate_recorded){.path = NULL};
}
