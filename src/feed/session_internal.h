/* Inside a session: session_result.c gathers facts and writes files, session_judge.c judges. */
#ifndef REHEARSE_FEED_SESSION_INTERNAL_H
#define REHEARSE_FEED_SESSION_INTERNAL_H

#include "core/unit.h"
#include "feed/session.h"

#include <stdarg.h>

/* The facts of all hosts, on rank 0. */
bool session_gather(struct session *session, struct error *err);

#endif
