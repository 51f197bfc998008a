package org.loomcard.yarn.web;

import java.security.Principal;
import javax.servlet.http.Cookie;
import javax.servlet.http.HttpServletRequest;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.server.webproxy.WebAppProxyServlet;

/** Who asks for a change over HTTP, and what shows that they do. Addresses count for nothing. */
final class Caller {
  /**
   * As Hadoop's filter against forged requests names it. A page of another site cannot send it
   * without asking first, which the ResourceManager does not allocate.
   */
  static final String MEANT = "X-XSRF-HEADER";
  /** Has the {@link org.loomcard.yarn.policyconfig.ApplyToken}. */
  static final String TOKEN = "X-Loomcard-Token";
  private static final String HTTP_AUTHENTICATION = "hadoop.http.authentication.type";
  private static final String SIMPLE = "simple";
  /** As the ResourceManager's web authentication says; null for nobody. */
  final String user;
  /** The name was proved. With Hadoop's "simple" authentication it is what the caller wrote. */
  final boolean proven;
  /** What was sent as the token; null for nothing. */
  final String token;
  /** The header {@link #MEANT} was sent. */
  final boolean meant;
  /** The call came through YARN's web proxy, which asks whatever an AM names, as its own host. */
  final boolean proxied;

  Caller(String user, boolean proven, String token, boolean meant, boolean proxied) {
    this.user = user;
    this.proven = proven;
    this.token = token;
    this.meant = meant;
    this.proxied = proxied;
  }

  static Caller of(Configuration conf, HttpServletRequest request) {
    Principal principal = request.getUserPrincipal();
    return new Caller(principal == null ? null : principal.getName(),
        isProof(request.getAuthType()) && isProof(conf.getTrimmed(HTTP_AUTHENTICATION, SIMPLE)),
        request.getHeader(TOKEN), request.getHeader(MEANT) != null, isProxied(request));
  }

  /** A filter may stay away though it is configured, and may be of the kind that proves nothing. */
  static boolean isProof(String authentication) {
    return authentication != null && !authentication.startsWith(SIMPLE);
  }

  private static boolean isProxied(HttpServletRequest request) {
    Cookie[] cookies = request.getCookies();
    for (Cookie cookie : cookies == null ? new Cookie[0] : cookies) {
      if (cookie.getName().equals(WebAppProxyServlet.PROXY_USER_COOKIE_NAME)) {
        return true;
      }
    }
    return false;
  }
}
