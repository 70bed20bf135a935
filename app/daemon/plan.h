// What a daemon is to run, worked out from its options before anything is opened: so that a wrong option or template is
// told at once, in full, and leaves no trace.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/daemon/options.h"
#include "functions/filtered/definition.h"
#include "functions/ordered/definition.h"
#include "functions/priority/definition.h"
#include "functions/settings.h"
#include "runtime/deploy/deployment.h"
#include "wire/auth/credentials.h"
#include "wire/http/tls.h"

namespace freshet {

struct DaemonPlan {
  ListenAddress listen;
  Durability durability;
  std::optional<Credentials> credentials;
  std::shared_ptr<const TlsContext> tls;  // Null for plain HTTP.
  std::shared_ptr<const TlsTrust> trust;
  Deployment deployment;
  std::map<std::string, QueueSettings> queues;  // By table.
  std::vector<priority::Definition> priority_queues;
  std::vector<filtered::Settings> filtered_queues;
  std::vector<ordered::Definition> ordered_writes;
  std::vector<std::string> warnings;  // About options that work but are likely a mistake.
};

// kValidation with FILE:LINE for each fault. Any thread; takes as long as the template is large.
Result<Deployment> read_deployment(const TemplateOptions& options);
// The same of a template whose text is there already; `options.path` is what it is called, and its folders are beside.
Result<Deployment> read_deployment(const TemplateOptions& options, std::string text);

// Those of the daemon, with what its other options say about a template.
TemplateOptions template_options(const DaemonOptions& options);

// What a daemon that runs is to be brought to.
struct PlannedDeployment {
  Deployment deployment;
  std::map<std::string, QueueSettings> queues;  // By table.
};
// With further queues (--queue) and warnings of what is likely a mistake. As read_deployment().
Result<PlannedDeployment> plan_deployment_of(const TemplateOptions& options, std::string text,
                                             const std::vector<std::string>& queues);
// How each queue of the deployment, and of `more`, treats its tasks: as the function that works on it says.
Result<std::map<std::string, QueueSettings>> settings_of_queues(const Deployment& deployment,
                                                                const std::vector<std::string>& more = {});
// kValidation with a message for people: which option, or FILE:LINE of the template.
Result<DaemonPlan> plan_daemon(const DaemonOptions& options);

}  // namespace freshet
