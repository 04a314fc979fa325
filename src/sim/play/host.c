#include "sim/play/host.h"

#include <math.h>

bool host_is_played(const struct sim_options *options)
{
    return options->load_rate > 0.0 || options->save_every > 0;
}

bool host_saves_after(const struct play_host *host, int iteration)
{
    return host->save_every > 0 && iteration % host->save_every == 0 && iteration + 1 < host->iterations;
}

/* ---- amounts and rates ---- */

double host_bytes(const struct play_model *model, int p, int place)
{
    const struct sim_memory *state = &model->pipelines[p].devices[place].state;
    double copies = model->pipelines[p].from->copies;
    return state->parameters / copies + state->optimizer / (model->plan->sharding >= 1 ? 1.0 : copies);
}

static bool holds_first_stage(const struct pass_order *order, int place)
{
    for (int s = 0; s < order->stages; s++)
        if (order->device_of[s] == place && pass_order_before(order, s) < 0)
            return true;
    return false;
}

/* Returns the samples of an iteration that a device of a place loads; 0: it is no reader. */
static double samples_of(const struct play_model *model, int p, int place)
{
    const struct play_pipeline *pipeline = &model->pipelines[p];
    double readers = 0.0, all = 0.0;
    if (!holds_first_stage(&pipeline->order, place))
        return 0.0;
    for (int q = 0; q < model->pipeline_count; q++)
        all += (double)model->pipelines[q].from->copies * (double)model->pipelines[q].from->microbatches;
    for (int d = 0; d < pipeline->order.devices; d++)
        if (holds_first_stage(&pipeline->order, d))
            readers += (double)pipeline->devices[d].members;
    double own = (double)pipeline->from->copies * (double)pipeline->from->microbatches / all;
    return own * (double)plan_samples(model->plan) / readers;
}

/* Returns the bandwidth between nodes of a device; 0: unknown. */
static double across_of(const struct play_model *model, int p, int place)
{
    int across = model->plan->types[model->pipelines[p].devices[place].type].across;
    double bandwidth = across >= 0 ? model->plan->links[across].bandwidth : 0.0;
    return bandwidth > 0.0 ? bandwidth : 0.0;
}

/* Returns the lower of two rates, of which 0 is no limit. */
static double lower_rate(double a, double b)
{
    return a > 0.0 && b > 0.0 ? fmin(a, b) : fmax(a, b);
}

/* ---- tasks ---- */

/* Adds the moving of `bytes` by a route, `rate` bytes/s alone; at once if that is 0. */
static struct engine_task *add_move(struct template_writer *to, int d, int stream, int label, double bytes,
                                    double rate, enum host_route route)
{
    struct engine_task *task = writer_add(to, stream, label, rate > 0.0 ? bytes / rate : 0.0);
    task->bytes = bytes;
    task->rate = rate;
    if (task->seconds > 0.0)
        task->route = to->orders->devices[to->pipeline->first_device + d].host_routes + (int)route;
    return task;
}

void host_add_routes(const struct play_model *model, struct layer_device *device)
{
    device->host_routes = device->route_count;
    for (int i = 1; host_is_played(model->options) && i <= HOST_ROUTES; i++)
        device->leads_to[device->route_count++] = -1;
}

bool host_write_begin(struct template_writer *to, int d, bool later, bool loads, int *made)
{
    const struct play_model *model = to->model;
    const struct sim_options *options = model->options;
    double samples = model->host.loads ? samples_of(model, to->p, d) : 0.0;
    *made = -1;
    to->tasks = ARENA_ARRAY(&to->orders->arena, 3, struct engine_task);
    to->count = 0;
    if (!to->tasks)
        return false;
    if (later && model->other > 0.0)
        writer_add(to, STREAM_COMPUTE, SIM_OTHER, model->other);
    if (later && samples > 0.0)
        writer_wait(writer_add(to, STREAM_COMPUTE, SIM_LOAD, 0.0), MARK_LOADED);
    if (loads && samples > 0.0) {
        const struct host_storage storage = host_storage_of(model);
        double rate = storage.read;
        if (host_link_has_loads(options))
            rate = lower_rate(rate, options->host_rate);
        if (options->storage_network && options->load_bytes > 0.0)
            rate = lower_rate(rate, across_of(model, to->p, d));
        struct engine_task *task =
            add_move(to, d, STREAM_HOST, SIM_LOAD, samples * storage.sample, rate, HOST_LOAD);
        writer_wait(task, MARK_OPTIMIZED);
        task->mark = MARK_LOADED;
    }
    *made = to->count > 0 ? writer_keep(to, -1, -1) : -1;
    return to->count == 0 || *made >= 0;
}

int host_write_save(struct template_writer *to, int d)
{
    const struct sim_options *options = to->model->options;
    double bytes = host_bytes(to->model, to->p, d);
    to->tasks = ARENA_ARRAY(&to->orders->arena, 4, struct engine_task);
    to->count = 0;
    if (!to->tasks)
        return -1;
    struct engine_task *copy = add_move(to, d, STREAM_SAVE, LABEL_COPY, bytes,
                                        lower_rate(options->copy_rate, options->host_rate), HOST_COPY);
    writer_wait(copy, MARK_OPTIMIZED);
    copy->mark = MARK_COPIED;
    if (options->save_rate > 0.0) {
        double rate = options->storage_network
                          ? lower_rate(options->save_rate, across_of(to->model, to->p, d))
                          : options->save_rate;
        /* its stream has copied before */
        add_move(to, d, STREAM_SAVE, SIM_SAVE, bytes * to->model->host.written, rate, HOST_WRITE);
        writer_add(to, STREAM_SAVE, SIM_SAVE, 0.0)->group = GROUP_SAVED;
        to->tasks[to->count - 1].mark = MARK_WRITTEN;
    }
    if (options->save_waits != SIM_WAITS_FOR_NOTHING) {
        bool written = options->save_waits == SIM_WAITS_FOR_WRITES;
        struct engine_task *all = writer_add(to, STREAM_COMPUTE, written ? SIM_SAVE : LABEL_COPY, 0.0);
        all->group = GROUP_ALL;
        writer_wait(all, MARK_COPIED);
        if (written)
            writer_wait(all, MARK_WRITTEN);
    }
    return writer_keep(to, -1, -1);
}
