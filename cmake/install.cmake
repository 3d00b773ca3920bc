# `cmake --install BUILD --prefix P` gives a tree that can be moved and taken to another distribution:
#
#   bin/kernelbench
#   libexec/kernelbench/          kb-runner, kb-inside, kb-box, kb-bridge, kb-nvrtc, kb-keeper, bwrap, our libraries and the shared libraries that all of these need
#   share/kernelbench/            python/kernelbench_torch, problems, protocols, prompts, examples, models, calibrations, published, rewards, harnesses, web
#   include/kernelbench/kernel.h
#
# Programs look beside themselves for data (FindInstallation) and for libraries (RPATH).
#
# Not carried: glibc, which belongs to the machine's kernel and loader, and libstdc++ with libgcc_s. kb-runner loads
# candidates that the machine's own g++ has just built, and PyTorch comes with its own demands; both may need a newer
# libstdc++ than the one here was, and a process can hold only one. So the machine's is used: a machine that builds
# candidates has one, and where glibc is new enough for this build, libstdc++ is too, unless a compiler from elsewhere
# built it.
set(KB_LIBEXEC libexec/kernelbench)
set(KB_SHARE share/kernelbench)

# RPATH rather than RUNPATH: it also holds for the libraries that carried libraries need in their turn.
foreach(target kernelbench kb-box kb-bridge kb-inside kb-runner kb-nvrtc kb-keeper kernelbench_device kernelbench_runner kernelbench_memory)
  target_link_options(${target} PRIVATE LINKER:--disable-new-dtags)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
endforeach()
set_target_properties(kernelbench PROPERTIES INSTALL_RPATH "$ORIGIN/../${KB_LIBEXEC}")

install(TARGETS kernelbench RUNTIME_DEPENDENCY_SET kb_carried RUNTIME DESTINATION bin)
install(TARGETS kb-box kb-bridge kb-inside kb-runner kb-nvrtc kb-keeper kernelbench_device kernelbench_runner kernelbench_memory RUNTIME_DEPENDENCY_SET kb_carried
        RUNTIME DESTINATION ${KB_LIBEXEC} LIBRARY DESTINATION ${KB_LIBEXEC})
set(KB_NOT_CARRIED "^ld-linux" "^libc\\.so" "^libm\\.so" "^libmvec\\.so" "^libpthread\\.so" "^libdl\\.so" "^librt\\.so"
                   "^libresolv\\.so"
                   "^libstdc\\+\\+\\.so" "^libgcc_s\\.so" "^libasan\\.so" "^libubsan\\.so")
install(RUNTIME_DEPENDENCY_SET kb_carried PRE_EXCLUDE_REGEXES ${KB_NOT_CARRIED} LIBRARY DESTINATION ${KB_LIBEXEC})

install(DIRECTORY python/kernelbench_torch DESTINATION ${KB_SHARE}/python PATTERN __pycache__ EXCLUDE)
install(DIRECTORY problems protocols prompts examples models calibrations published rewards harnesses DESTINATION ${KB_SHARE} PATTERN __pycache__ EXCLUDE)
install(DIRECTORY web/dist/ DESTINATION ${KB_SHARE}/web)
install(DIRECTORY include/kernelbench DESTINATION include)

# Completions and the man page, made from what --help says, with the defaults of a user who has set nothing.
foreach(kept "bash bash-completion/completions/kernelbench" "zsh zsh/site-functions/_kernelbench"
             "fish fish/vendor_completions.d/kernelbench.fish" "man man/man1/kernelbench.1")
  separate_arguments(kept)
  list(GET kept 0 what)
  list(GET kept 1 file)
  get_filename_component(folder ${file} DIRECTORY)
  install(CODE "file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/${folder}\")
                execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=KERNELBENCH_STORE --unset=XDG_DATA_HOME --unset=XDG_CONFIG_HOME HOME=~
                                        $<TARGET_FILE:kernelbench> completion ${what} WORKING_DIRECTORY / COMMAND_ERROR_IS_FATAL ANY
                                OUTPUT_FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/${file}\")")
endforeach()

install(CODE "set(KB_LIBEXEC ${KB_LIBEXEC})\nset(KB_NOT_CARRIED [==[${KB_NOT_CARRIED}]==])")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/carry_bwrap.cmake)
install(CODE "set(KB_CURL_LIBRARY_DIRS [==[${CURL_LIBDIR}]==])")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/carry_curl.cmake)

# A .tar.gz, a .deb and a wheel of that tree, in BUILD/packages.
add_custom_target(packages COMMAND ${CMAKE_COMMAND} -E env python3 ${PROJECT_SOURCE_DIR}/scripts/package.py ${CMAKE_BINARY_DIR} USES_TERMINAL)
add_dependencies(packages kernelbench)
