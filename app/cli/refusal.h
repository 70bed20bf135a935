// Reads a response with an error status, whichever API it comes from. Nothing in another server's response is trusted:
// members of a wrong type count as absent.
#pragma once

#include <string>

#include "app/cli/remote.h"

namespace freshet::cli {

struct RefusalText {
  std::string code;  // "NotFoundException"; empty if there is none.
  std::string message;
  bool own = false;  // The answer is in the shape of Freshet's own routes, whose messages are sentences for people.
};

// Reads {"error": {"code", "message"}}, which all of Freshet's own routes answer, or {"__type", "message"}, as AWS
// protocols have it. Any other answer is taken as text.
RefusalText refusal_in(const HttpResponse& response);
// The same for a document that was parsed already. If it has no message, the whole document is the message.
RefusalText refusal_in(const Json& document);

// The text for a person: the message, with the code before it if an AWS protocol or another server sent it.
std::string in_words(const RefusalText& refusal);

// A hint on what to do, after "; "; empty if there is none. `credentials`: the file of --credentials, or
// empty.
std::string hint_at_key(const RefusalText& refusal, const std::string& credentials);

// Prints it on standard error, with the hint. Returns the exit status.
int report_refusal(const HttpResponse& response, const std::string& credentials);

// Prints on standard error that there is no function `wanted`, and lists the existing ones. Returns false, and prints
// nothing, if it exists or if that is not known.
bool print_known_functions(BlockingClient& client, const std::string& wanted);

}  // namespace freshet::cli
