// XLA's compiler keeps a few small objects of each program, about a kilobyte in
// this folder's tests. What is allocated by topos is not passed over: its
// stacks have no frame of a plugin.

// NOLINTNEXTLINE: the sanitizer's name
extern "C" const char* __lsan_default_suppressions();

extern "C" const char* __lsan_default_suppressions() {  // NOLINT
  return "leak:pjrt_c_api_cpu_plugin.so\n"
         "leak:libpjrt_cpu.so\n"
         "leak:xla_cpu_pjrt.so\n";
}
