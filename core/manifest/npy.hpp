// NumPy's files: .npy (versions 1 to 3; C and Fortran order; either byte order) and .npz (a zip of
// them, stored or deflated). Only the element types that Ostinato has; no objects, so no pickle.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/literal.hpp"
#include "core/base/result.hpp"

namespace ost::manifest {

Result<Literal> read_npy(const std::string& path);
Result<std::map<std::string, Literal>> read_npz(const std::string& path);  // names without ".npy"

// bf16 has no .npy type: it is an error that says so.
Result<> write_npy(const std::string& path, const Literal& literal);
Result<> write_npz(const std::string& path, const std::map<std::string, const Literal*>& literals);

// The same on bytes.
Result<Literal> parse_npy(std::span<const uint8_t> bytes);
Result<std::vector<uint8_t>> npy_header(
    const Literal& literal);  // what precedes the literal's bytes

}  // namespace ost::manifest
