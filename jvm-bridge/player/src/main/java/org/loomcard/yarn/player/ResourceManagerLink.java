package org.loomcard.yarn.player;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.RPC;
import org.apache.hadoop.yarn.api.ApplicationMasterProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterResponse;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.proto.YarnServiceProtos.SchedulerResourceTypes;

/**
 * One attempt's connection to the ResourceManager, made and used as the user that has its token.
 *
 * <p>YARN's own AMRMClient sends every ask again for each container that comes, and so asks again
 * for containers that are already on their way. A player that must agree with a simulator sends
 * only what has changed.
 */
final class ResourceManagerLink {
  private static final int UNREGISTER_PAUSE_MS = 20;

  private final ApplicationMasterProtocol protocol;
  private int responseId;
  private boolean withVcores;

  ResourceManagerLink(Configuration conf) throws IOException {
    protocol = ClientRMProxy.createRMProxy(conf, ApplicationMasterProtocol.class);
  }

  void register() throws IOException, YarnException {
    RegisterApplicationMasterResponse response = protocol.registerApplicationMaster(
        RegisterApplicationMasterRequest.newInstance("", -1, ""));
    withVcores = response.getSchedulerResourceTypes().contains(SchedulerResourceTypes.CPU);
  }

  /** Whether the scheduler said at registration that it counts more resources than memory. */
  boolean withVcores() {
    return withVcores;
  }

  AllocateResponse allocate(List<ResourceRequest> asks, List<ContainerId> releases, float progress)
      throws IOException, YarnException {
    AllocateResponse response = protocol.allocate(
        AllocateRequest.newInstance(responseId, progress, asks, releases, null));
    responseId = response.getResponseId();
    return response;
  }

  void waitUnregistered(FinalApplicationStatus status, String why)
      throws IOException, YarnException, InterruptedException {
    FinishApplicationMasterRequest request =
        FinishApplicationMasterRequest.newInstance(status, why, "");
    while (!protocol.finishApplicationMaster(request).getIsUnregistered()) {
      Thread.sleep(UNREGISTER_PAUSE_MS);
    }
  }

  void close() {
    RPC.stopProxy(protocol);
  }
}
