/* What tests expect of numbers and of outputs. */
#ifndef REHEARSE_TESTS_EXPECT_H
#define REHEARSE_TESTS_EXPECT_H

#include "core/doc.h"

/* Equal but for rounding: to nine digits, and to 1e-12 where nothing is expected. */
void near(double found, double expected);

/* An output that must be JSON; `text` lives as long as the document. */
struct doc json_of(const char *text);

#endif
