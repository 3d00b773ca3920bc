# tree-sitter and its grammars for Python and CUDA, compiled in: the target is tree_sitter. CUDA's grammar reads C++ too.
#
# The sources are releases, pinned by hash. pip downloads them, so that the user's index, mirror and proxy are asked. The archive
# of the Python grammar lacks its scanner, of which tree-sitter-language-pack has a copy.
# Without a network: put the four archives into build/sources.
set(kb_archives ${PROJECT_SOURCE_DIR}/build/sources)
file(MAKE_DIRECTORY ${kb_archives})

# Sets OUT to a Python that has pip: the project's, or one of a new virtual environment, for Debian's python3 has none.
function(kb_python_with_pip out)
  set(own ${CMAKE_BINARY_DIR}/pip)
  foreach(python "$ENV{KERNELBENCH_PYTHON}" ${PROJECT_SOURCE_DIR}/.venv/bin/python python3 ${own}/bin/python)
    if(python STREQUAL "${own}/bin/python")
      execute_process(COMMAND python3 -m venv ${own} OUTPUT_QUIET ERROR_QUIET)
    endif()
    execute_process(COMMAND "${python}" -m pip --version RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      set(${out} "${python}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "No Python here has pip: install python3-venv, or put the archives that cmake/TreeSitter.cmake names "
                      "into ${kb_archives}.")
endfunction()

# Sets NAME_SOURCE_DIR to where the source archive of PACKAGE is unpacked, of which only what PATTERN matches is wanted. pip checks
# the hash before it opens an archive. Archives and folders get their names when they are whole.
function(kb_source name package version archive sha256 pattern)
  set(path ${kb_archives}/${archive})
  set(unpacked ${CMAKE_BINARY_DIR}/sources/${name}-${version})
  if(NOT EXISTS ${path})
    set(part ${CMAKE_BINARY_DIR}/sources/part)
    kb_python_with_pip(python)
    file(WRITE ${part}/requirements.txt "${package}==${version} --hash=sha256:${sha256}\n")
    execute_process(
      COMMAND "${python}" -m pip download --quiet --no-input --disable-pip-version-check --no-deps --no-binary ${package}
              --require-hashes -r ${part}/requirements.txt -d ${part}
      RESULT_VARIABLE failed ERROR_VARIABLE said)
    if(failed)
      message(FATAL_ERROR "${said}pip could not download ${package} ${version}. Set PIP_INDEX_URL to an index that has it, or put "
                          "${archive} into ${kb_archives}.")
    endif()
    file(COPY_FILE ${part}/${archive} ${path}.part)
    file(RENAME ${path}.part ${path})
    file(REMOVE_RECURSE ${part})
  endif()
  file(SHA256 ${path} found)
  if(NOT found STREQUAL sha256)
    message(FATAL_ERROR "${path} is not ${package} ${version}: its SHA-256 is not ${sha256}. Delete it and try again.")
  endif()
  if(NOT EXISTS ${unpacked})
    file(REMOVE_RECURSE ${unpacked}.part)
    file(ARCHIVE_EXTRACT INPUT ${path} DESTINATION ${unpacked}.part PATTERNS ${pattern})
    file(RENAME ${unpacked}.part ${unpacked})
  endif()
  file(GLOB top LIST_DIRECTORIES true ${unpacked}/*)
  set(${name}_SOURCE_DIR ${top} PARENT_SCOPE)
endfunction()

kb_source(tree_sitter_core tree-sitter 0.25.1 tree-sitter-0.25.1.tar.gz
          cd761ad0e4d1fc88a4b1b8083bae06d4f973acf6f5f29bbf13ea9609c1dec9c1 *)
kb_source(tree_sitter_cuda tree-sitter-cuda 0.21.2 tree_sitter_cuda-0.21.2.tar.gz
          40a5025e82819d351ffcf3daee5d11d1918147a2091d201685a391aa6f7442c4 *)
kb_source(tree_sitter_python tree-sitter-python 0.25.0 tree_sitter_python-0.25.0.tar.gz
          b13e090f725f5b9c86aa455a268553c65cadf325471ad5b65cd29cac8a1a68ac *)
kb_source(tree_sitter_pack tree-sitter-language-pack 0.13.0 tree_sitter_language_pack-0.13.0.tar.gz
          032034c5e27b1f6e00730b9e7c2dbc8203b4700d0c681fd019d6defcf61183ec */parsers/python/src/scanner.c)

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

set(src ${tree_sitter_cuda_SOURCE_DIR}/src)
kb_tree_sitter_part(tree_sitter_cuda ${src} ${src}/parser.c ${src}/scanner.c)
set(src ${tree_sitter_python_SOURCE_DIR}/src)
kb_tree_sitter_part(tree_sitter_python ${src} ${src}/parser.c ${tree_sitter_pack_SOURCE_DIR}/parsers/python/src/scanner.c)
set(core ${tree_sitter_core_SOURCE_DIR}/tree_sitter/core/lib)
kb_tree_sitter_part(tree_sitter_core ${core}/src ${core}/src/lib.c)
target_include_directories(tree_sitter_core SYSTEM PUBLIC ${core}/include)

# Their licence asks that it goes where they go.
foreach(part core python cuda)
  install(FILES ${tree_sitter_${part}_SOURCE_DIR}/LICENSE DESTINATION share/kernelbench/licenses
          RENAME tree-sitter-${part}.txt OPTIONAL)
endforeach()
