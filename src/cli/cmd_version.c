#include "cli/command.h"
#include "cli/output.h"
#include "version.h"

#include <yaml.h>

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static bool run_version(void *options, struct error *err)
{
    (void)options;
    struct text text = {0};
    text_format(&text, "rehearse %s (%s)\n", REHEARSE_VERSION, REHEARSE_GIT);
    text_format(&text, "compiler: %s\n", COMPILER);
    text_format(&text, "with: libyaml %s%s\n", yaml_get_version_string(), REHEARSE_FEATURES_IN);
    if (*REHEARSE_FEATURES_OUT)
        text_format(&text, "without:%s\n", REHEARSE_FEATURES_OUT);
    return output_and_release(NULL, &text, err);
}

static const struct option_spec options[] = {OPTION_END};

const struct command command_version = {
    SAYS_command_version,
    .options = options,
    .run = run_version,
};
