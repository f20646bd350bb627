import type { Sender } from '@signalbox/protocol';
import type { NewMessage } from '@signalbox/store';

/** The sender of the broker's own messages. Its name is reserved. */
export const brokerSender: Sender = { agent: 'broker', address: 'broker', role: 'broker' };

/** The same sender in the fields of a stored message. */
export const sentByBroker = {
  sender: brokerSender.agent,
  senderAddress: brokerSender.address,
  senderRole: brokerSender.role,
} satisfies Partial<NewMessage>;
