#include "dataset/format/zip.h"

#include "core/text.h"

#include <stdlib.h>
#include <string.h>

#define LOCAL         30 /* bytes of the fixed part of records */
#define ENTRY         46
#define END           22
#define END64         56
#define LOCATOR64     20
#define VERSION       63 /* the newest that zipfile extracts: PKWARE 6.3 */
#define PATCHED       0x20u
#define STRONG        0x40u
#define UTF8          0x800u
#define MAX_COMMENT   65535
#define MAX_DIRECTORY (64 << 20)

struct zip_archive {
    const struct dataset_source *source;
    const char *path;
    struct error *err;
    int64_t directory, directory_bytes;
    uint64_t count; /* of its entries */
    unsigned char *entries;
};

static bool wrong(const struct zip_archive *archive, const char *what)
{
    return error_set(archive->err, ERROR_INPUT, "%s: not a readable zip archive: %s", archive->path, what);
}

/* Finds the last record, which lies before a comment of any length. */
static bool find_end(struct zip_archive *archive, int64_t *offset, unsigned char end[END])
{
    int64_t size = archive->source->size;
    int64_t max = size < END + MAX_COMMENT ? size : END + MAX_COMMENT;
    bool found = false;
    if (size < END)
        return wrong(archive, "it is too short");
    if (!dataset_read(archive->source, archive->path, size - END, end, END, "its end", archive->err))
        return false;
    *offset = size - END;
    if (dataset_little(end, 4) == 0x06054b50 && dataset_little(end + 20, 2) == 0)
        return true;
    unsigned char *tail =
        dataset_load(archive->source, archive->path, size - max, (size_t)max, "its end", archive->err);
    if (!tail)
        return false;
    for (int64_t at = max - END; at >= 0 && !found; at--) {
        found = dataset_little(tail + at, 4) == 0x06054b50 &&
                (int64_t)dataset_little(tail + at + 20, 2) == max - END - at;
        if (found) {
            memcpy(end, tail + at, END);
            *offset = size - max + at;
        }
    }
    free(tail);
    return found ? true : wrong(archive, "no central directory at its end");
}

static bool find_directory(struct zip_archive *archive)
{
    unsigned char end[END], locator[LOCATOR64], end64[END64];
    int64_t at = 0;
    if (!find_end(archive, &at, end))
        return false;
    uint64_t bytes = dataset_little(end + 12, 4), offset = dataset_little(end + 16, 4);
    uint64_t count = dataset_little(end + 10, 2), disks = dataset_little(end + 4, 4);
    if (at >= LOCATOR64) {
        if (!dataset_read(archive->source, archive->path, at - LOCATOR64, locator, LOCATOR64, "its end",
                          archive->err))
            return false;
        if (dataset_little(locator, 4) == 0x07064b50) {
            at -= LOCATOR64 + END64;
            if (at < 0 || dataset_little(locator + 8, 8) != (uint64_t)at)
                return wrong(archive, "its zip64 end record is misplaced");
            if (!dataset_read(archive->source, archive->path, at, end64, END64, "its end", archive->err))
                return false;
            if (dataset_little(end64, 4) != 0x06064b50)
                return wrong(archive, "its zip64 end record is misplaced");
            disks |= dataset_little(locator + 4, 4) | (dataset_little(locator + 16, 4) > 1) |
                     dataset_little(end64 + 16, 8);
            count = dataset_little(end64 + 32, 8);
            bytes = dataset_little(end64 + 40, 8);
            offset = dataset_little(end64 + 48, 8);
        }
    }
    if (disks != 0)
        return wrong(archive, "it is one part of a multi-part archive");
    if (bytes > MAX_DIRECTORY || offset > (uint64_t)at || bytes != (uint64_t)at - offset)
        return wrong(archive, "its directory is out of bounds");
    archive->count = count;
    archive->directory = (int64_t)offset;
    archive->directory_bytes = (int64_t)bytes;
    return true;
}

/* Reads the 64-bit fields of an entry: those whose short form is all ones, in this order. */
static bool read_extra(const unsigned char *extra, size_t length, uint64_t *fields[3])
{
    while (length >= 4) {
        size_t kind = (size_t)dataset_little(extra, 2), n = (size_t)dataset_little(extra + 2, 2);
        if (n > length - 4)
            return false;
        const unsigned char *at = extra + 4;
        if (kind == 1) {
            for (int i = 0; i < 3; i++) {
                if (*fields[i] != UINT32_MAX)
                    continue;
                if ((size_t)(at - extra - 4) + 8 > n)
                    return false;
                *fields[i] = dataset_little(at, 8);
                at += 8;
            }
            return true;
        }
        extra += 4 + n;
        length -= 4 + n;
    }
    return true;
}

/* An entry of the directory. */
struct entry {
    const unsigned char *at, *name;
    size_t name_length, bytes; /* `bytes` of all of it */
    uint64_t size, packed, offset;
};

/* Reads an entry; false if it is damaged. */
static bool read_entry(const unsigned char *at, size_t left, struct entry *entry)
{
    if (left < ENTRY || dataset_little(at, 4) != 0x02014b50)
        return false;
    size_t name = (size_t)dataset_little(at + 28, 2), extra = (size_t)dataset_little(at + 30, 2);
    *entry = (struct entry){
        .at = at,
        .name = at + ENTRY,
        .name_length = name,
        .bytes = ENTRY + name + extra + (size_t)dataset_little(at + 32, 2),
        .size = dataset_little(at + 24, 4),
        .packed = dataset_little(at + 20, 4),
        .offset = dataset_little(at + 42, 4),
    };
    uint64_t *fields[3] = {&entry->size, &entry->packed, &entry->offset};
    bool utf8 = (dataset_little(at + 8, 2) & UTF8) != 0;
    return entry->bytes <= left && at[6] <= VERSION && read_extra(at + ENTRY + name, extra, fields) &&
           (!utf8 || text_valid_utf8((const char *)entry->name, name) == name);
}

/* Only the local header says where the data begin. */
static bool place_data(const struct zip_archive *archive, struct zip_member *member)
{
    unsigned char local[LOCAL + ZIP_MAX_NAME];
    size_t name = strlen(member->name);
    if (!dataset_read(archive->source, archive->path, member->offset, local, LOCAL, "a member's header",
                      archive->err))
        return false;
    if (dataset_little(local, 4) != 0x04034b50)
        return wrong(archive, "a member is not where the directory says");
    bool same = dataset_little(local + 26, 2) == name;
    if (same && !dataset_read(archive->source, archive->path, member->offset + LOCAL, local + LOCAL, name,
                              "a member's header", archive->err))
        return false;
    if (!same || memcmp(local + LOCAL, member->name, name) != 0)
        return wrong(archive, "a member has another name than in the directory");
    member->data = member->offset + LOCAL + (int64_t)name + (int64_t)dataset_little(local + 28, 2);
    member->directory = archive->directory;
    if (member->data > archive->directory || member->packed > archive->directory - member->data)
        return wrong(archive, "a member is out of bounds");
    return true;
}

static bool take_member(const struct zip_archive *archive, const struct entry *entry,
                        struct zip_member *member)
{
    unsigned method = (unsigned)dataset_little(entry->at + 10, 2);
    if (method != 0 && method != 8)
        return wrong(archive, "a member is neither stored nor deflated");
    if (dataset_little(entry->at + 8, 2) & 1)
        return wrong(archive, "a member is encrypted");
    if (dataset_little(entry->at + 8, 2) & (PATCHED | STRONG))
        return wrong(archive, "a member is patched or encrypted");
    if (entry->size > (uint64_t)1 << 56 || entry->packed > (uint64_t)1 << 56 ||
        entry->offset > (uint64_t)archive->directory)
        return wrong(archive, "a member is out of bounds");
    *member = (struct zip_member){
        .deflated = method == 8,
        .sum = (uint32_t)dataset_little(entry->at + 16, 4),
        .size = (int64_t)entry->size,
        .packed = (int64_t)entry->packed,
        .offset = (int64_t)entry->offset,
    };
    memcpy(member->name, entry->name, entry->name_length);
    if (!member->deflated && entry->size != entry->packed)
        return wrong(archive, "a stored member has two different sizes");
    return place_data(archive, member);
}

/* Returns true if another member begins within this one. */
static bool overlaps(const struct zip_archive *archive, const struct entry *of,
                     const struct zip_member *member)
{
    const unsigned char *at = archive->entries, *end = at + archive->directory_bytes;
    for (struct entry entry; at < end && read_entry(at, (size_t)(end - at), &entry); at += entry.bytes)
        if (at != of->at && entry.offset >= (uint64_t)member->offset &&
            entry.offset < (uint64_t)(member->data + member->packed))
            return true;
    return false;
}

/* Checks all entries, and takes the one that is looked for. */
static bool find_entry(const struct zip_archive *archive, const char *name, bool or_first,
                       struct zip_member *member)
{
    const unsigned char *at = archive->entries, *end = at + archive->directory_bytes;
    struct entry entry, found = {0}, first = {0};
    uint64_t count = 0;
    for (; at < end; at += entry.bytes, count++) {
        if (!read_entry(at, (size_t)(end - at), &entry))
            return wrong(archive, "its directory is damaged");
        if (entry.name_length == strlen(name) && memcmp(entry.name, name, entry.name_length) == 0)
            found = entry; /* of several of one name the last counts */
        if (!first.at && entry.name_length <= ZIP_MAX_NAME)
            first = entry;
    }
    if (count != archive->count)
        return wrong(archive, "its directory has another number of entries than its end says");
    if (!found.at && or_first)
        found = first;
    if (!found.at)
        return error_set(archive->err, ERROR_INPUT, "%s: there is no member '%s' in this archive",
                         archive->path, name);
    if (!take_member(archive, &found, member))
        return false;
    return !overlaps(archive, &found, member) || wrong(archive, "its members overlap");
}

void zip_close(struct zip_archive *archive)
{
    if (archive)
        free(archive->entries);
    free(archive);
}

struct zip_archive *zip_open(const struct dataset_source *source, const char *path, struct error *err)
{
    struct zip_archive *archive = calloc(1, sizeof *archive);
    if (!archive)
        return error_memory_null(err);
    *archive = (struct zip_archive){.source = source, .path = path, .err = err};
    if (find_directory(archive))
        archive->entries = dataset_load(source, path, archive->directory, (size_t)archive->directory_bytes,
                                        "its directory", err);
    if (archive->entries)
        return archive;
    zip_close(archive);
    return NULL;
}

bool zip_take(struct zip_archive *archive, const char *name, bool or_first, struct zip_member *member,
              struct error *err)
{
    archive->err = err;
    return find_entry(archive, name, or_first, member);
}

bool zip_find(const struct dataset_source *source, const char *path, const char *name, bool or_first,
              struct zip_member *member, struct error *err)
{
    struct zip_archive *archive = zip_open(source, path, err);
    bool found = archive && zip_take(archive, name, or_first, member, err);
    zip_close(archive);
    return found;
}
