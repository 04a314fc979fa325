#include "sim/play/layout.h"

static const struct plan_stage *stage_at(const struct layout *layout, int p, int place)
{
    return &layout->model->pipelines[p].from->stages[place];
}

static void fill(struct layout *layout, int p)
{
    const struct play_pipeline *pipeline = &layout->model->pipelines[p];
    int device = layout->first[p];
    for (int copy = 0; copy < pipeline->from->copies; copy++)
        for (int place = 0; place < pipeline->order.devices; place++)
            for (int i = 0; i < layout->width[pipeline->first_device + place]; i++)
                layout->at[device++] = (struct layout_place){p, copy, place, i};
}

int layout_rank_count(const struct play_model *model)
{
    const struct play_pipeline *last = &model->pipelines[model->pipeline_count - 1];
    return last->first_device + last->order.devices;
}

bool layout_make(struct layout *layout, const struct play_model *model, struct error *err)
{
    size_t ranks = (size_t)layout_rank_count(model), count = (size_t)model->pipeline_count;
    int64_t devices = 0;
    *layout = (struct layout){.model = model};
    layout->first = ARENA_ARRAY(&layout->arena, count + 1, int);
    layout->copy = ARENA_ARRAY(&layout->arena, count, int);
    layout->width = ARENA_ARRAY(&layout->arena, ranks, int);
    layout->start = ARENA_ARRAY(&layout->arena, ranks, int);
    if (!layout->first || !layout->copy || !layout->width || !layout->start)
        return error_memory(err);
    for (int p = 0; p < model->pipeline_count; p++) {
        const struct play_pipeline *pipeline = &model->pipelines[p];
        int64_t copy = 0;
        for (int place = 0; place < pipeline->order.devices; place++) {
            layout->start[pipeline->first_device + place] = (int)copy;
            layout->width[pipeline->first_device + place] = plan_stage_devices(stage_at(layout, p, place));
            copy += layout->width[pipeline->first_device + place];
            if (copy > PLAN_MAX_DEVICES)
                break;
        }
        devices += copy * pipeline->from->copies;
        if (copy > PLAN_MAX_DEVICES || devices > PLAN_MAX_DEVICES)
            return error_set(err, ERROR_INPUT, "pipelines[%d]: a plan of more than %d devices", p,
                             PLAN_MAX_DEVICES);
        layout->copy[p] = (int)copy;
        layout->first[p + 1] = (int)devices;
    }
    layout->count = (int)devices;
    layout->at = ARENA_ARRAY(&layout->arena, (size_t)layout->count, struct layout_place);
    if (!layout->at)
        return error_memory(err);
    for (int p = 0; p < model->pipeline_count; p++)
        fill(layout, p);
    return true;
}

static int layout_device(const struct layout *layout, struct layout_place at)
{
    int rank = layout->model->pipelines[at.pipeline].first_device + at.place;
    return layout->first[at.pipeline] + at.copy * layout->copy[at.pipeline] + layout->start[rank] + at.index;
}

int layout_rank(const struct layout *layout, int device)
{
    const struct layout_place *at = &layout->at[device];
    return layout->model->pipelines[at->pipeline].first_device + at->place;
}

void layout_visit_seats(const struct layout *layout, int p, int place, layout_seat *seat, void *context)
{
    const struct play_pipeline *pipeline = &layout->model->pipelines[p];
    const struct plan_stage *stage = stage_at(layout, p, place);
    int width = layout->width[pipeline->first_device + place], at = 0, all = width * pipeline->from->copies;
    for (int r = 0; r < stage->run_count; r++)
        for (int n = 0; n < stage->runs[r].nodes; n++)
            for (int i = 0; i < stage->runs[r].count && at < all; i++, at++) {
                const struct layout_place here = {p, at / width, place, at % width};
                seat(context, layout_device(layout, here), stage->runs[r].node + n, stage->runs[r].first + i);
            }
}

struct layout_block layout_block(const struct layout *layout, int device, int place)
{
    struct layout_place at = layout->at[device];
    int first = layout->model->pipelines[at.pipeline].first_device;
    int width = layout->width[first + at.place], other = layout->width[first + place];
    if (width == other) {
        at.place = place;
        return (struct layout_block){.first = layout_device(layout, at), .count = 1};
    }
    int blocks = layer_blocks(width, other), own = width / blocks, theirs = other / blocks;
    at.place = place;
    struct layout_block block = {.count = theirs, .own = at.index % own};
    at.index = at.index / own * theirs;
    block.first = layout_device(layout, at);
    return block;
}

/* Returns the number of ranks that have the shards of a stage between them; 0: all. */
static int shard_ranks(const struct plan_stage *stage, int64_t all)
{
    for (int i = 0; i < stage->transfer_count; i++) {
        const struct plan_transfer *transfer = &stage->transfers[i];
        /* the first gather is of all parameters but experts, which fewer ranks may share */
        if (transfer->purpose == PURPOSE_SHARDS && transfer->kind == COLLECTIVE_ALL_GATHER)
            return transfer->group < all && all % transfer->group == 0 ? transfer->group : 0;
    }
    return 0;
}

/* Returns the first device that has shards of the same copy as a device, or (`copies`) the same shards. Ranks that
 * split data are numbered copy by copy; those of one copy of the shards follow each other. */
static struct layout_place first_with_shards(struct layout_place at, int width,
                                             const struct plan_stage *stage, bool copies, int all_copies)
{
    int each = width / stage->degrees.tensor, rank = at.copy * each + at.index / stage->degrees.tensor;
    int ranks = shard_ranks(stage, (int64_t)each * all_copies);
    int first = ranks == 0 ? 0 : copies ? rank % ranks : rank - rank % ranks;
    at.copy = first / each;
    at.index = first % each * stage->degrees.tensor + at.index % stage->degrees.tensor;
    return at;
}

int layout_group_first(const struct layout *layout, int device, int group)
{
    struct layout_place at = layout->at[device];
    const struct play_pipeline *pipeline = &layout->model->pipelines[at.pipeline];
    const struct plan_stage *stage = stage_at(layout, at.pipeline, at.place);
    int width = layout->width[pipeline->first_device + at.place];
    int64_t linear = (int64_t)at.copy * width + at.index;
    switch (group) {
    case GROUP_TENSOR:
        at.index -= at.index % stage->degrees.tensor;
        break;
    case GROUP_CONTEXT:
        at.index -= at.index / stage->degrees.tensor % stage->degrees.context * stage->degrees.tensor;
        break;
    case GROUP_EXPERT:
    case GROUP_PAIR:
        linear -= linear % stage->degrees.expert;
        at.copy = (int)(linear / width);
        at.index = (int)(linear % width);
        break;
    case GROUP_TIE: /* of the last place and the first one */
        return at.place == 0 ? device - layout_block(layout, device, pipeline->order.devices - 1).own
                             : layout_block(layout, device, 0).first;
    case GROUP_ALL:
    case GROUP_SAVED:
        return 0;
    case GROUP_GATHER:
    case GROUP_SCATTER:
    case GROUP_COPIES:
        at = first_with_shards(at, width, stage, group == GROUP_COPIES, pipeline->from->copies);
        break;
    default: /* between all copies, and the ranks that split their data */
        at.copy = 0;
        at.index %= stage->degrees.tensor;
    }
    return layout_device(layout, at);
}
