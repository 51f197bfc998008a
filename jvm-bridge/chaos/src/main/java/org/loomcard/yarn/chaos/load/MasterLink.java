package org.loomcard.yarn.chaos.load;

import java.security.PrivilegedExceptionAction;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.RPC;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.ApplicationMasterProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.client.ClientRMProxy;

/** One master's connection to the ResourceManager, as the user that has its token. */
final class MasterLink {
  private final UserGroupInformation user;
  private final ApplicationMasterProtocol protocol;
  private int responseId;

  MasterLink(Configuration conf, UserGroupInformation user) throws Exception {
    this.user = user;
    this.protocol = user.doAs((PrivilegedExceptionAction<ApplicationMasterProtocol>)
        () -> ClientRMProxy.createRMProxy(conf, ApplicationMasterProtocol.class));
  }

  /** Carries out an action as the user. */
  void as(PrivilegedExceptionAction<Void> action) throws Exception {
    user.doAs(action);
  }

  void register() throws Exception {
    protocol.registerApplicationMaster(RegisterApplicationMasterRequest.newInstance("", 1, ""));
    responseId = 0;
  }

  /** Makes one call; a failed call may be repeated with the same arguments and counts once. */
  AllocateResponse allocate(List<ResourceRequest> rows, List<ContainerId> releases,
      List<UpdateContainerRequest> updates) throws Exception {
    AllocateResponse response = protocol.allocate(AllocateRequest.newBuilder()
        .responseId(responseId).progress(0.5f).askList(rows).releaseList(releases)
        .updateRequests(updates).build());
    responseId = response.getResponseId();
    return response;
  }

  /** Returns whether the ResourceManager now considers it ended. */
  boolean unregister() throws Exception {
    return protocol.finishApplicationMaster(FinishApplicationMasterRequest.newInstance(
        FinalApplicationStatus.SUCCEEDED, "", "")).getIsUnregistered();
  }

  void close() {
    RPC.stopProxy(protocol);
  }
}
