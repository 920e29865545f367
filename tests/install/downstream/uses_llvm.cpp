// KIR to SPIR-V by the SDK's lowering, as a plugin outside of the tree does it: y[group] = 2.5.
#include <llvm/IR/LLVMContext.h>

#include <ostinato/kir.h>
#include <cstdio>
#include <cstring>
#include <ostinato/llvm/spirv.hpp>
#include <string>
#include <vector>

int main() {
  constexpr uint32_t kNone = OST_KIR_NO_INDEX;
  const std::vector<ost_kir_inst_t> records = {
      {OST_KIR_OP_CONST, OST_DTYPE_I64, 0, 0, {kNone, kNone, kNone, kNone}, 16},
      {OST_KIR_OP_PARAM, OST_DTYPE_F32, 1, OST_KIR_WRITE, {0, kNone, kNone, kNone}, 0},
      {OST_KIR_OP_GRID, OST_DTYPE_I64, 1, 0, {0, kNone, kNone, kNone}, 0},
      {OST_KIR_OP_GROUP, OST_DTYPE_I64, 0, 0, {kNone, kNone, kNone, kNone}, 0},
      {OST_KIR_OP_CONST, OST_DTYPE_F32, 0, 0, {kNone, kNone, kNone, kNone}, 0x40200000},
      {OST_KIR_OP_STORE, OST_DTYPE_F32, 3, 0, {1, 3, 4, kNone}, 0},
  };
  const ost_kir_header_t header = {OST_KIR_MAGIC,
                                   OST_KIR_VERSION_MAJOR,
                                   OST_KIR_VERSION_MINOR,
                                   2,
                                   OST_KIR_STRICT,
                                   static_cast<uint32_t>(records.size()),
                                   1,
                                   0,
                                   1};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(records.data()), records.size() * sizeof records[0]);

  llvm::LLVMContext context;
  const ostinato::kir::SpirvTarget target;
  auto kernel =
      ostinato::kir::lower_to_llvm({bytes.data(), bytes.size()}, "fill", target, {}, context);
  if (!kernel) {
    std::fprintf(stderr, "%s\n", llvm::toString(kernel.takeError()).c_str());
    return 1;
  }
  auto words = target.emit(*kernel->module);
  if (!words) {
    std::fprintf(stderr, "%s\n", llvm::toString(words.takeError()).c_str());
    return 1;
  }
  const std::string bad = ostinato::kir::check_spirv(*words, false);
  std::printf("%zu bytes of SPIR-V %s\n", words->size(), bad.c_str());
  return bad.empty() && kernel->params == 1 && kernel->lanes == 1 ? 0 : 1;
}
