#include "wire/sns/sns_route.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/crypto.h"
#include "wire/http/request_ids.h"
#include "wire/sns/operation.h"

namespace freshet {

namespace sns {

Parser find_parser(std::string_view action) {
  static constexpr std::pair<std::string_view, Parser> kParsers[] = {
      {"CreateTopic", parse_create_topic},
      {"DeleteTopic", parse_delete_topic},
      {"ListTopics", parse_list_topics},
      {"GetTopicAttributes", parse_get_topic_attributes},
      {"SetTopicAttributes", parse_set_topic_attributes},
      {"Publish", parse_publish},
      {"PublishBatch", parse_publish_batch},
      {"Subscribe", parse_subscribe},
      {"ConfirmSubscription", parse_confirm_subscription},
      {"Unsubscribe", parse_unsubscribe},
      {"ListSubscriptions", parse_list_subscriptions},
      {"ListSubscriptionsByTopic", parse_list_subscriptions_by_topic},
      {"GetSubscriptionAttributes", parse_get_subscription_attributes},
      {"SetSubscriptionAttributes", parse_set_subscription_attributes},
      {"TagResource", parse_tag_resource},
      {"UntagResource", parse_untag_resource},
      {"ListTagsForResource", parse_list_tags_for_resource},
  };
  const auto* found =
      std::find_if(std::begin(kParsers), std::end(kParsers), [&](const auto& entry) { return entry.first == action; });
  return found == std::end(kParsers) ? nullptr : found->second;
}

namespace {

constexpr std::string_view kVersion = "2010-03-31";

// Constant but for the ids' counter; shared by exchanges on all threads.
struct Shared {
  Shared(Runtime& r, SnsOptions o) : runtime(r), options(o), account(r.account()), ids(o.seed) {}
  Runtime& runtime;
  const SnsOptions options;
  const Account account;
  RequestIds ids;
};

class QueryExchange final : public Exchange {
 public:
  // `about`: the topic or subscription that the action is about; empty: not looked at.
  QueryExchange(std::shared_ptr<Shared> shared, std::string action, Parsed parsed, DefinitionName about = {})
      : shared_(std::move(shared)), action_(std::move(action)), about_(std::move(about)) {
    if (parsed) {
      operation_ = std::move(*parsed);
    } else {
      outcome_ = fail(std::move(parsed.error()));
    }
  }

  Async<void> run() override {
    if (!operation_) co_return;
    if (!about_.name.empty()) {
      DefinitionName about = about_;
      co_await shared_->runtime.look_for(std::move(about));
    }
    Result<void> outcome = co_await operation_->run(shared_->runtime);
    outcome_ = std::move(outcome);
  }

  HttpResponse respond() override {
    HttpResponse response;
    response.content_type = "text/xml";
    const std::string id = uuid_of(shared_->ids.next());
    response.headers.emplace_back("x-amzn-RequestId", id);
    if (outcome_) {
      response.body = success(id);
    } else {
      const ErrorForm form = form_of(outcome_.error());
      response.status = form.status;
      if (form.status == 503) response.headers.emplace_back("Retry-After", "1");
      response.body = error_document(form.status, form.name, outcome_.error().message, id);
    }
    return response;
  }

 private:
  std::string success(const std::string& id) const {
    XmlWriter xml;
    xml.open(action_ + "Response", kNamespace);
    xml.open(action_ + "Result");
    operation_->write(xml);
    xml.close(action_ + "Result");
    xml.open("ResponseMetadata");
    xml.element("RequestId", id);
    xml.close("ResponseMetadata");
    xml.close(action_ + "Response");
    return xml.take();
  }

  const std::shared_ptr<Shared> shared_;
  const std::string action_;  // A known one, if there is an operation.
  const DefinitionName about_;
  std::unique_ptr<Operation> operation_;
  Result<void> outcome_;
};

std::string_view query_of(std::string_view target) {
  const size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);
}

// A change reads what others have made anyway.
bool is_change(std::string_view action) {
  return !action.starts_with("Get") && !action.starts_with("List") && !action.starts_with("Publish");
}

DefinitionName about(const QueryForm& form, const ServerAddress& place) {
  for (const std::string_view parameter : {"TopicArn", "TargetArn", "ResourceArn"}) {
    if (!form.find(parameter)) continue;
    auto topic = topic_in(form, place, parameter);
    if (topic) return topic_named(std::move(*topic));
  }
  return subscription_named(form.text("SubscriptionArn"));
}

Parsed parse(const HttpRequest& request, const QueryForm& form, const ServerAddress& place) {
  const std::string action = form.text("Action");
  if (action.empty()) return named("MissingAction", "The request must name an Action");
  if (const std::string* version = form.find("Version"); version && *version != kVersion) {
    return named("NoSuchVersion",
                 "The version " + version->substr(0, 100) + " is not served; " + std::string(kVersion) + " is");
  }
  const Parser parser = find_parser(action);
  if (parser == nullptr) {
    return named("InvalidAction", "The action " + action.substr(0, 100) + " is not served by this server");
  }
  if (request.method != "POST" && action == "Unsubscribe") return parse_unsubscribe_by_token(form, place);
  if (request.method != "POST" && action != "ConfirmSubscription") {
    return named("AuthorizationError", "The action " + action + " is served by POST only");
  }
  return parser(form, place);
}

class SnsRoute final : public Route {
 public:
  explicit SnsRoute(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  // changes() stays false for the GETs that confirm or end a subscription: people follow those links from other pages,
  // and the token in them, which no page can guess, is the proof.
  bool matches(const HttpRequest& request) const override { return is_query_request(request); }

  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    const auto form = QueryForm::parse(request.method == "POST" ? request.body : query_of(request.target));
    if (!form) {
      return std::make_unique<QueryExchange>(shared_, "", named("MalformedQueryString", form.error().message));
    }
    const ServerAddress place{shared_->account, (shared_->options.tls ? "https://" : "http://") +
                                                    std::string(header(request.headers, "Host"))};
    const std::string action = form->text("Action");
    DefinitionName looked_for;
    if (shared_->runtime.shares_definitions() && !is_change(action)) looked_for = about(*form, place);
    return std::make_unique<QueryExchange>(shared_, action, parse(request, *form, place), std::move(looked_for));
  }

 private:
  const std::shared_ptr<Shared> shared_;
};

}  // namespace
}  // namespace sns

bool is_query_request(const HttpRequest& request) {
  const bool at_root = request.target == "/" || request.target.starts_with("/?");
  if (!at_root || !header(request.headers, "X-Amz-Target").empty()) return false;
  if (request.method == "GET") return sns::query_of(request.target).find("Action=") != std::string_view::npos;
  return request.method == "POST" &&
         header(request.headers, "Content-Type").starts_with("application/x-www-form-urlencoded");
}

std::unique_ptr<Route> make_sns_route(Runtime& runtime, SnsOptions options) {
  return std::make_unique<sns::SnsRoute>(std::make_shared<sns::Shared>(runtime, options));
}

}  // namespace freshet
