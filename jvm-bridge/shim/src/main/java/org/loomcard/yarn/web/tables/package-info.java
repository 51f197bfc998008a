/**
 * The tables of the scheduler's page, each from a part of its JSON document. This package uses no
 * other package of Loomcard.
 */
package org.loomcard.yarn.web.tables;
