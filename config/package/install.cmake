# `cmake --install`: the program, what ships with it, and its documentation. The parts of a system (the unit, /etc) are in the
# component `system`, which only the Debian package has: the head of the unit says where they go elsewhere.
include(GNUInstallDirs)
set(shared ${CMAKE_INSTALL_DATADIR}/freshet)

install(TARGETS freshet RUNTIME COMPONENT program)
# As in the sources, so that the documentation's paths are right in both: `freshet run config/lifo.yaml`.
install(DIRECTORY config/ DESTINATION ${shared}/config COMPONENT program
  FILES_MATCHING PATTERN "*.yaml" PATTERN "*.json" PATTERN "*.py" PATTERN "*.js" PATTERN "freshet.conf"
  PATTERN "package" EXCLUDE PATTERN "native*" EXCLUDE PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY streams/fixtures/ DESTINATION ${shared}/streams/fixtures COMPONENT program)
# The rivals of `freshet demo limits --against`.
install(PROGRAMS bench/rivals/limits_rival.sh DESTINATION ${shared}/bench/rivals COMPONENT program)
install(FILES bench/rivals/setup.sh bench/rivals/limits_clients.mjs bench/rivals/limits_driver.mjs
  bench/rivals/limits_sample.mjs bench/rivals/limits_sample_process.cjs
  DESTINATION ${shared}/bench/rivals COMPONENT program)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT program FILES_MATCHING PATTERN "*.md" PATTERN "*.svg"
  PATTERN "CONTRIBUTING.md" EXCLUDE)
install(FILES README.md SECURITY.md LICENSE config/package/copyright
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
# What is made at that time, from the program and with the folder that it goes to.
install(CODE "set(freshet_program \"$<TARGET_FILE:freshet>\")
set(freshet_source \"${CMAKE_SOURCE_DIR}\")
set(freshet_work \"${CMAKE_BINARY_DIR}/generated/install\")
set(freshet_documents \"${CMAKE_INSTALL_DOCDIR}\")" COMPONENT program)
install(SCRIPT config/package/install_made.cmake COMPONENT program)

install(FILES config/freshet.conf DESTINATION /etc/freshet COMPONENT system EXCLUDE_FROM_ALL)
install(FILES config/lifo.yaml DESTINATION /etc/freshet RENAME template.yaml COMPONENT system EXCLUDE_FROM_ALL)
install(FILES ${CMAKE_BINARY_DIR}/generated/install/freshet.service DESTINATION /lib/systemd/system
  COMPONENT system EXCLUDE_FROM_ALL)

# `cpack`, called by ./package.sh: the Debian package.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME freshet)
set(CPACK_PACKAGE_VENDOR Freshet)
set(CPACK_PACKAGE_CONTACT "Freshet maintainers <maintainers@freshet.invalid>" CACHE STRING "Maintainer of the package")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "durable task processor, newest work first")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_SOURCE_DIR}/build/package)
set(CPACK_INSTALL_CMAKE_PROJECTS
  "${CMAKE_BINARY_DIR};freshet;program;/;${CMAKE_BINARY_DIR};freshet;system;/")
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3, nodejs")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_PACKAGE_DESCRIPTION "Freshet takes tasks faster than they can be done and does the newest first,
under leases, with retries, deadlines and exact books; what goes stale is shed.
Under it is an item store that speaks the DynamoDB protocol, and a runtime for
functions, change streams, topics and schedules.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/config/package/debian/conffiles
  ${CMAKE_SOURCE_DIR}/config/package/debian/postinst ${CMAKE_SOURCE_DIR}/config/package/debian/prerm
  ${CMAKE_SOURCE_DIR}/config/package/debian/postrm)
include(CPack)
