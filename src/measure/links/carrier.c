#include "measure/links/carrier.h"

void carrier_release(struct carrier *carrier)
{
    if (carrier->release)
        carrier->release(carrier->context);
    *carrier = (struct carrier){0};
}

void link_compute(int64_t loops)
{
    static volatile double kept;
    double value = 1.0 + kept * 0x1p-60;
    for (int64_t i = 0; i < loops; i++)
        value = value * 0.999999999 + 1e-9;
    kept = value;
}
