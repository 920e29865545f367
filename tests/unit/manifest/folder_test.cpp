// Paths in a document that a stranger sent: nothing outside its folder is ever opened.
#include "core/manifest/folder.hpp"

#include <sys/stat.h>

#include "tests/unit/manifest/temp_folder.hpp"

namespace ost::manifest {
namespace {

TEST(Folder, RefusesPathsThatCouldLeave) {
  for (const char* path :
       {"/etc/passwd", "../x", "a/../../x", "a/..", "..", "a//b", "./a", "a/.", "a\\b", "a/", ""}) {
    EXPECT_ERROR(check_relative_path(path), "paths are relative and stay in the manifest's folder");
  }
  EXPECT_ERROR(check_relative_path("C:/x"), "starts with a drive");
  EXPECT_ERROR(check_relative_path(std::string_view("a\0b", 3)), "holds a control character");
  EXPECT_ERROR(check_relative_path(std::string(2000, 'a')), "longer than 1024 bytes");
  for (const char* path : {"a", "a/b.c", "..a", "a..", ".hidden", "a b/c", "ab:y"})
    EXPECT_TRUE(check_relative_path(path).has_value()) << path;
}

TEST(Folder, DoesNotFollowLinks) {
  const test::TempFolder outside, inside;
  test::write_file(outside / "secret", "secret");
  std::filesystem::create_symlink(outside / "secret", inside / "link");
  std::filesystem::create_directory_symlink(outside.path(), inside / "folder");
  test::write_file(inside / "plain", "12345");
  const auto folder = Folder::open(inside.path());
  ASSERT_OK(folder);
  EXPECT_ERROR(folder->open_file("link"), "link: a symbolic link, which is not followed");
  EXPECT_ERROR(folder->open_file("folder/secret"),
               "'folder' is no folder or a symbolic link, which is not followed");
  EXPECT_ERROR(folder->write_file("folder/new", test::bytes_of("x")), "is not followed");
  EXPECT_ERROR(folder->open_file("plain/x"), "'plain' is no folder");
  EXPECT_FALSE(std::filesystem::exists(outside / "new"));
  const auto plain = folder->open_file("plain");
  ASSERT_OK(plain);
  EXPECT_EQ(plain->size(), 5u);
  // A link as the target is replaced, not written through.
  ASSERT_OK(folder->write_file("link", test::bytes_of("new")));
  EXPECT_EQ(test::read_file(outside / "secret"), "secret");
  EXPECT_EQ(test::read_file(inside / "link"), "new");
}

TEST(Folder, OpensRegularFilesOnly) {
  const test::TempFolder folder_path;
  ASSERT_EQ(::mkfifo((folder_path / "fifo").c_str(), 0600), 0);
  std::filesystem::create_directory(folder_path / "sub");
  const auto folder = Folder::open(folder_path.path());
  ASSERT_OK(folder);
  EXPECT_ERROR(folder->open_file("fifo"), "fifo: not a regular file");  // and it does not hang
  EXPECT_ERROR(folder->open_file("sub"), "sub: not a regular file");
  EXPECT_ERROR(folder->open_file("nothing"), "nothing: cannot open: No such file or directory");
  EXPECT_EQ(folder->open_file("nothing").error().status, ost_status_t{OST_NOT_FOUND});
  EXPECT_ERROR(Folder::open(folder_path / "nothing"),
               "cannot open the folder: No such file or directory");
}

TEST(Folder, WritesWholeFilesAndLeavesNoTemporary) {
  const test::TempFolder path;
  const auto folder = Folder::open(path.path());
  ASSERT_OK(folder);
  ASSERT_OK(folder->write_file("sub/deep/a", test::bytes_of("first")));
  ASSERT_OK(folder->write_file("sub/deep/a", test::bytes_of("second")));
  EXPECT_EQ(test::read_file(path / "sub/deep/a"), "second");
  std::size_t files = 0;
  for (const auto& e : std::filesystem::recursive_directory_iterator(path.path()))
    files += e.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 1u);
  std::filesystem::create_directory(path / "taken");
  EXPECT_ERROR(folder->write_file("taken", test::bytes_of("x")),
               "taken: cannot rename the temporary file");
  for (const auto& e : std::filesystem::directory_iterator(path.path()))
    EXPECT_FALSE(e.path().string().ends_with(".tmp"));
}

TEST(File, ReadsWithinItsSize) {
  const test::TempFolder path;
  test::write_file(path / "a", "0123456789");
  const auto file = File::open(path / "a");
  ASSERT_OK(file);
  uint8_t two[2];
  ASSERT_OK(file->read_at(8, two));
  EXPECT_EQ(two[1], '9');
  EXPECT_ERROR(file->read_at(9, two), "bytes [9, 11) are wanted, the file has 10: it is truncated");
  EXPECT_ERROR(file->read_at(UINT64_MAX, two), "the file has 10");
  EXPECT_ERROR(file->read_all(9), "the file has 10 bytes, at most 9 are read");
}

}  // namespace
}  // namespace ost::manifest
