# Finds nvcc 13.0 and sets LYK_NVCC: the one on PATH if it is 13.0, else the one in the build-time virtual
# environment that script/bootstrap makes. With LYK_CUBINS off it is not looked for and LYK_NVCC is empty.
function(lyk_nvcc_is_13_0 out program)
  execute_process(COMMAND "${program}" --version OUTPUT_VARIABLE version ERROR_QUIET)
  if(version MATCHES "release 13\\.0,")
    set(${out} TRUE PARENT_SCOPE)
  else()
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

set(LYK_NVCC "")
if(LYK_CUBINS)
  find_program(LYK_NVCC_ON_PATH nvcc NO_CACHE)
  file(GLOB lyk_nvcc_in_venv
    "${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc")
  foreach(candidate "${LYK_NVCC_ON_PATH}" ${lyk_nvcc_in_venv})
    if(candidate AND NOT LYK_NVCC)
      lyk_nvcc_is_13_0(lyk_nvcc_usable "${candidate}")
      if(lyk_nvcc_usable)
        set(LYK_NVCC "${candidate}")
      endif()
    endif()
  endforeach()
  if(NOT LYK_NVCC)
    message(FATAL_ERROR "nvcc 13.0 is neither on PATH nor in ${CMAKE_SOURCE_DIR}/.venv: run "
      "script/bootstrap, or configure with -DLYK_CUBINS=OFF")
  endif()
  message(STATUS "nvcc: ${LYK_NVCC}")
endif()

# lyk_nvcc(OUTPUT file SOURCES a.cu b.cu [DEPENDS c.cuh] OPTIONS ...): a custom command that runs nvcc.
# Paths of sources and of what they include are relative to the calling folder, the output's to its
# binary folder.
function(lyk_nvcc)
  cmake_parse_arguments(arg "" "OUTPUT" "SOURCES;DEPENDS;OPTIONS" ${ARGN})
  list(TRANSFORM arg_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  list(TRANSFORM arg_DEPENDS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  cmake_path(ABSOLUTE_PATH arg_OUTPUT BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
    OUTPUT_VARIABLE output)
  cmake_path(GET output FILENAME name)
  add_custom_command(OUTPUT "${output}"
    COMMAND "${LYK_NVCC}" ${arg_OPTIONS} -o "${output}" ${arg_SOURCES}
    DEPENDS ${arg_SOURCES} ${arg_DEPENDS} COMMENT "nvcc ${name}" VERBATIM)
endfunction()
