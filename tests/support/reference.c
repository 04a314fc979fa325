#include "support/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *reference_path(const char *relative)
{
    const char *given = getenv("REHEARSE_REFERENCE");
    const char *root = getenv("REHEARSE_SOURCE_ROOT");
    char *path;
    if ((given ? asprintf(&path, "%s/%s", given, relative)
               : asprintf(&path, "%s/../shared/reference/%s", root ? root : ".", relative)) < 0)
        return NULL;
    if (access(path, R_OK) == 0)
        return path;
    printf("# skipped: no reference data in %s (set REHEARSE_REFERENCE)\n", path);
    free(path);
    return NULL;
}
