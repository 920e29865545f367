// A folder for one test's files, removed with it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ost::test {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ostinato-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) ADD_FAILURE() << "cannot make a folder like " << name;
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_TRUE(out.good()) << path;
}

inline std::span<const uint8_t> bytes_of(std::string_view s) {
  return {reinterpret_cast<const uint8_t*>(s.data()), s.size()};
}

}  // namespace ost::test

// The error's text holds `wanted`.
#define EXPECT_ERROR(result, wanted)                                          \
  do {                                                                        \
    const auto& result_ = (result);                                           \
    if (result_)                                                              \
      ADD_FAILURE() << "no error, want: " << (wanted);                        \
    else                                                                      \
      EXPECT_NE(result_.error().message.find(wanted), std::string::npos)      \
          << "found: " << result_.error().message << "\nwant:  " << (wanted); \
  } while (0)
#define ASSERT_OK(result)                                                                    \
  do {                                                                                       \
    const auto& result_ = (result);                                                          \
    ASSERT_TRUE(result_.has_value()) << (result_ ? std::string() : result_.error().message); \
  } while (0)
