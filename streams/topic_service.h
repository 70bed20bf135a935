// Topics and subscriptions over the system table, and publishing to them.
//
// A publish writes one event for each matching subscription, all in one transaction, and is ready when that is applied.
// The queue delivers the events.
//
// Changes of topics and subscriptions run one after the other, in the order of the calls, even if a caller goes away.
// So memory agrees with the store, even if the store answers late.
//
// Publishes to a FIFO topic run one after the other, even if a caller goes away. The topic's record (fifo_record.h) is
// written with the events. In a fleet, one daemon at a time serves a FIFO topic (topic_sharing.cc). Loop thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "base/turns.h"
#include "base/wall_guard.h"
#include "streams/arn.h"
#include "streams/definition_writer.h"
#include "streams/delivery_queue.h"
#include "streams/fifo_record.h"
#include "streams/pattern.h"
#include "streams/shared_fifo.h"
#include "streams/subscription.h"
#include "streams/topic_fleet.h"
#include "streams/topic_message.h"
#include "streams/topic_records.h"
#include "streams/topics.h"
#include "tables/tables.h"

namespace freshet {

struct TopicStats {
  uint64_t published = 0;
  uint64_t deliveries = 0;     // Written to the queue.
  uint64_t filtered = 0;       // Messages that a subscription's policy kept from it.
  uint64_t undeliverable = 0;  // Messages for a subscription whose target does not exist.
  uint64_t repeated = 0;       // Messages that were published to a FIFO topic again within its window.
};

// A publish as a list of writes, for code that publishes together with writes of its own.
struct PreparedPublish {
  std::string message_id;
  std::vector<PreparedEvent> events;
};

// A topic as clients see it.
struct TopicState {
  std::string name;
  TopicSettings settings;
  size_t confirmed = 0;  // The confirmed subscriptions.
  size_t pending = 0;
};

using ChangeTopic = std::function<Result<void>(TopicSettings&)>;

class TopicService final : public Publisher {
 public:
  // All must outlive this.
  TopicService(Tables& tables, Scheduler& scheduler, Random& random, WallGuard& wall, DeliveryQueue& queue,
               Account account);
  TopicService(const TopicService&) = delete;
  TopicService& operator=(const TopicService&) = delete;

  // kValidation for a definition that put_topic() and subscribe() always refuse, whatever exists: name; id, protocol,
  // endpoint, policy.
  static Result<void> check(const TopicDefinition& topic);
  static Result<void> check(const SubscriptionDefinition& subscription);

  // Loads the topics of the system table. Call it once, first.
  Async<Result<void>> load();

  // Settings that clients made beside the definition stay.
  Async<Result<void>> put_topic(TopicDefinition topic);
  // Also removes its subscriptions, and returns their ARNs. kNotFound.
  Async<Result<std::vector<std::string>>> remove_topic(std::string name);
  // Returns the ARN. kNotFound for an unknown topic, kValidation for a bad protocol, endpoint or policy.
  Async<Result<std::string>> subscribe(SubscriptionDefinition subscription);
  Async<Result<void>> unsubscribe(std::string subscription_arn);  // kNotFound.

  // A client's request. An existing topic must have all the requested settings. kLimitExceeded at kMaxTopics.
  Async<Result<void>> create_topic(std::string name, TopicSettings asked);
  // Changes the settings by `change`, unless it refuses. It is called once, in its turn. kNotFound.
  Async<Result<void>> change_topic(std::string name, ChangeTopic change);
  // Makes a subscription with an id of its own, or returns the existing one with the same protocol and endpoint, which
  // must then be as `configure` would have made it. One to an HTTP endpoint is pending; the endpoint confirms and
  // unsubscribes at `server` (http://HOST:PORT). kLimitExceeded at kMaxSubscriptionsPerTopic.
  Async<Result<SubscriptionState>> request_subscription(SubscriptionDefinition asked, ChangeSubscription configure,
                                                        std::string server);
  Async<Result<void>> change_subscription(std::string subscription_arn, ChangeSubscription change);
  // Queues the message that asks a pending subscription's endpoint to visit a URL of `server` (http://HOST:PORT) with
  // the token. Its target is confirmation_target().
  Async<Result<void>> send_confirmation(std::string subscription_arn, std::string server);
  // Confirms the subscription with that token; with `authenticated` the token cannot end it. kValidation for an unknown
  // token, kNotFound for the topic.
  Async<Result<SubscriptionState>> confirm_subscription(std::string topic, std::string token, bool authenticated);

  std::optional<TopicState> find_topic(const std::string& name) const;
  std::optional<SubscriptionState> find_subscription(const std::string& subscription_arn) const;
  // The topics after that name, in order; at most `most`.
  std::vector<std::string> topics_after(const std::string& name, size_t most) const;
  // The subscriptions of one topic, or of all for "", after that ARN, by topic and id; at most `most`.
  std::vector<SubscriptionState> subscriptions_after(const std::string& topic, const std::string& arn,
                                                     size_t most) const;

  bool has_topic(const std::string& name) const { return topics_.contains(name); }
  std::vector<TopicDefinition> topics() const;
  std::vector<SubscriptionDefinition> subscriptions() const;
  std::string arn_of(const SubscriptionDefinition& subscription) const;

  // kTooManyRequests if the queue of any subscription is full, kValidation if filter policies would have to examine too
  // much of the message: then nothing is delivered. A message that a FIFO topic has already got within its window gets
  // the same answer as before and is not delivered again. Long work lets other work run in between.
  Async<Result<std::string>> publish(PublishInput input) override;
  Async<Result<Published>> publish(PublishInput input, MessageByProtocol by_protocol);
  // Prepares a publish for callers that write the events themselves. Not for a FIFO topic. `most_bytes` bounds the
  // message with its attributes.
  Async<Result<PreparedPublish>> prepare(PublishInput input, MessageByProtocol by_protocol, size_t most_bytes);

  const TopicStats& stats() const { return stats_; }

  // From now on, changes of topics and subscriptions are written by `definitions`, which must outlive this.
  void share_definitions(DefinitionWriter& definitions) { definitions_ = &definitions; }
  // Others have made, changed or removed it, and the system table has that already. They do nothing if memory agrees.
  // A subscription without its topic waits for it. forget_topic() returns the ARNs of the topic's subscriptions, which
  // wait from then on.
  void accept_topic(const std::string& name, TopicSettings settings);
  std::vector<std::string> forget_topic(const std::string& name);
  void accept_subscription(const SubscriptionDefinition& definition, const SubscriptionSettings& settings);
  void forget_subscription(const std::string& subscription_arn);

  // From now on, the FIFO topics are those of a fleet: this daemon publishes to one itself while serve() says so. Call
  // it before load(). The fleet must outlive this.
  void share(TopicFleet& fleet) { fleet_ = &fleet; }
  std::set<std::string> fifo_topics() const;
  // In a fleet: this daemon serves the FIFO topic from now on, or begins nothing more for it.
  void serve(const std::string& topic, bool is_mine);
  // After serve(topic, false): true while a publish to the topic or one of its deliveries is under way.
  bool is_busy(const std::string& topic) const;

 private:
  struct Subscription {
    SubscriptionDefinition definition;
    SubscriptionSettings settings;
    std::optional<Pattern> filter;
  };
  // A publish to a FIFO topic that waits for its turn.
  struct Waiting {
    PublishInput input;
    MessageByProtocol by_protocol;
    std::string trace_id;
    Promise<Result<Published>> done;
  };
  // A FIFO topic that this daemon serves in a fleet.
  struct Served {
    std::string name;
    uint64_t turn = 0;      // Another one with each call of serve().
    bool is_ready = false;  // The record is claimed, and everything is read.
    bool wants_claim = false;
    bool may_try_again = false;  // The last publish failed, and nothing of it counts if it is done again.
    FifoClaim claim{};
    SentLately sent{};
  };
  struct Fifo {
    FifoRecord record;
    std::deque<Waiting> waiting;
    bool at_work = false;
    std::unique_ptr<Served> served = nullptr;  // Null without a fleet, and until this daemon serves the topic.
  };
  struct Topic {
    TopicSettings settings;
    std::map<std::string, Subscription> subscriptions;  // By id.
    std::shared_ptr<Fifo> fifo;                         // Null for a standard topic.
  };

  // The body of each, in its turn.
  Async<Result<void>> put_topic_now(TopicDefinition topic);
  Async<Result<std::vector<std::string>>> remove_topic_now(std::string name);
  Async<Result<std::string>> subscribe_now(SubscriptionDefinition subscription);
  Async<Result<void>> unsubscribe_now(std::string subscription_arn);
  Async<Result<void>> create_topic_now(std::string name, TopicSettings asked);
  Async<Result<void>> change_topic_now(std::string name, ChangeTopic change);
  Async<Result<SubscriptionState>> request_subscription_now(SubscriptionDefinition asked, ChangeSubscription configure,
                                                            std::string server);
  Async<Result<void>> change_subscription_now(std::string subscription_arn, ChangeSubscription change);
  Async<Result<SubscriptionState>> confirm_subscription_now(std::string topic, std::string token, bool authenticated);

  static Result<Subscription> compile(SubscriptionDefinition definition);
  void accept(const SubscriptionDefinition& definition, const SubscriptionSettings& settings);
  const Subscription* subscription_at(const std::string& subscription_arn) const;  // Null if there is none.
  SubscriptionState state_of(const Subscription& subscription) const;
  Async<Result<void>> write_topic(std::string name, TopicSettings settings);
  Async<Result<void>> write_subscription(SubscriptionDefinition definition, SubscriptionSettings settings);
  Async<Result<void>> write_definition(DefinitionName what, std::vector<WriteInput> writes);
  void become(Topic& topic, TopicSettings settings);
  std::string unsubscribe_url(const Subscription& subscription) const;  // May be empty.
  // Adds the events of one message for the topic's subscriptions, in pieces. Returns false if more is to be done after
  // other work had its turn. Subscriptions that are added or removed meanwhile may or may not get the message.
  struct FanOut;
  Result<bool> fan_out(const Topic& topic, FanOut& out);
  // Adds all events. kNotFound if the topic that the message names was deleted, or replaced by another (`fifo`: null
  // for a standard topic). `out` outlives the work.
  Async<Result<void>> fan_out_all(FanOut& out, std::shared_ptr<Fifo> fifo);
  Delivery delivery_to(const Subscription& subscription, FanOut& out) const;
  // For a message to a standard topic.
  Result<TopicMessage> message_of(PublishInput input, MessageByProtocol by_protocol, size_t most_bytes);
  // `before` is written with the first of them, `after` with the last.
  Async<Result<void>> write(std::vector<PreparedEvent> events, std::vector<WriteInput> before,
                            std::vector<WriteInput> after);
  Async<Result<Published>> publish_in_turn(std::shared_ptr<Fifo> fifo, PublishInput input,
                                           MessageByProtocol by_protocol);
  Async<void> work_off(std::shared_ptr<Fifo> fifo);
  Async<Result<Published>> publish_next(std::shared_ptr<Fifo> fifo, PublishInput input, MessageByProtocol by_protocol,
                                        std::string trace_id);
  Async<Result<void>> write_in_turn(std::shared_ptr<Fifo> fifo, std::string name, std::vector<PreparedEvent> events,
                                    SentMessage sent);

  // topic_sharing.cc
  void begin_to_serve(const std::string& name, const std::shared_ptr<Fifo>& fifo);
  bool is_mine(const std::string& name, const Fifo& fifo, uint64_t turn) const;
  Async<void> keep_ready(std::string name, std::shared_ptr<Fifo> fifo, uint64_t turn);
  Async<Result<void>> make_ready(std::string name, std::shared_ptr<Fifo> fifo);
  Async<Result<void>> claim(std::string name, std::shared_ptr<Fifo> fifo, uint64_t turn);
  Async<Result<void>> read_sent(std::string name, std::shared_ptr<Fifo> fifo, uint64_t turn);
  Async<Result<Published>> publish_in_fleet(std::shared_ptr<Fifo> fifo, Waiting publish);
  Async<Result<void>> write_in_fleet(std::shared_ptr<Fifo> fifo, std::string name, std::vector<PreparedEvent> events,
                                     SentMessage sent);

  Tables& tables_;
  Scheduler& scheduler_;
  Random& random_;
  WallGuard& wall_;
  DeliveryQueue& queue_;
  const Account account_;
  std::map<std::string, Topic> topics_;
  // By topic and id: subscriptions that wait for a topic of that name.
  std::map<std::string, std::map<std::string, Subscription>> without_topic_;
  TopicStats stats_;
  TopicFleet* fleet_ = nullptr;              // Null without a fleet.
  DefinitionWriter* definitions_ = nullptr;  // Null: the system table alone has them.
  std::set<std::string> serving_;            // In a fleet: the FIFO topics that this daemon serves.
  Turns changes_{scheduler_};
  Scope publishing_;  // The last member, so that it is destroyed first.
};

// The target of a delivery to that subscription: the function's name, or the subscription's ARN for an endpoint.
std::string delivery_target(const SubscriptionDefinition& subscription, const std::string& subscription_arn);

// Ends the target of the request to confirm; no ARN of a subscription ends like it.
inline constexpr std::string_view kConfirmationSuffix = "/confirmation";
std::string confirmation_target(const std::string& subscription_arn);

}  // namespace freshet
