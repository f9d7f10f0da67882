# Precompiled headers: without them a third of a test's compilation is spent on headers that all share.
# Switched off by CMAKE_DISABLE_PRECOMPILE_HEADERS, as in the presets release, tidy and fuzz.

# lyk_precompiled is for position-independent parts of libraries, lyk_precompiled_tests for programs:
# GCC takes a precompiled header only in files that are compiled as it was itself.
file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/precompiled.cpp" CONTENT "")
add_library(lyk_precompiled OBJECT EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/precompiled.cpp")
target_link_libraries(lyk_precompiled PRIVATE lyk_options)
target_precompile_headers(lyk_precompiled PRIVATE
  "$<$<COMPILE_LANGUAGE:CXX>:${CMAKE_SOURCE_DIR}/cmake/precompiled.hpp>")

if(LYK_TESTS)
  find_package(GTest REQUIRED)
  file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/precompiled_tests.cpp" CONTENT "int main() {}\n")
  add_executable(lyk_precompiled_tests EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/precompiled_tests.cpp")
  target_link_libraries(lyk_precompiled_tests PRIVATE lyk_options GTest::gtest)
  target_precompile_headers(lyk_precompiled_tests PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${CMAKE_SOURCE_DIR}/cmake/precompiled_tests.hpp>")
endif()
