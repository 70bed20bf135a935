# Makes completions, man pages, the unit and the licences, and installs them. The variables freshet_program, _source, _work and
# _documents are set where this is called. FRESHET_LINKED: the licences of what only the archive holds are wanted, too.
set(prefix "${CMAKE_INSTALL_PREFIX}")
file(REMOVE_RECURSE "${freshet_work}")
file(MAKE_DIRECTORY "${freshet_work}/man1" "${freshet_work}/licences")

function(made_by_program file)
  execute_process(COMMAND "${freshet_program}" ${ARGN} OUTPUT_FILE "${freshet_work}/${file}" WORKING_DIRECTORY "${freshet_work}"
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

made_by_program(freshet completions bash)
made_by_program(_freshet completions zsh)
made_by_program(freshet.fish completions fish)
made_by_program(man1/unused man --folder "${freshet_work}/man1")
file(REMOVE "${freshet_work}/man1/unused")
configure_file("${freshet_source}/CHANGELOG.md" "${freshet_work}/changelog" COPYONLY)
file(GLOB pages "${freshet_work}/man1/*.1")
execute_process(COMMAND gzip -9nf ${pages} "${freshet_work}/changelog"
  COMMAND_ERROR_IS_FATAL ANY)

# Debian's zsh looks into vendor-completions; others, and below /usr/local, into site-functions.
set(zsh site-functions)
if(prefix STREQUAL "/usr")
  set(zsh vendor-completions)
endif()
file(INSTALL "${freshet_work}/freshet" DESTINATION "${prefix}/share/bash-completion/completions")
file(INSTALL "${freshet_work}/_freshet" DESTINATION "${prefix}/share/zsh/${zsh}")
file(INSTALL "${freshet_work}/freshet.fish" DESTINATION "${prefix}/share/fish/vendor_completions.d")
file(INSTALL "${freshet_work}/man1" DESTINATION "${prefix}/share/man")
file(INSTALL "${freshet_work}/changelog.gz" DESTINATION "${prefix}/${freshet_documents}")

# The unit names the folder of the program.
file(READ "${freshet_source}/config/freshet.service" unit)
string(REPLACE "/usr/local/" "${prefix}/" unit "${unit}")
file(WRITE "${freshet_work}/freshet.service" "${unit}")
file(INSTALL "${freshet_work}/freshet.service" DESTINATION "${prefix}/share/freshet/config")

file(STRINGS "${freshet_source}/config/package/contents.txt" lines REGEX "^(headers|linked) ")
foreach(line IN LISTS lines)
  string(REPLACE " " ";" words "${line}")
  list(GET words 0 kind)
  list(GET words 1 package)
  if((kind STREQUAL "headers" OR FRESHET_LINKED) AND EXISTS "/usr/share/doc/${package}/copyright")
    configure_file("/usr/share/doc/${package}/copyright" "${freshet_work}/licences/${package}" COPYONLY)
  endif()
endforeach()
file(INSTALL "${freshet_work}/licences" DESTINATION "${prefix}/${freshet_documents}")
