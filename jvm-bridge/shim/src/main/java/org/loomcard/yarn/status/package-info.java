/** What the web pages and documents show, as plain values. */
package org.loomcard.yarn.status;
