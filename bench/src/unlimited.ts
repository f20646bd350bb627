const unlimited = 1e12;

/** The broker's bounds on rates and queues, out of the way of what is measured. */
export const unlimitedMessages = {
  deliverPerSecond: unlimited,
  deliverBurst: unlimited,
  maxPendingPerSender: unlimited,
  maxInboxMessages: unlimited,
  maxInboxBytes: unlimited,
  maxTotalBytes: unlimited,
};
