// Templates that are to be deployed again while the daemon starts, or deploys another one.
#include "app/daemon/reloads.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/daemon/deployer.h"
#include "runtime/loop/sim_loop.h"
#include "runtime/runtime.h"
#include "tables/engine/embedded.h"
#include "tests/runtime/fakes.h"
#include "tests/sim/late_tables.h"
#include "tests/sim/log_capture.h"

namespace freshet {
namespace {

// A deployer over a store that takes its time: a deployment is under way until the loop has run.
class ReloadsTest : public ::testing::Test {
 protected:
  ReloadsTest() {
    EmbeddedOptions options;
    options.directory = std::string(kMemoryDirectory);
    auto opened = open_embedded(nullptr, sim_.loop(), random_, options);
    EXPECT_TRUE(opened);
    store_ = std::move(*opened);
    sim_.loop().add(*store_);
    late_ = std::make_unique<LateTables>(*store_, sim_.loop(), 1);
    runtime_ = std::make_unique<Runtime>(RuntimePorts{*late_, sim_.loop(), random_, http_, spawner_, natives_});
    auto started = runtime_->start();
    EXPECT_TRUE(sim_.run_until([&] { return started.is_ready(); }, seconds(60)));
    audit_ = std::make_unique<AuditLog>(*late_, clock_);
    deployer_ = std::make_unique<Deployer>(
        Deployer::Parts{*late_, *runtime_, *audit_, [](const PlannedDeployment&) { return Result<void>(); }, log_});
    reloads_ = std::make_unique<Reloads>(Reloads::Parts{[this] { return read(); },
                                                        [this](PlannedDeployment planned) {
                                                          ++deployments_;
                                                          return deployer_->deploy_in_turn(std::move(planned), Actor());
                                                        },
                                                        [this](bool applied) { deployer_->count(applied); },
                                                        sim_.loop(), sim_.loop(), log_});
  }
  ~ReloadsTest() override {
    reloads_.reset();
    runtime_.reset();
    sim_.loop().remove(*store_);
  }

  Result<PlannedDeployment> read() {
    if (file_.empty()) return invalid("nothing there");
    return with_topic(file_);
  }
  static PlannedDeployment with_topic(const std::string& name) {
    PlannedDeployment planned;
    planned.deployment.topics = {{name}};
    return planned;
  }
  void reload(const std::string& topic) {
    file_ = topic;
    reloads_->read_again();
  }
  std::string topics() {
    sim_.run_for(seconds(5));
    std::string all;
    for (const TopicDefinition& topic : runtime_->topics()) all += (all.empty() ? "" : " ") + topic.name;
    return all;
  }

  SimClock clock_{WallTime(milliseconds(1'767'225'600'000))};
  SimLoop sim_{clock_, {.mailbox_bound = 2}};
  Random random_{1};
  NoHttp http_;
  NoSpawner spawner_;
  NativeRegistry natives_;
  LogCapture lines_;
  EventLog log_{clock_, lines_, LogLevel::kInfo};
  std::unique_ptr<EmbeddedTables> store_;
  std::unique_ptr<LateTables> late_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<Deployer> deployer_;
  std::unique_ptr<Reloads> reloads_;
  std::string file_;
  int deployments_ = 0;
};

TEST_F(ReloadsTest, OneThatComesDuringTheStartIsDoneAfterIt) {
  reload("First");
  reload("Second");
  EXPECT_EQ(topics(), "") << "not before the start is over";
  reloads_->begin();
  EXPECT_EQ(topics(), "Second");
  EXPECT_EQ(deployments_, 1) << "the newest says all that is wanted";
}

TEST_F(ReloadsTest, OneThatComesDuringAnotherIsDoneAfterIt) {
  reloads_->begin();
  reload("First");
  sim_.run_ready();
  EXPECT_EQ(deployments_, 1);
  reload("Second");
  sim_.run_ready();
  reload("Third");
  sim_.run_ready();
  EXPECT_EQ(deployments_, 1) << "the first one is still under way";
  EXPECT_EQ(topics(), "Third");
  EXPECT_EQ(deployments_, 2);
  EXPECT_EQ(lines_.count("DEPLOY_REFUSED"), 0u);
}

TEST_F(ReloadsTest, OneThatComesDuringAClientsDeploymentIsDoneAfterIt) {
  reloads_->begin();
  auto clients = deployer_->deploy(with_topic("Clients"), Actor());
  ASSERT_FALSE(clients.is_ready());
  reload("Templates");
  sim_.run_ready();
  auto second = deployer_->deploy(with_topic("Second"), Actor());
  ASSERT_TRUE(second.is_ready());
  EXPECT_EQ(second.take().error().code, ErrorCode::kConflict) << "clients are told to try again";
  EXPECT_EQ(topics(), "Templates");
  ASSERT_TRUE(clients.is_ready());
  EXPECT_TRUE(clients.take());
}

TEST_F(ReloadsTest, OneThatFindsTheMailboxFullIsDoneSoon) {
  reloads_->begin();
  sim_.run_ready();
  while (sim_.loop().deliver([] {})) {
  }
  reload("Late");
  EXPECT_EQ(topics(), "Late");
}

TEST_F(ReloadsTest, AfterTheEndNothingIsBegun) {
  reloads_->begin();
  reload("First");
  sim_.run_ready();
  reload("Second");
  reloads_->end();
  EXPECT_EQ(topics(), "First");
  reload("Third");
  EXPECT_EQ(topics(), "First");
}

TEST_F(ReloadsTest, ATemplateThatCannotBeReadChangesNothingAndIsCounted) {
  reloads_->begin();
  reload("First");
  EXPECT_EQ(topics(), "First");
  reload("");
  EXPECT_EQ(topics(), "First");
  EXPECT_EQ(lines_.count("DEPLOY_REFUSED"), 1u);
  EXPECT_EQ(deployer_->counts().applied, 1u);
  EXPECT_EQ(deployer_->counts().refused, 1u);
}

}  // namespace
}  // namespace freshet
