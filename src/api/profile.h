/* Profiles as handles. */
#ifndef REHEARSE_API_PROFILE_H
#define REHEARSE_API_PROFILE_H

#include "api/handle.h"
#include "model/profile.h"

struct api_profile {
    rh_handle base;
    struct profile profile;
};

/* Makes a handle of a profile, which is the handle's from now on, also where it fails. */
rh_handle *api_profile_of(struct profile *profile, struct error *err);

#endif
