#include "cost/calibration.h"

#include <stddef.h>
#include <string.h>

static const struct calibration_parameter parameters[] = {
#define X(name, text, least, most, value)                                                                    \
    {#name, text, least, most, value, offsetof(struct calibration, name)},
    CALIBRATION_PARAMETERS(X)
#undef X
};

static const struct calibration nothing_learnt = {
#define X(name, text, least, most, value) .name = (value),
    CALIBRATION_PARAMETERS(X)
#undef X
};

const struct calibration_parameter *calibration_parameters(int *count)
{
    *count = (int)(sizeof parameters / sizeof *parameters);
    return parameters;
}

const struct calibration *calibration_of(const struct cost_device *device)
{
    (void)device;
    return &nothing_learnt;
}
