/* A job's pipeline as a graph for Graphviz. */
#include "launch/part.h"

static void add_range(struct text *out, int first, int count)
{
    if (count == 0)
        text_add(out, "\\nno block");
    else if (count == 1)
        text_format(out, "\\nblock %d", first);
    else
        text_format(out, "\\nblocks %d-%d", first, first + count - 1);
}

static void add_chunk(const struct job *job, int chunk, int first, struct text *out)
{
    int stage = chunk % job->pipeline, at = chunk / job->pipeline;
    text_format(out, "    c%d [fillcolor=%d, label=\"stage %d", chunk, stage % 12 + 1, stage);
    if (job->chunks > 1)
        text_format(out, ", chunk %d", at);
    if (chunk == 0)
        text_add(out, "\\nembedding");
    add_range(out, first, job_chunk_blocks(job, chunk));
    if (chunk == job->pipeline * job->chunks - 1)
        text_add(out, "\\nhead");
    if (at == 0) {
        text_format(out, "\\n%d x ", job->devices / job->pipeline);
        launch_add_name(out, job->device->name);
        text_format(out, "\\ntensor %d x context %d x data %d", job->tensor, job->context, job->data);
        if (job->expert > 1)
            text_format(out, "\\nexpert %d", job->expert);
    }
    text_add(out, "\"];\n");
}

bool launch_write_dot(const struct job *job, struct text *out, struct error *err)
{
    (void)err;
    int count = job->pipeline * job->chunks;
    text_add(out, "digraph job {\n    rankdir=LR;\n    node [shape=box, style=filled, colorscheme=set312, "
                  "fontname=\"sans-serif\"];\n    label=\"");
    launch_add_title(out, job);
    text_add(out, "\";\n");
    for (int i = 0, first = 0; i < count; i++) {
        add_chunk(job, i, first, out);
        first += job_chunk_blocks(job, i);
    }
    for (int i = 1; i < count; i++)
        text_format(out, "    c%d -> c%d;\n", i - 1, i);
    text_add(out, "}\n");
    return true;
}
