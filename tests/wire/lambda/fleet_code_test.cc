// Uploaded code goes from the folder of one daemon to that of another, through a store that both share.
#include "wire/lambda/fleet_code.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "base/crypto.h"
#include "base/text_file.h"
#include "runtime/definitions/shared_code.h"
#include "runtime/loop/sim_loop.h"
#include "tables/engine/embedded.h"
#include "tables/lease/definition_log.h"
#include "tables/lease/fleet_items.h"
#include "wire/lambda/zip.h"

namespace freshet {
namespace {

namespace fs = std::filesystem;

std::string archive_of_two() {
  ZipWriter archive;
  archive.add({"lib", true, false}, "");
  archive.add({"lib/tools.py", false, false}, "tools");
  archive.add({"bootstrap", false, true}, std::string(1'000, 'x'));
  return archive.finish();
}

class FleetCodeTest : public testing::Test {
 protected:
  FleetCodeTest() : world(clock), random(1) {
    EmbeddedOptions options;
    options.directory = kMemoryDirectory;
    auto opened = open_embedded(nullptr, world, random, options);
    FRESHET_CHECK(opened.has_value(), "a store in memory opens");
    engine = std::move(*opened);
    world.add(*engine);
    FRESHET_CHECK(provide_definitions_table(*engine).take().has_value(), "the table is made");
    directory = fs::path(testing::TempDir()) / ("freshet-code-" + std::to_string(getpid()));
    fs::remove_all(directory);
    fs::create_directories(directory);
  }
  ~FleetCodeTest() override {
    world.remove(*engine);
    fs::remove_all(directory);
  }

  struct Daemon {
    Daemon(FleetCodeTest& test, const std::string& name)
        : store({test.directory / name, false}, test.world.loop(), test.world.loop(), *test.files),
          code(store, *test.engine, test.world.loop(), test.random) {
      store.ask([this](const std::string& folder) { return folder == used; });
    }
    std::string used;
    CodeStore store;
    FleetCode code;
  };
  // The store's own thread answers.
  template <class T>
  Result<T> wait(Async<Result<T>> work) {
    while (!work.is_ready()) {
      world.loop().turn();
      std::this_thread::yield();
    }
    return work.take();
  }
  static std::string text_of(const fs::path& path) { return read_text_file(path.string()).value_or("none"); }

  SimClock clock{WallTime(seconds(1'800'000'000))};
  SimLoop world;
  Random random;
  const std::unique_ptr<Files> files = make_posix_files();
  std::unique_ptr<EmbeddedTables> engine;
  fs::path directory;
};

TEST_F(FleetCodeTest, AnotherDaemonGetsWhatAClientHasUploaded) {
  Daemon a(*this, "a");
  Daemon b(*this, "b");
  const std::string archive = archive_of_two();
  const std::string folder = sha256_hex(archive);
  auto kept = wait(a.store.keep(archive));
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->folder, a.code.path_of(folder));
  EXPECT_EQ(wait(b.code.bring(folder)).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(wait(a.code.give(*kept, archive)));
  const auto brought = wait(b.code.bring(folder));
  ASSERT_TRUE(brought) << brought.error().message;
  const fs::path there = b.code.path_of(folder);
  EXPECT_EQ(text_of(there / "lib" / "tools.py"), "tools");
  EXPECT_NE(fs::status(there / "bootstrap").permissions() & fs::perms::owner_exec, fs::perms::none);
  EXPECT_EQ(fs::status(there / "lib" / "tools.py").permissions() & fs::perms::owner_exec, fs::perms::none);
}

TEST_F(FleetCodeTest, AFolderStaysWhileItIsHeld) {
  Daemon a(*this, "a");
  const std::string archive = archive_of_two();
  const std::string folder = sha256_hex(archive);
  auto kept = wait(a.store.keep(archive));
  ASSERT_TRUE(kept);
  auto held = wait(a.code.bring(folder));
  ASSERT_TRUE(held);
  kept->hold.reset();
  EXPECT_TRUE(wait(a.store.find(folder))) << "somebody holds it";
  held->reset();
  EXPECT_EQ(wait(a.store.find(folder)).error().code, ErrorCode::kNotFound);
}

// The archive that the client sent is not kept: the daemon makes another one of its folder.
TEST_F(FleetCodeTest, AFolderFromBeforeTheFleetGoesToTheOthers) {
  Daemon a(*this, "a");
  Daemon b(*this, "b");
  const std::string archive = archive_of_two();
  const std::string folder = sha256_hex(archive);
  const auto kept = wait(a.store.keep(archive));
  ASSERT_TRUE(kept);
  std::ofstream(a.code.path_of(folder) + "/added.txt") << "by the program";
  ASSERT_TRUE(wait(a.code.give(folder)));
  const auto brought = wait(b.code.bring(folder));
  ASSERT_TRUE(brought);
  const fs::path there = b.code.path_of(folder);
  EXPECT_EQ(text_of(there / "lib" / "tools.py"), "tools");
  EXPECT_EQ(text_of(there / "added.txt"), "by the program");
  EXPECT_NE(fs::status(there / "bootstrap").permissions() & fs::perms::owner_exec, fs::perms::none);
  EXPECT_EQ(wait(a.store.pack(folder)).value(), wait(b.store.pack(folder)).value());
  EXPECT_EQ(wait(a.code.give("none")).error().code, ErrorCode::kNotFound);
}

// It is larger than a file that a person writes.
TEST_F(FleetCodeTest, ALargeFileGoesToTheOthers) {
  Daemon a(*this, "a");
  Daemon b(*this, "b");
  const std::string archive = archive_of_two();
  const std::string folder = sha256_hex(archive);
  const auto kept = wait(a.store.keep(archive));
  ASSERT_TRUE(kept);
  const fs::path large = a.code.path_of(folder) + "/large";
  std::ofstream(large) << "x";
  fs::resize_file(large, kMostTextBytes + 1);
  ASSERT_TRUE(wait(a.code.give(folder)));
  ASSERT_TRUE(wait(b.code.bring(folder)));
  EXPECT_EQ(fs::file_size(b.code.path_of(folder) + "/large"), kMostTextBytes + 1);
  fs::resize_file(large, CodeLimits().unpacked + 1);
  EXPECT_EQ(wait(a.store.pack(folder)).error().code, ErrorCode::kRequestTooLarge);
}

}  // namespace
}  // namespace freshet
