/* Answers of S3: received as they come, judged when they are complete. */
#include "storage/s3/s3.h"

#include "storage/s3/parse.h"
#include "storage/s3/xml.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ANSWER ((size_t)16 << 20) /* a page of a list has 1000 keys of at most 3 KiB, encoded */

struct element {
    const char *path;
    char *text;
};

static bool visit_element(void *context, const char *path, const char *text, struct error *err)
{
    struct element *element = context;
    if (element->text || strcmp(path, element->path) != 0)
        return true;
    element->text = strdup(text);
    return element->text || error_memory(err);
}

char *s3_element(const struct s3_call *call, const char *path, struct error *err)
{
    struct element element = {.path = path};
    struct error why;
    if (!s3_xml_read(call->answer.data, call->answer.length, visit_element, &element, &why)) {
        free(element.text);
        return error_null(err, ERROR_FAILED, "%s: %s: %s", call->place->name, call->doing, why.text);
    }
    if (!element.text)
        error_set(err, ERROR_FAILED, "%s: %s: the server's response has no %s", call->place->name,
                  call->doing, path);
    return element.text;
}

/* ---- What comes back ---- */

/* Copies a header of the last answer; false if there is none, or it has no room. */
static bool take_header(const struct s3_call *call, const char *name, char *value, size_t size)
{
    struct curl_header *header;
    if (curl_easy_header(call->easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK ||
        strlen(header->value) >= size)
        return false;
    memcpy(value, header->value, strlen(header->value) + 1);
    return true;
}

/* "bytes 0-99/1234", or "bytes * /1234" without the space. Sets the size; false if these are other bytes than
 * were asked for. */
static bool take_content_range(struct s3_call *call)
{
    char value[S3_MAX_ETAG];
    int64_t first = call->first;
    if (!take_header(call, "Content-Range", value, sizeof value))
        return true;
    const char *slash = strchr(value, '/');
    if (slash && slash[1] >= '0' && slash[1] <= '9' && !text_whole(slash + 1, " \t", &call->size))
        return false;
    return sscanf(value, "bytes %" SCNd64 "-", &first) != 1 || first == call->first;
}

static void take_headers(struct s3_call *call)
{
    char value[S3_MAX_ETAG];
    take_header(call, "ETag", call->etag, sizeof call->etag);
    if (take_header(call, "x-amz-bucket-region", value, sizeof value))
        snprintf(call->elsewhere, sizeof call->elsewhere, "region %.*s", 100, value);
    else if (take_header(call, "Location", value, sizeof value))
        snprintf(call->elsewhere, sizeof call->elsewhere, "%.*s", 100, value);
    if (!take_content_range(call) && !call->refused)
        call->refused = "the server sent another range than requested";
}

/* Returns 0, which makes curl give up. */
static size_t refuse(struct s3_call *call, const char *why)
{
    call->refused = why;
    return 0;
}

static size_t take_range(struct s3_call *call, const char *bytes, size_t length, long status)
{
    if (call->done == 0 && !take_content_range(call))
        return refuse(call, "the server sent another range than requested");
    if (status != 206)
        return refuse(call, "the server does not support range requests");
    if ((int64_t)length > call->length - call->done)
        return refuse(call, "the server sent more bytes than requested");
    if (call->to)
        memcpy(call->to + call->done, bytes, length);
    call->done += (int64_t)length;
    call->received += (int64_t)length;
    return length;
}

size_t s3_take_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct s3_call *call = context;
    size_t length = size * count;
    long status = 0;
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (call->length > 0 && status / 100 == 2)
        return take_range(call, bytes, length, status);
    if (length > MAX_ANSWER - call->answer.length)
        return refuse(call, "the server's response is too long");
    text_add_bytes(&call->answer, bytes, length);
    return call->answer.failed ? refuse(call, "out of memory") : length;
}

/* ---- The end of an attempt ---- */

static bool is_head(const struct s3_call *call)
{
    return strcmp(call->verb, "HEAD") == 0;
}

static void describe(const struct s3_call *call, char doing[100])
{
    if (call->doing)
        snprintf(doing, 100, "%s", call->doing);
    else
        snprintf(doing, 100, "cannot read %" PRId64 " bytes at byte %" PRId64, call->length, call->first);
}

static bool fail(const struct s3_config *config, struct s3_call *call, const char *why)
{
    char doing[100], attempts[40] = "";
    describe(call, doing);
    if (call->attempts > 1)
        snprintf(attempts, sizeof attempts, ", %d attempts", call->attempts);
    return error_set(&call->err, ERROR_FAILED, "%s: %s: %s (%s%s)", call->place->name, doing, why,
                     config->endpoint, attempts);
}

/* Explains a status, for an answer without words. */
static const char *meaning(const struct s3_call *call)
{
    if (call->status / 100 == 3)
        return "the bucket is in another region or at another endpoint";
    if (call->status == 403)
        return "not allowed";
    if (call->status == 404)
        return "not found";
    return call->status >= 500 ? "" : "not a response of an S3 server";
}

/* Sets call->code as the server sent it, for comparisons, and the text to print, " CODE: message" without
 * secrets, which any part of a code may be. Both are "" if it has none. */
static void read_failure(const struct s3_config *config, struct s3_call *call, char shown[400])
{
    struct text code = {0}, words = {0};
    s3_parse_failure(call->answer.data, call->answer.length, &code, &words);
    snprintf(call->code, sizeof call->code, "%s", code.data ? code.data : "");
    if (code.data)
        s3_redact(config, code.data);
    if (words.data)
        s3_redact(config, words.data);
    bool said = words.length > 0;
    snprintf(shown, 400, "%s%.*s%s%.*s", *call->code ? " " : "", (int)sizeof call->code - 1,
             code.data ? code.data : "", said ? ": " : "", 255, said ? words.data : "");
    text_release(&code);
    text_release(&words);
}

/* Returns whether the object is absent, which is ERROR_INPUT. If the bucket is not there, or another server
 * answers, that is not known. HEAD has no words; s3_size asks for them when `answered` does not tell. */
static bool is_absent(const struct s3_config *config, const struct s3_call *call)
{
    if (call->status != 404)
        return false;
    return strcmp(call->code, "NoSuchKey") == 0 || (!*call->code && config->answered && is_head(call));
}

static bool fail_http(const struct s3_config *config, struct s3_call *call, const char *shown)
{
    char why[600];
    const char *more = *shown ? "" : meaning(call);
    snprintf(why, sizeof why, "HTTP %ld%s%s%s%s%s", call->status, shown, *more ? ": " : "", more,
             *call->elsewhere ? ": " : "", call->elsewhere);
    fail(config, call, why);
    if (is_absent(config, call))
        call->err.kind = ERROR_INPUT;
    return false;
}

/* Returns whether the answer is one of S3: any server of HTTP can say 200. */
static bool is_from_s3(const struct s3_call *call)
{
    bool object = is_head(call) || (strcmp(call->verb, "PUT") == 0);
    return !object || *call->etag;
}

static bool fail_short(struct s3_call *call)
{
    int64_t found = call->size - call->first;
    return error_set(&call->err, ERROR_FAILED,
                     "%s: truncated: expected %" PRId64 " bytes at byte %" PRId64 ", found %" PRId64,
                     call->place->name, call->length, call->first, found > 0 ? found : 0);
}

/* Returns whether something between us and the server went wrong that may pass. */
static bool is_passing(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_GOT_NOTHING:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_WEIRD_SERVER_REPLY:
        return true;
    default:
        return false;
    }
}

/* https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
static bool is_passing_status(const struct s3_call *call)
{
    static const char *const codes[] = {"InternalError", "RequestTimeout", "ServiceUnavailable",
                                        "SlowDown",      "Throttling",     "OperationAborted"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(call->code, codes[i]) == 0)
            return true;
    return call->status >= 500 ? call->status != 501 : call->status == 429 || call->status == 408;
}

/* Judges a complete answer. Sets *again if its failure may pass. */
static bool judge_answer(const struct s3_config *config, struct s3_call *call, bool *again)
{
    char shown[400];
    curl_off_t bytes = -1;
    if (is_head(call))
        curl_easy_getinfo(call->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &bytes);
    if (bytes >= 0)
        call->size = bytes;
    bool ends = call->status == 206 && call->size >= 0 && call->size - call->first < call->length;
    if (call->length > 0 && (ends || call->status == 416))
        return fail_short(call);
    if (call->length > 0 && call->status == 206) {
        *again = call->done < call->length;
        return !*again || fail(config, call, "the server sent fewer bytes than requested");
    }
    read_failure(config, call, shown); /* S3 completes uploads with "200 OK" and then says that they failed */
    if (call->status / 100 == 2 && !*call->code && call->length > 0)
        return fail(config, call, "the server does not support range requests");
    if (call->status / 100 == 2 && !*call->code)
        return is_from_s3(call) ||
               fail(config, call, "not a response of an S3 server: the object has no ETag");
    *again = is_passing_status(call);
    return fail_http(config, call, shown);
}

bool s3_judge_stopped(const struct s3_config *config, struct s3_call *call)
{
    return fail(config, call, "stopped");
}

bool s3_judge(const struct s3_config *config, struct s3_call *call, int code, bool *again)
{
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &call->status);
    take_headers(call);
    if (call->refused)
        return fail(config, call, call->refused);
    if (code == CURLE_OK)
        return judge_answer(config, call, again);
    *again = is_passing((CURLcode)code);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return fail(config, call, "the server sends nothing");
    if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY)
        return fail(config, call, "the server does not speak HTTP");
    if (strstr(call->curl_error, "wrong version number")) {
        *again = false;
        return fail(config, call, "the server does not speak TLS");
    }
    return fail(config, call, *call->curl_error ? call->curl_error : curl_easy_strerror((CURLcode)code));
}
