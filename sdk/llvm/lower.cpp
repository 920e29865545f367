// One kernel to one function: records in their order, regions as basic blocks.
#include <llvm/ADT/StringExtras.h>

#include <ostinato/kir/level2.hpp>
#include <ostinato/llvm/lower.hpp>

#include "scalar.hpp"

namespace ostinato::kir {
namespace {

using llvm::BasicBlock;
using llvm::Value;

llvm::Error wrong(std::errc code, const std::string& what) {
  return llvm::createStringError(std::make_error_code(code), "%s", what.c_str());
}

// What a device has to have for the kernel; "" if it has it.
std::string beyond(const Kernel& k, const LlvmOptions& options, uint32_t* local_bytes) {
  if (k.header.lanes > options.max_lanes)
    return std::to_string(k.header.lanes) + " lanes, the target has " +
           std::to_string(options.max_lanes);
  uint64_t local = 0, own = 0;
  for (Id i = 0; i < k.size(); ++i) {
    if (k.dtype(i) == OST_DTYPE_F64 && !options.fp64)
      return "record " + std::to_string(i) + " is f64, which the target does not have";
    // Each array may need room to be aligned.
    if (k.op(i) == OST_KIR_OP_LOCAL) local += (k[i].imm * size_of(k.dtype(i)) + 7) / 8 * 8;
    if (k.op(i) == OST_KIR_OP_PRIVATE) own += (k[i].imm * size_of(k.dtype(i)) + 7) / 8 * 8;
  }
  if (local > options.local_bytes)
    return std::to_string(local) + " bytes of local memory, the target has " +
           std::to_string(options.local_bytes);
  if (own > options.private_bytes)
    return std::to_string(own) + " bytes of private memory, wanted at most " +
           std::to_string(options.private_bytes);
  *local_bytes = static_cast<uint32_t>(local);
  return "";
}

class Lowering {
 public:
  Lowering(const Kernel& kernel, llvm::StringRef entry, const LlvmTarget& target,
           const LlvmOptions& options, llvm::LLVMContext& context)
      : k_(kernel),
        target_(target),
        module_(std::make_unique<llvm::Module>(entry, context)),
        b_(context),
        scalar_(b_, options.soft_divide),
        values_(kernel.size(), nullptr) {
    target_.prepare(*module_);
    for (Id i = 0; i < k_.size(); ++i) f64_ = f64_ || k_.dtype(i) == OST_DTYPE_F64;
    begin(entry);
  }

  std::unique_ptr<llvm::Module> run() {
    for (Id i = 0; i < k_.size(); ++i) record(i);
    b_.CreateRetVoid();
    return std::move(module_);
  }

 private:
  struct Region {
    BasicBlock *head, *after;
    llvm::PHINode* index;  // nullptr: an if
    Value* step;
  };

  void begin(llvm::StringRef entry) {
    std::vector<llvm::Type*> types;
    for (uint32_t p = 0; p < k_.header.param_count; ++p) {
      types.push_back(b_.getPtrTy(target_.global_space()));
      types.push_back(b_.getInt64Ty());
    }
    types.insert(types.end(), k_.header.var_count, b_.getInt64Ty());
    types.push_back(b_.getInt32Ty());
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                       llvm::Function::ExternalLinkage, entry, *module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    // Parameters do not overlap where one of them is written (docs/kir.md §1).
    for (uint32_t p = 0; p < k_.header.param_count; ++p)
      function_->addParamAttr(2 * p, llvm::Attribute::NoAlias);
    target_.make_kernel(*function_, k_.header.lanes);
    BasicBlock* block = new_block();
    allocas_ = llvm::BranchInst::Create(block, new_block(true));
    b_.SetInsertPoint(block);
    scalar_.use_one(argument(2 * k_.header.param_count + k_.header.var_count), f64_);
  }

  Value* argument(uint64_t index) const { return function_->getArg(static_cast<unsigned>(index)); }
  BasicBlock* new_block(bool first = false) {
    return BasicBlock::Create(b_.getContext(), "", function_,
                              first ? &function_->getEntryBlock() : nullptr);
  }
  Value* use(Id i) const {
    return k_.op(i) == OST_KIR_OP_CONST ? scalar_.constant(k_.dtype(i), k_[i].imm) : values_[i];
  }

  void record(Id i) {
    const ost_kir_inst_t& inst = k_[i];
    switch (inst.op) {
      case OST_KIR_OP_CONST:
      case OST_KIR_OP_GRID:
        return;
      case OST_KIR_OP_PARAM:
        values_[i] =
            b_.CreateGEP(b_.getInt8Ty(), argument(2 * inst.imm), argument(2 * inst.imm + 1));
        return;
      case OST_KIR_OP_VAR:
        values_[i] = argument(2 * k_.header.param_count + inst.imm);
        return;
      case OST_KIR_OP_GROUP:
        values_[i] = target_.group(b_, static_cast<unsigned>(inst.imm));
        return;
      case OST_KIR_OP_LANE:
        values_[i] = target_.lane(b_);
        return;
      case OST_KIR_OP_LOCAL:
      case OST_KIR_OP_PRIVATE:
        values_[i] = array(i);
        return;
      case OST_KIR_OP_LOOP:
        return open_loop(i);
      case OST_KIR_OP_IF:
        return open_if(i);
      case OST_KIR_OP_END:
        return close();
      case OST_KIR_OP_BARRIER:
        return target_.barrier(b_);
      case OST_KIR_OP_LOAD:
        values_[i] = load(i);
        return;
      case OST_KIR_OP_STORE:
        return store(i);
      default:
        values_[i] = compute(i);
    }
  }

  // --- regions

  void open_loop(Id i) {
    Value *begin = use(k_.src(i, 0)), *end = use(k_.src(i, 1));
    BasicBlock* before = b_.GetInsertBlock();
    BasicBlock *head = new_block(), *body = new_block(), *after = new_block();
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* index = b_.CreatePHI(b_.getInt64Ty(), 2);
    index->addIncoming(begin, before);
    b_.CreateCondBr(b_.CreateICmpSLT(index, end), body, after);
    b_.SetInsertPoint(body);
    values_[i] = index;
    regions_.push_back({head, after, index, use(k_.src(i, 2))});
  }

  void open_if(Id i) {
    BasicBlock *body = new_block(), *after = new_block();
    b_.CreateCondBr(use(k_.src(i, 0)), body, after);
    b_.SetInsertPoint(body);
    regions_.push_back({nullptr, after, nullptr, nullptr});
  }

  void close() {
    const Region region = regions_.back();
    regions_.pop_back();
    if (region.index) {
      region.index->addIncoming(b_.CreateAdd(region.index, region.step), b_.GetInsertBlock());
      b_.CreateBr(region.head);
    } else {
      b_.CreateBr(region.after);
    }
    region.after->moveAfter(b_.GetInsertBlock());
    b_.SetInsertPoint(region.after);
  }

  // --- memory

  Value* array(Id i) {
    const uint64_t count = k_[i].imm;
    auto* type = llvm::ArrayType::get(scalar_.memory_type(k_.dtype(i)), count);
    const llvm::Align align(size_of(k_.dtype(i)));
    if (k_.op(i) == OST_KIR_OP_LOCAL) {
      auto* memory = new llvm::GlobalVariable(
          *module_, type, false, llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(type),
          function_->getName() + "_local", nullptr, llvm::GlobalValue::NotThreadLocal,
          target_.local_space());
      memory->setAlignment(align);
      return memory;
    }
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(allocas_);
    llvm::AllocaInst* memory = b_.CreateAlloca(count == 1 ? scalar_.memory_type(k_.dtype(i))
                                                          : static_cast<llvm::Type*>(type));
    memory->setAlignment(align);
    return memory;
  }

  Value* place(Id i) {
    Value* memory = values_[k_.src(i, 0)];
    const ost_kir_inst_t& of = k_[k_.src(i, 0)];
    if (of.op != OST_KIR_OP_PARAM && of.imm == 1) return memory;  // its one element
    return b_.CreateGEP(scalar_.memory_type(k_.dtype(i)), memory, use(k_.src(i, 1)));
  }

  Value* load(Id i) {
    const uint32_t t = k_.dtype(i);
    BasicBlock *before = b_.GetInsertBlock(), *after = nullptr;
    if (k_.mask(i) != kNone) after = open_mask(k_.mask(i));
    Value* value = b_.CreateAlignedLoad(scalar_.memory_type(t), place(i), llvm::Align(size_of(t)));
    if (t == OST_DTYPE_BOOL) value = b_.CreateICmpNE(value, b_.getInt8(0));
    if (!after) return value;
    BasicBlock* body = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    llvm::PHINode* either = b_.CreatePHI(scalar_.type(t), 2);
    either->addIncoming(scalar_.constant(t, 0), before);
    either->addIncoming(value, body);
    return either;
  }

  void store(Id i) {
    const uint32_t t = k_.dtype(i);
    BasicBlock* after = nullptr;
    if (k_.mask(i) != kNone) after = open_mask(k_.mask(i));
    Value* value = use(k_.src(i, 2));
    if (t == OST_DTYPE_BOOL) value = b_.CreateZExt(value, b_.getInt8Ty());
    b_.CreateAlignedStore(value, place(i), llvm::Align(size_of(t)));
    if (!after) return;
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  // Without the mask nothing is accessed; returns where it goes on.
  BasicBlock* open_mask(Id mask) {
    BasicBlock *body = new_block(), *after = new_block();
    b_.CreateCondBr(use(mask), body, after);
    b_.SetInsertPoint(body);
    return after;
  }

  // --- scalar operations

  bool is_accumulator(Id i) const {
    return k_.op(i) == OST_KIR_OP_LOAD && k_.op(k_.src(i, 0)) != OST_KIR_OP_PARAM;
  }

  Value* compute(Id i) {
    const ost_kir_inst_t& inst = k_[i];
    const uint32_t t = inst.dtype, from = k_.dtype(inst.src[0]);
    Value* x = use(inst.src[0]);
    switch (inst.op) {
      case OST_KIR_OP_CAST:
        return scalar_.cast(t, from, x);
      case OST_KIR_OP_BITCAST:
        return scalar_.bitcast(t, x);
      case OST_KIR_OP_WHERE:
        return b_.CreateSelect(x, use(inst.src[1]), use(inst.src[2]));
      case OST_KIR_OP_FMA:
        return scalar_.fma(x, use(inst.src[1]), use(inst.src[2]));
      case OST_KIR_OP_LDEXP:
        return scalar_.ldexp(t, x, use(inst.src[1]));
      default:
        break;
    }
    if (inst.nsrc == 1) return scalar_.unary(inst.op, t, x);
    Value* y = use(inst.src[1]);
    if (is_compare(inst.op)) return scalar_.compare(inst.op, from, x, y);
    return scalar_.binary(inst.op, t, x, y, is_accumulator(inst.src[0]));
  }

  const Kernel& k_;
  const LlvmTarget& target_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> b_;
  Scalar scalar_;
  std::vector<Value*> values_;
  std::vector<Region> regions_;
  llvm::Function* function_ = nullptr;
  llvm::Instruction* allocas_ = nullptr;  // the end of the first block
  bool f64_ = false;
};

bool is_name(llvm::StringRef text) {
  const auto letter = [](char c) { return llvm::isAlpha(c) || c == '_'; };
  return !text.empty() && letter(text[0]) &&
         llvm::all_of(text, [&](char c) { return letter(c) || llvm::isDigit(c); });
}

}  // namespace

llvm::Expected<LlvmKernel> lower_to_llvm(ost_bytes_t bytes, llvm::StringRef entry,
                                         const LlvmTarget& target, const LlvmOptions& options,
                                         llvm::LLVMContext& context) {
  if (!is_name(entry))
    return wrong(std::errc::invalid_argument,
                 "\"" + entry.str() + "\" is no name for a kernel, wanted [A-Za-z_][A-Za-z0-9_]*");
  Kernel kernel;
  const std::string damage = parse_level2(bytes, &kernel);
  if (!damage.empty())
    return wrong(std::errc::invalid_argument, "the kernel is damaged: " + damage);
  LlvmKernel out;
  const std::string lacking = beyond(kernel, options, &out.local_bytes);
  if (!lacking.empty()) return wrong(std::errc::not_supported, "the kernel has " + lacking);
  out.params = kernel.header.param_count;
  out.vars = kernel.header.var_count;
  out.lanes = kernel.header.lanes;
  out.module = Lowering(kernel, entry, target, options, context).run();
  return out;
}

}  // namespace ostinato::kir
