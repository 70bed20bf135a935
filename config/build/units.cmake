# What is compiled for a list of sources: the sources themselves, or with FRESHET_UNITY files that include up to eight of
# them. Most of a compiler's time goes into headers, which it then reads once for the eight; a cold build takes less than
# half as long. A change to one source compiles the seven others again, so daily work (./dev) does without.
#
# Names in unnamed namespaces must differ within a folder: tests/house checks that.
option(FRESHET_UNITY "Compile up to eight sources at once: for builds of everything" OFF)

# Sources in `rarely_run` are compiled for size.
set(FRESHET_SMALL $<$<CONFIG:Release>:-Os>)

# The libraries that every request goes through.
set(FRESHET_EVERY_REQUEST
  "^freshet_(base_own|tables_.+|runtime_own|runtime_loop|functions_own|functions_queue.*|wire_(http|dynamodb|tasks|auth))$")

# Sets `variable` to what a target named `name` compiles for the sources. Sources stand together only with others of their
# folder, of their options (in `rarely_run` or not), and with or without points (base/points.h): tests/sim/machine compiles
# the units with points a second time.
function(freshet_units variable name)
  set(kinds)
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
    get_filename_component(kind ${path} DIRECTORY)
    string(REPLACE "/" "_" kind "${kind}")
    if(source IN_LIST rarely_run)
      string(APPEND kind "_small")
    endif()
    file(STRINGS ${source} points REGEX "FRESHET_(REACHED|PLANTED|OFTEN)\\(" LIMIT_COUNT 1)
    if(points)
      string(APPEND kind "_points")
    endif()
    # Functions of your own define the same symbol. The linker takes this one only if nothing else has it, so it stands alone.
    if(path STREQUAL "functions/own_functions.cc")
      string(APPEND kind "_replaceable")
    endif()
    list(APPEND kinds ${kind})
    list(APPEND sources_${kind} ${source})
  endforeach()
  list(REMOVE_DUPLICATES kinds)
  set(all)
  set(small)
  foreach(kind IN LISTS kinds)
    set(units ${sources_${kind}})
    set(options)
    if(FRESHET_UNITY)
      freshet_unity_files(units ${name}/${kind} ${sources_${kind}})
      # In an included file GCC warns of members whose type is local to it, which is what they are meant to be.
      if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        set(options -Wno-subobject-linkage)
      endif()
    endif()
    if(kind MATCHES "_small")
      list(APPEND options ${FRESHET_SMALL})
    elseif(FRESHET_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND name MATCHES "${FRESHET_EVERY_REQUEST}")
      # GCC stops to inline when a unit of more than so many instructions has grown by 40 %. This is eight times the
      # default, so that a source is inlined as it would be by itself: without it a request takes 7 to 13 % more. With
      # it everywhere, the program would be 40 % larger.
      list(APPEND options --param=large-unit-insns=80000)
    endif()
    set_source_files_properties(${units} PROPERTIES COMPILE_OPTIONS "${options}")
    if(kind MATCHES "_small")
      list(APPEND small ${units})
    else()
      list(APPEND all ${units})
    endif()
  endforeach()
  # A template that several units instantiate is compiled in each of them, and the linker takes the first: not one that
  # was compiled for size.
  set(${variable} ${all} ${small} PARENT_SCOPE)
endfunction()

# Links what every request goes through before the archives. So a template's copy is taken from there, and not from a unit
# that was compiled for size: 1 to 3 % of a request's instructions.
function(freshet_links_first target)
  get_property(libraries GLOBAL PROPERTY FRESHET_LIBRARIES)
  list(FILTER libraries INCLUDE REGEX "${FRESHET_EVERY_REQUEST}")
  list(REMOVE_ITEM libraries freshet_functions_own)  # Functions of your own replace some of it.
  foreach(library IN LISTS libraries)
    target_sources(${target} PRIVATE "$<FILTER:$<TARGET_OBJECTS:${library}>,EXCLUDE,_small_>")
  endforeach()
endfunction()

# Writes the files that include the sources, evenly shared, and sets `variable` to them. By their paths from the root: so
# ccache finds them from another clone.
function(freshet_unity_files variable name)
  list(LENGTH ARGN count)
  math(EXPR units "(${count} + 7) / 8")
  set(files)
  foreach(unit RANGE 1 ${units})
    math(EXPR first "${count} * (${unit} - 1) / ${units}")
    math(EXPR length "${count} * ${unit} / ${units} - ${first}")
    list(SUBLIST ARGN ${first} ${length} included)
    set(content)
    foreach(source IN LISTS included)
      file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
      string(APPEND content "#include \"${path}\"\n")
    endforeach()
    set(file ${CMAKE_BINARY_DIR}/units/${name}_${unit}.cc)
    file(CONFIGURE OUTPUT ${file} CONTENT "${content}" @ONLY)
    list(APPEND files ${file})
  endforeach()
  set(${variable} ${files} PARENT_SCOPE)
endfunction()
