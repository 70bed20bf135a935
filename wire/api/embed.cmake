# Makes a source of schemas.json: a raw string literal holds it. Sets `api_schemas` to its path.
set(source ${CMAKE_SOURCE_DIR}/wire/api/schemas.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
file(READ ${source} API_SCHEMAS)
set(api_schemas ${CMAKE_BINARY_DIR}/generated/api_schemas.cc)
configure_file(${CMAKE_SOURCE_DIR}/wire/api/schemas.cc.in ${api_schemas} @ONLY)
