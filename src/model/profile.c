#include "model/profile.h"

#include <string.h>

void profile_release(struct profile *profile)
{
    arena_release(&profile->arena);
    memset(profile, 0, sizeof *profile);
}

const struct profile_device *profile_find_device(const struct profile *profile, const char *name)
{
    for (int d = 0; d < profile->device_count; d++)
        if (profile->devices[d].name && strcmp(profile->devices[d].name, name) == 0)
            return &profile->devices[d];
    return NULL;
}

bool profile_allreduce_find(const struct profile_allreduce *allreduce, int devices, double *seconds)
{
    for (int i = 0; i < allreduce->count; i++)
        if (allreduce->devices[i] == devices) {
            *seconds = allreduce->seconds[i];
            return true;
        }
    return false;
}
