// The bytes between a host and an isolated driver: whatever comes, a reader stays inside.
#include "core/runtime/isolate/wire.hpp"

#include <gtest/gtest.h>

#include "core/runtime/isolate/commands.hpp"

namespace ost::runtime::isolate {
namespace {

TEST(Wire, GivesBackWhatWasPut) {
  Writer w;
  w.put(uint32_t{7}).text("seven").put(int64_t{-7}).bytes(nullptr, 0);
  Reader r(w.data());
  EXPECT_EQ(r.get<uint32_t>(), 7u);
  EXPECT_EQ(r.text(), "seven");
  EXPECT_EQ(r.get<int64_t>(), -7);
  EXPECT_TRUE(r.bytes().empty());
  EXPECT_TRUE(r.ok());
  EXPECT_EQ(r.left(), 0u);
}

TEST(Wire, AnyCutIsSeenAndNothingIsReadBehindIt) {
  Writer w;
  ost_command_t c{};
  c.size = sizeof c;
  c.kind = OST_CMD_COPY;
  const ost_ref_t refs[2] = {};
  c.refs = refs;
  c.ref_count = 2;
  ASSERT_TRUE(write_commands(w, &c, 1, [](const void*) { return uint64_t{5}; }));
  for (size_t size = 0; size < w.data().size(); ++size) {
    Reader r({w.data().begin(), w.data().begin() + static_cast<std::ptrdiff_t>(size)});
    const Commands commands(r);
    EXPECT_FALSE(r.ok()) << size;
  }
  Reader whole(w.data());
  const Commands commands(whole);
  EXPECT_TRUE(whole.ok());
  ASSERT_EQ(commands.count(), 1u);
  EXPECT_EQ(commands.data()->refs[1].buffer, reinterpret_cast<ost_dbuffer_t*>(5));
}

TEST(Wire, RefusesCommandsThatItDoesNotKnowWhole) {
  struct {
    ost_command_t command;
    uint64_t tail;
  } longer{};
  longer.command.size = sizeof longer;
  Writer w;
  const auto id = [](const void*) { return uint64_t{0}; };
  EXPECT_TRUE(write_commands(w, &longer.command, 1, id));
  longer.tail = 1;
  EXPECT_FALSE(write_commands(w, &longer.command, 1, id));
  longer.command.size = 8;
  EXPECT_FALSE(write_commands(w, &longer.command, 1, id));
}

}  // namespace
}  // namespace ost::runtime::isolate
