/* What an S3 server answers: XML, a page of a list, an error. The first byte says which; no name leaves its folder. */
#include "storage/s3/parse.h"
#include "storage/s3/xml.h"
#include "walk.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool visit_element(void *context, const char *path, const char *text, struct error *err)
{
    (void)context;
    (void)err;
    require(*path && strlen(path) <= S3_XML_MAX_PATH && path[strlen(path) - 1] != '/');
    require(text_valid_utf8(text, strlen(text)) == strlen(text));
    return true;
}

static bool visit_name(void *context, const char *name, int64_t size)
{
    int *count = context;
    require(*name && size >= -1);
    return ++*count < 10;
}

static void check_list(const char *text, size_t size)
{
    struct text token = {0};
    struct error err = {0};
    bool ended = false;
    int count = 0;
    if (s3_parse_list("a/", text, size, visit_name, &count, &token, &ended, &err))
        require(token.data && ended == (count == 10) && count <= 10);
    else
        require_message(&err);
    text_release(&token);
}

static void check_failure(const char *text, size_t size)
{
    struct text code = {0}, message = {0};
    s3_parse_failure(text, size, &code, &message);
    require(!code.data || strlen(code.data) <= code.length);
    require(!message.data || strlen(message.data) <= message.length);
    text_release(&code);
    text_release(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    if (size == 0)
        return 0;
    char *text = malloc(size); /* of the input's size: what is read beyond it is found */
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    if (data[0] == 'l')
        check_list(text, size - 1);
    else if (data[0] == 'e')
        check_failure(text, size - 1);
    else if (!s3_xml_read(text, size - 1, visit_element, NULL, &err))
        require_message(&err);
    free(text);
    return 0;
}
