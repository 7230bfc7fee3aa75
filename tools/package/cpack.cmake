# `cpack` writes RPM packages: clformer (the command, and the library if it is shared), clformer-devel and clformer-server.
# rpmbuild detects the required libraries. For packages with a shared library, configure with -DBUILD_SHARED_LIBS=ON.
set(CPACK_GENERATOR RPM)
set(CPACK_PACKAGE_NAME clformer)
set(CPACK_PACKAGE_VENDOR "clformer developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Run and train encoder-decoder Transformers on OpenCL devices")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL clformer devel server)
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_MAIN_COMPONENT clformer)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE MIT)
set(CPACK_RPM_PACKAGE_DESCRIPTION "The command clformer translates text, transcribes speech, trains models and
measures devices. It runs on GPUs of any vendor, and on CPUs through PoCL.")
set(CPACK_RPM_DEVEL_PACKAGE_SUMMARY "Library and headers of clformer")
set(CPACK_RPM_DEVEL_PACKAGE_DESCRIPTION "The headers and the library of clformer, and files for pkg-config and CMake.")
set(CPACK_RPM_DEVEL_PACKAGE_REQUIRES "clformer = ${PROJECT_VERSION}")
set(CPACK_RPM_SERVER_PACKAGE_SUMMARY "Service of clformer")
set(CPACK_RPM_SERVER_PACKAGE_DESCRIPTION "A systemd unit that runs clformer serve as a separate user.")
set(CPACK_RPM_SERVER_PACKAGE_REQUIRES "clformer = ${PROJECT_VERSION}, systemd")
set(CPACK_RPM_SERVER_USER_FILELIST "%config(noreplace) /etc/default/clformer")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /etc/default /usr/share/man /usr/share/man/man1 /usr/lib/systemd
  /usr/lib/systemd/system /usr/lib/sysusers.d /usr/share/bash-completion /usr/share/bash-completion/completions
  /usr/share/fish /usr/share/fish/vendor_completions.d
  /usr/share/zsh /usr/share/zsh/site-functions /usr/${CMAKE_INSTALL_LIBDIR}/cmake /usr/${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The service is the same as in Debian's package; systemd's triggers create its user.
set(service ${CMAKE_CURRENT_LIST_DIR}/debian/clformer)
install(FILES ${service}.service DESTINATION lib/systemd/system COMPONENT server EXCLUDE_FROM_ALL)
install(FILES ${service}.sysusers DESTINATION lib/sysusers.d RENAME clformer.conf COMPONENT server EXCLUDE_FROM_ALL)
install(FILES ${service}.default DESTINATION /etc/default RENAME clformer COMPONENT server EXCLUDE_FROM_ALL)
include(CPack)
