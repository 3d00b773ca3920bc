# tree-sitter and its grammars for Python, C++ and CUDA, compiled in: the target is tree_sitter.
#
# Released sources, pinned by hash and downloaded once a build folder while configuring. For each the registry is used
# whose archive is complete (PyPI's of the Python grammar lacks the scanner, PyPI's of the C++ grammar its headers).
# Without a network: unpack the four anywhere and set FETCHCONTENT_SOURCE_DIR_TREE_SITTER_CORE, ..._PYTHON, ..._CPP and
# ..._CUDA to where they are.
include(FetchContent)

set(KB_PYPI https://files.pythonhosted.org/packages)
set(KB_NPM https://registry.npmjs.org)

# kb_sources(NAME URL SHA256): sets NAME_SOURCE_DIR. SOURCE_SUBDIR names no directory, so their own builds are not used.
macro(kb_sources name url sha256)
  FetchContent_Declare(${name} URL ${url} URL_HASH SHA256=${sha256} DOWNLOAD_EXTRACT_TIMESTAMP OFF
                       SOURCE_SUBDIR only_the_sources)
  FetchContent_MakeAvailable(${name})
endmacro()

kb_sources(tree_sitter_core
  ${KB_PYPI}/89/2b/02a642e67605b9dd59986b00d13a076044dede04025a243f0592ac79d68c/tree-sitter-0.25.1.tar.gz
  cd761ad0e4d1fc88a4b1b8083bae06d4f973acf6f5f29bbf13ea9609c1dec9c1)
kb_sources(tree_sitter_python
  ${KB_NPM}/tree-sitter-python/-/tree-sitter-python-0.25.0.tgz
  63b76b3fa8181fd79eaad4abcdb21e2babcb504dbfc7710a89934fa456d26096)
kb_sources(tree_sitter_cpp
  ${KB_NPM}/tree-sitter-cpp/-/tree-sitter-cpp-0.23.4.tgz
  615d152f70e7a6bed8f15a93c3c0c264c40dc71c1b6a1445646fff9439e776bc)
kb_sources(tree_sitter_cuda
  ${KB_PYPI}/88/95/be53e7ac04faf292807e17b30b192a8df77a73ead953f326a82a2cc65a59/tree_sitter_cuda-0.21.2.tar.gz
  40a5025e82819d351ffcf3daee5d11d1918147a2091d201685a391aa6f7442c4)

# One library a source tree: each grammar brings the headers of the generator it was made with.
add_library(tree_sitter INTERFACE)
function(kb_tree_sitter_part name include)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PRIVATE ${include})
  # The grammars are tables of tens of megabytes of source: no debug information, no more optimisation than helps.
  target_compile_options(${name} PRIVATE -w -g0 -O1)
  target_compile_definitions(${name} PRIVATE _POSIX_C_SOURCE=200112L _DEFAULT_SOURCE)
  set_target_properties(${name} PROPERTIES C_STANDARD 11)
  target_link_libraries(tree_sitter INTERFACE ${name})
endfunction()

foreach(language python cpp cuda)
  set(src ${tree_sitter_${language}_SOURCE_DIR}/src)
  kb_tree_sitter_part(tree_sitter_${language} ${src} ${src}/parser.c ${src}/scanner.c)
endforeach()
set(core ${tree_sitter_core_SOURCE_DIR}/tree_sitter/core/lib)
kb_tree_sitter_part(tree_sitter_core ${core}/src ${core}/src/lib.c)
target_include_directories(tree_sitter_core SYSTEM PUBLIC ${core}/include)

# Their licence asks that it goes where they go.
foreach(part core python cpp cuda)
  install(FILES ${tree_sitter_${part}_SOURCE_DIR}/LICENSE DESTINATION share/kernelbench/licenses
          RENAME tree-sitter-${part}.txt OPTIONAL)
endforeach()
