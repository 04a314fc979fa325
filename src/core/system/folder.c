#include "core/system/folder.h"

#include "core/statistics.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool add_name(struct arena *arena, const char *name, const char ***names, int *count, int *room)
{
    const char **list = arena_grow(arena, *names, *count, room, sizeof *list);
    if (!list)
        return false;
    *names = list;
    list[*count] = arena_string(arena, name);
    return list[(*count)++];
}

bool folder_names(const char *folder, int maximum, struct arena *arena, const char ***names, int *count,
                  struct error *err)
{
    DIR *stream = opendir(folder);
    int room = 0, why = 0;
    bool done = true;
    *names = NULL;
    *count = 0;
    if (!stream)
        return error_set(err, error_of_input(errno), "%s: cannot open the folder: %s", folder,
                         strerror(errno));
    while (done && *count <= maximum) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        why = entry ? 0 : errno;
        if (!entry)
            break;
        done = entry->d_name[0] == '.' || add_name(arena, entry->d_name, names, count, &room);
    }
    closedir(stream);
    if (!done)
        return error_memory(err);
    if (why)
        return error_set(err, error_of_input(why), "%s: cannot read the folder: %s", folder, strerror(why));
    if (*count > 1)
        qsort(*names, (size_t)*count, sizeof **names, order_texts);
    return true;
}
