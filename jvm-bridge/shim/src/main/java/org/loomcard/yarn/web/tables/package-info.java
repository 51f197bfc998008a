/** The tables of the scheduler's page. */
package org.loomcard.yarn.web.tables;
