// A driver that compiles for targets that are not here: "alpha" with large groups, "beta" with
// none, and as many cards of target "alpha:1" as the option `cards` says. An image is the target
// and the code.
#include <charconv>
#include <ostinato/plugin.hpp>
#include <string>

namespace {

using namespace ost::plugin;

struct Executable : SyncExecutable {
  uint32_t entry(std::string_view) override { return 0; }
};
struct Device : SyncDevice {
  std::unique_ptr<SyncExecutable> load(std::span<const std::byte>, std::string_view) override {
    return std::make_unique<Executable>();
  }
  void dispatch(const Dispatch&) override { fail(OST_UNIMPLEMENTED, "cards have memory only"); }
};

struct Driver : SyncDriver {
  explicit Driver(const Host& host) {
    const std::string_view text = host.option("cards");
    std::from_chars(text.data(), text.data() + text.size(), cards);
    twice = !host.option("twice").empty();
  }
  uint32_t device_count(const ost_sink_t& reason) override {
    if (cards == 0) put(reason, "no card in any slot");
    return cards + (twice ? 4 : 2);
  }
  void device_info(uint32_t index, ost_device_info_t& info) override {
    const bool card = index < cards, alpha = card || (index - cards) % 2 == 0;
    info.kind = OST_DEVICE_KIND_ACCELERATOR;
    copy_text(info.name, card ? "card" : "targets of cards");
    copy_text(info.target, card ? "alpha:1" : alpha ? "alpha" : "beta");
    info.dtypes = 0xffffffffu >> 8;
    info.form_count = 1;
    info.forms[0] = OST_FORM_KIR_L2;
    info.min_align = 64;
    info.max_group = alpha ? 64 : 1;
    info.local_bytes = alpha ? 65536 : 0;
    if (card) return;
    info.flags = OST_DEVICE_COMPILE_ONLY;
    copy_text(info.reason, "no such card is here");
  }
  std::unique_ptr<SyncDevice> open(uint32_t index) override {
    if (index >= cards) fail(OST_UNAVAILABLE, "it only compiles");
    return std::make_unique<Device>();
  }
  std::string compiler_key(std::string_view) override { return "cross/1"; }
  void compile(const ost_compile_t& job) override {
    const std::string_view target = view(job.target);
    if (!target.starts_with("alpha") && target != "beta")
      fail(OST_NOT_FOUND, "the compiler does not know ", target);
    put(job.image, target);
    put(job.image, std::string_view(static_cast<const char*>(job.code.data), job.code.size));
  }
  ost_fit_t image_check(const ost_device_info_t&, std::span<const std::byte>,
                        const ost_sink_t&) override {
    return OST_FIT_OPTIMAL;
  }

  uint32_t cards = 0;
  bool twice = false;
};

}  // namespace

ost_status_t ost_plugin_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out) {
  return negotiate(in, out, {OST_TEST_NAME, "1.0", "Test"}, sync_table<Driver>());
}
