#include "explain/life.h"

#include "core/file.h"
#include "core/text.h"
#include "core/vector.h"
#include "explain/found.h"

#include <stdlib.h>
#include <string.h>

/* ---- folders ---- */

/* The folder by which a file's time is told: of several paths the path, of one the folder below it. */
static const char *folder_of(struct arena *arena, const char *path, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(paths[i]);
        while (length > 1 && paths[i][length - 1] == '/')
            length--;
        if (strncmp(path, paths[i], length) != 0 || path[length] != '/')
            continue;
        size_t begin = length + strspn(path + length, "/"), inner = strcspn(path + begin, "/");
        if (count > 1)
            return arena_copy(arena, path, length);
        return path[begin + inner] == '/' ? arena_copy(arena, path, begin + inner) : "";
    }
    return "";
}

static bool add_file(struct explain_hours *hours, const struct ranks_member *member, const char *folder,
                     struct error *err)
{
    size_t at = 0;
    while (at < hours->count && strcmp(hours->list[at].name, folder) != 0)
        at++;
    struct explain_hour_files made = {.name = folder};
    if (at == hours->count && !VECTOR_ADD(hours->list, hours->count, hours->capacity, made))
        return error_memory(err);
    const char *path = arena_string(&hours->arena, member->path);
    return (path &&
            VECTOR_ADD(hours->list[at].paths, hours->list[at].count, hours->list[at].capacity, path)) ||
           error_memory(err);
}

/* Members are in order of ranks. Does each rank have one file in each folder that has it, and do most come again? */
static bool repeats(const struct explain_hours *hours, const struct ranks *run, const char *const *folders)
{
    size_t most = 0, again = 0, ranks = 0;
    for (size_t i = 0, end; i < run->count; i = end) {
        for (end = i; end < run->count && run->members[end].rank == run->members[i].rank; end++)
            for (size_t j = i; j < end; j++)
                if (strcmp(folders[j], folders[end]) == 0)
                    return false;
        again += end - i > 1;
        ranks++;
        most = end - i > most ? end - i : most;
    }
    return most == hours->count && 2 * again >= ranks;
}

static int by_name(const void *a, const void *b)
{
    const struct explain_hour_files *first = a, *second = b;
    return strverscmp(first->name, second->name);
}

bool explain_hours_find(struct explain_hours *hours, const char *const *paths, size_t count,
                        struct error *err)
{
    struct ranks run;
    *hours = (struct explain_hours){.count = 0};
    for (size_t i = 0; i < count; i++) {
        enum file_kind kind;
        if (!file_look(paths[i], &kind, err))
            return false;
        if (kind != FILE_FOLDER)
            return true;
    }
    if (!ranks_open(&run, paths, count, err))
        return false;
    const char **folders = ARENA_ARRAY(&hours->arena, run.count + 1, const char *);
    bool done = folders || error_memory(err), told = run.count > 1;
    for (size_t i = 0; done && told && i < run.count; i++) {
        folders[i] = folder_of(&hours->arena, run.members[i].path, paths, count);
        if (!folders[i])
            done = error_memory(err);
        told = done && run.members[i].rank_told && *folders[i];
        done = done && (!told || add_file(hours, &run.members[i], folders[i], err));
    }
    bool life = done && told && hours->count > 1 && repeats(hours, &run, folders);
    ranks_release(&run);
    if (!life)
        explain_hours_release(hours);
    else
        qsort(hours->list, hours->count, sizeof *hours->list, by_name);
    return done;
}

void explain_hours_release(struct explain_hours *hours)
{
    for (size_t i = 0; i < hours->count; i++)
        free(hours->list[i].paths);
    free(hours->list);
    arena_release(&hours->arena);
    *hours = (struct explain_hours){.count = 0};
}

/* ---- one after the other ---- */

static void take_larger(struct explain_change *most, const struct explain_change *change)
{
    if (change->more > (most->name ? most->more : 0))
        *most = *change;
}

/* Takes what lives longer than the two explanations. */
static bool add_hour(struct explain_life *life, struct explain_hour *hour, const struct explain *explain,
                     const struct explain *first, struct error *err)
{
    struct explain_changes changes;
    struct text unlike = {0};
    explain_tell_unlike(explain, first, &unlike);
    hour->unlike = unlike.failed ? NULL : arena_string(&life->arena, unlike.data ? unlike.data : "");
    text_release(&unlike);
    if (!hour->unlike)
        return error_memory(err);
    if (!explain_compare(&changes, explain, first, err))
        return false;
    const struct explain_loss *loss = explain->loss_count > 0 ? &explain->losses[0] : NULL;
    hour->ranks = explain->run.count;
    hour->steps = explain->step_count;
    hour->begin = explain->run.origin - first->run.origin;
    hour->verdict = explain_verdict(explain);
    hour->cause = loss ? explain_loss_words[loss->kind].key : "compute";
    hour->loss = loss ? (double)loss->time / 1e9 / (double)explain->step_count : 0;
    hour->step = changes.step;
    hour->rank = changes.rank;
    hour->slowest = changes.rank.more > 0 ? changes.slowest : -1;
    hour->share = explain_most_changed(&changes, 1);
    for (int i = 0; i < KERNEL_CLASSES; i++)
        take_larger(&hour->class, &changes.classes[i]);
    free(changes.kernels);
    return true;
}

bool explain_life(struct explain_life *life, struct explain *last, const struct explain_hours *hours,
                  const struct kernel_classes *kernels, struct error *err)
{
    struct explain first;
    *life = (struct explain_life){.count = hours->count};
    life->hours = ARENA_ARRAY(&life->arena, hours->count, struct explain_hour);
    if (!life->hours)
        return error_memory(err);
    bool made = explain_make(&first, hours->list[0].paths, hours->list[0].count, kernels, err), done = made;
    for (size_t i = 0; done && i < hours->count; i++) {
        const struct explain_hour_files *files = &hours->list[i];
        bool end = i + 1 == hours->count;
        struct explain *explain = i == 0 ? &first : last;
        if (i > 0 && !explain_make(last, files->paths, files->count, kernels, err)) {
            done = false;
            break;
        }
        life->hours[i].name = arena_string(&life->arena, files->name);
        done = (life->hours[i].name || error_memory(err)) &&
               add_hour(life, &life->hours[i], explain, &first, err);
        if (i > 0 && (!end || !done))
            explain_release(last);
    }
    if (made)
        explain_release(&first);
    if (!done)
        arena_release(&life->arena);
    return done;
}
