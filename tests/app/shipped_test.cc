#include "app/cli/shipped.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace freshet::cli {
namespace {

namespace fs = std::filesystem;

class Shipped : public testing::Test {
 protected:
  Shipped() : here_(fs::current_path()), root_(fs::path(testing::TempDir()) / "shipped_test") {
    fs::remove_all(root_);
    fs::create_directories(root_ / "work/config");
    fs::create_directories(root_ / "share/config/demo");
    for (const char* file : {"work/config/own.yaml", "share/config/own.yaml", "share/config/lifo.yaml"}) {
      std::ofstream(root_ / file) << "x";
    }
    fs::current_path(root_ / "work");
  }
  ~Shipped() override {
    fs::current_path(here_);
    fs::remove_all(root_);
  }
  std::string found(const std::string& path) const { return shipped_path(path, root_ / "share"); }

  const fs::path here_;
  const fs::path root_;
};

TEST_F(Shipped, AFileThatIsNotHereIsFoundAmongThoseThatShip) {
  EXPECT_EQ(found("config/lifo.yaml"), root_ / "share/config/lifo.yaml");
  EXPECT_EQ(found("./config/lifo.yaml"), root_ / "share/config/lifo.yaml");
}

TEST_F(Shipped, AFileThatIsHereWins) {
  EXPECT_EQ(found("config/own.yaml"), "config/own.yaml");
}

TEST_F(Shipped, AnyOtherPathStaysAsItIs) {
  for (const std::string path : {"", "config/none.yaml", "/config/lifo.yaml", "config/demo", "-", ":memory:"}) {
    EXPECT_EQ(found(path), path);
  }
}

}  // namespace
}  // namespace freshet::cli
