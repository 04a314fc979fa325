#include "dataset/units.h"

static void fill_units(const void *context, int64_t offset, void *to, size_t n)
{
    const struct units *units = context;
    dataset_units_fill(units->make, units->random, units->bytes, offset, to, n);
}

struct dataset_content units_content(const struct units *units)
{
    return (struct dataset_content){.context = units, .fill = fill_units};
}

const uint32_t criteo_categories[CRITEO_CATEGORIES] = {
    10000000, 38985, 17278, 7418, 20242, 3,  7120,     1543,    63,       9999978, 2642264, 397262, 10,
    2208,     11931, 155,   4,    976,   14, 10000000, 9832963, 10000000, 573162,  12969,   108,    36,
};

bool units_check(const struct dataset_layout *layout, struct error *err)
{
    if (layout->dims_count > 0 || layout->record_bytes_stdev > 0)
        return error_set(
            err, ERROR_INPUT,
            "dataset: %s samples have a fixed shape: remove record_dims and record_length_bytes_stdev",
            layout->format->name);
    return true;
}

void units_shape(struct dataset_file *file, int64_t bytes)
{
    file->dims_count = 1;
    file->dims[0] = bytes / dataset_element_bytes(file->element);
    file->record_bytes = bytes;
}

bool units_is_last(const struct dataset_file *file)
{
    const struct dataset_layout *layout = file->layout;
    return layout->total_bytes > 0 && file->number == layout->files_train - 1;
}
