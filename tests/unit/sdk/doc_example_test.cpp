// The example of docs/plugin-abi.md: loads, compiles, runs.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <ostinato/plugin.h>

#include <string>

namespace {

TEST(DocExample, IsAPluginThatRuns) {
  void* library = dlopen(OST_DOC_EXAMPLE, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(nullptr, library) << dlerror();
  const auto negotiate =
      reinterpret_cast<ost_plugin_negotiate_fn>(dlsym(library, OST_PLUGIN_ENTRY_NAME));
  ASSERT_NE(nullptr, negotiate);
  const ost_negotiate_in_t in{sizeof in, OST_PLUGIN_ABI_VERSION, OST_PLUGIN_ABI_VERSION, 0};
  ost_negotiate_out_t out{};
  out.size = sizeof out;
  ASSERT_EQ(OST_OK, negotiate(&in, &out)) << out.reason;
  EXPECT_STREQ("zeros", out.name);
  const ost_driver_table_t& t = *out.table;

  ost_host_table_t host{};
  host.size = sizeof host;
  ost_driver_t* driver = nullptr;
  ost_device_t* device = nullptr;
  ost_queue_t* queue = nullptr;
  ost_executable_t* executable = nullptr;
  ost_dbuffer_t* buffer = nullptr;
  uint32_t entry = 9;
  ASSERT_EQ(OST_OK, t.driver_create(&host, &driver, nullptr));
  ASSERT_EQ(OST_OK, t.device_create(driver, 0, &device, nullptr));
  ASSERT_EQ(OST_OK, t.queue_create(device, &queue, nullptr));
  ASSERT_EQ(OST_OK, t.executable_load(device, {}, {}, &executable, nullptr));
  ASSERT_EQ(OST_OK, t.executable_entry(executable, {"zero", 4}, &entry, nullptr));
  ASSERT_EQ(OST_OK, t.buffer_alloc(device, 0, 8, 0, &buffer, nullptr));
  ASSERT_EQ(OST_OK, t.buffer_write(device, buffer, 0, "12345678", 8, nullptr));
  const ost_ref_t ref{buffer, 2, 4, 0, 0};
  ost_command_t command{};
  command.size = sizeof command;
  command.kind = OST_CMD_DISPATCH;
  command.refs = &ref;
  command.ref_count = 1;
  command.executable = executable;
  command.entry = entry;
  EXPECT_EQ(OST_OK, t.queue_submit(queue, nullptr, 0, &command, 1, nullptr, 0, nullptr));
  char bytes[8];
  EXPECT_EQ(OST_OK, t.buffer_read(device, buffer, 0, bytes, 8, nullptr));
  EXPECT_EQ(std::string("12\0\0\0\0"
                        "78",
                        8),
            std::string(bytes, 8));
  t.buffer_free(device, buffer);
  t.executable_unload(executable);
  t.queue_destroy(queue);
  t.device_destroy(device);
  t.driver_destroy(driver);
}

}  // namespace
