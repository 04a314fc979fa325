/* Makes a request of S3: address, signed headers, body. */
#include "storage/s3/s3.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define TRANSFER (128L << 10) /* bytes of curl's buffers: few calls, and they stay in a processor's cache */
#define SLOWEST  1000L        /* bytes/s: what is slower for `patience` seconds stands still */

static void add_header(struct s3_call *call, const char *name, const char *value)
{
    struct text line = {0};
    text_format(&line, "%s: %s", name, value);
    struct curl_slist *longer = line.failed ? NULL : curl_slist_append(call->headers, line.data);
    text_release(&line);
    if (longer)
        call->headers = longer;
    else
        call->answer.failed = true;
}

struct target {
    struct text host, path, url;
};

static void target_release(struct target *target)
{
    text_release(&target->host);
    text_release(&target->path);
    text_release(&target->url);
}

/* Sets host, path and URL. Buckets with dots go into the path of a TLS address: no certificate covers names
 * with dots below the endpoint's. */
static struct target target_of(const struct s3_config *config, const struct s3_call *call)
{
    struct target target = {0};
    const struct s3_place *place = call->place;
    if (config->path_style || (config->tls && strchr(place->bucket, '.'))) {
        text_add(&target.host, config->host);
        text_format(&target.path, "/%s", place->bucket);
        text_add(&target.path, *place->key ? "/" : "");
    } else {
        text_format(&target.host, "%s.%s", place->bucket, config->host);
        text_add(&target.path, "/");
    }
    s3_encode(&target.path, place->key, true);
    text_format(&target.url, "%s://%s%s%s%s", config->tls ? "https" : "http", target.host.data,
                target.path.data, call->query.length > 0 ? "?" : "",
                call->query.data ? call->query.data : "");
    return target;
}

static bool add_signed_headers(const struct s3_config *config, struct s3_call *call,
                               const struct target *target)
{
    char date[20], hash[S3_HEX];
    struct text authorization = {0};
    struct tm tm;
    time_t now = time(NULL);
    if (!gmtime_r(&now, &tm) || strftime(date, sizeof date, "%Y%m%dT%H%M%SZ", &tm) == 0 ||
        !s3_hash(call->body ? call->body : "", call->body_length, hash))
        return false;
    const struct s3_pair headers[] = {
        {"host", target->host.data},
        {"x-amz-content-sha256", hash},
        {"x-amz-date", date},
        {"x-amz-security-token", config->session_token},
    };
    struct s3_signing signing = {
        .verb = call->verb,
        .path = target->path.data,
        .query = call->query.data ? call->query.data : "",
        .headers = headers,
        .header_count = config->session_token ? 4 : 3,
        .payload = hash,
        .date = date,
        .region = config->region,
        .service = "s3",
        .access_key = config->access_key,
        .secret_key = config->secret_key,
    };
    bool ok = s3_sign(&signing, &authorization);
    for (int i = 0; ok && i < signing.header_count; i++)
        add_header(call, headers[i].name, headers[i].value);
    if (ok)
        add_header(call, "Authorization", authorization.data);
    text_release(&authorization);
    return ok;
}

static bool add_headers(const struct s3_config *config, struct s3_call *call, const struct target *target)
{
    char range[64];
    bool ok = add_signed_headers(config, call, target);
    if (call->length > 0) {
        snprintf(range, sizeof range, "bytes=%" PRId64 "-%" PRId64, call->first,
                 call->first + call->length - 1);
        add_header(call, "Range", range);
    }
    add_header(call, "Expect", ""); /* not "100-continue", which waits */
    add_header(call, "Content-Type", "");
    return ok && !call->answer.failed;
}

static void set_options(const struct s3_config *config, struct s3_call *call, const char *url)
{
    CURL *easy = call->easy;
    double patience = call->patience > 0 ? call->patience : config->patience;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1); /* each request a connection */
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    if (config->authorities) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, config->authorities);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "rehearse/" REHEARSE_VERSION);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(config->patience * 1000));
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, SLOWEST);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)ceil(patience));
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, TRANSFER);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, TRANSFER);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, s3_take_bytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_error);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    if (strcmp(call->verb, "HEAD") == 0) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    } else if (call->body) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_length);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->body);
    }
    if (strcmp(call->verb, "HEAD") != 0)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->verb);
}

bool s3_prepare(const struct s3_config *config, struct s3_call *call)
{
    struct target target = target_of(config, call);
    bool ok = !call->query.failed && !target.host.failed && !target.path.failed && !target.url.failed &&
              add_headers(config, call, &target);
    if (ok)
        set_options(config, call, target.url.data);
    target_release(&target);
    return ok;
}
