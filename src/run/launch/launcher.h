/* Parts of the launcher. Private to run/launch. */
#ifndef REHEARSE_RUN_LAUNCH_LAUNCHER_H
#define REHEARSE_RUN_LAUNCH_LAUNCHER_H

#include "run/launch/channel.h"

#include <limits.h>
#include <poll.h>
#include <sys/types.h>

/* ---- agent.c ---- */

/* Finds rehearse's path on the hosts, and whether there is an agent. */
bool launch_agent_check(const struct launch *launch, char path[PATH_MAX], struct error *err);
bool launch_agent_start(const struct launch *launch, int host, char *program, pid_t *agent,
                        struct channel *channel, struct error *err);

/* Describes the meaning of an agent's exit code, which is not 0. */
void launch_agent_ending(const struct launch *launch, int code, char *text, size_t size);

/* ---- said.c: output of ranks, buffered for a reader that may be slow ---- */

struct launch_said {
    int file;
    char *bytes;
    size_t first, count, capacity;
    int failed; /* errno of a failed write; later output is dropped */
};

void launch_said_init(struct launch_said *said, int file);
void launch_said_add(struct launch_said *said, const char *bytes, size_t length);
bool launch_said_full(const struct launch_said *said); /* nothing more should come */
struct pollfd launch_said_wish(const struct launch_said *said);
void launch_said_push(struct launch_said *said); /* after poll: as much as does not wait */

/* Writes the rest, however long the reader takes, and frees. A failure is one of the program only if it has none (`ok`). */
bool launch_said_end(struct launch_said *said, bool ok, struct error *err);

#endif
