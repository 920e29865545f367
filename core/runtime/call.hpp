// Calls into a driver. Whatever comes back becomes a Result: a status with its ost_error_t, or an
// exception that a plugin let through (rule 5).
#pragma once

#include <exception>
#include <utility>

#include "core/runtime/driver.hpp"

namespace ost::runtime {

template <typename Entry>
Result<> call(const std::string& driver, const char* entry_name, Entry&& entry) {
  ost_error_t error{};
  error.size = sizeof error;
  try {
    const ost_status_t status = entry(&error);
    if (status == OST_OK) return {};
    return std::unexpected(error_of(status, error, fmt::format("{}: {}", driver, entry_name)));
  } catch (const std::exception& e) {
    return std::unexpected(
        Error{OST_INTERNAL,
              fmt::format("{}: {} threw an exception: {}", driver, entry_name, e.what()), 0, 5, 0});
  } catch (...) {
    return std::unexpected(
        Error{OST_INTERNAL, fmt::format("{}: {} threw an exception", driver, entry_name), 0, 5, 0});
  }
}

// For entries that return nothing; called from destructors.
template <typename Entry>
void call_quietly(Entry&& entry) noexcept {
  try {
    entry();
  } catch (...) {
    return;
  }
}

inline ost_str_t str(std::string_view text) { return {text.data(), text.size()}; }

// Collects what a plugin writes. Nothing may be thrown into a plugin, so running out of memory is
// remembered instead.
template <typename Container>
class Collect {
 public:
  ost_sink_t sink() { return {this, &Collect::write}; }
  bool failed() const { return failed_; }
  Container take() { return std::move(data_); }

 private:
  static void write(void* context, const void* data, uint64_t size) {
    auto& self = *static_cast<Collect*>(context);
    const auto* first = static_cast<const typename Container::value_type*>(data);
    if (size == 0 || self.failed_) return;
    try {
      self.data_.insert(self.data_.end(), first, first + size);
    } catch (...) {
      self.failed_ = true;
    }
  }
  Container data_;
  bool failed_ = false;
};

}  // namespace ost::runtime
