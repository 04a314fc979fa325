/* A locale with a decimal comma. */
#ifndef REHEARSE_TESTS_SUPPORT_COMMA_H
#define REHEARSE_TESTS_SUPPORT_COMMA_H

#include <stdbool.h>

/* Sets an installed locale, else one that localedef makes for this call. False where there is neither. */
bool comma_take(void);

/* Does the current locale have a decimal comma? */
bool comma_is_set(void);

#endif
