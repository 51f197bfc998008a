"""The messages between the ResourceManager and the policy process, and the journal of them."""
