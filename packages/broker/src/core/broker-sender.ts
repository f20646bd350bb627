import type { Sender } from '@signalbox/protocol';
import type { NewMessage } from '@signalbox/store';

/** Who the broker's own messages are from; the name is reserved. */
export const brokerSender: Sender = { agent: 'broker', address: 'broker', role: 'broker' };

/** The same, as a stored message has it. */
export const sentByBroker = {
  sender: brokerSender.agent,
  senderAddress: brokerSender.address,
  senderRole: brokerSender.role,
} satisfies Partial<NewMessage>;
