/* Hosts by name, and the address that ranks of a host have. */
#include "core/file.h"
#include "core/vector.h"
#include "run/launch/channel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_SLOTS 1024
#define SPACES    " \t\r"
#define MAX_BYTES (1 << 20) /* of a file of hosts */

/* ---- the list ---- */

/* Names reach ssh, whose other side is a shell: only what a name can have. */
static bool is_name(const char *text, size_t length)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_@";
    if (length == 0 || length >= LAUNCH_NAME || text[0] == '-' || text[0] == '@' || text[0] == '.')
        return false;
    for (size_t i = 0; i < length; i++)
        if (!text[i] || !strchr(allowed, text[i]))
            return false;
    return true;
}

static bool read_slots(const char *text, size_t length, int *slots)
{
    *slots = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *slots = *slots * 10 + text[i] - '0';
        if (*slots > MAX_SLOTS)
            return false;
    }
    return *slots > 0;
}

/* Adds one host; `where` begins the message of an error. */
static bool add_host(struct launch_hosts *hosts, const char *text, size_t length, const char *slots,
                     size_t slots_length, const char *where, struct error *err)
{
    struct launch_host host = {.slots = 0};
    if (!is_name(text, length))
        return error_set(err, ERROR_INPUT, "%s: expected the name of a host, found '%.*s'", where,
                         (int)(length < 80 ? length : 80), text);
    memcpy(host.name, text, length);
    if (slots && !read_slots(slots, slots_length, &host.slots))
        return error_set(err, ERROR_INPUT, "%s: host '%s': expected 1 to %d slots, found '%.*s'", where,
                         host.name, MAX_SLOTS, (int)(slots_length < 80 ? slots_length : 80), slots);
    for (size_t i = 0; i < hosts->count; i++)
        if (strcmp(hosts->hosts[i].name, host.name) == 0)
            return error_set(err, ERROR_INPUT, "%s: host '%s' is given twice", where, host.name);
    if (hosts->count == LAUNCH_MAX_HOSTS)
        return error_set(err, ERROR_INPUT, "%s: more than %d hosts", where, LAUNCH_MAX_HOSTS);
    return VECTOR_ADD(hosts->hosts, hosts->count, hosts->capacity, host) || error_memory(err);
}

/* "a" or "a:2" */
static bool add_word(struct launch_hosts *hosts, const char *text, size_t length, const char *where,
                     struct error *err)
{
    const char *colon = memchr(text, ':', length);
    if (!colon)
        return add_host(hosts, text, length, NULL, 0, where, err);
    size_t name = (size_t)(colon - text);
    return add_host(hosts, text, name, colon + 1, length - name - 1, where, err);
}

bool launch_hosts_parse(struct launch_hosts *hosts, const char *text, struct error *err)
{
    for (;;) {
        size_t length = strcspn(text, ",");
        if (!add_word(hosts, text, length, "--hosts", err)) {
            err->kind = err->kind == ERROR_INPUT ? ERROR_USAGE : err->kind;
            return false;
        }
        if (!text[length])
            return true;
        text += length + 1;
    }
}

static bool add_line(struct launch_hosts *hosts, const char *line, size_t length, const char *where,
                     struct error *err)
{
    static const char key[] = "slots=";
    const char *comment = memchr(line, '#', length);
    length = comment ? (size_t)(comment - line) : length;
    while (length > 0 && strchr(SPACES, line[0]) && line[0])
        line++, length--;
    while (length > 0 && strchr(SPACES, line[length - 1]) && line[length - 1])
        length--;
    if (length == 0)
        return true;
    size_t name = 0;
    while (name < length && !(line[name] && strchr(SPACES, line[name])))
        name++;
    const char *rest = line + name;
    size_t left = length - name;
    while (left > 0 && *rest && strchr(SPACES, *rest))
        rest++, left--;
    if (left == 0)
        return add_word(hosts, line, name, where, err);
    if (left > strlen(key) && strncmp(rest, key, strlen(key)) == 0)
        return add_host(hosts, line, name, rest + strlen(key), left - strlen(key), where, err);
    return error_set(err, ERROR_INPUT, "%s: expected 'HOST', 'HOST:2' or 'HOST slots=2', found '%.*s'", where,
                     (int)(length < 80 ? length : 80), line);
}

bool launch_hosts_read(struct launch_hosts *hosts, const char *text, size_t length, const char *name,
                       struct error *err)
{
    char where[400];
    for (int number = 1; length > 0; number++) {
        const char *end = memchr(text, '\n', length);
        size_t line = end ? (size_t)(end - text) : length;
        snprintf(where, sizeof where, "%.300s:%d", name, number);
        if (!add_line(hosts, text, line, where, err))
            return false;
        text += line + (end != NULL);
        length -= line + (end != NULL);
    }
    return hosts->count > 0 || error_set(err, ERROR_INPUT, "%s: no host is listed", name);
}

bool launch_hosts_load(struct launch_hosts *hosts, const char *path, struct error *err)
{
    size_t length;
    char *text = NULL;
    bool ok =
        file_read(path, MAX_BYTES, &text, &length, err) && launch_hosts_read(hosts, text, length, path, err);
    free(text);
    return ok;
}

bool launch_here(struct launch *launch, struct error *err)
{
    launch->local = true;
    return add_host(&launch->hosts, "localhost", strlen("localhost"), NULL, 0, "ranks", err);
}

void launch_hosts_release(struct launch_hosts *hosts)
{
    free(hosts->hosts);
    *hosts = (struct launch_hosts){0};
}

bool launch_place(const struct launch_hosts *hosts, int count, int *host_of, struct error *err)
{
    int slots = 0, given = 0, rank = 0, left = count;
    for (size_t h = 0; h < hosts->count; h++) {
        slots += hosts->hosts[h].slots;
        given += hosts->hosts[h].slots > 0;
    }
    if (given == (int)hosts->count && slots < count)
        return error_set(err, ERROR_USAGE, "%d ranks on %zu hosts with %d slots: give more hosts or slots",
                         count, hosts->count, slots);
    /* hosts without slots share what those with slots leave */
    int sharing = (int)hosts->count - given, rest = count - slots;
    for (size_t h = 0; h < hosts->count && left > 0; h++) {
        int here = hosts->hosts[h].slots;
        if (here == 0 && rest > 0)
            here = (rest + sharing - 1) / sharing;
        if (hosts->hosts[h].slots == 0) {
            sharing--;
            rest -= here;
        }
        for (; here > 0 && left > 0; here--, left--)
            host_of[rank++] = (int)h;
    }
    return true;
}

/* ---- addresses ---- */

#define NAME_LENGTH 6 /* of a socket without a file: NUL and five digits */

socklen_t launch_address_length(const struct launch_address *address)
{
    if (address->as.any.sa_family == AF_UNIX)
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                           (address->as.here.sun_path[1] ? NAME_LENGTH : 0));
    return address->as.any.sa_family == AF_INET ? sizeof address->as.v4 : sizeof address->as.v6;
}

bool launch_address_is_loopback(const struct launch_address *address)
{
    if (address->as.any.sa_family == AF_UNIX)
        return true;
    if (address->as.any.sa_family == AF_INET)
        return ntohl(address->as.v4.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&address->as.v6.sin6_addr);
}

static const unsigned char *bytes_of(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return (const unsigned char *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
    return (const unsigned char *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
}

struct network {
    int family, bits;
    unsigned char bytes[16];
};

static bool read_network(struct network *network, const char *text, struct error *err)
{
    char address[64];
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : strlen(text);
    *network = (struct network){.family = strchr(text, ':') ? AF_INET6 : AF_INET};
    int most = network->family == AF_INET ? 32 : 128;
    char *end = NULL;
    long bits = slash ? strtol(slash + 1, &end, 10) : most;
    bool ok = length < sizeof address && bits >= 0 && bits <= most && (!slash || (end != slash + 1 && !*end));
    if (ok) {
        snprintf(address, sizeof address, "%.*s", (int)length, text);
        ok = inet_pton(network->family, address, network->bytes) == 1;
    }
    network->bits = (int)bits;
    return ok ||
           error_set(err, ERROR_USAGE, "--network: expected a network such as 10.0.0.0/24, found '%s'", text);
}

static bool is_within(const struct network *network, const struct sockaddr *address)
{
    const unsigned char *bytes = address->sa_family == network->family ? bytes_of(address) : NULL;
    for (int bit = 0; bytes && bit < network->bits; bit++)
        if ((bytes[bit / 8] ^ network->bytes[bit / 8]) & (0x80 >> bit % 8))
            return false;
    return bytes != NULL;
}

static void set_address(struct launch_address *to, const struct sockaddr *from)
{
    memset(to, 0, sizeof *to);
    memcpy(&to->as, from, from->sa_family == AF_INET ? sizeof to->as.v4 : sizeof to->as.v6);
    if (from->sa_family == AF_INET)
        to->as.v4.sin_port = 0;
    else
        to->as.v6.sin6_port = 0;
}

static bool find_in_network(struct launch_address *address, const char *host, const char *text,
                            struct error *err)
{
    struct network network;
    struct ifaddrs *all;
    bool found = false;
    if (!read_network(&network, text, err))
        return false;
    if (getifaddrs(&all) != 0)
        return error_set(err, ERROR_FAILED, "host '%s': cannot list its addresses: %s", host,
                         strerror(errno));
    for (const struct ifaddrs *one = all; one && !found; one = one->ifa_next) {
        found = one->ifa_addr && is_within(&network, one->ifa_addr);
        if (found)
            set_address(address, one->ifa_addr);
    }
    freeifaddrs(all);
    return found || error_set(err, ERROR_FAILED, "host '%s' has no address in --network %s", host, text);
}

static bool can_bind(const struct launch_address *address)
{
    int file = socket(address->as.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool can = file >= 0 && bind(file, &address->as.any, launch_address_length(address)) == 0;
    if (file >= 0)
        close(file);
    return can;
}

bool launch_address_find(struct launch_address *address, const char *host, const char *network,
                         struct error *err)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *all;
    const char *at = strrchr(host, '@');
    bool found = false;
    if (strcmp(network, LAUNCH_HERE) == 0) {
        *address = (struct launch_address){.as.any.sa_family = AF_UNIX};
        return true;
    }
    if (network[0])
        return find_in_network(address, host, network, err);
    int code = getaddrinfo(at ? at + 1 : host, NULL, &hints, &all);
    if (code != 0)
        return error_set(
            err, ERROR_FAILED,
            "host name '%s' has no address (%s): name the network that ranks use with --network 10.0.0.0/24",
            host, gai_strerror(code));
    for (const struct addrinfo *one = all; one && !found; one = one->ai_next) {
        if (one->ai_family != AF_INET && one->ai_family != AF_INET6)
            continue;
        set_address(address, one->ai_addr);
        found = can_bind(address);
    }
    freeaddrinfo(all);
    return found || error_set(err, ERROR_FAILED,
                              "host '%s' does not have the address that its name resolves to: name the "
                              "network that ranks use with --network 10.0.0.0/24",
                              host);
}
