#!/bin/bash
# Somebody else's program builds against the installed library in both ways that docs/abi.md names.
#
#   package_test.sh BUILD_DIR SOURCE_DIR C_COMPILER
set -euo pipefail
build=$1 source=$2 compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
logged() { "$@" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }

# A wrong command line is answered by the program itself: it has been linked and loaded.
expect_usage() {
  local status=0
  "$1" 2>"$work/usage" || status=$?
  if [ $status != 2 ] || ! grep -q '^usage: resolve' "$work/usage"; then
    echo "$1 exits with $status and says: $(cat "$work/usage")"
    exit 1
  fi
}

logged cmake --install "$build" --prefix "$work/moved" --component library

pc=$(dirname "$(find "$work/moved" -name libreyolo-kernels.pc)")
read -ra flags < <(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs libreyolo-kernels)
logged "$compiler" "$source/examples/resolve.c" -o "$work/by_pkg_config" "${flags[@]}"
LD_LIBRARY_PATH=$(dirname "$pc") expect_usage "$work/by_pkg_config"

mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(libreyolo-kernels 0.1 REQUIRED)
add_executable(by_cmake $source/examples/resolve.c)
target_link_libraries(by_cmake PRIVATE libreyolo-kernels::libreyolo-kernels)
PROJECT
logged cmake -S "$work/project" -B "$work/by" -DCMAKE_C_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$work/moved"
logged cmake --build "$work/by"
expect_usage "$work/by/by_cmake"
