/* Folders for tests: made below the system's folder for temporary files, removed with everything in them. */
#ifndef REHEARSE_TESTS_MODEL_FOLDER_H
#define REHEARSE_TESTS_MODEL_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct folder {
    char path[256];
};

static inline void folder_make(struct folder *folder)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder->path, sizeof folder->path, "%s/rehearse-test-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder->path))
        abort();
}

/* Writes `name`, whose folders are made where they are missing. */
static inline void folder_write(const struct folder *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    for (char *slash = strchr(path + strlen(folder->path) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        abort();
}

static inline int folder_remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline void folder_remove(const struct folder *folder)
{
    nftw(folder->path, folder_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
