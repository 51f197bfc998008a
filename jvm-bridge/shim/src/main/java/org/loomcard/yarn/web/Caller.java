package org.loomcard.yarn.web;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.Principal;
import javax.servlet.http.HttpServletRequest;
import org.apache.hadoop.conf.Configuration;

/** Who asks for a change over HTTP, and whether that is known or only claimed. */
final class Caller {
  private static final String HTTP_AUTHENTICATION = "hadoop.http.authentication.type";
  /** As the ResourceManager's web authentication says; null for nobody. */
  final String user;
  /**
   * The name was proved, or the caller is on the ResourceManager's own host. With Hadoop's "simple"
   * authentication a name is what the caller writes into the address.
   */
  final boolean trusted;

  Caller(String user, boolean trusted) {
    this.user = user;
    this.trusted = trusted;
  }

  static Caller of(Configuration conf, HttpServletRequest request) {
    Principal principal = request.getUserPrincipal();
    return new Caller(principal == null ? null : principal.getName(),
        !"simple".equals(conf.getTrimmed(HTTP_AUTHENTICATION, "simple"))
            || isLocal(request.getRemoteAddr(), request.getHeader("X-Forwarded-For")));
  }

  /** A proxy on this host speaks for callers from anywhere. */
  static boolean isLocal(String address, String forwardedFor) {
    try {
      return forwardedFor == null && address != null
          && InetAddress.getByName(address).isLoopbackAddress();
    } catch (UnknownHostException e) {
      return false;
    }
  }
}
