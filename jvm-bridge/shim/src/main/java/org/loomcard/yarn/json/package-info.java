/**
 * Reads and writes JSON text. Uses no other package of ours.
 */
package org.loomcard.yarn.json;
