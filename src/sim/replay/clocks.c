/* Clocks of ranks that were recorded apart. */
#include "sim/replay/ranks.h"

bool ranks_align(struct ranks *run, struct error *err)
{
    (void)run;
    (void)err;
    return true;
}
