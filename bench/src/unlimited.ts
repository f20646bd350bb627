const unlimited = 1e12;

/** The broker's bounds on rates and queues, out of the way of what is measured. */
export const unlimitedMessages = {
  rates: {
    ...{ messages: unlimited, messagesBurst: unlimited, bytes: unlimited, bytesBurst: unlimited },
    ...{ frames: unlimited, framesBurst: unlimited },
  },
  connections: { perAgent: unlimited },
  sender: { messages: unlimited, bytes: unlimited },
  senderToRecipient: { messages: unlimited, bytes: unlimited },
  recipient: { messages: unlimited, bytes: unlimited },
  inbox: { messages: unlimited, bytes: unlimited },
  store: { bytes: unlimited },
};
