/**
 * The tables of the scheduler's page, each from a part of its JSON document. Uses no other package
 * of ours.
 */
package org.loomcard.yarn.web.tables;
