// The names of a task's states, and texts that almost are.
#include "runtime/recorder/recorded_event.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(TaskStage, IsReadFromEachName) {
  for (size_t stage = 0; stage < kTaskStageNames.size(); ++stage) {
    EXPECT_EQ(stage_of(kTaskStageNames[stage]), static_cast<TaskStage>(stage)) << kTaskStageNames[stage];
  }
}

TEST(TaskStage, IsOtherForEveryTextThatDiffersInOneByte) {
  for (size_t stage = 1; stage + 1 < kTaskStageNames.size(); ++stage) {
    const std::string name(kTaskStageNames[stage]);
    for (size_t i = 0; i < name.size(); ++i) {
      std::string changed = name;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      EXPECT_EQ(stage_of(changed), TaskStage::kOther) << changed;
      EXPECT_EQ(stage_of(name.substr(0, i)), i == 0 ? TaskStage::kNone : TaskStage::kOther) << name << i;
    }
    EXPECT_EQ(stage_of(name + name.back()), TaskStage::kOther) << name;
  }
  EXPECT_EQ(stage_of("PEND"), TaskStage::kOther);
  EXPECT_EQ(stage_of(std::string(1'000, 'P')), TaskStage::kOther);
}

}  // namespace
}  // namespace freshet
