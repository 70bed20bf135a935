// Topics and subscriptions over the system table, and publishing to them.
//
// A publish writes one event a matching subscription, all in one step, and is ready when that is applied: acknowledged
// together with its logged deliveries. Carrying them is the queue's business.
//
// Changes of topics and subscriptions are carried out one after the other, in the order in which they were asked for
// and whatever becomes of those who asked: on a store whose answers come late, too, memory says what is stored.
//
// Publishes to a FIFO topic are carried out one after the other, whatever becomes of those who asked. With the events
// goes what the topic remembers (fifo_record.h). Loop thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "base/turns.h"
#include "streams/arn.h"
#include "streams/delivery_queue.h"
#include "streams/fifo_record.h"
#include "streams/pattern.h"
#include "streams/subscription.h"
#include "streams/topic_message.h"
#include "streams/topic_records.h"
#include "streams/topics.h"
#include "tables/tables.h"

namespace freshet {

struct TopicStats {
  uint64_t published = 0;
  uint64_t deliveries = 0;     // Logged.
  uint64_t filtered = 0;       // Kept from a subscription by its policy.
  uint64_t undeliverable = 0;  // The subscription's target does not exist.
  uint64_t repeated = 0;       // Published to a FIFO topic again within its window.
};

// Publishing as a list of writes, for whoever publishes together with writes of its own.
struct PreparedPublish {
  std::string message_id;
  std::vector<PreparedEvent> events;
};

// A topic and a subscription as clients see them.
struct TopicState {
  std::string name;
  TopicSettings settings;
  size_t confirmed = 0;  // Subscriptions.
  size_t pending = 0;
};
struct SubscriptionState {
  std::string arn;
  SubscriptionDefinition definition;
  SubscriptionSettings settings;
};

using ChangeTopic = std::function<Result<void>(TopicSettings&)>;
using ChangeSubscription = std::function<Result<void>(SubscriptionDefinition&, SubscriptionSettings&)>;

class TopicService final : public Publisher {
 public:
  // All must outlive this.
  TopicService(Tables& tables, Scheduler& scheduler, Random& random, DeliveryQueue& queue, Account account);
  TopicService(const TopicService&) = delete;
  TopicService& operator=(const TopicService&) = delete;

  // kValidation for a definition that put_topic() and subscribe() always refuse, whatever exists: name; id, protocol,
  // endpoint, policy.
  static Result<void> check(const TopicDefinition& topic);
  static Result<void> check(const SubscriptionDefinition& subscription);

  // Reads what the system table holds. Once, first.
  Async<Result<void>> load();

  // What clients set beside the definition stays.
  Async<Result<void>> put_topic(TopicDefinition topic);
  // With its subscriptions, whose ARNs it gives. kNotFound.
  Async<Result<std::vector<std::string>>> remove_topic(std::string name);
  // The ARN. kNotFound for an unknown topic, kValidation for a bad protocol, endpoint or policy.
  Async<Result<std::string>> subscribe(SubscriptionDefinition subscription);
  Async<Result<void>> unsubscribe(std::string subscription_arn);  // kNotFound.

  // What clients ask for. A topic that is there must have all that is asked of it. kLimitExceeded at kMaxTopics.
  Async<Result<void>> create_topic(std::string name, TopicSettings asked);
  // What `change` makes of the settings, if it does not refuse. It is called once, in its turn. kNotFound.
  Async<Result<void>> change_topic(std::string name, ChangeTopic change);
  // A subscription of its own id; that of the same protocol and endpoint where there is one, which must then be as
  // `configure` would have made it. One to an HTTP endpoint is pending; `server` (http://HOST:PORT) is where the
  // endpoint confirms and unsubscribes. kLimitExceeded at kMaxSubscriptionsPerTopic.
  Async<Result<SubscriptionState>> request_subscription(SubscriptionDefinition asked, ChangeSubscription configure,
                                                        std::string server);
  Async<Result<void>> change_subscription(std::string subscription_arn, ChangeSubscription change);
  // Logs the message that asks a pending subscription's endpoint to visit a URL: `server` (http://HOST:PORT) with the
  // token. It goes to the target confirmation_target().
  Async<Result<void>> send_confirmation(std::string subscription_arn, std::string server);
  // The subscription with that token is pending no more; with `authenticated` the token does not end it. kValidation
  // for a token of none, kNotFound for the topic.
  Async<Result<SubscriptionState>> confirm_subscription(std::string topic, std::string token, bool authenticated);

  std::optional<TopicState> find_topic(const std::string& name) const;
  std::optional<SubscriptionState> find_subscription(const std::string& subscription_arn) const;
  // Those whose name comes after that one, in order; at most `most`.
  std::vector<std::string> topics_after(const std::string& name, size_t most) const;
  // Those of one topic, or of all for "", whose ARN comes after that one, by topic and id; at most `most`.
  std::vector<SubscriptionState> subscriptions_after(const std::string& topic, const std::string& arn,
                                                     size_t most) const;

  bool has_topic(const std::string& name) const { return topics_.contains(name); }
  std::vector<TopicDefinition> topics() const;
  std::vector<SubscriptionDefinition> subscriptions() const;
  std::string arn_of(const SubscriptionDefinition& subscription) const;

  // kTooManyRequests if the queue of any subscription is full, kValidation if filter policies would have to look at too
  // much of the message: nothing is delivered then. A message that a FIFO topic has already got within its window gets
  // the same answer as before and is not delivered again. Long work gives other work its turn.
  Async<Result<std::string>> publish(PublishInput input) override;
  Async<Result<Published>> publish(PublishInput input, MessageByProtocol by_protocol);
  // For callers that write the events. Not for a FIFO topic. `most_bytes` bounds the message with its attributes.
  Async<Result<PreparedPublish>> prepare(PublishInput input, MessageByProtocol by_protocol, size_t most_bytes);

  const TopicStats& stats() const { return stats_; }

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
  struct Fifo {
    FifoRecord record;
    std::deque<Waiting> waiting;
    bool at_work = false;
  };
  struct Topic {
    TopicSettings settings;
    std::map<std::string, Subscription> subscriptions;  // By id.
    std::shared_ptr<Fifo> fifo;                         // Null for a standard topic.
  };

  // Each in its turn.
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
  void become(Topic& topic, TopicSettings settings);
  std::string unsubscribe_url(const Subscription& subscription) const;  // Or empty.
  // Adds the events of one message for the topic's subscriptions, in pieces. False if there is more to do after other
  // work had its turn. Subscriptions that come or go in between may or may not get the message.
  struct FanOut;
  Result<bool> fan_out(const Topic& topic, FanOut& out);
  // All of them. kNotFound if the topic that the message names is gone, or not this one any more (`fifo`: null for a
  // standard topic). `out` outlives the work.
  Async<Result<void>> fan_out_all(FanOut& out, std::shared_ptr<Fifo> fifo);
  Delivery delivery_to(const Subscription& subscription, FanOut& out) const;
  // For a message to a standard topic.
  Result<TopicMessage> message_of(PublishInput input, MessageByProtocol by_protocol, size_t most_bytes);
  // `before` goes with the first of them, `after` with the last.
  Async<Result<void>> write(std::vector<PreparedEvent> events, std::vector<WriteInput> before,
                            std::vector<WriteInput> after);
  Async<Result<Published>> publish_in_turn(std::shared_ptr<Fifo> fifo, PublishInput input,
                                           MessageByProtocol by_protocol);
  Async<void> work_off(std::shared_ptr<Fifo> fifo);
  Async<Result<Published>> publish_next(std::shared_ptr<Fifo> fifo, PublishInput input, MessageByProtocol by_protocol,
                                        std::string trace_id);

  Tables& tables_;
  Scheduler& scheduler_;
  Random& random_;
  DeliveryQueue& queue_;
  const Account account_;
  std::map<std::string, Topic> topics_;
  TopicStats stats_;
  Turns changes_{scheduler_};
  Scope publishing_;  // Last: ended first.
};

// What a delivery to that subscription is queued for: the function's name, or the subscription's ARN for an endpoint.
std::string delivery_target(const SubscriptionDefinition& subscription, const std::string& subscription_arn);

// What the request to confirm is queued for; no ARN of a subscription ends like it.
inline constexpr std::string_view kConfirmationSuffix = "/confirmation";
std::string confirmation_target(const std::string& subscription_arn);

}  // namespace freshet
