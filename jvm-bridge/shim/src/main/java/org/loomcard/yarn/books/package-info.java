/**
 * YARN's books: nodes, applications, attempts and containers, their numbers on the wire, and the
 * news of them.
 */
package org.loomcard.yarn.books;
