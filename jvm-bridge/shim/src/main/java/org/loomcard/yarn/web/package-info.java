/**
 * The ResourceManager's web side: a filter that answers with a static page, documents and the calls
 * that apply a policy. All read one {@link org.loomcard.yarn.status.StatusSource}; nothing here
 * keeps state or uses the scheduler directly.
 */
package org.loomcard.yarn.web;
