/** Runs a class of YARN's own tests, and says how each method ended. */
package org.loomcard.yarn.tests;
