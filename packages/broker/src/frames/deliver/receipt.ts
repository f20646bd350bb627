import type { BrokerFrame, Limits } from '@signalbox/protocol';
import type { Appended, NewMessage } from '@signalbox/store';
import type { DeliverResult } from '../../core/producer.ts';
import type { Refusal } from '../outcome.ts';

type Refused = Exclude<Appended['result'], 'stored' | 'duplicate'>;

/** Makes the answer to the sender of a message from its result: the receipt, or a refusal that says why it was not stored. */
export function receiptOf(
  { id, inbox }: NewMessage,
  { result }: DeliverResult,
  limits: Limits,
): Extract<BrokerFrame, { type: 'delivered' }> | Refusal {
  switch (result) {
    case 'stored':
      return { type: 'delivered', id, duplicate: undefined };
    case 'duplicate':
      return { type: 'delivered', id, duplicate: true };
    case 'failed':
      return { code: 'internal', message: 'the message could not be stored; nothing was kept' };
    default:
      return { code: result, message: whyRefused(result, id, inbox, limits) };
  }
}

function whyRefused(result: Refused, id: string, inbox: string, limits: Limits): string {
  switch (result) {
    case 'id_conflict':
      return `another message with the id '${id}' waits in '${inbox}'; use a new id`;
    case 'inbox_full':
      return `the inbox '${inbox}' is full; try again when its owner has read some`;
    case 'quota_exceeded':
      return `${limits.senderToRecipient.messages} of your messages wait in '${inbox}'; try again when some are read`;
    case 'storage_full':
      return "the broker's storage is full; try again when there is room";
  }
}
