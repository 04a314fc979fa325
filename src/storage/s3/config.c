#include "storage/s3/s3.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS     5
#define MAX_ATTEMPTS 1000
#define PATIENCE     30.0 /* s */
#define MAX_PATIENCE 1e5

static pthread_once_t started = PTHREAD_ONCE_INIT;
static CURLcode start_result;

static void start_curl(void)
{
    start_result = curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* Returns the option, else the first variable of the environment that is set; NULL: none. */
static const char *setting(const char *option, const char *first, const char *second)
{
    if (option && *option)
        return option;
    const char *value = getenv(first);
    if ((!value || !*value) && second)
        value = getenv(second);
    return value && *value ? value : NULL;
}

/* Returns whether a value fits into a line of a header: printable, without spaces or the characters that
 * separate the parts of a signature. */
static bool is_word(const char *value)
{
    for (; *value; value++)
        if (!isgraph((unsigned char)*value) || *value == ',' || *value == ';')
            return false;
    return true;
}

static bool copy_word(char **to, const char *value, const char *what, struct error *err)
{
    if (!is_word(value))
        return error_set(err, ERROR_USAGE, "S3: the %s has invalid characters", what);
    *to = strdup(value);
    return *to || error_memory(err);
}

static bool read_credentials(struct s3_config *config, const struct storage_s3_options *options,
                             struct error *err)
{
    const char *access = setting(options->access_key, "AWS_ACCESS_KEY_ID", NULL);
    const char *secret = setting(options->secret_key, "AWS_SECRET_ACCESS_KEY", NULL);
    /* A token belongs to the keys it came with. */
    const char *token = options->session_token;
    if (!token && !options->access_key)
        token = setting(NULL, "AWS_SESSION_TOKEN", NULL);
    if (!access || !secret)
        return error_set(err, ERROR_USAGE, "S3: no %s: set storage.storage_options.%s or %s",
                         access ? "secret access key" : "access key id",
                         access ? "secret_access_key" : "access_key_id",
                         access ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
    return copy_word(&config->access_key, access, "access key id", err) &&
           copy_word(&config->secret_key, secret, "secret access key", err) &&
           (!token || !*token || copy_word(&config->session_token, token, "session token", err));
}

static bool read_region(struct s3_config *config, const struct storage_s3_options *options, struct error *err)
{
    const char *region = setting(options->region, "AWS_REGION", "AWS_DEFAULT_REGION");
    region = region ? region : "us-east-1";
    for (const char *at = region; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '-' && *at != '_')
            return error_set(err, ERROR_USAGE, "S3: region '%s': expected letters, digits and '-'", region);
    return copy_word(&config->region, region, "region", err);
}

static bool wrong_endpoint(struct error *err, const char *why)
{
    return error_set(err, ERROR_USAGE, "S3: the endpoint %s: expected http://HOST:PORT or https://HOST", why);
}

/* Returns whether the host is an IP address, which has no names below it. */
static bool is_address(const char *host)
{
    return *host == '[' || host[strspn(host, "0123456789.")] == 0;
}

static bool has(CURLU *url, CURLUPart part)
{
    char *text = NULL;
    bool found = curl_url_get(url, part, &text, 0) == CURLUE_OK && strcmp(text, "/") != 0;
    curl_free(text);
    return found;
}

/* Takes the parts of a URL that was parsed. Its text may hold a password: no message repeats it. */
static bool take_endpoint(struct s3_config *config, CURLU *url, struct error *err)
{
    char *whole = NULL, *host = NULL;
    if (has(url, CURLUPART_USER) || has(url, CURLUPART_PASSWORD))
        return wrong_endpoint(err, "has a user or password");
    if (has(url, CURLUPART_PATH) || has(url, CURLUPART_QUERY) || has(url, CURLUPART_FRAGMENT))
        return wrong_endpoint(err, "has a path");
    bool ok = curl_url_get(url, CURLUPART_URL, &whole, CURLU_NO_DEFAULT_PORT) == CURLUE_OK &&
              curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
              (text_starts_with(whole, "http://") || text_starts_with(whole, "https://"));
    if (ok) {
        config->endpoint = strndup(whole, strlen(whole) - 1); /* without its '/' */
        config->tls = text_starts_with(whole, "https");
        config->path_style = config->path_style || is_address(host);
    }
    curl_free(whole);
    curl_free(host);
    if (!ok)
        return wrong_endpoint(err, "is not an HTTP address");
    if (!config->endpoint)
        return error_memory(err);
    config->host = strstr(config->endpoint, "://") + 3;
    return true;
}

static bool read_endpoint(struct s3_config *config, const struct storage_s3_options *options,
                          struct error *err)
{
    const char *endpoint = setting(options->endpoint, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
    char *amazon = NULL;
    if (!endpoint && asprintf(&amazon, "https://s3.%s.amazonaws.com", config->region) < 0)
        return error_memory(err);
    CURLU *url = curl_url();
    bool ok = url || error_memory(err);
    if (ok && curl_url_set(url, CURLUPART_URL, endpoint ? endpoint : amazon, 0) != CURLUE_OK)
        ok = wrong_endpoint(err, "is not a URL");
    ok = ok && take_endpoint(config, url, err);
    curl_url_cleanup(url);
    free(amazon);
    return ok;
}

/* Checks the file of certificates: libcurl would complain about it in every request. */
static bool read_authorities(struct s3_config *config, const struct storage_s3_options *options,
                             struct error *err)
{
    const char *file = setting(options->authorities, "AWS_CA_BUNDLE", "SSL_CERT_FILE");
    if (!config->tls || !file)
        return true;
    errno = 0;
    FILE *opened = fopen(file, "r");
    bool readable = opened && fgetc(opened) != EOF;
    if (!readable)
        error_set(err, ERROR_INPUT, "%s: cannot read the S3 certificates: %s", file,
                  errno ? strerror(errno) : "the file is empty");
    if (opened)
        fclose(opened);
    if (!readable)
        return false;
    config->authorities = strdup(file);
    return config->authorities || error_memory(err);
}

static bool read_attempts(struct s3_config *config, int option, struct error *err)
{
    const char *variable = option == 0 ? setting(NULL, "AWS_MAX_ATTEMPTS", NULL) : NULL;
    char found[40], *end;
    snprintf(found, sizeof found, "%d", option != 0 || variable ? option : ATTEMPTS);
    long attempts = strtol(variable ? variable : found, &end, 10);
    if (*end || attempts < 1 || attempts > MAX_ATTEMPTS)
        return error_set(err, ERROR_USAGE, "S3 attempts: expected 1 to %d, found %s", MAX_ATTEMPTS,
                         variable ? variable : found);
    config->attempts = (int)attempts;
    return true;
}

static bool read_numbers(struct s3_config *config, const struct storage_s3_options *options,
                         struct error *err)
{
    if (!read_attempts(config, options->attempts, err))
        return false;
    if (!(options->patience >= 0 && options->patience <= MAX_PATIENCE))
        return error_set(err, ERROR_USAGE, "S3 patience: expected 1 to %g seconds, found %g", MAX_PATIENCE,
                         options->patience);
    config->patience = options->patience > 0 ? fmax(options->patience, 1) : PATIENCE;
    config->path_style = options->path_style;
    return true;
}

static void release(struct s3_config *config)
{
    char *all[] = {config->access_key, config->secret_key, config->session_token,
                   config->region,     config->endpoint,   config->authorities};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i])
            explicit_bzero(all[i], strlen(all[i]));
        free(all[i]);
    }
    pthread_mutex_destroy(&config->lock);
    free(config);
}

/* Sets the root as all names below it begin: see s3_place_init. */
static bool take_root(struct storage *storage, struct error *err)
{
    struct s3_place place;
    const char *root = storage->options.root;
    if (!storage_is_s3(root))
        return error_set(err, ERROR_USAGE, "S3: '%s': expected s3://BUCKET or s3://BUCKET/PREFIX",
                         root ? root : "");
    if (!s3_place_init(&place, root, err))
        return false;
    free((char *)storage->options.root);
    char *whole;
    if (asprintf(&whole, STORAGE_S3_SCHEME "%s%s%s", place.bucket, *place.key ? "/" : "", place.key) < 0)
        whole = NULL;
    storage->options.root = whole;
    s3_place_release(&place);
    return whole || error_memory(err);
}

bool s3_config_start(struct storage *storage, struct error *err)
{
    static const struct storage_s3_options none;
    const struct storage_s3_options *options = storage->options.s3 ? storage->options.s3 : &none;
    pthread_once(&started, start_curl);
    if (start_result != CURLE_OK)
        return error_set(err, ERROR_FAILED, "S3: cannot start libcurl: %s", curl_easy_strerror(start_result));
    if (!take_root(storage, err))
        return false;
    struct s3_config *config = calloc(1, sizeof *config);
    if (!config)
        return error_memory(err);
    pthread_mutex_init(&config->lock, NULL);
    if (!read_numbers(config, options, err) || !read_credentials(config, options, err) ||
        !read_region(config, options, err) || !read_endpoint(config, options, err) ||
        !read_authorities(config, options, err)) {
        release(config);
        return false;
    }
    config->stop = storage->options.stop;
    storage->state = config;
    return true;
}

void s3_config_stop(struct storage *storage)
{
    struct s3_config *config = storage->state;
    s3_client_free_idle(config);
    release(config);
}

static void redact_word(char *text, const char *secret)
{
    size_t length = secret ? strlen(secret) : 0;
    for (char *at = text; length > 0 && (at = strstr(at, secret));)
        memset(at, '*', length);
}

void s3_redact(const struct s3_config *config, char *text)
{
    redact_word(text, config->secret_key);
    redact_word(text, config->session_token);
}
