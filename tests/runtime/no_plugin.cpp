// A library like any other.

extern "C" int topos_no_plugin() { return 0; }
