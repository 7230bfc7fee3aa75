# Reads dependencies.json and the options of the build. Sets CLF_LIBRARY_VERSIONS, which `clformer --version` prints, and writes
# generated/clformer.spdx.json, the software bill of materials (SPDX 2.3) of this build.
#
# Keys of a row: name; licence (SPDX); library (linked; lib<library>.so.N) or loaded (at run time), otherwise only headers; module
# (of pkg-config); option (the row applies if it is ON); debian, homebrew, conda, nix (the package that a build needs).
set(table_file ${CMAKE_CURRENT_LIST_DIR}/dependencies.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table_file})
file(READ ${table_file} table)

# Appends a package to `packages`.
macro(clf_sbom_package id name version licence purpose)
  set(version_line "")
  set(reference "pkg:generic/${name}")
  if(NOT "${version}" STREQUAL "")
    set(version_line "\"versionInfo\": \"${version}\", ")
    string(APPEND reference "@${version}")
  endif()
  string(REPLACE " " "%20" reference "${reference}")
  list(APPEND packages "    {\"SPDXID\": \"SPDXRef-${id}\", \"name\": \"${name}\", ${version_line}\"licenseDeclared\": \"${licence}\",
     \"licenseConcluded\": \"NOASSERTION\", \"copyrightText\": \"NOASSERTION\", \"downloadLocation\": \"NOASSERTION\",
     \"filesAnalyzed\": false, \"primaryPackagePurpose\": \"${purpose}\", \"externalRefs\": [{\"referenceCategory\": \"PACKAGE-MANAGER\",
     \"referenceType\": \"purl\", \"referenceLocator\": \"${reference}\"}]}")
endmacro()

macro(clf_sbom_relation from type to)
  list(APPEND relations
    "    {\"spdxElementId\": \"SPDXRef-${from}\", \"relationshipType\": \"${type}\", \"relatedSpdxElement\": \"SPDXRef-${to}\"}")
endmacro()

set(packages "")
set(relations "")
set(CLF_LIBRARY_VERSIONS "")
clf_sbom_package(clformer clformer ${PROJECT_VERSION} MIT APPLICATION)
clf_sbom_relation(DOCUMENT DESCRIBES clformer)
clf_sbom_package(fr-en-small fr-en-small ${PROJECT_VERSION} LicenseRef-CC-BY-2.0-FR OTHER)
clf_sbom_relation(clformer CONTAINS fr-en-small)
string(JSON count LENGTH "${table}")
math(EXPR last "${count} - 1")
foreach(row RANGE ${last})
  foreach(key name licence library loaded module option)
    string(JSON ${key} ERROR_VARIABLE missing GET "${table}" ${row} ${key})
    if(missing)
      set(${key} "")
    endif()
  endforeach()
  set(used ON)
  if(option)
    set(used ${${option}})
  endif()
  if(used)
    set(version "")
    if(module)
      execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --modversion ${module} OUTPUT_VARIABLE version ERROR_QUIET
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
    string(MAKE_C_IDENTIFIER "${name}" id)
    string(REPLACE "_" "-" id ${id})
    clf_sbom_package(${id} "${name}" "${version}" ${licence} LIBRARY)
    if(library)
      clf_sbom_relation(clformer DYNAMIC_LINK ${id})
    elseif(loaded)
      clf_sbom_relation(${id} RUNTIME_DEPENDENCY_OF clformer)
    else()
      clf_sbom_relation(${id} BUILD_DEPENDENCY_OF clformer)
    endif()
    if(version AND (library OR loaded))
      list(APPEND CLF_LIBRARY_VERSIONS "${name} ${version}")
    endif()
  endif()
endforeach()
list(JOIN CLF_LIBRARY_VERSIONS ", " CLF_LIBRARY_VERSIONS)
list(JOIN packages ",\n" packages)
list(JOIN relations ",\n" relations)
string(TIMESTAMP created "%Y-%m-%dT%H:%M:%SZ" UTC) # $SOURCE_DATE_EPOCH in reproducible builds
string(UUID uuid NAMESPACE 6ba7b811-9dad-11d1-80b4-00c04fd430c8 TYPE SHA1 NAME "${created}${packages}${relations}")
file(WRITE ${CMAKE_BINARY_DIR}/generated/clformer.spdx.json "{
  \"spdxVersion\": \"SPDX-2.3\", \"SPDXID\": \"SPDXRef-DOCUMENT\", \"name\": \"clformer-${PROJECT_VERSION}\", \"dataLicense\": \"CC0-1.0\",
  \"documentNamespace\": \"urn:uuid:${uuid}\",
  \"creationInfo\": {\"created\": \"${created}\", \"creators\": [\"Tool: clformer-${PROJECT_VERSION}\"]},
  \"hasExtractedLicensingInfos\": [{\"licenseId\": \"LicenseRef-CC-BY-2.0-FR\", \"name\": \"Creative Commons Attribution 2.0 France\",
    \"extractedText\": \"https://creativecommons.org/licenses/by/2.0/fr/legalcode\"}],
  \"packages\": [\n${packages}\n  ],
  \"relationships\": [\n${relations}\n  ]
}
")
