#include "core/file_keep.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAX_ATTRIBUTE 65536 /* bytes, of the list of names and of a value: as Linux has it */

static bool is_kept(const char *name)
{
    return strncmp(name, "user.", 5) == 0 || strcmp(name, "system.posix_acl_access") == 0;
}

static void keep_attributes(int fd, const char *path)
{
    char *names = malloc(MAX_ATTRIBUTE), *value = malloc(MAX_ATTRIBUTE);
    ssize_t length = names && value ? listxattr(path, names, MAX_ATTRIBUTE) : 0;
    for (ssize_t at = 0; at < length; at += (ssize_t)strlen(names + at) + 1) {
        ssize_t size = is_kept(names + at) ? getxattr(path, names + at, value, MAX_ATTRIBUTE) : -1;
        if (size >= 0)
            (void)fsetxattr(fd, names + at, value, (size_t)size, 0);
    }
    free(names);
    free(value);
}

void file_keep(int fd, const char *path, const struct stat *old)
{
    mode_t mode = old->st_mode & 07777;
    struct stat now;
    if (fchown(fd, old->st_uid, old->st_gid) != 0)
        (void)!fchown(fd, (uid_t)-1, old->st_gid); /* one's own file into a group that one is in */
    if (fstat(fd, &now) != 0)
        return;
    if (now.st_uid != old->st_uid)
        mode &= ~(mode_t)(S_ISUID | S_ISGID);
    if (now.st_gid != old->st_gid) /* another group gets what all others get */
        mode = (mode & ~(mode_t)(S_IRWXG | S_ISGID)) | (mode & S_IRWXO) << 3;
    (void)fchmod(fd, mode);
    if (now.st_uid == old->st_uid && now.st_gid == old->st_gid)
        keep_attributes(fd, path);
}
