// Exists while the plugin that needs it is linked, and is not found when it is loaded.
extern "C" __attribute__((visibility("default"))) int ost_test_gone() { return 1; }
