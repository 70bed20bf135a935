// One action of the service: parsed on an I/O thread, run on the loop, written on an I/O thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/async.h"
#include "base/result.h"
#include "runtime/runtime.h"
#include "streams/topic_settings.h"
#include "wire/sns/query_form.h"
#include "wire/sns/xml.h"

namespace freshet::sns {

// The account and the server that a request was sent to.
struct ServerAddress {
  Account account;
  std::string server;  // http://HOST:PORT, as the client spells it.
};

class Operation {
 public:
  explicit Operation(const ServerAddress& place) : account_(place.account) {}
  virtual ~Operation() = default;
  virtual Async<Result<void>> run(Runtime& runtime) = 0;  // Loop thread; once.
  // Appends what stands within the answer's result. I/O thread, after run() has succeeded.
  virtual void write(XmlWriter& xml) const { (void)xml; }

 protected:
  const Account account_;
};

using Parsed = Result<std::unique_ptr<Operation>>;

// The parser of an action by its name ("Publish"); null if there is none of that name.
using Parser = Parsed (*)(const QueryForm& form, const ServerAddress& place);
Parser find_parser(std::string_view action);

Parsed parse_create_topic(const QueryForm& form, const ServerAddress& place);
Parsed parse_delete_topic(const QueryForm& form, const ServerAddress& place);
Parsed parse_list_topics(const QueryForm& form, const ServerAddress& place);
Parsed parse_get_topic_attributes(const QueryForm& form, const ServerAddress& place);
Parsed parse_set_topic_attributes(const QueryForm& form, const ServerAddress& place);
Parsed parse_publish(const QueryForm& form, const ServerAddress& place);
Parsed parse_publish_batch(const QueryForm& form, const ServerAddress& place);
Parsed parse_subscribe(const QueryForm& form, const ServerAddress& place);
Parsed parse_confirm_subscription(const QueryForm& form, const ServerAddress& place);
Parsed parse_unsubscribe(const QueryForm& form, const ServerAddress& place);
// The link that unsubscribes an endpoint: with its token, without a signature.
Parsed parse_unsubscribe_by_token(const QueryForm& form, const ServerAddress& place);
Parsed parse_list_subscriptions(const QueryForm& form, const ServerAddress& place);
Parsed parse_list_subscriptions_by_topic(const QueryForm& form, const ServerAddress& place);
Parsed parse_get_subscription_attributes(const QueryForm& form, const ServerAddress& place);
Parsed parse_set_subscription_attributes(const QueryForm& form, const ServerAddress& place);
Parsed parse_tag_resource(const QueryForm& form, const ServerAddress& place);
Parsed parse_untag_resource(const QueryForm& form, const ServerAddress& place);
Parsed parse_list_tags_for_resource(const QueryForm& form, const ServerAddress& place);

// The form of an error.
struct ErrorForm {
  int status = 500;
  std::string_view name = "InternalError";
};
ErrorForm form_of(const Error& error);
// An error with one of the service's names.
tl::unexpected<Error> named(std::string_view name, std::string message);

// Readers of parameters. Their errors are the service's.
Result<std::string> required(const QueryForm& form, std::string_view name);
// The plain name of one of our topics. Another region, another account and a wrong form each have their own error.
Result<std::string> topic_in(const QueryForm& form, const ServerAddress& place,
                             std::string_view parameter = "TopicArn");
// Reads a map: `list` names its entries, `name` and `value` the two members of each.
std::map<std::string, std::string> pairs_in(const QueryForm& form, std::string_view list, std::string_view name,
                                            std::string_view value);
// The entries of a page. The token of the next page is the last entry of the page before.
inline constexpr size_t kPage = 100;
Result<std::string> read_token(const QueryForm& form);
void write_token(XmlWriter& xml, std::string_view last);

}  // namespace freshet::sns
