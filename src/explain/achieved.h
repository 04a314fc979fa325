/* What matrix products achieved, beside what the cost model says that the device can. */
#ifndef REHEARSE_EXPLAIN_ACHIEVED_H
#define REHEARSE_EXPLAIN_ACHIEVED_H

#include "devices/device.h"
#include "explain/explain.h"

/* The number format of a product; false: unknown. Which of its two ways to multiply fp32 the device took is told by the
 * kernel's name. */
bool explain_product_type(const char *type, const char *kernel, enum cost_type *format);

struct explain_achieved {
    double seconds;      /* of one */
    double flops, bytes; /* a second */
    double cost;         /* seconds that the cost model says; NAN: it does not know the format */
    const char *format;
};

/* `device` NULL: nothing is known that it can. */
struct explain_achieved explain_achieved_of(const struct explain_product *product,
                                            const struct cost_device *device);

#endif
