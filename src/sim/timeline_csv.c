#include "sim/timeline.h"

#include "core/text.h"

#include <inttypes.h>

/* The fewest digits that read back as the same number. */
static void put_number(FILE *out, double value)
{
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (text_number(text, NULL) == value)
            break;
    }
    fputs(text, out);
}

static bool put_task(void *context, const struct timeline_task *task, struct error *err)
{
    FILE *out = context;
    (void)err;
    fprintf(out, "%" PRId64 ",", task->id);
    if (task->cause >= 0)
        fprintf(out, "%" PRId64, task->cause);
    if (task->stream >= 0 && task->stream < STREAM_KINDS)
        fprintf(out, ",%d,%s,%s,", task->device, timeline_stream_names[task->stream],
                timeline_kind_names[task->kind]);
    else
        fprintf(out, ",%d,%d,%s,", task->device, task->stream, timeline_kind_names[task->kind]);
    if (task->stage >= 0)
        fprintf(out, "%d", task->stage);
    fputc(',', out);
    if (task->layer >= 0)
        fprintf(out, "%d", task->layer);
    fputc(',', out);
    if (task->microbatch >= 0)
        fprintf(out, "%" PRId64, task->microbatch);
    fputc(',', out);
    put_number(out, task->begin);
    fputc(',', out);
    put_number(out, task->end);
    fputc(',', out);
    put_number(out, task->bytes);
    fputs(",\"", out);
    for (const char *at = task->name != NULL ? task->name : ""; *at != '\0'; at++) {
        if (*at == '"')
            fputc('"', out);
        fputc(*at, out);
    }
    fputs("\"\n", out);
    return true;
}

struct timeline_sink timeline_csv(FILE *out)
{
    fputs("id,cause,device,stream,kind,stage,layer,microbatch,begin,end,bytes,name\n", out);
    return (struct timeline_sink){.context = out, .task = put_task};
}
