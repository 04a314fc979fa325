#include "api/run/node.h"
#include "cli/command.h"
#include "cli/run/hosts.h"

#include <string.h>

#define MAX_WORDS 1000

struct launch_given {
    const char *hosts, *hostfile, *agent, *program, *network;
    double timeout;
    bool node;
    struct rh_list words;
};

static const struct option_spec options[] = {
    OPTION(launch_given, hosts, OPTION_TEXT, "hosts", .argument = "HOSTS",
           .help = "hosts to start ranks on: a,b or, with the number of ranks on each, a:2,b:2"),
    OPTION(launch_given, hostfile, OPTION_FILE, "hostfile", .argument = "FILE",
           .help = "a file that lists the hosts, one per line: 'a', 'a:2' or 'a slots=2'"),
    OPTION(launch_given, agent, OPTION_TEXT, "agent", .argument = "PROGRAM",
           .help = "program that starts commands on a host, called like ssh (PROGRAM HOST WORD...); 'none': "
                   "run all on this host (default: ssh)"),
    OPTION(launch_given, program, OPTION_TEXT, "program", .argument = "PATH",
           .help = "path of rehearse on the hosts, if it differs from the path here"),
    OPTION(launch_given, network, OPTION_TEXT, "network", .argument = "NETWORK",
           .help = "network whose addresses ranks use, such as 10.0.0.0/24; by default the address of the "
                   "host's name"),
    OPTION(launch_given, timeout, OPTION_QUANTITY, "timeout", .dimension = DIMENSION_WAIT, .argument = "TIME",
           .initial = "30s", .min = 0.1, .max = 3600, .unit = UNIT_TIME,
           .help = "give up if the ranks are not connected after this time"),
    OPTION(launch_given, node, OPTION_FLAG, "node", .help = "for agents: run the node process of a host"),
    OPTION_END,
};

/* One command runs in a process. */
static const struct launch_given *current;

void hosts_of_launch(struct rh_play_request *request)
{
    if (!current)
        return;
    request->hosts = current->hosts;
    request->hostfile = current->hostfile;
    request->agent = current->agent;
    request->program = current->program;
    request->network = current->network;
    request->connect = current->timeout;
}

static bool run(void *context, struct error *err)
{
    const struct launch_given *given = context;
    char *words[MAX_WORDS];
    if (given->node)
        return api_be_node(err);
    if (given->words.count == 0 || strcmp(given->words.items[0], "run") != 0)
        return error_set(err, ERROR_USAGE,
                         "launch: expected 'run' after '--', the only command with ranks: rehearse launch "
                         "--hosts a,b -- run plan.json");
    if (given->words.count > MAX_WORDS)
        return error_set(err, ERROR_USAGE, "launch: more than %d words", MAX_WORDS);
    if (!given->hosts == !given->hostfile)
        return error_set(err, ERROR_USAGE, "launch: expected one of --hosts and --hostfile");
    for (size_t i = 0; i < given->words.count; i++)
        words[i] =
            (char *)given->words.items[i]; // NOLINT(cppcoreguidelines-pro-type-cast-away-const): of argv
    current = given;
    bool ok = command_execute((int)given->words.count, words, err);
    current = NULL;
    return ok;
}

static const struct command_example examples[] = {
    {"rehearse launch --hosts a,b -- run plan.json --ranks 8", "eight ranks on two hosts, by ssh"},
    {"rehearse launch --hostfile hosts -- run templates.json -c seven.yaml --cut b@2s",
     "a drill: host b is cut off after two seconds"},
    {NULL, NULL},
};

const struct command command_launch = {
    .name = "launch",
    .summary = "start the ranks of a run on several hosts, without mpirun",
    .description = "Starts 'rehearse launch --node' on each host through an agent (ssh), which starts the "
                   "ranks of the command "
                   "after '--'. Words and keys go over the agents' standard input; ranks talk to each other "
                   "over TCP, and listen "
                   "only until all are connected.\n\n"
                   "Each rank works in a folder of the same name as this one, and reads the plan there. When "
                   "this program ends, "
                   "however it ends, so does all that it has started.",
    .options = options,
    .options_size = sizeof(struct launch_given),
    .operands = {.name = "WORD",
                 .help = "after '--': run, a plan, and options of run",
                 .at = offsetof(struct launch_given, words)},
    .examples = examples,
    .run = run,
};
