package org.loomcard.yarn.web;

import java.security.Principal;
import javax.servlet.http.Cookie;
import javax.servlet.http.HttpServletRequest;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.server.webproxy.WebAppProxyServlet;

/** Who requests a change over HTTP, and what proves that. Addresses are not used. */
final class Caller {
  /**
   * The header's name in Hadoop's filter against forged requests. A page of another site cannot
   * send it without asking first, which the ResourceManager does not allow.
   */
  static final String MEANT = "X-XSRF-HEADER";
  /** The header with the {@link org.loomcard.yarn.config.ApplyToken}. */
  static final String TOKEN = "X-Loomcard-Token";
  static final String HTTP_AUTHENTICATION = "hadoop.http.authentication.type";
  static final String SIMPLE = "simple";
  /** The name from the ResourceManager's web authentication; null for no user. */
  final String user;
  /**
   * Whether the name was proved. With Hadoop's "simple" authentication it is what the caller wrote.
   */
  final boolean proven;
  /** The token that was sent; null for none. */
  final String token;
  /** Whether the header {@link #MEANT} was sent. */
  final boolean meant;
  /**
   * Whether the call came through YARN's web proxy, which calls any address that an AM names, from
   * its own host.
   */
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

  /**
   * Whether this authentication proves the name. A configured filter may be missing, or may be of
   * the kind that proves nothing.
   */
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
