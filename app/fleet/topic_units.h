// FIFO topics, which one daemon of a fleet at a time serves (the unit topic/NAME). Any daemon passes publishes on to
// it. Loop thread; the route as usual. Everything that it refers to must outlive it.
#pragma once

#include <memory>
#include <string>

#include "app/fleet/member_calls.h"
#include "app/fleet/queue_units.h"
#include "app/fleet/unit_kind.h"
#include "runtime/runtime.h"
#include "streams/topic_fleet.h"

namespace freshet {

class TopicUnits final : public UnitKind, public TopicFleet {
 public:
  TopicUnits(QueueUnits& units, MemberCalls& calls, Runtime& runtime)
      : units_(units), calls_(calls), runtime_(runtime) {}

  std::string_view kind() const override { return "topic"; }
  void serve(const std::string& topic, bool is_mine) override;
  // Until no publish and no delivery is under way.
  bool is_busy(const std::string& topic) const override;

  void topics_changed() override;
  // Looks for a topic that another daemon may just have made: see Runtime::look_for().
  Async<void> look_for(std::string topic) const { return runtime_.look_for(topic_named(std::move(topic))); }
  bool may_serve(const std::string& topic) const override;
  Async<Result<Published>> publish(std::string topic, PublishInput input, MessageByProtocol by_protocol) override;

 private:
  QueueUnits& units_;
  MemberCalls& calls_;
  Runtime& runtime_;
};

// Wraps the route `here` of the query protocol: publishes to a FIFO topic that another member serves go there, all
// other requests stay. Everything must outlive the route. `seed` makes the ids of its own answers.
std::unique_ptr<Route> make_topic_route(std::unique_ptr<Route> here, const TopicUnits& topics, QueueUnits& units,
                                        MemberCalls& calls, uint64_t seed);

}  // namespace freshet
