#include "core/random.h"

#include <math.h>

/* Box and Muller: A note on the generation of random normal deviates, 1958. */
double random_normal(uint64_t *state)
{
    double radius = sqrt(-2 * log1p(-random_uniform(state)));
    double angle = 2 * M_PI * random_uniform(state);
    return radius * cos(angle);
}
