#!/bin/bash
# Somebody else's program builds against the installed library in both ways that docs/abi.md names.
#
#   package_test.sh BUILD_DIR SOURCE_DIR C_COMPILER CXX_COMPILER
set -euo pipefail
build=$1 source=$2 compiler=$3 cxx_compiler=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
logged() { "$@" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }

# A wrong command line is answered by the program itself: it has been linked and loaded.
expect_usage() {
  local status=0
  "$1" a b c d 2>"$work/usage" || status=$?
  if [ $status != 2 ] || ! grep -q "^usage: $2" "$work/usage"; then
    echo "$1 exits with $status and says: $(cat "$work/usage")"
    exit 1
  fi
}

logged cmake --install "$build" --prefix "$work/moved" --component library

pc=$(dirname "$(find "$work/moved" -name libreyolo-kernels.pc)")
read -ra flags < <(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs libreyolo-kernels)
logged "$compiler" "$source/examples/resolve.c" -o "$work/by_pkg_config" "${flags[@]}"
logged "$cxx_compiler" -std=c++17 "$source/examples/deform_attn.cpp" -o "$work/cpp_by_pkg_config" \
  "${flags[@]}"
logged "$compiler" "$source/examples/deform_attn_driver.c" -o "$work/driver" "${flags[@]}" -lm
export LD_LIBRARY_PATH
LD_LIBRARY_PATH=$(dirname "$pc")
expect_usage "$work/by_pkg_config" resolve
expect_usage "$work/cpp_by_pkg_config" deform_attn
unset LD_LIBRARY_PATH

mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.25)
project(user C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(libreyolo-kernels 0.1 REQUIRED)
add_executable(by_cmake $source/examples/resolve.c)
add_executable(cpp_by_cmake $source/examples/deform_attn.cpp)
target_link_libraries(by_cmake PRIVATE libreyolo-kernels::libreyolo-kernels)
target_link_libraries(cpp_by_cmake PRIVATE libreyolo-kernels::libreyolo-kernels)
PROJECT
logged cmake -G Ninja -S "$work/project" -B "$work/by" -DCMAKE_C_COMPILER="$compiler" \
  -DCMAKE_CXX_COMPILER="$cxx_compiler" \
  -DCMAKE_PREFIX_PATH="$work/moved"
logged cmake --build "$work/by"
expect_usage "$work/by/by_cmake" resolve
expect_usage "$work/by/cpp_by_cmake" deform_attn
