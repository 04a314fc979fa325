#!/bin/sh
# Installs with apt-get what is missing to build, demonstrate and test rehearse. Says and does nothing when all is there;
# else it says first what will come, and how much. Nothing that comes is started, now or when the machine starts.
#
#     scripts/bootstrap.sh LEVEL            installs what that level needs
#     scripts/bootstrap.sh --list LEVEL     only says what is missing
#     scripts/bootstrap.sh --features       the line that installs what the program can do without, and what each package is for
#
# Levels: demo (what 'make demo' needs), site, test, check (everything). Each has what demo has, and check has all.
set -eu

missing=''
list=no
[ "${1-}" != --list ] || { list=yes; shift; }
level=${1-check}
case $level in
demo | site | test | check | --features) ;;
*)
    echo "bootstrap: unknown level '$level': demo, site, test or check" >&2
    exit 2
    ;;
esac

# need LEVEL PACKAGES USE TEST…: names the packages where the test fails, from that level on. USE says what an optional library brings
# ('' for what is always needed): --features prints it.
need()
{
    need_level=$1 packages=$2 use=$3
    shift 3
    case $level in
    --features) [ -n "$use" ] || return 0 ;;
    demo) [ "$need_level" = demo ] || return 0 ;;
    site) [ "$need_level" = demo ] || [ "$need_level" = site ] || return 0 ;;
    test) [ "$need_level" = demo ] || [ "$need_level" = test ] || return 0 ;;
    esac
    ! "$@" || return 0
    missing="$missing $packages"
    [ -z "$use" ] || uses="$uses    $packages: $use
"
}
uses=''

has_command()
{
    PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null 2>&1
}

has_compiler()
{
    has_command gcc && echo '#include <stdio.h>' | gcc -E - >/dev/null 2>&1
}

# A library: without pkg-config there is no telling, so it is asked for as well.
has_library()
{
    pkg-config --exists "$1" 2>/dev/null
}

# A module of Debian's own Python: other Pythons do not see Debian's packages.
has_python()
{
    /usr/bin/python3 -c "import $1" 2>/dev/null
}

has_python_headers()
{
    has_python 'os, sysconfig; assert os.path.exists(sysconfig.get_path("include") + "/Python.h")'
}

has_file()
{
    [ -e "$1" ]
}

has_bpf()
{
    has_command clang && has_library libbpf && has_command bpftool
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

# The table: from which level on, packages, what an optional library is for, how it is known to be there.
need demo 'gcc libc6-dev' '' has_compiler
need demo meson '' has_command meson
need demo ninja-build '' has_command ninja
need demo pkg-config '' has_command pkg-config
need demo libyaml-dev '' has_library yaml-0.1
need demo gnuplot-nox 'figures (svg, png, pdf)' has_command gnuplot
need demo zlib1g-dev 'tables and traces that gzip packed' has_library zlib
need demo libsqlite3-dev 'traces' has_library sqlite3
need demo libpng-dev 'data sets of PNG images' has_library libpng
need demo libjpeg62-turbo-dev 'data sets of JPEG images' has_library libjpeg
need demo liburing-dev 'reading with io_uring' has_library liburing
need demo libpython3-dev 'the package for Python' has_python_headers
need test libhdf5-dev 'data sets of HDF5 files' has_library hdf5
need test libsnappy-dev 'Parquet files compressed with snappy' has_file /usr/include/snappy-c.h
need test libzstd-dev 'Parquet files compressed with zstd' has_library libzstd
need test 'libcurl4-openssl-dev libssl-dev' 'reading from S3' has_library libcurl
need test libhwloc-dev 'describing nodes whose links are measured' has_library hwloc
need test libdnnl-dev 'measuring layers on this processor' has_file /usr/include/oneapi/dnnl/dnnl.h
need test graphviz 'drawing plans as graphs (--dot)' has_command dot
need check 'libopenmpi-dev openmpi-bin' 'loading storage from many hosts with mpirun' has_command mpicc
# What runs in the kernel is built by clang.
need check 'clang libbpf-dev bpftool' "recording from the kernel ('rehearse trace')" has_bpf

# Tools of the tests.
need test git '' has_command git
need test python3 '' has_command python3
need test libcmocka-dev '' has_library cmocka
need test mandoc '' has_command mandoc
need check clang-format '' has_command clang-format
need check clang-tidy '' has_command clang-tidy
need check curl '' has_command curl
# For packages of PyPI that tests use, which scripts/python-environment installs below build-test/.
need check python3-venv '' has_python ensurepip
need check abigail-tools '' has_command abidiff # 2 MB: compares the library with its first release
need check mypy '' has_command mypy             # the stubs of the package for Python
need check debootstrap '' has_command debootstrap # scripts/check-door
need check g++ '' has_command g++
need check valgrind '' has_command valgrind
need check strace '' has_command strace
need check procps '' has_command pgrep
need check locales '' has_command localedef # a decimal comma
need check zsh '' has_command zsh           # reads the completion for it
need check fish '' has_command fish
# Show the pages; their driver comes from npm, which scripts/node-environment installs below build-test/.
need check chromium '' has_command chromium
need check firefox-esr '' has_command firefox-esr
need check nodejs '' has_command node
need site emscripten 'the planner in the pages' has_command emcc
need check npm '' has_command npm
# Hosts and Slurm on one machine (tests/hosts/run); nothing of it is started as a service.
need check iproute2 '' has_command ip
need check munge '' has_command munged
need check slurmctld '' has_command slurmctld
need check 'slurmd slurm-client' '' has_command slurmd
# Readers that others wrote, for the tests of what we write.
need check python3-numpy '' has_python numpy
need check python3-h5py '' has_python h5py
need check python3-pil '' has_python PIL
need check python3-pandas '' has_python pandas
if [ -n "${WITH_CEPH-}" ]; then # another one, as a vendor has it (scripts/s3-ceph): 62 MB to fetch
    need check ceph-mon '' has_command ceph-mon
    need check ceph-osd '' has_command ceph-osd
    need check radosgw '' has_command radosgw
fi

if [ "$level" = --features ]; then
    [ -n "$missing" ] || exit 0
    printf 'To build in what is missing: apt-get install%s\n%s' "$missing" "$uses"
    exit 0
fi
install_missing

# The runtimes of clang's sanitizers and fuzzer lie in a package named after clang's version.
if [ "$level" = check ]; then
    has_command clang || exit 0 # only listed
    set -- "$(clang --print-resource-dir)"/lib/*/libclang_rt.fuzzer*
    [ -e "$1" ] || missing="libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
    install_missing
fi
