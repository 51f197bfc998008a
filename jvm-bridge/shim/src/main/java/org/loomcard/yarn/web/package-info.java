/**
 * The ResourceManager's web side: a page, a document and the call that applies a policy. All read
 * one {@link org.loomcard.yarn.status.StatusSource}; nothing here keeps state or uses the scheduler
 * directly.
 */
package org.loomcard.yarn.web;
