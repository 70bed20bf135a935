# `freshet_portable`: the same program for the archive, which runs on systems of other versions. All is linked in but what
# is the same everywhere and gets security updates there: the C library, OpenSSL 3 and zlib.
# FRESHET_STATIC_LIBRARIES: the folder that static_libraries.sh has filled; ./package.sh sets it.
set(FRESHET_STATIC_LIBRARIES "" CACHE PATH "Folder with the archives that Debian lacks (config/package/static_libraries.sh)")
if(NOT FRESHET_STATIC_LIBRARIES)
  return()
endif()

get_filename_component(debian_archives ${ALLOCATOR} DIRECTORY)
file(GLOB abseil ${debian_archives}/libabsl_*.a)
set(archives)
foreach(name spdlog fmt prometheus-cpp-core simdjson)
  list(APPEND archives ${FRESHET_STATIC_LIBRARIES}/lib${name}.a)
endforeach()
foreach(name jemalloc_pic yaml-cpp xxhash deflate edit tinfo bsd md)
  list(APPEND archives ${debian_archives}/lib${name}.a)
endforeach()

add_executable(freshet_portable EXCLUDE_FROM_ALL app/main.cc)
# By their files: what the libraries link by themselves are the shared ones.
get_property(parts GLOBAL PROPERTY FRESHET_LIBRARIES)
add_dependencies(freshet_portable ${parts})
list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_FILE:\\1>")
target_link_libraries(freshet_portable PRIVATE
  -Wl,--start-group ${parts} ${abseil} -Wl,--end-group ${archives} OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB Threads::Threads)
target_link_options(freshet_portable PRIVATE -static-libstdc++ -static-libgcc -Wl,--as-needed -Wl,--gc-sections)
