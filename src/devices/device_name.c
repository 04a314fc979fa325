#include "devices/device_name.h"

#include "devices/product_name.h"

#include <stdio.h>
#include <string.h>

/* The share of the table's memory that a name's size in GiB is at least, as some memory is reserved; in units of 1000 it
 * is at most all of it. */
#define MIN_SIZE 0.88
#define MAX_SIZE 1.005

static bool is_called(const struct product_name *product, const char *name)
{
    struct product_name other = product_name_read(name);
    return product_name_same(product, &other);
}

static const struct cost_device *find_in(const struct table *table, const struct product_name *product)
{
    for (int i = 0; table && i < table->count; i++) {
        const struct cost_device *device = &table->devices[i];
        bool found = is_called(product, device->name) || is_called(product, device->title);
        for (int a = 0; !found && a < device->alias_count; a++)
            found = is_called(product, device->aliases[a]);
        if (found)
            return device;
    }
    return NULL;
}

/* Finds a user's device, or a known one, or the user's that replaces that. */
static const struct cost_device *find(const struct table *added, const struct table *known,
                                      const struct product_name *product)
{
    const struct cost_device *device = find_in(added, product);
    if (device)
        return device;
    device = find_in(known, product);
    const struct cost_device *own = device ? table_find(added, device->name) : NULL;
    return own ? own : device;
}

/* A name that is not known with its kind of memory, or with its size, may be without. */
static const struct cost_device *find_product(const struct table *added, const struct table *known,
                                              const char *name)
{
    struct product_name product = product_name_read(name);
    double size = product.size;
    if (!product.valid)
        return NULL;
    const struct cost_device *device = find(added, known, &product);
    if (!device && *product.kind) {
        *product.kind = '\0';
        device = find(added, known, &product);
    }
    if (device || size == 0.0)
        return device;
    product.size = 0.0;
    device = find(added, known, &product);
    double memory = device ? (double)device->memory : 0.0;
    return size * 0x1p30 >= MIN_SIZE * memory && size * 1e9 <= MAX_SIZE * memory ? device : NULL;
}

const struct cost_device *device_named(const struct table *added, const struct table *known, const char *text)
{
    char name[128];
    if (strlen(text) >= sizeof name)
        return NULL;
    snprintf(name, sizeof name, "%s", text);
    char *bracket = strstr(name, " (");
    const struct cost_device *whole = find_product(added, known, name);
    if (whole || !bracket)
        return whole;
    *bracket = '\0';
    const struct cost_device *device = find_product(added, known, name);
    char *inner = bracket + 2, *end = strchr(inner, ')');
    if (end)
        *end = '\0';
    return device ? device : find_product(added, known, inner);
}
