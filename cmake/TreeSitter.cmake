# tree-sitter and its grammars for Python and CUDA, compiled in: the target is tree_sitter. CUDA's grammar reads C++ too.
#
# The sources are releases, pinned by hash. pip downloads them, so that the user's index, mirror and proxy are asked; PyPI's
# archive of the Python grammar lacks the scanner, so that one comes from the npm registry.
# Without a network: put the three archives into build/sources.
set(KB_NPM_REGISTRY "$ENV{npm_config_registry}" CACHE STRING "npm registry; empty: https://registry.npmjs.org")
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

# Both download into DIRECTORY. pip checks the hash before it opens the archive.
function(kb_pip_download directory package version sha256)
  kb_python_with_pip(python)
  file(WRITE ${directory}/requirements.txt "${package}==${version} --hash=sha256:${sha256}\n")
  execute_process(
    COMMAND "${python}" -m pip download --quiet --no-input --disable-pip-version-check --no-deps --no-binary :all:
            --require-hashes -r ${directory}/requirements.txt -d ${directory}
    RESULT_VARIABLE failed ERROR_VARIABLE said)
  if(failed)
    message(FATAL_ERROR "${said}pip could not download ${package} ${version}. Set PIP_INDEX_URL to an index that has it, or put "
                        "its source archive into ${kb_archives}.")
  endif()
endfunction()

function(kb_npm_download directory package version sha256)
  set(registry ${KB_NPM_REGISTRY})
  if(NOT registry)
    set(registry https://registry.npmjs.org)
  endif()
  string(REGEX REPLACE "/+$" "" registry ${registry})
  set(url ${registry}/${package}/-/${package}-${version}.tgz)
  file(DOWNLOAD ${url} ${directory}/${package}-${version}.tgz STATUS status)
  list(POP_FRONT status failed)
  if(failed)
    message(FATAL_ERROR "${url} could not be downloaded: ${status}. Set npm_config_registry to a registry that has it, or put "
                        "the archive into ${kb_archives}.")
  endif()
endfunction()

# Sets NAME_SOURCE_DIR to where ARCHIVE is unpacked, which REGISTRY (pip or npm) is asked for if it is not there. Archives and
# folders get their names when they are whole.
function(kb_source name registry package version archive sha256)
  set(path ${kb_archives}/${archive})
  set(unpacked ${CMAKE_BINARY_DIR}/sources/${name}-${version})
  if(NOT EXISTS ${path})
    set(part ${CMAKE_BINARY_DIR}/sources/part)
    cmake_language(CALL kb_${registry}_download ${part} ${package} ${version} ${sha256})
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
    file(ARCHIVE_EXTRACT INPUT ${path} DESTINATION ${unpacked}.part)
    file(RENAME ${unpacked}.part ${unpacked})
  endif()
  file(GLOB top LIST_DIRECTORIES true ${unpacked}/*)
  set(${name}_SOURCE_DIR ${top} PARENT_SCOPE)
endfunction()

kb_source(tree_sitter_core pip tree-sitter 0.25.1 tree-sitter-0.25.1.tar.gz
          cd761ad0e4d1fc88a4b1b8083bae06d4f973acf6f5f29bbf13ea9609c1dec9c1)
kb_source(tree_sitter_cuda pip tree-sitter-cuda 0.21.2 tree_sitter_cuda-0.21.2.tar.gz
          40a5025e82819d351ffcf3daee5d11d1918147a2091d201685a391aa6f7442c4)
kb_source(tree_sitter_python npm tree-sitter-python 0.25.0 tree-sitter-python-0.25.0.tgz
          63b76b3fa8181fd79eaad4abcdb21e2babcb504dbfc7710a89934fa456d26096)

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

foreach(language python cuda)
  set(src ${tree_sitter_${language}_SOURCE_DIR}/src)
  kb_tree_sitter_part(tree_sitter_${language} ${src} ${src}/parser.c ${src}/scanner.c)
endforeach()
set(core ${tree_sitter_core_SOURCE_DIR}/tree_sitter/core/lib)
kb_tree_sitter_part(tree_sitter_core ${core}/src ${core}/src/lib.c)
target_include_directories(tree_sitter_core SYSTEM PUBLIC ${core}/include)

# Their licence asks that it goes where they go.
foreach(part core python cuda)
  install(FILES ${tree_sitter_${part}_SOURCE_DIR}/LICENSE DESTINATION share/kernelbench/licenses
          RENAME tree-sitter-${part}.txt OPTIONAL)
endforeach()
