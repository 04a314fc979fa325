#include "dataset/verify.h"

#include "core/text.h"
#include "dataset/compare.h"
#include "dataset/crew.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct verification {
    const struct dataset_layout *layout;
    const struct dataset_place *place;
    bool content;
    struct dataset_verified *verified;
};

/* Adds a fault to the list, in the order of files, then parts, and takes its texts. A fault that no longer
 * fits is only counted. */
static void list_fault(struct dataset_verified *verified, const struct dataset_fault *fault)
{
    int at = verified->listed;
    while (at > 0 && verified->faults[at - 1].number > fault->number)
        at--;
    verified->fault_count++;
    if (at == DATASET_MAX_FAULTS) {
        free(fault->path);
        free(fault->text);
        return;
    }
    if (verified->listed == DATASET_MAX_FAULTS) {
        free(verified->faults[DATASET_MAX_FAULTS - 1].path);
        free(verified->faults[DATASET_MAX_FAULTS - 1].text);
        verified->listed--;
    }
    memmove(&verified->faults[at + 1], &verified->faults[at],
            (size_t)(verified->listed - at) * sizeof *verified->faults);
    verified->faults[at] = *fault;
    verified->listed++;
}

static bool add_fault(struct dataset_crew *crew, struct dataset_fault fault, const char *path,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

static bool add_fault(struct dataset_crew *crew, struct dataset_fault fault, const char *path,
                      const char *format, ...)
{
    const struct verification *verification = crew->context;
    struct text text = {0};
    va_list args;
    va_start(args, format);
    text_format(&text, "%s: ", path);
    text_vformat(&text, format, args);
    va_end(args);
    fault.path = strdup(path);
    fault.text = text.data;
    if (fault.kind != DATASET_WRONG_CONTENT)
        fault.offset = -1;
    if (text.failed || !fault.path) {
        free(fault.path);
        text_release(&text);
        return false;
    }
    pthread_mutex_lock(&crew->lock);
    list_fault(verification->verified, &fault);
    pthread_mutex_unlock(&crew->lock);
    return true;
}

static bool report(struct dataset_crew *crew, const struct dataset_file *file, const char *path,
                   const struct dataset_difference *d)
{
    struct dataset_fault fault = {
        .kind = DATASET_WRONG_CONTENT,
        .number = file->number,
        .offset = d->offset,
        .expected = d->expected,
        .found = d->found,
    };
    if (d->found < 0 || d->expected < 0)
        return add_fault(crew, fault, path,
                         d->sample < 0 ? "wrong end of the file: found or expected at byte %" PRId64
                                       : "wrong end of a sample: found or expected at byte %" PRId64,
                         d->offset);
    if (d->sample >= 0)
        return add_fault(crew, fault, path, "sample %" PRId64 ", byte %" PRId64 " is %d, expected %d",
                         d->sample, d->offset, d->found, d->expected);
    return add_fault(crew, fault, path, "byte %" PRId64 " is %d, expected %d", d->offset, d->found,
                     d->expected);
}

/* Opens the sources of all parts, for a format that reads one with the other. */
static bool open_parts(const struct dataset_place *place, const struct dataset_file *file,
                       struct dataset_source *sources, const struct dataset_source **parts, struct error *err)
{
    struct text path = {0};
    bool opened = true;
    for (int part = 0; part < dataset_file_parts(file) && opened; part++) {
        opened = dataset_file_path(file, part, &path)
                     ? place->open(place->context, path.data, &sources[part], err)
                     : error_memory(err);
        if (opened)
            parts[part] = &sources[part];
    }
    text_release(&path);
    return opened;
}

static bool compare_samples(struct dataset_crew *crew, const struct dataset_file *file, const char *path,
                            struct dataset_difference *difference, struct error *err)
{
    const struct verification *verification = crew->context;
    struct dataset_source sources[DATASET_MAX_PARTS];
    const struct dataset_source *parts[DATASET_MAX_PARTS] = {0};
    bool compared = open_parts(verification->place, file, sources, parts, err) &&
                    dataset_compare_samples(crew, file, path, parts, difference, err);
    for (int part = 0; part < DATASET_MAX_PARTS; part++)
        if (parts[part])
            verification->place->close(verification->place->context, &sources[part]);
    return compared;
}

/* Files of another version of a library may differ in bytes and hold the same samples. */
static bool compare(struct dataset_crew *crew, const struct dataset_file *file, int part, const char *path,
                    struct dataset_difference *difference, struct error *err)
{
    const struct verification *verification = crew->context;
    const struct dataset_place *place = verification->place;
    const struct dataset_layout *layout = verification->layout;
    struct dataset_source source;
    if (!place->open(place->context, path, &source, err))
        return false;
    bool compared = dataset_compare_bytes(crew, file, part, &source, difference, err);
    place->close(place->context, &source);
    if (!compared || !difference->differs || part > 0 ||
        (layout->format->exact && layout->compression == DATASET_NONE))
        return compared;
    return compare_samples(crew, file, path, difference, err);
}

static bool check_content(struct dataset_crew *crew, const struct dataset_file *file, int part,
                          const char *path, struct error *err)
{
    struct dataset_difference difference;
    struct dataset_fault unreadable = {.kind = DATASET_UNREADABLE, .number = file->number};
    if (!compare(crew, file, part, path, &difference, err))
        return !error_is_memory(err) &&
               (dataset_crew_stopped(crew) || add_fault(crew, unreadable, path, "%s", err->text));
    return !difference.differs || report(crew, file, path, &difference);
}

static bool check_part(struct dataset_crew *crew, const struct dataset_file *file, int part, const char *path,
                       struct error *err)
{
    const struct verification *verification = crew->context;
    int64_t there, bytes = dataset_file_bytes(file, part);
    bool listed = true;
    if (!verification->place->size(verification->place->context, path, &there, err))
        return false;
    struct dataset_fault fault = {.number = file->number, .expected = bytes, .found = there};
    if (there < 0) {
        fault.kind = DATASET_MISSING;
        listed = add_fault(crew, fault, path, "missing");
    } else if (bytes >= 0 && there != bytes) {
        fault.kind = DATASET_WRONG_SIZE;
        listed = add_fault(crew, fault, path, "%" PRId64 " bytes, expected %" PRId64, there, bytes);
    } else if (verification->content) {
        listed = check_content(crew, file, part, path, err);
    }
    dataset_crew_done(crew, 1, there < 0 ? 0 : there);
    return listed ? true : error_memory(err);
}

static bool check_file(struct dataset_crew *crew, int64_t number, struct error *err)
{
    const struct verification *verification = crew->context;
    return dataset_crew_parts(crew, verification->layout, number, check_part, err);
}

bool dataset_verify(const struct dataset_layout *layout, const struct dataset_place *place,
                    const struct dataset_work *work, bool content, struct dataset_verified *verified,
                    struct error *err)
{
    struct verification verification = {layout, place, content, verified};
    struct dataset_crew crew = {.work = work, .body = check_file, .context = &verification};
    *verified = (struct dataset_verified){0};
    bool done = dataset_crew_run(&crew, dataset_files(layout), err);
    verified->files = crew.files;
    verified->bytes = crew.bytes;
    return done;
}

void dataset_verified_release(struct dataset_verified *verified)
{
    for (int i = 0; i < verified->listed; i++) {
        free(verified->faults[i].path);
        free(verified->faults[i].text);
    }
    *verified = (struct dataset_verified){0};
}
