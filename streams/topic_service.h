// Topics and subscriptions over the system table, and publishing to them.
//
// A publish writes one event a matching subscription, all in one step, and is ready when that is applied: acknowledged
// together with its logged deliveries. Carrying them is the queue's business. Loop thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "streams/arn.h"
#include "streams/delivery_queue.h"
#include "streams/pattern.h"
#include "streams/subscription.h"
#include "streams/topics.h"
#include "tables/tables.h"

namespace freshet {

inline constexpr std::string_view kSubscriptionKind = "subscription";  // In the system table; the id is the ARN.

struct TopicStats {
  uint64_t published = 0;
  uint64_t deliveries = 0;     // Logged.
  uint64_t filtered = 0;       // Kept from a subscription by its policy.
  uint64_t undeliverable = 0;  // The subscription's target does not exist.
};

// Publishing as a list of writes, for whoever publishes together with writes of its own.
struct PreparedPublish {
  std::string message_id;
  std::vector<PreparedEvent> events;
};

class TopicService final : public Publisher {
 public:
  // All must outlive this.
  TopicService(Tables& tables, const Clock& clock, Random& random, DeliveryQueue& queue, Account account);
  TopicService(const TopicService&) = delete;
  TopicService& operator=(const TopicService&) = delete;

  // Reads what the system table holds. Once, first.
  Async<Result<void>> load();

  Async<Result<void>> put_topic(TopicDefinition topic);
  Async<Result<void>> remove_topic(std::string name);  // With its subscriptions. kNotFound.
  // The ARN. kNotFound for an unknown topic, kValidation for a bad protocol, endpoint or policy.
  Async<Result<std::string>> subscribe(SubscriptionDefinition subscription);
  Async<Result<void>> unsubscribe(std::string subscription_arn);  // kNotFound.

  bool has_topic(const std::string& name) const { return topics_.contains(name); }
  std::vector<TopicDefinition> topics() const;
  std::vector<SubscriptionDefinition> subscriptions() const;
  std::string arn_of(const SubscriptionDefinition& subscription) const;

  // kTooManyRequests if the queue of any subscription is full: then nothing is delivered.
  Async<Result<std::string>> publish(PublishInput input) override;
  Result<PreparedPublish> prepare(PublishInput input);

  const TopicStats& stats() const { return stats_; }

 private:
  struct Subscription {
    SubscriptionDefinition definition;
    std::optional<Pattern> filter;
  };
  struct Topic {
    TopicDefinition definition;
    std::map<std::string, Subscription> subscriptions;  // By id.
  };

  static Result<Subscription> compile(SubscriptionDefinition definition);
  void accept(const SubscriptionDefinition& definition);
  static bool passes(const Subscription& subscription, const PublishInput& input);

  Tables& tables_;
  const Clock& clock_;
  Random& random_;
  DeliveryQueue& queue_;
  const Account account_;
  std::map<std::string, Topic> topics_;
  TopicStats stats_;
};

// What a delivery to that subscription is queued for: the function's name, or the subscription's ARN for an endpoint.
std::string delivery_target(const SubscriptionDefinition& subscription, const std::string& subscription_arn);

}  // namespace freshet
