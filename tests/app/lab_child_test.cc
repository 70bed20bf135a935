// Programs that the lab and the demo run beside themselves: what is said when one has ended.
#include "app/lab/real/child.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "app/lab/real/temporary_folder.h"

namespace freshet::lab {
namespace {

class LabChild : public testing::Test {
 protected:
  std::string log() const { return folder_.path() + "/log"; }
  // Runs a script to its end: its output is closed when it has ended.
  Child run(const std::string& script) {
    auto child = Child::start({"sh", "-c", script}, log(), false);
    EXPECT_TRUE(child) << child.error().message;
    while (!child->has_ended()) {
    }
    return std::move(*child);
  }
  const TemporaryFolder folder_{"freshet-lab-child"};
};

TEST_F(LabChild, ASignalIsNamed) {
  const Child child = run("kill -SEGV $$");
  EXPECT_EQ(child.how_it_ended(), "it was killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(gone_with_log("the daemon did not start", &child, log()).message,
            "the daemon did not start: it was killed by signal 11 (Segmentation fault); it wrote nothing to its log");
}

std::string copy_of_log() {
  return (std::filesystem::temp_directory_path() / ("freshet-" + std::to_string(::getpid()) + ".log")).string();
}

TEST_F(LabChild, AStatusIsNamedAndAShortLogIsShown) {
  const Child child = run("echo no room >&2; exit 3");
  EXPECT_EQ(gone_with_log("the daemon did not start", &child, log()).message,
            "the daemon did not start: it ended with status 3; its log says: no room");
  EXPECT_FALSE(std::filesystem::exists(copy_of_log())) << "nothing is left behind that was shown";
}

TEST_F(LabChild, OfALongLogTheEndIsShownAndACopyIsKept) {
  std::ofstream(log()) << std::string(5000, 'x') << "\nlast\n";
  const std::string message = gone_with_log("gone", nullptr, log()).message;
  EXPECT_TRUE(message.ends_with(" ends with:\n  last")) << message;
  EXPECT_EQ(message.find("xxx"), std::string::npos);
  EXPECT_NE(message.find("its log, of which " + copy_of_log() + " is a copy, ends"), std::string::npos) << message;
  EXPECT_TRUE(std::filesystem::remove(copy_of_log()));
}

}  // namespace
}  // namespace freshet::lab
