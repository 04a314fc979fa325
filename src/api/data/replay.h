/* Replays of recorded jobs: the parts of two commands. */
#ifndef REHEARSE_API_DATA_REPLAY_H
#define REHEARSE_API_DATA_REPLAY_H

#include "api/command.h"

struct replay_call {
    const struct option_spec *options;
    const bool *given; /* by row of the options */
    const atomic_bool *stop;
};

/* rehearse feed --replay */
bool feed_replay(const struct rh_feed_request *asked, const struct replay_call *call,
                 struct api_report *report, struct error *err);

/* rehearse dataset generate --replay */
bool generate_replay(const struct rh_dataset_generate_request *asked, const struct replay_call *call,
                     struct api_report *report, struct error *err);

#endif
