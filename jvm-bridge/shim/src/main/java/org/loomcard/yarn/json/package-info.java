/** Reading and writing JSON text. */
package org.loomcard.yarn.json;
