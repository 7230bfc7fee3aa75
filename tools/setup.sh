# Functions of tools/demo and tools/test, to be sourced. Sourcing changes to the root folder of the project. Packages are
# installed, but never upgraded or removed; all other files are written to build/.
# shellcheck shell=bash

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ROOT=$PWD
export LC_ALL=C.UTF-8

# PACKAGE:ALTERNATIVE: the package is not required if the alternative, a command or header, exists.
BUILD_PACKAGES=(cmake:cmake ninja-build:ninja gcc:cc g++:c++ pkg-config:pkg-config libc6-dev
    ocl-icd-opencl-dev:/usr/include/CL/cl.h libclblast-dev libsentencepiece-dev libjansson-dev libyaml-dev libicu-dev
    libpcre2-dev zlib1g-dev libsndfile1-dev libsoxr-dev libmicrohttpd-dev libcld2-dev
    libgumbo-dev libxml2-dev libzip-dev libcmark-gfm-dev libcmark-gfm-extensions-dev pocl-opencl-icd)

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

is_present() { # PACKAGE[:COMMAND or :/FILE]
    [[ $(dpkg-query -W -f='${db:Status-Status}' "${1%%:*}" 2>/dev/null) == installed ]] && return
    case $1 in
    *:/*) [[ -e ${1#*:} ]] ;;
    *:*) command -v "${1#*:}" >/dev/null ;;
    *) return 1 ;;
    esac
}

# Installs the missing packages among its arguments; without root it prints them and exits.
need_packages() {
    local missing=() package
    for package in "$@"; do
        is_present "$package" || missing+=("${package%%:*}")
    done
    ((${#missing[@]})) || return 0
    local install="apt-get install -y --no-install-recommends --no-upgrade --no-remove ${missing[*]}"
    command -v apt-get >/dev/null || die "these Debian packages are missing: ${missing[*]}"
    if ((EUID != 0)); then
        echo "These Debian packages are missing: ${missing[*]}" >&2
        echo "Install them as root, then repeat the command:" >&2
        echo "  apt-get update && $install" >&2
        exit 1
    fi
    echo "Installing ${missing[*]}" >&2
    local log
    log=$(mktemp)
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive $install </dev/null; } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        die "apt-get failed to install ${missing[*]}"
    fi
    rm -f "$log"
}

# Creates a folder with one .icd file; with OCL_ICD_VENDORS set to this folder, only this OpenCL implementation is visible.
make_icd() { # NAME LIBRARY
    mkdir -p "build/icd/$1"
    [[ $(cat "build/icd/$1/$1.icd" 2>/dev/null) == "$2" ]] || echo "$2" >"build/icd/$1/$1.icd"
}

# Configures a build folder, with Ninja if the folder is new.
configure() { # FOLDER OPTION...
    local folder=$1 generator=() log
    shift
    if [[ ! -e $folder/CMakeCache.txt ]] && command -v ninja >/dev/null; then
        generator=(-G Ninja)
    fi
    log=$(mktemp)
    if ! cmake -S . -B "$folder" "${generator[@]}" "$@" >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        die "$folder: cmake failed to configure the build"
    fi
    rm -f "$log"
}

build() { # FOLDER TARGET...
    local folder=$1 log
    shift
    log=$(mktemp)
    if ! cmake --build "$folder" --parallel "$(nproc)" --target "$@" >"$log" 2>&1; then
        grep -v '^\[[0-9]*/[0-9]*\] \(Building\|Linking\|Generating\)' "$log" | tail -n 60 >&2
        rm -f "$log"
        die "$folder: the build failed"
    fi
    rm -f "$log"
}
