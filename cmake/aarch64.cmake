# A toolchain for the preset aarch64: Debian's cross compiler, its packages of
# architecture arm64 beside those of this machine, and qemu to run what is built.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# It finds those packages' libraries by itself. QEMU_LD_PREFIX would mix them with
# the cross compiler's: a program may then wait forever for a lock.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
# Packages of this machine are found by the same files but for these.
set(ENV{PKG_CONFIG_LIBDIR}
    /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
