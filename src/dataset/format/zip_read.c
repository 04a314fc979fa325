#include "dataset/format/zip.h"

#include "core/text.h"

#include <inttypes.h>
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

struct archive {
    const struct dataset_source *source;
    const char *path;
    struct error *err;
    int64_t directory, directory_bytes;
    uint64_t count; /* of its entries */
    unsigned char *entries;
};

static bool wrong(const struct archive *archive, const char *what)
{
    return error_set(archive->err, ERROR_INPUT, "%s: no zip archive that can be read: %s", archive->path,
                     what);
}

/* The last record of the file lies before a comment of any length. */
static bool find_end(struct archive *archive, int64_t *offset, unsigned char end[END])
{
    int64_t size = archive->source->size;
    int64_t most = size < END + MAX_COMMENT ? size : END + MAX_COMMENT;
    bool found = false;
    if (size < END)
        return wrong(archive, "it is too short");
    if (!dataset_read(archive->source, archive->path, size - END, end, END, "its end", archive->err))
        return false;
    *offset = size - END;
    if (dataset_little(end, 4) == 0x06054b50 && dataset_little(end + 20, 2) == 0)
        return true;
    unsigned char *tail = malloc((size_t)most);
    if (!tail)
        return error_memory(archive->err);
    if (!dataset_read(archive->source, archive->path, size - most, tail, (size_t)most, "its end",
                      archive->err)) {
        free(tail);
        return false;
    }
    for (int64_t at = most - END; at >= 0 && !found; at--) {
        found = dataset_little(tail + at, 4) == 0x06054b50 &&
                (int64_t)dataset_little(tail + at + 20, 2) == most - END - at;
        if (found) {
            memcpy(end, tail + at, END);
            *offset = size - most + at;
        }
    }
    free(tail);
    return found ? true : wrong(archive, "there is no directory at its end");
}

static bool find_directory(struct archive *archive)
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
                return wrong(archive, "its 64-bit end is not where it should be");
            if (!dataset_read(archive->source, archive->path, at, end64, END64, "its end", archive->err))
                return false;
            if (dataset_little(end64, 4) != 0x06064b50)
                return wrong(archive, "its 64-bit end is not where it should be");
            disks |= dataset_little(locator + 4, 4) | (dataset_little(locator + 16, 4) > 1) |
                     dataset_little(end64 + 16, 8);
            count = dataset_little(end64 + 32, 8);
            bytes = dataset_little(end64 + 40, 8);
            offset = dataset_little(end64 + 48, 8);
        }
    }
    if (disks != 0)
        return wrong(archive, "it is one of several");
    if (bytes > MAX_DIRECTORY || offset > (uint64_t)at || bytes != (uint64_t)at - offset)
        return wrong(archive, "its directory is out of bounds");
    archive->count = count;
    archive->directory = (int64_t)offset;
    archive->directory_bytes = (int64_t)bytes;
    return true;
}

/* The 64-bit fields of an entry: those whose short form is all ones, in this order. */
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

/* Where the data begin is said in the local header alone. */
static bool place_data(const struct archive *archive, struct zip_member *member)
{
    unsigned char local[LOCAL];
    if (!dataset_read(archive->source, archive->path, member->offset, local, LOCAL, "a member's header",
                      archive->err))
        return false;
    if (dataset_little(local, 4) != 0x04034b50)
        return wrong(archive, "a member is not where the directory says");
    size_t name_length = (size_t)dataset_little(local + 26, 2);
    char name[ZIP_MAX_NAME + 1];
    if (name_length != strlen(member->name))
        return wrong(archive, "a member has another name than in the directory");
    if (!dataset_read(archive->source, archive->path, member->offset + LOCAL, name, name_length,
                      "a member's header", archive->err))
        return false;
    if (memcmp(name, member->name, name_length) != 0)
        return wrong(archive, "a member has another name than in the directory");
    member->data = member->offset + LOCAL + (int64_t)dataset_little(local + 26, 2) +
                   (int64_t)dataset_little(local + 28, 2);
    member->directory = archive->directory;
    if (member->data > archive->directory || member->packed > archive->directory - member->data)
        return wrong(archive, "a member is out of bounds");
    return true;
}

static bool read_entry(const struct archive *archive, const unsigned char *entry, size_t name_length,
                       size_t extra_length, struct zip_member *member)
{
    uint64_t packed = dataset_little(entry + 20, 4), size = dataset_little(entry + 24, 4);
    uint64_t offset = dataset_little(entry + 42, 4);
    uint64_t *fields[3] = {&size, &packed, &offset};
    unsigned method = (unsigned)dataset_little(entry + 10, 2);
    if (!read_extra(entry + ENTRY + name_length, extra_length, fields))
        return wrong(archive, "a field of 64-bit sizes is damaged");
    if (method != 0 && method != 8)
        return wrong(archive, "a member is neither stored nor deflated");
    if (dataset_little(entry + 8, 2) & 1)
        return wrong(archive, "a member is encrypted");
    if (dataset_little(entry + 8, 2) & (PATCHED | STRONG))
        return wrong(archive, "a member is patched or encrypted");
    if (size > (uint64_t)1 << 56 || packed > (uint64_t)1 << 56 || offset > (uint64_t)archive->directory)
        return wrong(archive, "a member is out of bounds");
    *member = (struct zip_member){
        .deflated = method == 8,
        .sum = (uint32_t)dataset_little(entry + 16, 4),
        .size = (int64_t)size,
        .packed = (int64_t)packed,
        .offset = (int64_t)offset,
    };
    memcpy(member->name, entry + ENTRY, name_length);
    if (!member->deflated && size != packed)
        return wrong(archive, "a stored member has two sizes");
    return place_data(archive, member);
}

static size_t entry_bytes(const unsigned char *at)
{
    return ENTRY + (size_t)dataset_little(at + 28, 2) + (size_t)dataset_little(at + 30, 2) +
           (size_t)dataset_little(at + 32, 2);
}

/* One entry: its bytes, or 0 where it is damaged. */
static size_t check_entry(const unsigned char *at, size_t left)
{
    if (left < ENTRY || dataset_little(at, 4) != 0x02014b50)
        return 0;
    size_t name = (size_t)dataset_little(at + 28, 2), extra = (size_t)dataset_little(at + 30, 2);
    size_t whole = entry_bytes(at);
    uint64_t sizes[3] = {dataset_little(at + 24, 4), dataset_little(at + 20, 4), dataset_little(at + 42, 4)};
    uint64_t *fields[3] = {&sizes[0], &sizes[1], &sizes[2]};
    bool utf8 = (dataset_little(at + 8, 2) & UTF8) != 0;
    if (whole > left || at[6] > VERSION || !read_extra(at + ENTRY + name, extra, fields) ||
        (utf8 && text_valid_utf8((const char *)at + ENTRY, name) != name))
        return 0;
    return whole;
}

/* Does another member begin within this one? */
static bool overlaps(const struct archive *archive, const unsigned char *entry,
                     const struct zip_member *member)
{
    const unsigned char *end = archive->entries + archive->directory_bytes;
    for (const unsigned char *at = archive->entries; at < end; at += entry_bytes(at)) {
        uint64_t sizes[2] = {dataset_little(at + 24, 4), dataset_little(at + 20, 4)};
        uint64_t offset = dataset_little(at + 42, 4);
        uint64_t *fields[3] = {&sizes[0], &sizes[1], &offset};
        read_extra(at + ENTRY + dataset_little(at + 28, 2), (size_t)dataset_little(at + 30, 2), fields);
        if (at != entry && offset >= (uint64_t)member->offset &&
            offset < (uint64_t)(member->data + member->packed))
            return true;
    }
    return false;
}

/* All entries are gone through, whichever is looked for. */
static bool find_entry(const struct archive *archive, const char *name, bool or_first,
                       struct zip_member *member)
{
    const unsigned char *at = archive->entries, *found = NULL, *first = NULL;
    size_t left = (size_t)archive->directory_bytes;
    uint64_t count = 0;
    for (size_t whole; left > 0; at += whole, left -= whole, count++) {
        whole = check_entry(at, left);
        if (whole == 0)
            return wrong(archive, "its directory is damaged");
        size_t name_length = (size_t)dataset_little(at + 28, 2);
        if (name_length == strlen(name) && memcmp(at + ENTRY, name, name_length) == 0)
            found = at; /* of several of one name the last counts */
        if (!first && name_length <= ZIP_MAX_NAME)
            first = at;
    }
    if (count != archive->count)
        return wrong(archive, "its directory has another number of entries than its end says");
    if (!found && or_first)
        found = first;
    if (!found)
        return error_set(archive->err, ERROR_INPUT, "%s: there is no member '%s' in this archive",
                         archive->path, name);
    if (!read_entry(archive, found, (size_t)dataset_little(found + 28, 2),
                    (size_t)dataset_little(found + 30, 2), member))
        return false;
    return !overlaps(archive, found, member) || wrong(archive, "its members overlap");
}

bool zip_find(const struct dataset_source *source, const char *path, const char *name, bool or_first,
              struct zip_member *member, struct error *err)
{
    struct archive archive = {.source = source, .path = path, .err = err};
    if (!find_directory(&archive))
        return false;
    archive.entries = malloc((size_t)archive.directory_bytes + 1);
    if (!archive.entries)
        return error_memory(err);
    bool found = dataset_read(source, path, archive.directory, archive.entries,
                              (size_t)archive.directory_bytes, "its directory", err) &&
                 find_entry(&archive, name, or_first, member);
    free(archive.entries);
    return found;
}
