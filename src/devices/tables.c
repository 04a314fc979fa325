#include "devices/tables.h"

#include "core/once.h"

#include <stdlib.h>

static bool read_all(struct error *err)
{
    /* calibrations name the generations of devices */
    return device_read_known(err) && link_read_known(err) && calibration_read_known(err) &&
           architecture_read_known(err);
}

bool cost_tables(struct error *err)
{
    static struct once once = ONCE_INIT;
    return once_read(&once, read_all, err);
}

void cost_tables_needed(void)
{
    struct error err;
    if (!cost_tables(&err))
        abort();
}
