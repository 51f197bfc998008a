/** What a plan changes in YARN: grants, resizes, and the FIFO that serves when no plan comes. */
package org.loomcard.yarn.commit;
