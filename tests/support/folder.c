#include "support/folder.h"

#include <stdio.h>
#include <stdlib.h>

char test_folder[] = "/tmp/rehearse-test-XXXXXX";

int folder_make(void **state)
{
    (void)state;
    return mkdtemp(test_folder) ? 0 : -1;
}

int folder_remove(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", test_folder);
    return system(command);
}
