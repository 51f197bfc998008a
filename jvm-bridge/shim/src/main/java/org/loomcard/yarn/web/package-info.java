/**
 * The ResourceManager's web side: a page, a document and the call that puts a new policy in. All
 * three read one {@link org.loomcard.yarn.status.StatusSource}; nothing here keeps state.
 */
package org.loomcard.yarn.web;
