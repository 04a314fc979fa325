/* The calls of a replay as a trace. */
#include "feed/replay/replay.h"

#include <string.h>

/* The new name of a rename: a row of its own, as `rehearse trace` writes it. */
static bool add_second(struct trace_writer *writer, const struct io_plan *plan, struct trace_event event,
                       uint32_t file, struct error *err)
{
    const char *path = plan->files[file].path;
    event.class = TRACE_OTHER;
    event.latency_ns = event.result = 0;
    event.call = trace_call(writer, "new_name", 8);
    event.file = trace_file(writer, TRACE_NONE, TRACE_NONE, path, strlen(path));
    return trace_add_event(writer, &event, err);
}

static bool add_events(struct trace_writer *writer, const struct io_plan *plan,
                       const struct io_result *result, size_t which, int copy, struct error *err)
{
    const struct io_thread *thread = &plan->threads[which % plan->thread_count];
    int64_t shift = (int64_t)copy << 22; /* of process numbers, which are smaller */
    for (size_t i = 0; i < thread->count; i++) {
        const struct io_op *op = &thread->ops[i];
        const struct io_done *done = &result->done[which][i];
        const struct trace_process_info *process = trace_process_info(plan->reader, op->event.process);
        const struct io_file *file = &plan->files[op->file];
        const char *call = trace_call_name(plan->reader, op->event.call);
        struct trace_event event = op->event;
        bool moves = event.class == TRACE_READ || event.class == TRACE_WRITE;
        event.start_ns = result->start_ns + done->start_ns;
        event.latency_ns = done->took_ns;
        event.process = trace_process(writer, process->pid == TRACE_NONE ? TRACE_NONE : process->pid + shift,
                                      process->tid == TRACE_NONE ? TRACE_NONE : process->tid + shift,
                                      process->name, strlen(process->name));
        event.file = trace_file(writer, TRACE_NONE, TRACE_NONE, file->path, strlen(file->path));
        event.call = *call ? trace_call(writer, call, strlen(call)) : 0;
        event.cached = -1;
        event.result = done->result < 0 || moves ? done->result : event.result;
        if (!trace_add_event(writer, &event, err) ||
            (op->second && !add_second(writer, plan, event, op->second, err)))
            return false;
    }
    return true;
}

bool io_trace_write(const struct io_plan *plan, const struct io_options *options,
                    const struct io_result *result, const char *path, struct error *err)
{
    struct trace_writer *writer = trace_writer_new(path, TRACE_STORE_WHOLE | TRACE_STORE_REPLACE, err);
    bool done = writer != NULL;
    for (size_t i = 0; done && i < plan->thread_count * (size_t)options->copies; i++)
        done = add_events(writer, plan, result, i, (int)(i / plan->thread_count), err);
    const struct trace_phase run = {.name = "RUN",
                                    .start_ns = result->start_ns - (options->fastest ? 0 : plan->before_ns),
                                    .end_ns = result->start_ns + result->end_ns,
                                    .source = "replay"};
    done = done && trace_add_phase(writer, &run, err) &&
           trace_set_meta(writer, "source", "rehearse feed --replay", err) &&
           trace_set_meta(writer, TRACE_RECORDS, TRACE_RECORDS_CALLS, err);
    if (done)
        return trace_writer_close(writer, err);
    trace_writer_drop(writer);
    return false;
}
