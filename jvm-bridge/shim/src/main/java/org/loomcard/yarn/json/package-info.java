/** Reads and writes JSON text. This package uses no other package of Loomcard. */
package org.loomcard.yarn.json;
