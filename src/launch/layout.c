/* Megatron-Core's layout of a pipeline. */
#include "launch/megatron.h"

#include <stdlib.h>
#include <string.h>

static void add_layers(struct text *out, char letter, int count)
{
    if (count > 0)
        text_format(out, "%c", letter);
    if (count > 1)
        text_format(out, "*%d", count);
}

/* Returns the number of equal chunks from `first` on, without the very last chunk. */
static int alike_from(const struct job *job, int first)
{
    int alike = 1;
    while (first + alike < job->degrees.pipeline * job->chunks - 1 &&
           job_chunk_blocks(job, first + alike) == job_chunk_blocks(job, first))
        alike++;
    return alike;
}

const char *megatron_layout_write(const struct job *job, struct arena *arena)
{
    struct text out = {0};
    int count = job->degrees.pipeline * job->chunks;
    text_add(&out, "E");
    for (int i = 0; i < count;) {
        int alike = i > 0 ? alike_from(job, i) : 1;
        bool group = alike >= 3; /* two are as short without brackets */
        text_add(&out, group ? "(" : "");
        add_layers(&out, 't', job_chunk_blocks(job, i));
        if (i == count - 1) /* those of multi-token prediction follow the last block */
            add_layers(&out, 'm', job->model->mtp_layers);
        text_add(&out, i == count - 1 ? "L" : "|");
        if (group)
            text_format(&out, ")*%d", alike);
        i += group ? alike : 1;
    }
    const char *copy = out.failed ? NULL : arena_string(arena, out.data);
    text_release(&out);
    return copy;
}

/* ---- reading ---- */

struct layout {
    int *blocks; /* of LAUNCH_MAX_STAGES */
    int count;   /* of stages begun */
    int read;    /* letters; those of a repeated group count every time */
    int at;      /* letters of ORDER before the last one that was read; -1: none was */
    int mtp;     /* layers of multi-token prediction */
};

#define ORDER "EtmL" /* one embedding, blocks, layers of multi-token prediction, one loss */

#define MAX_LETTERS 1000000

/* Reads "*3" behind a letter or a group; nothing: 1. */
static bool read_times(const char **at, long *times)
{
    *times = 1;
    if (**at != '*')
        return true;
    char *end;
    *times = strtol(*at + 1, &end, 10);
    bool ok = (*at)[1] >= '0' && (*at)[1] <= '9' && *times >= 1 && *times <= LAUNCH_MAX_STAGES;
    *at = end;
    return ok;
}

/* Adds a letter or bar `times` times. False: no such letter, or not in its order. */
static bool add_letter(struct layout *layout, char letter, long times)
{
    const char *place = strchr(ORDER, letter);
    int at = place ? (int)(place - ORDER) : layout->at;
    bool is_end = letter == 'E' || letter == 'L';
    if ((!place && letter != '|') || at < layout->at || (place && layout->at < 0 && letter != 'E') ||
        (is_end && (times > 1 || at == layout->at)))
        return false;
    layout->at = at;
    layout->mtp += letter == 'm' ? (int)times : 0;
    for (; letter == '|' && times > 0; times--)
        if (layout->count++ == LAUNCH_MAX_STAGES)
            return false;
    if (letter == 't' && layout->blocks[layout->count - 1] > 1000000)
        return false;
    if (letter == 't')
        layout->blocks[layout->count - 1] += (int)times;
    return true;
}

/* Reads letters up to `end`: no groups. */
static bool read_letters(struct layout *layout, const char *at, const char *end)
{
    while (at < end) {
        char letter = *at++;
        long times = 1;
        if (layout->read++ == MAX_LETTERS)
            return false;
        if (letter != ',' && (!read_times(&at, &times) || !add_letter(layout, letter, times)))
            return false;
    }
    return true;
}

static bool read_layout(struct layout *layout, const char *at)
{
    while (*at) {
        const char *open = strchr(at, '('), *close = open ? strchr(open, ')') : NULL;
        if (!read_letters(layout, at, open ? open : at + strlen(at)) || (open && !close))
            return false;
        if (!open)
            break;
        long times;
        at = close + 1;
        if (!read_times(&at, &times))
            return false;
        for (; times > 0; times--)
            if (!read_letters(layout, open + 1, close))
                return false;
    }
    return true;
}

bool megatron_layout_read(const char *layout, struct arena *arena, int **blocks, int *count, int *mtp)
{
    struct layout read = {.blocks = ARENA_ARRAY(arena, LAUNCH_MAX_STAGES + 1, int), .count = 1, .at = -1};
    if (!read.blocks || !read_layout(&read, layout) || read.count > LAUNCH_MAX_STAGES ||
        read.at != (int)strlen(ORDER) - 1)
        return false;
    *mtp = read.mtp;
    *blocks = read.blocks;
    *count = read.count;
    return true;
}
