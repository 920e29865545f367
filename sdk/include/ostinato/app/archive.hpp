// Files of arrays. Part of ostinato.hpp.
#ifndef OSTINATO_APP_ARCHIVE_HPP_
#define OSTINATO_APP_ARCHIVE_HPP_

#include <string>
#include <vector>

#include "values.hpp"

namespace ostinato {

class Archive {
 public:
  Archive() {
    ost_archive_t* archive = nullptr;
    call(ost_archive_create, &archive);
    handle_ = UniqueHandle<ost_archive_t, ost_archive_destroy>(archive);
  }
  // .npy, .npz or .safetensors, by the ending.
  explicit Archive(const std::string& path) {
    ost_archive_t* archive = nullptr;
    call(ost_archive_load, path.c_str(), &archive);
    handle_ = UniqueHandle<ost_archive_t, ost_archive_destroy>(archive);
  }
  ost_archive_t* get() const { return handle_.get(); }
  uint32_t size() const { return ost_archive_count(get()); }
  Type type(uint32_t index) const { return type_at(ost_archive_type_at, get(), index); }
  bool has(const std::string& name) const {
    uint32_t index = 0;
    return ost_archive_find(get(), name.c_str(), &index, nullptr) == OST_OK;
  }
  // Views live as long as the archive. "" finds the only array of a file that has one.
  ost_array_t array(const std::string& name = "") const {
    uint32_t index = 0;
    call(ost_archive_find, get(), name.empty() ? nullptr : name.c_str(), &index);
    ost_array_t out{};
    call(ost_archive_array_at, get(), index, &out);
    return out;
  }
  void add(const std::string& name, const ost_array_t& array) {
    call(ost_archive_add, get(), name.c_str(), &array);
  }
  void save(const std::string& path) const { call(ost_archive_save, get(), path.c_str()); }

 private:
  UniqueHandle<ost_archive_t, ost_archive_destroy> handle_;
};

}  // namespace ostinato

#endif  // OSTINATO_APP_ARCHIVE_HPP_
