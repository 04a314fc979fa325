/* Replays of recorded jobs, the parts of two commands; and streams of requests. */
#ifndef REHEARSE_API_DATA_REPLAY_H
#define REHEARSE_API_DATA_REPLAY_H

#include "api/command.h"

struct replay_call {
    const struct option_spec *options;
    const bool *given; /* by row of the options */
    const atomic_bool *stop;
};

/* Fails if another option than those `taken` was given: "--X is not for `what`". */
bool replay_refuse_others(const struct replay_call *call, const char *const *taken, const char *what,
                          struct error *err);

/* rehearse feed --requests */
bool feed_requests(const struct rh_feed_request *asked, const struct replay_call *call,
                   struct api_report *report, struct error *err);

/* rehearse feed --replay */
bool feed_replay(const struct rh_feed_request *asked, const struct replay_call *call,
                 struct api_report *report, struct error *err);

/* rehearse dataset generate --replay */
bool generate_replay(const struct rh_dataset_generate_request *asked, const struct replay_call *call,
                     struct api_report *report, struct error *err);

#endif
