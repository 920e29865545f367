// The kit against a driver that is wrong in one way each: it must say so, at the level and with the
// words that are meant, and go on.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

#include "core/kir/ops.hpp"
#include "core/kir/pool.hpp"
#include "core/kir/typing.hpp"
#include "expect.hpp"
#include "grid.hpp"
#include "tests/unit/manifest/temp_folder.hpp"

namespace ost::conform {
namespace {

struct KitRun {
  int code = -1;
  std::string text;
  boost::json::value json;
};

KitRun kit(const std::string& arguments) {
  const char* tool = std::getenv("OST_CONFORM");
  const char* plugin = std::getenv("OST_FAULTY_PLUGIN");
  EXPECT_TRUE(tool != nullptr && plugin != nullptr) << "run this test through ctest";
  if (tool == nullptr || plugin == nullptr) return {};
  const std::string command =
      fmt::format("'{}' '{}' --json {} 2>/dev/null", tool, plugin, arguments);
  KitRun out;
  FILE* pipe = popen(command.c_str(), "r");
  char chunk[4096];
  for (size_t n; (n = fread(chunk, 1, sizeof chunk, pipe)) > 0;) out.text.append(chunk, n);
  out.code = WEXITSTATUS(pclose(pipe));
  boost::system::error_code ec;
  out.json = boost::json::parse(out.text, ec);
  return out;
}

const boost::json::object& level_of(const KitRun& run) {
  return run.json.at("levels").at(0).as_object();
}

struct Fault {
  const char* name;
  const char* arguments;  // what of the kit finds it
  const char* reason;     // a part of what it says
};

std::ostream& operator<<(std::ostream& out, const Fault& f) { return out << f.name; }

class Faulty : public testing::TestWithParam<Fault> {};

TEST_P(Faulty, IsFoundAndNamed) {
  const Fault& f = GetParam();
  const KitRun run = kit(fmt::format("--option fault={} {}", f.name, f.arguments));
  ASSERT_EQ(run.code, 1) << run.text;
  ASSERT_FALSE(level_of(run).at("failures").as_array().empty()) << run.text;
  EXPECT_NE(run.text.find(f.reason), std::string::npos) << run.text << "\nwant: " << f.reason;
  EXPECT_FALSE(run.json.at("ok").as_bool());
}

INSTANTIATE_TEST_SUITE_P(
    Kit, Faulty,
    testing::Values(
        Fault{"unknown_form", "--level 0", "form 77 is not known (rule 1)"},
        Fault{"info_changes", "--level 0", "device_info does not answer the same twice"},
        Fault{"differs", "--level 0", "equal jobs give images that differ"},
        Fault{"crash_at_create", "--level 0", "SIGABRT"},
        Fault{"exits", "--level 1", "exit code 3 (rule 5)"},
        Fault{"crashes", "--level 1", "SIGSEGV"},
        Fault{"hangs", "--level 1 --timeout 2 --only buffer.sizes", "hangs: no answer in 2 s"},
        Fault{"fill_is_short", "--level 1", "fill of 100 times 1 bytes at 0: byte 0"},
        Fault{"mute", "--level 2 --only 'add.f32.*'", "the driver gives no reason"},
        Fault{"overruns", "--level 2 --only 'add.f32.*'", "was written: outside of it"},
        Fault{"wrong_bit", "--level 2 --only 'contract.f32.*'", "element 34 of 35 is"},
        Fault{"signals_twice", "--level 3", "a signal with the value reached succeeds"},
        Fault{"forgets_signals", "--level 3 --timeout 2 --only queue.failed_work", "leaves its signals open"},
        Fault{"unknown_link", "--level 5", "link_query answers 9"}),
    [](const auto& test_case) { return std::string(test_case.param.name); });

TEST(Kit, GoesOnBehindACrash) {
  const KitRun run = kit("--option fault=crashes --level 1");
  EXPECT_GE(level_of(run).at("failed").to_number<int>(), 1);
  EXPECT_GE(level_of(run).at("passed").to_number<int>(), 10) << run.text;
}

TEST(Kit, PassesADriverThatIsRight) {
  const KitRun run = kit("--level 1");
  EXPECT_EQ(run.code, 0) << run.text;
  const auto& level = level_of(run);
  EXPECT_EQ(level.at("level").to_number<int>(), 1);
  EXPECT_EQ(level.at("failed").to_number<int>(), 0);
  EXPECT_EQ(level.at("seed").to_number<uint64_t>(), run.json.at("seed").to_number<uint64_t>());
  EXPECT_EQ(run.json.at("device").as_string(), "faulty:0");
}

TEST(Kit, WhatADeviceDoesNotDeclareIsUnsupportedWithAReason) {
  const KitRun run = kit("--option fault=no_f64 --level 2 --only '*.f64.*'");
  EXPECT_EQ(run.code, 0) << run.text;
  const auto& level = level_of(run);
  EXPECT_EQ(level.at("failed").to_number<int>(), 0);
  ASSERT_EQ(level.at("unsupported").as_array().size(), 1u) << run.text;
  const auto& entry = level.at("unsupported").at(0);
  EXPECT_EQ(entry.at("reason").as_string(), "the device does not declare f64");
  EXPECT_LT(run.json.at("coverage").at("percent").to_number<double>(), 1);
}

TEST(Kit, AnExpectedFailureMustFail) {
  const test::TempFolder folder;
  const std::string file = folder / "expect";
  std::ofstream(file) << "# known\n3 timeline.values the vendor's counter may stand still\n";
  const std::string arguments = "--level 3 --only timeline.values --expect " + file;
  const KitRun known = kit("--option fault=signals_twice " + arguments);
  EXPECT_EQ(known.code, 0) << known.text;
  EXPECT_EQ(level_of(known).at("expected_failures").as_array().size(), 1u);
  const KitRun passes = kit(arguments);
  EXPECT_EQ(passes.code, 1) << passes.text;
  EXPECT_NE(passes.text.find("passed, and was expected to fail"), std::string::npos);
}

TEST(Kit, ALineThatFitsNoCaseIsAFinding) {
  const test::TempFolder folder;
  const std::string file = folder / "expect";
  std::ofstream(file) << "1 no.such.case it was renamed\n";
  const KitRun run = kit("--level 1 --expect " + file);
  EXPECT_EQ(run.code, 1) << run.text;
  EXPECT_EQ(run.json.at("stale_expectations").as_array().size(), 1u);
  std::ofstream(file) << "1 no.reason\n";
  EXPECT_EQ(kit("--level 1 --expect " + file).code, 3);
  EXPECT_EQ(kit("--level 9").code, 2);
}

TEST(Kit, RunsOneLevelOrARangeOfThem) {
  const auto levels = [](const std::string& arguments) {
    const KitRun run = kit(arguments);
    EXPECT_EQ(run.code, 0) << run.text;
    std::vector<int> out;
    for (const auto& level : run.json.at("levels").as_array()) {
      out.push_back(level.at("level").to_number<int>());
      EXPECT_GT(level.at("passed").to_number<int>(), 0) << run.text;
    }
    return out;
  };
  EXPECT_EQ(levels("--level 1"), (std::vector{1}));
  EXPECT_EQ(levels("--level 1-1"), (std::vector{1}));
  EXPECT_EQ(levels("--level 0-1"), (std::vector{0, 1}));
  EXPECT_EQ(levels("--level 1-3 --only '[bt]*.values'"), (std::vector{3}));
  for (const char* wrong : {"6", "-1", "2-1", "1-6", "1-", "1-2-3", "0,1", "one", "''", "01"})
    EXPECT_EQ(kit(std::string("--level ") + wrong).code, 2) << wrong;
}

TEST(Kit, WritesAJUnitReport) {
  const test::TempFolder folder;
  const std::string file = folder / "report.xml";
  kit("--option fault=crashes --level 1 --junit " + file);
  std::ifstream in(file);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_NE(text.find("<testcase classname=\"faulty:0.L1\" name=\"heaps\""), std::string::npos);
  EXPECT_NE(text.find("<failure message=\"the driver killed the process with SIGSEGV"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("</testsuites>\n"));
}

// --- the grid

// A kernel with a value of each type, for asking which records may follow.
kir::Kernel values_of_all_types(std::vector<kir::Value>& found) {
  kir::Kernel k;
  k.insts.push_back(kir::make_inst(kir::Op::constant, DType::i64, {}, 0, 5));
  for (const DType t : kAllDTypes) {
    k.insts.push_back(kir::make_inst(kir::Op::constant, t, {}, 0, 1));
    found.push_back(static_cast<kir::Value>(k.insts.size() - 1));
    k.insts.push_back(
        kir::make_inst(kir::Op::param, t, {0}, OST_KIR_READ | OST_KIR_WRITE, k.insts.size()));
    found.push_back(static_cast<kir::Value>(k.insts.size() - 1));
  }
  k.insts.push_back(kir::make_inst(kir::Op::axis, DType::i64, {0}, OST_KIR_AXIS_REDUCE, 0));
  found.push_back(static_cast<kir::Value>(k.insts.size() - 1));
  return k;
}

// Whether the operation has some record of this type, trying all operands of all types.
bool is_legal(const kir::Kernel& k, std::span<const kir::Value> pool, const kir::OpInfo& op,
              DType type) {
  for (uint32_t aux = 0; aux < 0x400; ++aux) {
    if (aux > 7 && op.attr != kir::Attr::reduction) break;
    std::vector<size_t> at(op.min_src, 0);
    kir::Inst inst = kir::make_inst(op.op, type, {}, aux, 0);
    inst.nsrc = op.min_src;
    for (uint32_t s = 0; s < op.min_src; ++s) inst.src[s] = 0;
    if (!kir::check_encoding(inst, static_cast<uint32_t>(k.insts.size()))) continue;
    for (;;) {
      for (size_t s = 0; s < at.size(); ++s) inst.src[s] = pool[at[s]];
      if (kir::check_types(k, inst)) return true;
      size_t digit = 0;
      while (digit < at.size() && ++at[digit] == pool.size()) at[digit++] = 0;
      if (digit == at.size()) break;
    }
  }
  return false;
}

TEST(Grid, HasACellForEveryOperationAndType) {
  std::set<std::string> cells;
  for (const GridCase& c : grid()) cells.insert(c.cell);
  std::vector<kir::Value> pool;
  const kir::Kernel k = values_of_all_types(pool);
  const std::set<kir::Op> elsewhere = {kir::Op::param, kir::Op::var, kir::Op::axis};  // everywhere
  for (const kir::OpInfo& op : kir::all_ops()) {
    if (!(op.levels & 1)) continue;  // the host makes level 2
    if (elsewhere.contains(op.op)) continue;
    const bool by_operand = op.op == kir::Op::eq || op.op == kir::Op::ne || op.op == kir::Op::lt ||
                            op.op == kir::Op::le || op.op == kir::Op::argreduce;
    for (const DType t : kAllDTypes) {
      const std::string cell = fmt::format("{}.{}", op.name, name_of(t));
      if (by_operand) {
        EXPECT_EQ(cells.contains(cell), !is_half(t)) << cell;
      } else {
        EXPECT_EQ(cells.contains(cell), is_legal(k, pool, op, t)) << cell;
      }
    }
  }
}

TEST(Grid, EachKernelHoldsItsOperationAndIsProved) {
  Random random(20261130);
  std::set<std::string> names;
  for (const GridCase& c : grid()) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name << " is there twice";
    const auto trial = c.make(random);
    ASSERT_TRUE(trial.has_value()) << c.name << ": " << trial.error().message;
    EXPECT_TRUE(kir::prove_bounds(trial->kernel).has_value()) << c.name;
    if (c.cell.empty()) continue;
    const std::string op = c.cell.substr(0, c.cell.find('.'));
    const std::string text = kir::to_text(trial->kernel);
    EXPECT_NE(text.find(fmt::format("= {} ", op)), std::string::npos)
        << c.name << " has no " << op << ":\n"
        << text;
  }
}

}  // namespace
}  // namespace ost::conform
