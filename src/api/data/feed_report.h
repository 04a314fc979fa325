/* The report of `rehearse feed` for people. */
#ifndef REHEARSE_API_DATA_FEED_REPORT_H
#define REHEARSE_API_DATA_FEED_REPORT_H

#include "core/text.h"
#include "feed/session.h"

void feed_report(const struct session *session, struct text *out);
void feed_report_max(const struct session_max *max, struct text *out);

#endif
