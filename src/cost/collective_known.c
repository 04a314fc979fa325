#include "cost/collective_known.h"

#include "core/arena.h"
#include "core/once.h"
#include "devices/measured/lines.h"
#include "devices/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* data/collectives.txt, by scripts/embed.c. */
extern const char data_collectives[];

#define MAX_LINKS 64

/* A link, and the lines that its rows are read from when it is first asked for. */
struct source {
    struct known_collectives known;
    const char *lines[COLLECTIVE_MAX_VARIANTS]; /* by variant */
    struct once once;
    struct arena arena;
};

static struct {
    struct once once;
    struct arena arena;
    struct source sources[MAX_LINKS];
    int count;
} all = {.once = ONCE_INIT};

/* ---- blocks: `link`, `kin` if there is one, `source`, and lines of rows ---- */

static struct source *find(const struct cost_link *link)
{
    for (int i = 0; i < all.count; i++)
        if (all.sources[i].known.link == link)
            return &all.sources[i];
    return NULL;
}

static const struct cost_link *link_named(const char *text)
{
    const char *name = line_copy(&all.arena, text);
    return name ? tables_link(NULL, name) : NULL;
}

static struct source *source_for(const struct cost_link *link)
{
    struct source *source = find(link);
    if (source || !link || all.count == MAX_LINKS)
        return source;
    source = &all.sources[all.count++];
    *source = (struct source){.known.link = link, .once = ONCE_INIT};
    return source;
}

static bool add_variant(struct source *source, const char *line, const char *name)
{
    if (!source || source->known.variants == COLLECTIVE_MAX_VARIANTS)
        return false;
    source->lines[source->known.variants] = line_next(line);
    source->known.sources[source->known.variants++] = line_copy(&all.arena, name);
    return source->known.sources[source->known.variants - 1] != NULL;
}

static bool read_line(struct source **source, const char *line)
{
    const char *text;
    if ((text = line_behind(line, "link")))
        return (*source = source_for(link_named(text))) != NULL;
    if ((text = line_behind(line, "kin")))
        return *source && ((*source)->known.kin = link_named(text)) != NULL;
    if ((text = line_behind(line, "source")))
        return add_variant(*source, line, text);
    return true; /* a comment, rows */
}

static bool read_blocks(struct error *err)
{
    struct source *source = NULL;
    if (!tables_ready(err))
        return false;
    all.count = 0;
    for (const char *line = data_collectives; *line; line = line_next(line))
        if (!read_line(&source, line)) {
            arena_release(&all.arena);
            return error_memory(err);
        }
    return true;
}

/* ---- rows ---- */

static struct known_collective row_of(const struct collective_group *group, enum collective_kind kind,
                                      int variant, double bytes, double seconds)
{
    return (struct known_collective){
        .kind = kind,
        .devices = group->devices,
        .variant = variant,
        .bytes = bytes,
        .seconds = seconds,
        .log_ratio = (float)log(seconds / collective_time(kind, group, bytes).seconds),
        .log_bytes = (float)log2(bytes),
    };
}

/* Returns how many rows a line holds: each has one colon. */
static int count_rows(const char *line)
{
    int count = 0;
    for (; *line && *line != '\n'; line++)
        count += *line == ':';
    return count;
}

/* Reads the rows of a line, "kind devices\tBYTES:MICROSECONDS ...". Returns how many. */
static int read_row(const struct cost_link *link, int variant, const char *line,
                    struct known_collective *rows)
{
    char name[32];
    enum collective_kind kind;
    size_t length = strcspn(line, " \n");
    if (length >= sizeof name || line[length] != ' ')
        return 0;
    memcpy(name, line, length);
    name[length] = '\0';
    char *at;
    int devices = (int)strtol(line + length, &at, 10), count = 0;
    if (!collective_kind_find(name, &kind) || *at != '\t')
        return 0;
    const struct collective_group group = {devices, devices, link, NULL};
    float log_devices = (float)log2(devices);
    while (*at == '\t' || *at == ' ') {
        double bytes = (double)strtoll(at + 1, &at, 10);
        if (*at != ':')
            break;
        rows[count] = row_of(&group, kind, variant, bytes, strtod(at + 1, &at) * 1e-6);
        rows[count++].log_devices = log_devices;
    }
    return count;
}

static int read_rows(const struct source *source, struct known_collective *rows)
{
    int count = 0;
    for (int variant = 0; variant < source->known.variants; variant++)
        for (const char *line = source->lines[variant];
             *line && *line != '\n' && !line_behind(line, "source"); line = line_next(line))
            count += rows ? read_row(source->known.link, variant, line, rows + count) : count_rows(line);
    return count;
}

static bool load(void *of)
{
    struct source *source = of;
    int count = read_rows(source, NULL);
    struct known_collective *rows = ARENA_ARRAY(&source->arena, (size_t)count + 1, struct known_collective);
    if (!rows)
        return false;
    source->known.count = read_rows(source, rows);
    source->known.rows = rows;
    return true;
}

static const struct known_collectives *loaded(struct source *source)
{
    return once_needed_of(&source->once, load, source) ? &source->known : NULL;
}

const struct known_collectives *collectives_of(const struct cost_link *link)
{
    if (!link || !once_needed(&all.once, read_blocks))
        return NULL;
    struct source *source = find(link);
    return source ? loaded(source) : NULL;
}

const struct known_collectives *collectives_known(int index)
{
    if (!once_needed(&all.once, read_blocks))
        return NULL;
    return index < all.count ? loaded(&all.sources[index]) : NULL;
}
