# lyk_options: what every target of ours is compiled with. Linked PRIVATE, so users of the installed
# library inherit nothing.
add_library(lyk_options INTERFACE)
target_compile_features(lyk_options INTERFACE cxx_std_20)
set(CMAKE_CXX_EXTENSIONS OFF)
target_include_directories(lyk_options INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_definitions(lyk_options INTERFACE LYK_VERSION="${PROJECT_VERSION}")
target_compile_options(lyk_options INTERFACE
  -fvisibility=hidden $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wformat=2 -Wundef -Wcast-qual
  $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast> $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual> $<$<COMPILE_LANGUAGE:CXX>:-Wextra-semi>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(lyk_options INTERFACE
    -Wlogical-op -Wduplicated-cond -Wduplicated-branches
    $<$<COMPILE_LANGUAGE:CXX>:-Wuseless-cast>)
endif()
if(LYK_WERROR)
  target_compile_options(lyk_options INTERFACE -Werror)
endif()
if(LYK_SANITIZE)
  target_compile_options(lyk_options INTERFACE
    -fsanitize=${LYK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(lyk_options INTERFACE -fsanitize=${LYK_SANITIZE})
  if(LYK_SANITIZE MATCHES "undefined")
    # The checks of each pointer that is followed take a third of a compilation. In the tests' own files,
    # stand-ins included, they find little: a null pointer ends a test anyhow.
    target_compile_options(lyk_options INTERFACE
      "$<$<PATH:IS_PREFIX,${CMAKE_SOURCE_DIR}/tests,$<TARGET_PROPERTY:SOURCE_DIR>>:-fno-sanitize=null,alignment>")
  endif()
  if(LYK_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 puts the thread sanitizer's hook behind a call that never returns and then misses a return
    # statement there. Every other preset keeps the warning.
    target_compile_options(lyk_options INTERFACE -Wno-return-type)
  endif()
endif()
if(LYK_FUZZ)
  target_compile_options(lyk_options INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(lyk_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
find_package(Threads REQUIRED)
target_link_libraries(lyk_options INTERFACE Threads::Threads)

# lyk_library(proto SOURCES a.cpp b.cpp PUBLIC lyk_x PRIVATE dep): a static part of the product.
function(lyk_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(lyk_${name} STATIC ${arg_SOURCES})
  target_link_libraries(lyk_${name} PRIVATE lyk_options ${arg_PRIVATE} PUBLIC ${arg_PUBLIC})
  target_precompile_headers(lyk_${name} REUSE_FROM lyk_precompiled)
endfunction()
