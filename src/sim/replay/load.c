#include "sim/replay/parts.h"
#include "trace/import/lines.h"

#include <string.h>

typedef bool reader(struct replay *replay, const char *text, size_t length, struct error *err);

static bool choose_reader(const char *path, const char *text, size_t length, reader **read, struct error *err)
{
    struct import_lines lines;
    const char *bytes;
    *read = replay_read_kineto;
    if (text_ends_with(path, ".csv") || text_ends_with(path, ".csv.gz"))
        *read = replay_read_table;
    else if (text_ends_with(path, ".et") || text_ends_with(path, ".et.gz"))
        *read = replay_read_chakra;
    else if (text_ends_with(path, ".xplane.pb") || text_ends_with(path, ".xplane.pb.gz"))
        *read = replay_read_xplane;
    if (*read != replay_read_kineto)
        return true;
    bool seen =
        import_lines_open(&lines, path, text, length, err) && import_lines_peek(&lines, &bytes, &length, err);
    if (seen &&
        (strstr(bytes, "\"workload_graph\"") || (strstr(bytes, "\"schema\"") && strstr(bytes, "\"nodes\""))))
        *read = replay_read_chakra;
    import_lines_close(&lines);
    return seen;
}

bool replay_parse(struct replay *replay, const char *path, const char *text, size_t length, struct error *err)
{
    reader *read;
    *replay = (struct replay){.rank = -1, .world = -1};
    replay->path = arena_string(&replay->arena, path);
    bool done = replay->path
                    ? choose_reader(path, text, length, &read, err) && read(replay, text, length, err)
                    : error_memory(err);
    if (!done)
        replay_release(replay);
    return done;
}

bool replay_load(struct replay *replay, const char *path, struct error *err)
{
    return replay_parse(replay, path, NULL, 0, err);
}
