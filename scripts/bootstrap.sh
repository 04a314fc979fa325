#!/bin/sh
# Installs with apt-get what is missing to build, demonstrate and test rehearse. Says and does nothing when all is there.
#
#     scripts/bootstrap.sh          everything
#     scripts/bootstrap.sh demo     only what 'make demo' needs
set -eu

missing=''

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

install_missing()
{
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" = 0 ]; then
        sudo=''
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        sudo='sudo'
    elif command -v sudo >/dev/null 2>&1 && [ -t 0 ]; then
        sudo='sudo'
    else
        sudo='no'
    fi
    if [ "$sudo" = no ] || ! command -v apt-get >/dev/null 2>&1; then
        echo "bootstrap: please install these Debian packages, or what your system calls them:$missing" >&2
        exit 1
    fi
    echo "bootstrap: installing$missing" >&2
    log=$(mktemp)
    # shellcheck disable=SC2086 # words are wanted
    if ! { $sudo apt-get -q update && $sudo env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y install --no-install-recommends $missing; } >"$log" 2>&1 </dev/null; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        echo "bootstrap: apt-get could not install$missing" >&2
        exit 1
    fi
    rm -f "$log"
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
    need_command curl curl
    # For the server of the S3 tests, which scripts/s3-server installs below build-test/.
    need_python ensurepip python3-venv
    if [ -n "${WITH_CEPH-}" ]; then # another one, as a vendor has it (scripts/s3-ceph): 62 MB to fetch
        need_command ceph-mon ceph-mon
        need_command ceph-osd ceph-osd
        need_command radosgw radosgw
    fi
    need_library cmocka libcmocka-dev
    # Readers that others wrote, for the tests of what we write.
    need_python numpy python3-numpy
    need_python h5py python3-h5py
    need_python PIL python3-pil
    need_python pandas python3-pandas
fi
install_missing

# The runtimes of clang's sanitizers and fuzzer lie in a package named after clang's version.
if [ "${1-all}" = all ]; then
    set -- "$(clang --print-resource-dir)"/lib/*/libclang_rt.fuzzer*
    [ -e "$1" ] || missing="libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
    install_missing
fi
