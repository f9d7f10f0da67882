# Makes a C++ source that defines string constants with the text of files, for `cmake -P`:
#   cmake -DOUTPUT=x.cpp -DINCLUDE=proto/x.hpp -DNAMESPACE=a::b -DTEXTS=name=file;name=file -P embed.cmake
# The document is what is served: there is no second copy of it in the sources.
set(source "#include \"${INCLUDE}\"\n\nnamespace ${NAMESPACE} {\n\n")
foreach(text IN LISTS TEXTS)
  string(REGEX MATCH "^([^=]+)=(.+)$" _ "${text}")
  set(name "${CMAKE_MATCH_1}")
  file(READ "${CMAKE_MATCH_2}" content)
  string(APPEND source "const std::string_view ${name} = R\"document(${content})document\";\n\n")
endforeach()
string(APPEND source "}  // namespace ${NAMESPACE}\n")
file(WRITE "${OUTPUT}" "${source}")
