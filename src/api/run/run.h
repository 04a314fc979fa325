/* rh_play: a plan is played by ranks, which are this process alone, processes that are started for it, or those of
 * mpirun. */
#ifndef REHEARSE_API_RUN_RUN_H
#define REHEARSE_API_RUN_RUN_H

#include "api/command.h"
#include "comm/comm.h"
#include "run/launch/launch.h"
#include "run/run.h"

/* play.c: the request with a file for each plan that it has in memory; these go when it is closed, which has to be done
 * after a failure, too. */
struct play_given {
    struct rh_play_request request;
    char **paths;
    size_t named, files; /* paths that are the caller's; files that were written */
    char folder[3072];   /* "": none */
};

/* rank.c: plays this rank's part; `place` is its place among those of its host. The result is rank 0's. */
bool play_rank(struct wire *wire, int place, const struct rh_play_request *given, struct run_result *result,
               struct error *err);

/* `--priority`; on the calling thread. */
bool play_set_priority(const struct rh_play_request *given, struct error *err);

/* ranks.c: the words of a rank's command line. */
struct play_launch {
    struct launch launch;
    struct text text;
    char **words;
};
bool play_launch_open(struct play_launch *open, const struct rh_play_request *given,
                      const struct api_call *call, struct error *err);
void play_launch_close(struct play_launch *open);

/* drills.c */
bool play_asks_drills(const struct rh_play_request *given);
bool play_drills(const struct rh_play_request *given, const struct api_call *call, struct api_report *report,
                 struct error *err);
_Noreturn void play_be_launched_drill(const struct rh_play_request *given, struct error *err);

/* Under a launcher: a rank beside the first that fails in a process of the call's own leaves in silence, as the
 * launcher ends the others when it does, and rank 0 says why. */
void play_leave_behind(const struct rh_play_request *given, int rank, const struct error *err);

/* play.c: returns whether this process is a rank that rh_play has started: it ends on request and prints nothing. */
bool play_is_rank(void);

/* Writes the file of --prometheus, if one is asked for. NULL: it begins, and has no document yet. */
bool play_metrics(const struct rh_play_request *given, const struct text *document, struct error *err);

#endif
