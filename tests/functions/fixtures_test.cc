// The fixtures that ship in streams/fixtures, through the built-in functions. To accept changed outputs on purpose, run
// with FRESHET_ACCEPT=1 and read the difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "functions/queue/fixture_states.h"
#include "functions/register.h"
#include "functions/replay_program.h"
#include "tests/sim/source_dir.h"

namespace freshet {
namespace {

const std::string kRoot = source_dir();

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The settings that the daemon would take from the processor's environment.
std::map<std::string, QueueSettings> settings_of(const Deployment& deployment) {
  std::map<std::string, QueueSettings> out;
  for (const FunctionDefinition& function : deployment.functions) {
    if (function.handler != "process_tasks") continue;
    auto settings = process_settings(function.environment);
    EXPECT_TRUE(settings) << settings.error().message;
    if (settings) out[settings->queue_table] = settings->queue;
  }
  return out;
}

Result<std::string> run(const std::string& name, std::vector<EnvironmentOverride> overrides) {
  auto fixture = read_fixture(read(kRoot + "/streams/fixtures/" + name + ".jsonl"), name);
  if (!fixture) return fail(fixture.error());
  DeploymentInput input;
  input.source.file = "config/lifo.yaml";
  input.source.text = read(kRoot + "/config/lifo.yaml");
  input.overrides = std::move(overrides);
  auto deployment = resolve_deployment(input);
  if (!deployment) return fail(deployment.error());
  QueueReplayProgram program(settings_of(*deployment));
  return replay(*fixture, *deployment, program, {});
}

struct Case {
  const char* name;
  std::vector<EnvironmentOverride> overrides;
};

class Fixtures : public testing::TestWithParam<Case> {};

TEST_P(Fixtures, DoWhatIsExpected) {
  auto out = run(GetParam().name, GetParam().overrides);
  ASSERT_TRUE(out) << out.error().message;
  const std::string path = kRoot + "/streams/fixtures/" + GetParam().name + ".expected.jsonl";
  if (std::getenv("FRESHET_ACCEPT")) std::ofstream(path, std::ios::binary) << *out;
  auto difference = first_difference(read(path), *out);
  EXPECT_FALSE(difference) << difference->to_string();
  auto again = run(GetParam().name, GetParam().overrides);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *out) << "not deterministic";
}

const EnvironmentOverride kFake{"ProcessTasksFunction", "TASK_RUNNER", "fake"};
const EnvironmentOverride kFast{"ProcessTasksFunction", "FAKE_MS", "1000"};
const EnvironmentOverride kTwo{"ProcessTasksFunction", "CONCURRENCY", "2"};

INSTANTIATE_TEST_SUITE_P(Shipped, Fixtures,
                         testing::Values(Case{"burst", {kFake, kFast, kTwo}}, Case{"overload", {kFake, kFast, kTwo}},
                                         Case{"out-of-order", {kFake, kFast, kTwo}}),
                         [](const auto& given) {
                           std::string name = given.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(QueueFixtures, AStatusThatIsNoneIsRefusedWithTheNearest) {
  const std::string header =
      R"({"freshet":"fixture","version":1,"table":"QueueTable","partitionKey":{"name":"taskId","type":"S"},)"
      R"("start":"2026-01-01T00:00:00.000Z"})"
      "\n";
  const auto said = [&](const std::string& lines) {
    auto fixture = read_fixture(header + lines, "f.jsonl");
    EXPECT_TRUE(fixture) << fixture.error().message;
    auto checked = check_states(*fixture);
    return checked ? std::string() : checked.error().message;
  };
  const auto snapshot = [](const std::string& status) {
    return R"({"snapshot":{"taskId":{"S":"a"},"taskStatus":{"S":")" + status + R"("}}})" + "\n";
  };
  const std::string all = "; there are PENDING, DELAYED, TAKEN, SUCCESS, FAILURE, DEAD, SHED, CANCELLED";
  EXPECT_EQ(said(snapshot("PENDING") + snapshot("SHED")), "");
  EXPECT_EQ(said(R"({"snapshot":{"taskId":{"S":"no task"}}})"), "");
  EXPECT_EQ(said(snapshot("PENDING") + snapshot("PENDNG")),
            "f.jsonl:3: taskStatus 'PENDNG' is no state (did you mean 'PENDING'?)" + all);
  EXPECT_EQ(said(snapshot("pending")), "f.jsonl:2: taskStatus 'pending' is no state (did you mean 'PENDING'?)" + all);
  EXPECT_EQ(said(snapshot("x")), "f.jsonl:2: taskStatus 'x' is no state" + all);
  const std::string before = R"({"eventName":"REMOVE","dynamodb":{"ApproximateCreationDateTime":1767225601,)"
                             R"("OldImage":{"taskId":{"S":"a"},"taskStatus":{"S":"Succes"}}}})";
  EXPECT_EQ(said("\n" + before), "f.jsonl:3: taskStatus 'Succes' is no state (did you mean 'SUCCESS'?)" + all);

  // A replay looks before it applies anything.
  auto fixture = read_fixture(header + snapshot("PENDNG"), "f.jsonl");
  DeploymentInput input;
  input.source.file = "config/lifo.yaml";
  input.source.text = read(kRoot + "/config/lifo.yaml");
  const auto deployment = resolve_deployment(input);
  QueueReplayProgram program(settings_of(*deployment));
  const auto out = replay(*fixture, *deployment, program, {});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message.substr(0, 33), "f.jsonl:2: taskStatus 'PENDNG' is");
}

}  // namespace
}  // namespace freshet
