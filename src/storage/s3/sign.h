/* Signatures of S3 requests: AWS Signature Version 4, with the SHA-256 and HMAC of libcrypto.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
#ifndef REHEARSE_STORAGE_S3_SIGN_H
#define REHEARSE_STORAGE_S3_SIGN_H

#include "core/text.h"

#include <stdbool.h>
#include <stddef.h>

#define S3_HEX 65 /* a SHA-256 in hexadecimal digits, with its NUL */

struct s3_pair {
    const char *name, *value;
};

struct s3_signing {
    const char *verb;              /* "GET" */
    const char *path;              /* encoded, from '/' on */
    const char *query;             /* as s3_query makes it */
    const struct s3_pair *headers; /* those to sign: names in lower case and in order */
    int header_count;
    const char *payload;          /* SHA-256 of the body, in hexadecimal digits */
    const char *date;             /* "20130524T000000Z" */
    const char *region, *service; /* "us-east-1", "s3" */
    const char *access_key, *secret_key;
};

/* Appends the value of the header Authorization. False: out of memory. */
bool s3_sign(const struct s3_signing *signing, struct text *authorization);

/* Sets the SHA-256 of some bytes. */
bool s3_hash(const void *bytes, size_t length, char hex[S3_HEX]);

/* Appends a text in which all bytes but those that RFC 3986 leaves as they are become %XX. */
void s3_encode(struct text *out, const char *value, bool keep_slashes);

/* Appends a query string sorted by name, as it is signed. Reorders the pairs. */
void s3_query(struct text *out, struct s3_pair *pairs, int count);

#endif
