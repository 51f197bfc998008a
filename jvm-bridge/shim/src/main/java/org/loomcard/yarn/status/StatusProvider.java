package org.loomcard.yarn.status;

/** A scheduler whose status the web side can show. */
public interface StatusProvider {

  /** Never null once the scheduler is initialised. */
  StatusSource status();
}
