#include "feed/workload/storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *join(const char *scheme, const char *root, const char *folder)
{
    size_t size = strlen(scheme) + strlen(root) + strlen(folder) + 2;
    char *path = malloc(size);
    bool slash = *root && root[strlen(root) - 1] != '/';
    if (path)
        snprintf(path, size, "%s%s%s%s", scheme, root, slash ? "/" : "", folder);
    return path;
}

char *workload_storage_root(const struct workload *workload, const char *folder)
{
    const char *root = workload->storage.storage_root;
    if (storage_is_s3(folder))
        return strdup(folder);
    if (workload->storage.storage_type == WORKLOAD_STORAGE_S3) /* the root is a bucket */
        return join(storage_is_s3(root) ? "" : STORAGE_S3_SCHEME, root, folder);
    if (*folder == '/' || strcmp(root, ".") == 0 || strcmp(root, "./") == 0)
        return strdup(folder);
    return join("", root, folder);
}

struct storage *workload_storage_open(const struct workload *workload, const char *folder,
                                      const struct workload_storage_choice *choice, struct error *err)
{
    const struct workload_storage *given = &workload->storage;
    const struct storage_s3_options s3 = {
        .access_key = given->access_key_id,
        .secret_key = given->secret_access_key,
        .endpoint = given->endpoint_url,
        .region = given->region,
        .path_style = given->s3_force_path_style,
        .attempts = (int)given->s3_max_attempts,
    };
    if (given->storage_type == WORKLOAD_STORAGE_AISTORE)
        return error_null(err, ERROR_USAGE,
                          "storage.storage_type: aistore is not supported: use its S3 interface (s3)");
    char *root = workload_storage_root(workload, folder);
    if (!root)
        return error_memory_null(err);
    struct storage_options options = choice->options;
    options.root = root;
    options.s3 = &s3;
    options.direct = options.direct || workload->reader.odirect;
    if (!choice->has_method)
        options.method = storage_is_s3(root) ? STORAGE_S3 : STORAGE_POSIX;
    struct storage *storage = storage_new(&options, err);
    free(root);
    return storage;
}
