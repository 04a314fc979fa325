/* The layers of a profile as a chain. */
#ifndef REHEARSE_MODEL_PROFILE_CHAIN_H
#define REHEARSE_MODEL_PROFILE_CHAIN_H

#include "model/chain.h"
#include "model/profile.h"

/* Makes the nested chain of a profile's layers, with the times of one device type. On failure *chain holds nothing; on
 * success the caller releases it with chain_release. */
bool profile_chain(const struct profile *profile, int device, struct chain *chain, struct error *err);

#endif
