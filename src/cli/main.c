#include "version.h"

#include <stdio.h>

int main(void)
{
    printf("rehearse %s (%s)\n", REHEARSE_VERSION, REHEARSE_GIT);
    return fflush(stdout) == 0 ? 0 : 1;
}
