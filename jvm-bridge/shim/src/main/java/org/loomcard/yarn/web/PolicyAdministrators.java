package org.loomcard.yarn.web;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.AccessControlList;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.security.ConfiguredYarnAuthorizer;
import org.apache.hadoop.yarn.security.YarnAuthorizationProvider;
import org.loomcard.yarn.config.ApplyToken;
import org.loomcard.yarn.config.BridgeConfig;

/**
 * Who may apply a policy: YARN's administrators, whether or not YARN's other ACLs are on. By
 * Hadoop's default everyone is one, so that default counts as an empty list.
 */
final class PolicyAdministrators {
  private PolicyAdministrators() {
  }

  /**
   * Returns why the caller may not, as one sentence and a hint; null when it may. When HTTP does
   * not prove who calls, a name is not enough: the caller must show that it can read the state
   * folder.
   */
  static Denial denial(Configuration conf, ApplyToken token, Caller caller) {
    if (caller.proxied) {
      return new Denial("No change is taken through the ResourceManager's web proxy: what calls"
          + " there is an application's tracking URL.", "Call the ResourceManager's own address.");
    }
    if (!caller.meant) {
      return new Denial("The header " + Caller.MEANT + " is missing: a web page that the caller"
          + " visits could have sent this.", "Send it with any value; the command loomcard does.");
    }
    if (!caller.proven && !conf.getBoolean(BridgeConfig.APPLY_UNAUTHENTICATED, false)) {
      Denial denial = denial(token, caller.token);
      if (denial != null) {
        return denial;
      }
    }
    return denial(conf, caller.user);
  }

  private static Denial denial(ApplyToken token, String given) {
    try {
      return token.matches(given) ? null : new Denial((given == null ? "The token is missing"
          : "The token is not this ResourceManager's") + ", and HTTP does not prove who calls.",
          "Give the one in " + token.file() + " on the ResourceManager's host: loomcard policy"
          + " apply --token-file FILE (the compose cluster: --on docker), or the header "
          + Caller.TOKEN + ".");
    } catch (IOException e) {
      return new Denial(e.getMessage() + ".", "Mend that folder, or set up Kerberos for HTTP.");
    }
  }

  /**
   * Returns why {@code user} may not, as one sentence and a hint; null when the user may.
   *
   * @param user the authenticated caller, null for none
   */
  static Denial denial(Configuration conf, String user) {
    YarnAuthorizationProvider authorizer = YarnAuthorizationProvider.getInstance(conf);
    boolean everyone = administrators(conf, authorizer).isAllAllowed();
    if (everyone && conf.getBoolean(BridgeConfig.APPLY_ANY_ADMIN, false)) {
      return null;
    }
    if (everyone) {
      return new Denial("No policy can be applied while " + YarnConfiguration.YARN_ADMIN_ACL
          + " is \"*\": everyone would be an administrator.",
          "Name the administrators in " + YarnConfiguration.YARN_ADMIN_ACL
          + " and run yarn rmadmin -refreshAdminAcls, or set " + BridgeConfig.APPLY_ANY_ADMIN
          + " to true where nobody else can reach the ResourceManager.");
    }
    if (user == null) {
      return new Denial("The caller is not authenticated.",
          "Add user.name=NAME to the query, or a Kerberos ticket on a secure cluster.");
    }
    if (!authorizer.isAdmin(UserGroupInformation.createRemoteUser(user))) {
      return new Denial("User " + user + " is no YARN administrator.",
          "Ask one of those in " + YarnConfiguration.YARN_ADMIN_ACL + ".");
    }
    return null;
  }

  /**
   * Returns the list, with changes that rmadmin has refreshed; for a different kind of authorizer
   * only the configured list is known.
   */
  private static AccessControlList administrators(Configuration conf,
      YarnAuthorizationProvider authorizer) {
    if (authorizer instanceof ConfiguredYarnAuthorizer) {
      AccessControlList present = ((ConfiguredYarnAuthorizer) authorizer).getAdminAcls();
      if (present != null) {
        return present;
      }
    }
    return new AccessControlList(conf.get(YarnConfiguration.YARN_ADMIN_ACL,
        YarnConfiguration.DEFAULT_YARN_ADMIN_ACL));
  }

  /** A refusal. */
  static final class Denial {
    final String message;
    final String hint;

    private Denial(String message, String hint) {
      this.message = message;
      this.hint = hint;
    }
  }
}
