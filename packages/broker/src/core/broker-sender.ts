import type { Sender } from '@signalbox/protocol';
import type { NewMessage } from '@signalbox/store';

/** The sender of the broker's own messages. The name `broker` is reserved. */
export const brokerSender: Sender = { agent: 'broker', address: 'broker', role: 'broker' };

/** The fields of a stored message that name the broker as its sender. */
export const sentByBroker = {
  sender: brokerSender.agent,
  senderAddress: brokerSender.address,
  senderRole: brokerSender.role,
} satisfies Partial<NewMessage>;
