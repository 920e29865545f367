// The typing rule of each operation: operand classes, operand types, result type, attributes. Local
// to one record.
#pragma once

#include <string>

#include "core/kir/kernel.hpp"

namespace ost::kir {

// Checks `inst`, whose operands are earlier records of `kernel`. The error message does not say
// where.
Result<> check_types(const Kernel& kernel, const Inst& inst);

}  // namespace ost::kir
