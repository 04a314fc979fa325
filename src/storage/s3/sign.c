#include "storage/s3/sign.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#define HASH 32 /* bytes of a SHA-256 */

static void to_hex(const unsigned char bytes[HASH], char hex[S3_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < HASH; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[S3_HEX - 1] = 0;
}

bool s3_hash(const void *bytes, size_t length, char hex[S3_HEX])
{
    unsigned char hash[HASH];
    if (!EVP_Digest(bytes, length, hash, NULL, EVP_sha256(), NULL))
        return false;
    to_hex(hash, hex);
    return true;
}

static bool authenticate(const void *key, size_t key_length, const char *message, unsigned char mac[HASH])
{
    return HMAC(EVP_sha256(), key, (int)key_length, (const unsigned char *)message, strlen(message), mac,
                NULL);
}

void s3_encode(struct text *out, const char *value, bool keep_slashes)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *value; value++) {
        if (strchr(plain, *value) || (*value == '/' && keep_slashes))
            text_add_bytes(out, value, 1);
        else
            text_format(out, "%%%02X", (unsigned char)*value);
    }
}

void s3_query(struct text *out, struct s3_pair *pairs, int count)
{
    for (int i = 0; i < count; i++) {
        int min = i;
        for (int k = i + 1; k < count; k++)
            if (strcmp(pairs[k].name, pairs[min].name) < 0)
                min = k;
        struct s3_pair pair = pairs[min];
        pairs[min] = pairs[i];
        pairs[i] = pair;
        text_add(out, i ? "&" : "");
        s3_encode(out, pair.name, false);
        text_add(out, "=");
        s3_encode(out, pair.value, false);
    }
}

/* Adds the names of the signed headers: "host;x-amz-date". */
static void add_names(const struct s3_signing *signing, struct text *out)
{
    for (int i = 0; i < signing->header_count; i++)
        text_format(out, "%s%s", i ? ";" : "", signing->headers[i].name);
}

static bool hash_request(const struct s3_signing *signing, char hex[S3_HEX])
{
    struct text canonical = {0};
    text_format(&canonical, "%s\n%s\n%s\n", signing->verb, signing->path, signing->query);
    for (int i = 0; i < signing->header_count; i++)
        text_format(&canonical, "%s:%s\n", signing->headers[i].name, signing->headers[i].value);
    text_add(&canonical, "\n");
    add_names(signing, &canonical);
    text_format(&canonical, "\n%s", signing->payload);
    bool ok = !canonical.failed && s3_hash(canonical.data, canonical.length, hex);
    text_release(&canonical);
    return ok;
}

/* Derives the key of a day, region and service. */
static bool derive_key(const struct s3_signing *signing, const char *day, unsigned char key[HASH])
{
    struct text start = {0};
    text_format(&start, "AWS4%s", signing->secret_key);
    bool ok = !start.failed && authenticate(start.data, start.length, day, key) &&
              authenticate(key, HASH, signing->region, key) &&
              authenticate(key, HASH, signing->service, key) && authenticate(key, HASH, "aws4_request", key);
    if (start.data)
        OPENSSL_cleanse(start.data, start.length);
    text_release(&start);
    return ok;
}

bool s3_sign(const struct s3_signing *signing, struct text *authorization)
{
    char day[9], hex[S3_HEX];
    unsigned char key[HASH], mac[HASH];
    struct text scope = {0}, message = {0};
    memcpy(day, signing->date, 8);
    day[8] = 0;
    text_format(&scope, "%s/%s/%s/aws4_request", day, signing->region, signing->service);
    bool ok = !scope.failed && hash_request(signing, hex) && derive_key(signing, day, key);
    if (ok)
        text_format(&message, "AWS4-HMAC-SHA256\n%s\n%s\n%s", signing->date, scope.data, hex);
    ok = ok && !message.failed && authenticate(key, HASH, message.data, mac);
    if (ok) {
        to_hex(mac, hex);
        text_format(authorization, "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=", signing->access_key,
                    scope.data);
        add_names(signing, authorization);
        text_format(authorization, ", Signature=%s", hex);
    }
    text_release(&scope);
    text_release(&message);
    return ok && !authorization->failed;
}
