#include "support/comma.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool comma_is_set(void)
{
    return strcmp(localeconv()->decimal_point, ",") == 0;
}

bool comma_take(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR.utf8"};
    char folder[] = "/tmp/rehearse-locale-XXXXXX", command[200];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_ALL, names[i]))
            return comma_is_set();
    if (!mkdtemp(folder))
        return false;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    setenv("LOCPATH", folder, 1);
    bool taken = system(command) == 0 && setlocale(LC_ALL, "de_DE.UTF-8") && comma_is_set();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 && taken;
}
