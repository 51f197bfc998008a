package org.apache.hadoop.yarn.server.resourcemanager.scheduler;

/** Changes of running containers that an AM requests. Hadoop 2.7 lacks this class: it has none. */
public final class ContainerUpdates {
}
