# Run while installing: libcurl with the libraries it needs. The engine loads it when a model is called, so it is no
# dependency that install() would find. They are looked for beside each other by the RPATH of bin/kernelbench, which the
# loader also asks for what a loaded library needs.
# Given: KB_LIBEXEC, KB_NOT_CARRIED, KB_CURL_LIBRARY_DIRS (see install.cmake).
find_library(curl NAMES libcurl.so.4 HINTS ${KB_CURL_LIBRARY_DIRS})
if(NOT curl)
  message(STATUS "libcurl is not carried: there is no libcurl.so.4 here; machines that call models need it")
  return()
endif()

set(libexec "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${KB_LIBEXEC}")
file(GET_RUNTIME_DEPENDENCIES LIBRARIES "${curl}" PRE_EXCLUDE_REGEXES ${KB_NOT_CARRIED} RESOLVED_DEPENDENCIES_VAR libraries)
file(INSTALL "${curl}" ${libraries} DESTINATION "${libexec}" TYPE SHARED_LIBRARY FOLLOW_SYMLINK_CHAIN)
