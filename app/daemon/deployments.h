// Applies the daemon's template: at the start, again on SIGHUP, with --watch also when its file or the code of
// functions changes, and when POST /deploy replaces it.
//
// Loop thread, except read_again().
#pragma once

#include <memory>
#include <set>
#include <string>

#include "app/daemon/deployer.h"
#include "app/daemon/file_watch.h"
#include "app/daemon/module.h"
#include "app/daemon/plan.h"
#include "app/daemon/reloads.h"

namespace freshet {

class Deployments {
 public:
  // `deployed` is called after each deployment (see Deployer). The parts outlive it, with runtime, store and audit log.
  Deployments(DaemonParts& parts, Deployer::Deployed deployed);
  Deployments(const Deployments&) = delete;
  Deployments& operator=(const Deployments&) = delete;

  Deployer& deployer() { return deployer_; }
  // Applies the template of the start. Without one, the previous deployment stays.
  Async<Result<void>> start();
  // With --watch: changes from now on are noticed. Call it before anything runs.
  void watch();
  // Applies templates that were read in the meantime, and later ones.
  void begin();
  // Starts no more deployments.
  void end();
  // Any thread; takes as long as reading the template does.
  void read_again() { reloads_.read_again(); }
  std::unique_ptr<Route> make_route();

 private:
  Result<PlannedDeployment> read() const;
  std::set<std::string> watched_files() const;
  void update_watch();
  bool file_changed(const std::string& path);
  Async<void> renew_functions(std::string folder);

  DaemonParts& parts_;
  const Deployer::Deployed deployed_;
  Deployer deployer_;
  Reloads reloads_;
  std::unique_ptr<FileWatch> watch_;  // Null without --watch.
  Scope scope_;                       // The last member, so that it is destroyed first.
};

}  // namespace freshet
