#!/bin/sh
# Installs with apt-get what is missing to build, demonstrate and test rehearse. Says and does nothing when all is there;
# else it says first what will come, and how much. Nothing that comes is started, now or when the machine starts.
#
#     scripts/bootstrap.sh          everything
#     scripts/bootstrap.sh demo     only what 'make demo' needs
#     scripts/bootstrap.sh --list [demo]     only says what is missing
set -eu

missing=''
list=no
[ "${1-}" != --list ] || { list=yes; shift; }

need_command()
{
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}

# A library: without pkg-config there is no telling, so it is asked for as well.
need_library()
{
    pkg-config --exists "$1" 2>/dev/null || missing="$missing $2"
}

# A module of Debian's own Python: other Pythons do not see Debian's packages.
need_python()
{
    /usr/bin/python3 -c "import $1" 2>/dev/null || missing="$missing $2"
}

# What a package brings to run is neither started nor set up to be: its scripts find, before the programs that would do so,
# others that do nothing. They lie in a temporary folder, which ends with this script.
without_services()
{
    for name in deb-systemd-invoke deb-systemd-helper invoke-rc.d update-rc.d service systemctl; do
        printf '#!/bin/sh\nexit 0\n' >"$scratch/bin/$name"
        chmod 755 "$scratch/bin/$name"
    done
    echo "DPkg::Path=$scratch/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}

# say_what_comes SUDO: the packages that apt would install for $missing, and how much they are.
say_what_comes()
{
    # It ends with 1 because nothing is installed.
    # shellcheck disable=SC2086 # words are wanted
    $1 env LC_ALL=C apt-get -q --assume-no -o Debug::NoLocking=true install --no-install-recommends $missing \
        >"$scratch/log" 2>&1 </dev/null || true
    if ! grep -q '^After this operation' "$scratch/log"; then
        tail -n 20 "$scratch/log" >&2
        echo "bootstrap: apt-get cannot install$missing" >&2
        exit 1
    fi
    sed -n '/^The following .*\(installed\|upgraded\|REMOVED\):/,/^After this operation/p' "$scratch/log" >&2
}

install_missing()
{
    [ -n "$missing" ] || return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "bootstrap: please install these Debian packages, or what your system calls them:$missing" >&2
        exit 1
    fi
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 1' HUP INT TERM
    mkdir "$scratch/bin"
    chmod 755 "$scratch" "$scratch/bin"
    if [ "$list" = yes ]; then
        echo "bootstrap: missing:$missing" >&2
        say_what_comes ''
        missing=''
        return 0
    fi
    if [ "$(id -u)" = 0 ]; then
        sudo=''
    elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        sudo='sudo'
    else
        echo "bootstrap: please install these Debian packages:$missing" >&2
        exit 1
    fi
    if ! $sudo apt-get -q update >"$scratch/log" 2>&1 </dev/null; then
        tail -n 20 "$scratch/log" >&2
        echo "bootstrap: apt-get cannot read what there is" >&2
        exit 1
    fi
    echo "bootstrap: installing$missing" >&2
    say_what_comes "$sudo"
    # shellcheck disable=SC2086 # words are wanted
    if ! $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o "$(without_services)" \
        install --no-install-recommends $missing >"$scratch/log" 2>&1 </dev/null; then
        tail -n 20 "$scratch/log" >&2
        echo "bootstrap: apt-get could not install$missing" >&2
        exit 1
    fi
    rm -rf "$scratch"
    missing=''
}

need_command gcc 'gcc libc6-dev'
need_command meson meson
need_command ninja ninja-build
need_command pkg-config pkg-config
need_command gnuplot gnuplot-nox
need_command dot graphviz
need_library yaml-0.1 libyaml-dev
need_library zlib zlib1g-dev
need_library hdf5 libhdf5-dev
need_library libpng libpng-dev
need_library libjpeg libjpeg62-turbo-dev
need_library liburing liburing-dev
need_library libcurl libcurl4-openssl-dev
need_library sqlite3 libsqlite3-dev
need_library libcrypto libssl-dev
need_command mpicc 'libopenmpi-dev openmpi-bin'
need_library hwloc libhwloc-dev
[ -e /usr/include/oneapi/dnnl/dnnl.h ] || missing="$missing libdnnl-dev"
# What runs in the kernel is built by clang.
need_command clang clang
need_library libbpf libbpf-dev
[ -x /usr/sbin/bpftool ] || need_command bpftool bpftool

if [ "${1-all}" = all ]; then
    need_command git git
    need_command python3 python3
    need_command clang-format clang-format
    need_command clang-tidy clang-tidy
    need_command mandoc mandoc
    need_command mold mold
    need_command curl curl
    # For packages of PyPI that tests use, which scripts/python-environment installs below build-test/.
    need_python ensurepip python3-venv
    if [ -n "${WITH_CEPH-}" ]; then # another one, as a vendor has it (scripts/s3-ceph): 62 MB to fetch
        need_command ceph-mon ceph-mon
        need_command ceph-osd ceph-osd
        need_command radosgw radosgw
    fi
    need_command abidiff abigail-tools # 2 MB: compares the library with its first release
    need_command mypy mypy             # the stubs of the package for Python
    need_library cmocka libcmocka-dev
    need_library python3 python3-dev # its headers, for the package
    # Hosts and Slurm on one machine (tests/hosts/run); nothing of it is started as a service.
    [ -x /sbin/ip ] || [ -x /usr/sbin/ip ] || need_command ip iproute2
    [ -x /usr/sbin/munged ] || need_command munged munge
    [ -x /usr/sbin/slurmctld ] || need_command slurmctld slurmctld
    [ -x /usr/sbin/slurmd ] || need_command slurmd 'slurmd slurm-client'
    # Readers that others wrote, for the tests of what we write.
    need_python numpy python3-numpy
    need_python h5py python3-h5py
    need_python PIL python3-pil
    need_python pandas python3-pandas
fi
install_missing

# The runtimes of clang's sanitizers and fuzzer lie in a package named after clang's version.
if [ "${1-all}" = all ]; then
    command -v clang >/dev/null 2>&1 || exit 0 # only listed
    set -- "$(clang --print-resource-dir)"/lib/*/libclang_rt.fuzzer*
    [ -e "$1" ] || missing="libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
    install_missing
fi
