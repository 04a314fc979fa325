/* Which devices take part: replica_groups={{0,1},{2,3}}, [2,4]<=[4,2]T(1,0) or mesh['x'=2,'y'=4] {'y'}, and
 * source_target_pairs={{0,1},…}. Only how many groups of which size is kept. */
#include "hlo/text/text.h"

#include <string.h>

#define MAX_DEVICES ((int64_t)1 << 32)

/* {0,1,…}; how many there are. */
static bool read_devices(struct hlo_reader *r, int64_t *count)
{
    *count = 0;
    if (!hlo_expect(r, '{'))
        return false;
    while (!hlo_takes(r, '}')) {
        int64_t device;
        if (*count && !hlo_expect(r, ','))
            return false;
        hlo_skip_blank(r);
        const char *at = r->at;
        if (!hlo_read_integer(r, &device))
            return false;
        if (device < 0)
            return hlo_fail(r, at, "expected a device's number, found %lld", (long long)device);
        ++*count;
    }
    return true;
}

static bool read_listed(struct hlo_reader *r, int64_t *groups, int64_t *largest)
{
    *groups = *largest = 0;
    if (!hlo_expect(r, '{'))
        return false;
    while (!hlo_takes(r, '}')) {
        int64_t size;
        if ((*groups && !hlo_expect(r, ',')) || !read_devices(r, &size))
            return false;
        *largest = size > *largest ? size : *largest;
        ++*groups;
    }
    return true;
}

/* [2,4]: its numbers and their product. */
static bool read_tile(struct hlo_reader *r, int64_t numbers[HLO_MAX_RANK], int *count, int64_t *product)
{
    hlo_skip_blank(r);
    const char *at = r->at;
    *count = 0;
    *product = 1;
    if (!hlo_expect(r, '['))
        return false;
    while (!hlo_takes(r, ']')) {
        if (*count && !hlo_expect(r, ','))
            return false;
        if (*count == HLO_MAX_RANK)
            return hlo_fail(r, at, "more than %d dimensions of devices", HLO_MAX_RANK);
        int64_t *number = &numbers[(*count)++];
        if (!hlo_read_integer(r, number))
            return false;
        if (*number < 1 || *number > MAX_DEVICES || (*product *= *number) > MAX_DEVICES)
            return hlo_fail(r, at, "expected 1 to 2^32 devices");
    }
    return true;
}

bool hlo_read_product(struct hlo_reader *r, int64_t *product)
{
    int64_t numbers[HLO_MAX_RANK];
    int count;
    return read_tile(r, numbers, &count, product);
}

/* T(1,0): an order of `rank` dimensions. */
static bool read_order(struct hlo_reader *r, int rank)
{
    uint64_t seen = 0;
    hlo_skip_blank(r);
    const char *at = r->at++;
    if (!hlo_expect(r, '('))
        return false;
    for (int i = 0; i < rank; i++) {
        int64_t dimension;
        if ((i && !hlo_expect(r, ',')) || !hlo_read_integer(r, &dimension))
            return false;
        if (dimension < 0 || dimension >= rank || seen >> dimension & 1)
            return hlo_fail(r, at, "expected an order of %d dimensions", rank);
        seen |= (uint64_t)1 << dimension;
    }
    return hlo_expect(r, ')');
}

/* [groups,size]<=[dims]T(order) */
static bool read_iota(struct hlo_reader *r, int64_t *groups, int64_t *size)
{
    int64_t tile[HLO_MAX_RANK], dims[HLO_MAX_RANK], devices, others;
    int rank, dim_count;
    const char *at = r->at;
    if (!read_tile(r, tile, &rank, &devices))
        return false;
    if (rank != 2)
        return hlo_fail(r, at, "expected [groups,devices of each], found %d numbers", rank);
    if (!hlo_expect(r, '<') || !hlo_expect(r, '=') || !read_tile(r, dims, &dim_count, &others))
        return false;
    if (devices != others)
        return hlo_fail(r, at, "groups of %lld devices in all, from %lld devices", (long long)devices,
                        (long long)others);
    hlo_skip_blank(r);
    if (hlo_peek(r) == 'T' && !read_order(r, dim_count))
        return false;
    *groups = tile[0];
    *size = tile[1];
    return true;
}

struct mesh {
    struct hlo_word names[HLO_MAX_RANK];
    int64_t sizes[HLO_MAX_RANK];
    int count;
    int64_t devices;
};

static bool read_quoted(struct hlo_reader *r, struct hlo_word *name)
{
    hlo_skip_blank(r);
    const char *at = r->at;
    char quote = hlo_peek(r);
    const char *end = quote == '\'' || quote == '"' ? memchr(at + 1, quote, (size_t)(r->end - at - 1)) : NULL;
    if (!end)
        return hlo_expected(r, "an axis's name in quotes");
    *name = (struct hlo_word){at + 1, (size_t)(end - at - 1)};
    r->at = end + 1;
    return true;
}

/* device_ids=(0,1,2,3) or ([4]): as many as the mesh has. */
static bool read_device_ids(struct hlo_reader *r, const struct mesh *mesh, const char *at)
{
    int64_t count = 0, device;
    if (!hlo_expect(r, '=') || !hlo_expect(r, '('))
        return false;
    hlo_skip_blank(r);
    if (hlo_peek(r) == '[') {
        int64_t numbers[HLO_MAX_RANK];
        int rank;
        if (!read_tile(r, numbers, &rank, &count))
            return false;
        hlo_skip_blank(r);
        if (hlo_peek(r) == 'T' && !read_order(r, rank))
            return false;
    } else
        do {
            if (!hlo_read_integer(r, &device))
                return false;
            count++;
        } while (hlo_takes(r, ','));
    if (count != mesh->devices)
        return hlo_fail(r, at, "a mesh of %lld devices with %lld numbers of devices",
                        (long long)mesh->devices, (long long)count);
    return hlo_expect(r, ')');
}

static bool read_mesh(struct hlo_reader *r, struct mesh *mesh)
{
    mesh->count = 0;
    mesh->devices = 1;
    if (!hlo_expect(r, '['))
        return false;
    do {
        hlo_skip_blank(r);
        const char *at = r->at;
        if (hlo_word_is(hlo_read_word(r), "device_ids"))
            return read_device_ids(r, mesh, at) && hlo_expect(r, ']');
        r->at = at;
        if (mesh->count == HLO_MAX_RANK)
            return hlo_fail(r, at, "more than %d axes", HLO_MAX_RANK);
        int64_t *size = &mesh->sizes[mesh->count];
        if (!read_quoted(r, &mesh->names[mesh->count++]) || !hlo_expect(r, '=') || !hlo_read_integer(r, size))
            return false;
        if (*size < 1 || *size > MAX_DEVICES || (mesh->devices *= *size) > MAX_DEVICES)
            return hlo_fail(r, at, "expected 1 to 2^32 devices");
    } while (hlo_takes(r, ','));
    return hlo_expect(r, ']');
}

/* 'axis', or 'axis':(before)size for a part of it: how many devices lie along it. */
static bool read_axis(struct hlo_reader *r, const struct mesh *mesh, int64_t *size)
{
    int64_t before;
    hlo_skip_blank(r);
    const char *at = r->at;
    struct hlo_word name = {at, 0};
    if (!read_quoted(r, &name))
        return false;
    int axis = 0;
    while (axis < mesh->count && (mesh->names[axis].length != name.length ||
                                  memcmp(mesh->names[axis].at, name.at, name.length) != 0))
        axis++;
    if (axis == mesh->count)
        return hlo_fail(r, at, "the mesh has no axis '%.*s'", (int)name.length, name.at);
    *size = mesh->sizes[axis];
    if (!hlo_takes(r, ':'))
        return true;
    if (!hlo_expect(r, '(') || !hlo_read_integer(r, &before) || !hlo_expect(r, ')') ||
        !hlo_read_integer(r, size))
        return false;
    if (before < 1 || *size < 1 || before > mesh->sizes[axis] || *size > mesh->sizes[axis] ||
        mesh->sizes[axis] % (before * *size) != 0)
        return hlo_fail(r, at, "a part that does not divide the axis");
    return true;
}

static bool read_mesh_groups(struct hlo_reader *r, int64_t *groups, int64_t *size)
{
    struct mesh mesh;
    const char *at = r->at;
    if (!read_mesh(r, &mesh) || !hlo_expect(r, '{'))
        return false;
    *size = 1;
    for (int i = 0; !hlo_takes(r, '}'); i++) {
        int64_t axis;
        if ((i && !hlo_expect(r, ',')) || !read_axis(r, &mesh, &axis))
            return false;
        if (__builtin_mul_overflow(*size, axis, size) || *size > mesh.devices)
            return hlo_fail(r, at, "groups larger than the mesh");
    }
    if (mesh.devices % *size != 0)
        return hlo_fail(r, at, "groups that do not divide the mesh");
    *groups = mesh.devices / *size;
    return true;
}

bool hlo_read_groups(struct hlo_reader *r, struct hlo_attributes *attributes)
{
    hlo_skip_blank(r);
    const char *at = r->at;
    if (hlo_peek(r) == '[')
        return read_iota(r, &attributes->group_count, &attributes->group_size);
    if (hlo_word_is(hlo_read_word(r), "mesh"))
        return read_mesh_groups(r, &attributes->group_count, &attributes->group_size);
    r->at = at;
    return read_listed(r, &attributes->group_count, &attributes->group_size);
}

bool hlo_read_pairs(struct hlo_reader *r, struct hlo_attributes *attributes)
{
    attributes->pair_count = 0;
    if (!hlo_expect(r, '{'))
        return false;
    while (!hlo_takes(r, '}')) {
        int64_t size;
        hlo_skip_blank(r);
        if (attributes->pair_count && !hlo_expect(r, ','))
            return false;
        const char *at = r->at;
        if (!read_devices(r, &size))
            return false;
        if (size != 2)
            return hlo_fail(r, at, "expected {source,target}, found %lld numbers", (long long)size);
        attributes->pair_count++;
    }
    return true;
}
