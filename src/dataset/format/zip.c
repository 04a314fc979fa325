#include "dataset/format/zip.h"

#include <string.h>

#define LIMIT     0x7fffffff /* above it zipfile writes sizes as 64 bits */
#define LOCAL     30         /* bytes of the fixed part of records */
#define EXTRA     20
#define ENTRY     46
#define END       22
#define END64     56
#define LOCATOR64 20
#define STREAMED  8          /* flag: sum and sizes behind the data */
#define DATE      0x21       /* 1 January 1980 */
#define UNIX_0600 0x1800000u /* external attributes */
#define VERSION   20
#define VERSION64 45

int64_t zip_place(struct zip_member *member, int64_t offset)
{
    member->offset = offset;
    member->data = offset + LOCAL + (int64_t)strlen(member->name) + EXTRA;
    return member->data + member->packed + (member->deflated ? 24 : 0);
}

static void put_u16(struct dataset_writer *writer, unsigned value)
{
    unsigned char bytes[2];
    dataset_set_little(bytes, 2, value);
    dataset_put(writer, bytes, sizeof bytes);
}

static bool is_wide(const struct zip_member *member)
{
    return member->size > LIMIT || member->packed > LIMIT;
}

static uint32_t short_size(int64_t size, bool wide)
{
    return wide ? UINT32_MAX : (uint32_t)size;
}

/* Puts the fields from the needed version to the length of the name, which local headers and directory
 * share. */
static void put_common(struct dataset_writer *writer, const struct zip_member *member, unsigned version,
                       uint32_t sum, uint32_t packed, uint32_t size)
{
    put_u16(writer, version);
    put_u16(writer, member->deflated ? STREAMED : 0);
    put_u16(writer, member->deflated ? 8 : 0);
    put_u16(writer, 0);
    put_u16(writer, DATE);
    dataset_put_u32(writer, sum);
    dataset_put_u32(writer, packed);
    dataset_put_u32(writer, size);
    put_u16(writer, (unsigned)strlen(member->name));
}

void zip_put_header(struct dataset_writer *writer, const struct zip_member *member)
{
    bool later = member->deflated, wide = !later && is_wide(member);
    dataset_put_u32(writer, 0x04034b50);
    put_common(writer, member, later || wide ? VERSION64 : VERSION, later ? 0 : member->sum,
               later ? 0 : short_size(member->packed, wide), later ? 0 : short_size(member->size, wide));
    put_u16(writer, EXTRA);
    dataset_put_text(writer, member->name);
    put_u16(writer, 1);
    put_u16(writer, 16);
    dataset_put_u64(writer, later ? 0 : (uint64_t)member->size);
    dataset_put_u64(writer, later ? 0 : (uint64_t)member->packed);
}

/* Returns the bytes of the entry's 64-bit fields, without their header. */
static unsigned extra_of(const struct zip_member *member)
{
    return (is_wide(member) ? 16u : 0u) + (member->offset > LIMIT ? 8u : 0u);
}

static int64_t directory_bytes(const struct zip_member *members, int count)
{
    int64_t bytes = 0;
    for (int i = 0; i < count; i++) {
        unsigned extra = extra_of(&members[i]);
        bytes += ENTRY + (int64_t)strlen(members[i].name) + (extra ? 4 + extra : 0);
    }
    return bytes;
}

static bool end_is_wide(const struct zip_member *members, int count, int64_t offset)
{
    return offset > LIMIT || directory_bytes(members, count) > LIMIT;
}

int64_t zip_tail_bytes(const struct zip_member *members, int count, int64_t offset)
{
    return directory_bytes(members, count) + END +
           (end_is_wide(members, count, offset) ? END64 + LOCATOR64 : 0);
}

static void put_entry(struct dataset_writer *writer, const struct zip_member *member)
{
    bool wide = is_wide(member), far = member->offset > LIMIT;
    unsigned extra = extra_of(member), version = extra || member->deflated ? VERSION64 : VERSION;
    dataset_put_u32(writer, 0x02014b50);
    put_u16(writer, version | 3 << 8); /* made on Unix */
    put_common(writer, member, version, member->sum, short_size(member->packed, wide),
               short_size(member->size, wide));
    put_u16(writer, extra ? 4 + extra : 0);
    put_u16(writer, 0); /* comment, disk, kind of text */
    put_u16(writer, 0);
    put_u16(writer, 0);
    dataset_put_u32(writer, UNIX_0600);
    dataset_put_u32(writer, far ? UINT32_MAX : (uint32_t)member->offset);
    dataset_put_text(writer, member->name);
    if (extra) {
        put_u16(writer, 1);
        put_u16(writer, extra);
    }
    if (wide) {
        dataset_put_u64(writer, (uint64_t)member->size);
        dataset_put_u64(writer, (uint64_t)member->packed);
    }
    if (far)
        dataset_put_u64(writer, (uint64_t)member->offset);
}

void zip_put_tail(struct dataset_writer *writer, const struct zip_member *members, int count, int64_t offset)
{
    int64_t bytes = directory_bytes(members, count);
    for (int i = 0; i < count; i++)
        put_entry(writer, &members[i]);
    if (end_is_wide(members, count, offset)) {
        dataset_put_u32(writer, 0x06064b50);
        dataset_put_u64(writer, END64 - 12);
        put_u16(writer, VERSION64);
        put_u16(writer, VERSION64);
        dataset_put_u64(writer, 0); /* this disk, and that of the directory */
        dataset_put_u64(writer, (uint64_t)count);
        dataset_put_u64(writer, (uint64_t)count);
        dataset_put_u64(writer, (uint64_t)bytes);
        dataset_put_u64(writer, (uint64_t)offset);
        dataset_put_u32(writer, 0x07064b50);
        dataset_put_u32(writer, 0);
        dataset_put_u64(writer, (uint64_t)(offset + bytes));
        dataset_put_u32(writer, 1);
    }
    dataset_put_u32(writer, 0x06054b50);
    dataset_put_u32(writer, 0);
    put_u16(writer, (unsigned)count);
    put_u16(writer, (unsigned)count);
    dataset_put_u32(writer, bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX);
    dataset_put_u32(writer, offset < UINT32_MAX ? (uint32_t)offset : UINT32_MAX);
    put_u16(writer, 0);
}
