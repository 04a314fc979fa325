/* Signatures against the published examples of AWS: those of S3's API reference ("Signature Calculations for the
 * Authorization Header") and of the test suite of Signature Version 4. */
#include "storage/s3/sign.h"

#include "core/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* Keys, date, region and service of the API reference. */
static struct s3_signing example(const char *verb, const char *path, const char *query)
{
    return (struct s3_signing){
        .verb = verb,
        .path = path,
        .query = query,
        .payload = EMPTY,
        .date = "20130524T000000Z",
        .region = "us-east-1",
        .service = "s3",
        .access_key = "AKIAIOSFODNN7EXAMPLE",
        .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    };
}

static void require_signature(const struct s3_signing *signing, const char *expected)
{
    struct text authorization = {0};
    assert_true(s3_sign(signing, &authorization));
    assert_string_equal(authorization.data, expected);
    text_release(&authorization);
}

#define SIGNED(names, signature)                                                                             \
    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "                  \
    "SignedHeaders=" names ", Signature=" signature

static void test_get_of_a_range(void **state)
{
    (void)state;
    static const struct s3_pair headers[] = {
        {"host", "examplebucket.s3.amazonaws.com"},
        {"range", "bytes=0-9"},
        {"x-amz-content-sha256", EMPTY},
        {"x-amz-date", "20130524T000000Z"},
    };
    struct s3_signing signing = example("GET", "/test.txt", "");
    signing.headers = headers;
    signing.header_count = 4;
    require_signature(&signing, SIGNED("host;range;x-amz-content-sha256;x-amz-date",
                                       "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
}

static void test_put_of_an_object(void **state)
{
    (void)state;
    char payload[S3_HEX];
    const char *body = "Welcome to Amazon S3.";
    assert_true(s3_hash(body, strlen(body), payload));
    const struct s3_pair headers[] = {
        {"date", "Fri, 24 May 2013 00:00:00 GMT"},
        {"host", "examplebucket.s3.amazonaws.com"},
        {"x-amz-content-sha256", payload},
        {"x-amz-date", "20130524T000000Z"},
        {"x-amz-storage-class", "REDUCED_REDUNDANCY"},
    };
    struct text path = {0};
    s3_encode(&path, "/test$file.text", true);
    struct s3_signing signing = example("PUT", path.data, "");
    signing.headers = headers;
    signing.header_count = 5;
    signing.payload = payload;
    require_signature(&signing, SIGNED("date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                                       "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
    text_release(&path);
}

static void require_of_bucket(struct s3_pair *pairs, int count, const char *signature)
{
    static const struct s3_pair headers[] = {
        {"host", "examplebucket.s3.amazonaws.com"},
        {"x-amz-content-sha256", EMPTY},
        {"x-amz-date", "20130524T000000Z"},
    };
    struct text query = {0};
    s3_query(&query, pairs, count);
    struct s3_signing signing = example("GET", "/", query.data);
    signing.headers = headers;
    signing.header_count = 3;
    require_signature(&signing, signature);
    text_release(&query);
}

static void test_query_without_a_value(void **state)
{
    (void)state;
    struct s3_pair pairs[] = {{"lifecycle", ""}};
    require_of_bucket(pairs, 1,
                      SIGNED("host;x-amz-content-sha256;x-amz-date",
                             "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

static void test_query_in_another_order(void **state)
{
    (void)state;
    struct s3_pair pairs[] = {{"prefix", "J"}, {"max-keys", "2"}};
    require_of_bucket(pairs, 2,
                      SIGNED("host;x-amz-content-sha256;x-amz-date",
                             "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

/* "get-vanilla" and its relatives, which sign host and date only. */
static void require_of_suite(const char *path, const char *query, const char *signature)
{
    static const struct s3_pair headers[] = {
        {"host", "example.amazonaws.com"},
        {"x-amz-date", "20150830T123600Z"},
    };
    struct text expected = {0}, encoded = {0};
    s3_encode(&encoded, path, true);
    text_format(&expected,
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
                "SignedHeaders=host;x-amz-date, Signature=%s",
                signature);
    struct s3_signing signing = {
        .verb = "GET",
        .path = encoded.data,
        .query = query,
        .headers = headers,
        .header_count = 2,
        .payload = EMPTY,
        .date = "20150830T123600Z",
        .region = "us-east-1",
        .service = "service",
        .access_key = "AKIDEXAMPLE",
        .secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    };
    require_signature(&signing, expected.data);
    text_release(&expected);
    text_release(&encoded);
}

static void test_suite_vanilla(void **state)
{
    (void)state;
    require_of_suite("/", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

static void test_suite_utf8_path(void **state)
{
    (void)state;
    require_of_suite("/\xe1\x88\xb4", "", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
}

static void test_suite_query_order(void **state)
{
    (void)state;
    struct s3_pair pairs[] = {{"Param2", "value2"}, {"Param1", "value1"}};
    struct text query = {0};
    s3_query(&query, pairs, 2);
    require_of_suite("/", query.data, "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
    text_release(&query);
}

static void test_names_are_encoded_as_rfc_3986_has_it(void **state)
{
    (void)state;
    struct text text = {0};
    s3_encode(&text, "a/b c+d~e%\xc3\xa9*", true);
    assert_string_equal(text.data, "a/b%20c%2Bd~e%25%C3%A9%2A");
    text.length = 0;
    s3_encode(&text, "a/b", false);
    assert_string_equal(text.data, "a%2Fb");
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get_of_a_range),
        cmocka_unit_test(test_put_of_an_object),
        cmocka_unit_test(test_query_without_a_value),
        cmocka_unit_test(test_query_in_another_order),
        cmocka_unit_test(test_suite_vanilla),
        cmocka_unit_test(test_suite_utf8_path),
        cmocka_unit_test(test_suite_query_order),
        cmocka_unit_test(test_names_are_encoded_as_rfc_3986_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
