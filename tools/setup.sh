#!/usr/bin/env bash
# Installs what OA builds with on Debian 12 or later. Needs no network when everything is there.
# Sourced or run by quickstart.sh and test.sh.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache
  libvulkan-dev libvulkan-volk-dev glslc spirv-tools vulkan-validationlayers mesa-vulkan-drivers
  libflatbuffers-dev flatbuffers-compiler flatbuffers-compiler-dev libabsl-dev
  libcli11-dev nlohmann-json3-dev libxxhash-dev doctest-dev
)

missing=()
for package in "${packages[@]}"; do
  if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed'; then
    missing+=("$package")
  fi
done

if [ "${#missing[@]}" -gt 0 ]; then
  echo "installing: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    echo "setup: run as root, or install these packages first: ${missing[*]}" >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
