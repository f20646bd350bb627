import type { BrokerFrame, Limits } from '@signalbox/protocol';
import type { Appended, NewMessage } from '@signalbox/store';
import type { DeliverResult } from '../../core/producer.ts';
import type { Refusal } from '../outcome.ts';

type Refused = Exclude<Appended['result'], 'stored' | 'duplicate' | 'no_request'>;

/** Makes the answer to the sender of a message from its result: the receipt, or a refusal that says why it was not stored. */
export function receiptOf(
  { id, inbox, kind, correlationId }: NewMessage,
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
    case 'no_request':
      return notAnAnswer(kind);
    default:
      return { code: result, message: whyRefused(result, { id, inbox, correlationId }, limits) };
  }
}

/** Refuses the answer to a request that its sender was not sent. */
export function notAnAnswer(kind: string): Refusal {
  const message = `kind '${kind}' goes only to the sender of a request you were sent, with its id as correlation_id`;
  return { code: 'forbidden', message, field: 'correlation_id' };
}

/** Refuses the answer to a request that has its end. */
export function answeredAlready(requestId: string | undefined): Refusal {
  const message = `the request '${requestId}' has its end: another reply or a notice is stored, or its time is over; send nothing more`;
  return { code: 'already_answered', message, field: 'correlation_id' };
}

function whyRefused(
  result: Refused,
  { id, inbox, correlationId }: Pick<NewMessage, 'id' | 'inbox' | 'correlationId'>,
  limits: Limits,
): string {
  switch (result) {
    case 'already_answered':
      return answeredAlready(correlationId).message;
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
