#include "api/data/workload.h"

#include "core/caller.h"
#include "core/file.h"
#include "core/vector.h"
#include "storage/storage.h"

#include <stdlib.h>
#include <string.h>

bool workload_overrides_add(struct workload_overrides *overrides, struct error *err, const char *format, ...)
{
    struct text line = {0};
    va_list args;
    va_start(args, format);
    text_vformat(&line, format, args);
    va_end(args);
    const char *item = line.failed ? NULL : arena_copy(&overrides->arena, line.data, line.length);
    text_release(&line);
    return (item && VECTOR_ADD(overrides->items, overrides->count, overrides->capacity, item)) ||
           error_memory(err);
}

/* Returns the workload's name if the word is one, not an override. */
static const char *name_in(const char *word)
{
    static const char hydra[] = "workload=";
    if (text_starts_with(word, hydra))
        return word + sizeof hydra - 1;
    return strchr(word, '=') ? NULL : word;
}

/* Adds the folder that a word behind the workload names. */
static bool add_folder(struct workload_overrides *overrides, const char *workload, const char *word,
                       enum workload_folder folder, struct error *err)
{
    enum file_kind kind = FILE_NONE;
    bool is_folder = storage_is_s3(word) || (file_look(word, &kind, err) && kind == FILE_FOLDER);
    if (is_folder && folder == WORKLOAD_FOLDER_READ)
        return workload_overrides_add(overrides, err, "dataset.data_folder=%s", word);
    if (is_folder)
        return error_set(err, ERROR_USAGE, "'%s' is a folder: write the data set to it with -o %s", word,
                         word);
    if (folder == WORKLOAD_FOLDER_READ)
        return error_set(
            err, ERROR_USAGE,
            "'%s' has no data of workload '%s': make them with 'rehearse dataset generate %s -o %s'", word,
            workload, workload, word);
    return error_set(err, ERROR_USAGE, "expected one workload, found '%s' and '%s'", workload, word);
}

bool workload_overrides_of(struct workload_overrides *overrides, const struct rh_list *words,
                           const struct rh_list *set, enum workload_folder folder, const char **name,
                           struct error *err)
{
    *name = NULL;
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->items[i], *found = name_in(word);
        bool added = true;
        if (found && *name)
            added = add_folder(overrides, *name, found, folder, err);
        else if (found)
            *name = found;
        else
            added = workload_overrides_add(overrides, err, "%s", word);
        if (!added)
            return false;
    }
    for (size_t i = 0; i < set->count; i++)
        if (!workload_overrides_add(overrides, err, "%s", set->items[i]))
            return false;
    return *name ||
           error_set(err, ERROR_USAGE, "no workload given: 'rehearse feed --list' prints the built-in ones");
}

void workload_overrides_release(struct workload_overrides *overrides)
{
    arena_release(&overrides->arena);
    free(overrides->items);
    *overrides = (struct workload_overrides){0};
}

bool workload_given_open(struct workload *workload, const char *name, const struct workload_options *options,
                         const struct api_call *call, struct error *err)
{
    if (!workload_open(workload, name, options, err))
        return false;
    for (int i = 0; call && i < workload->warning_count; i++)
        caller_warn("%s", workload->warnings[i]);
    return true;
}
