import { parseTraceparent } from './trace-parent.ts';
import type { SpanAttributes, TracedSpan, Tracing } from './tracing.ts';

/** The parts of a message that its spans describe. They never include its body. */
export interface TracedMessage {
  id: string;
  kind: string;
  /** The address of the inbox that it goes to. */
  to: string;
  correlation_id?: string | undefined;
  /** The trace context that it carries. */
  traceparent?: string | undefined;
}

/** A message that its consumer has received. */
export interface ReceivedMessage extends TracedMessage {
  /** The trace context of the first attempt, if this is another one. */
  first_attempt?: string | undefined;
}

/**
 * Begins the span of a message that `client`, an address, sends. It belongs to the trace that the message carries, or else to that of
 * `active`, the span of the sender. If these are two traces, it is linked to `active`.
 */
export function beginSend(
  tracing: Tracing,
  message: TracedMessage,
  client: string,
  active?: string | undefined,
): TracedSpan {
  const parent = message.traceparent ?? active;
  const links = traceIdOf(parent) === traceIdOf(active) ? [] : [active];
  return tracing.begin({ ...messageSpan('send', message, client), kind: 'producer', parent, links });
}

/** Begins the span of a message that `client` hands to `active`, the span of the code that asked for it. */
export function beginReceive(
  tracing: Tracing,
  message: ReceivedMessage,
  client: string,
  active?: string | undefined,
): TracedSpan {
  const links = [message.first_attempt, active];
  const parent = message.traceparent;
  return tracing.begin({ ...messageSpan('receive', message, client), kind: 'client', parent, links });
}

/** Begins the span of a message that `client` hands to its handler. */
export function beginProcess(tracing: Tracing, message: ReceivedMessage, client: string): TracedSpan {
  const links = [message.first_attempt];
  const parent = message.traceparent;
  return tracing.begin({ ...messageSpan('process', message, client), kind: 'consumer', parent, links });
}

/** Makes name and attributes by the conventions for messaging. There are many sub-inboxes, so the name holds only the agent. */
function messageSpan(
  operation: 'send' | 'receive' | 'process',
  { id, kind, to, correlation_id: conversation }: TracedMessage,
  client: string,
): { name: string; attributes: SpanAttributes } {
  const [agent, subInbox] = to.split('#', 2);
  return {
    name: `${operation} ${agent}`,
    attributes: {
      'messaging.system': 'signalbox',
      'messaging.operation.name': operation,
      'messaging.operation.type': operation,
      'messaging.destination.name': to,
      ...(subInbox !== undefined && { 'messaging.destination.temporary': true }),
      'messaging.message.id': id,
      ...(conversation !== undefined && { 'messaging.message.conversation_id': conversation }),
      'messaging.client.id': client,
      'signalbox.message.kind': kind,
    },
  };
}

function traceIdOf(traceparent: string | undefined): string | undefined {
  return parseTraceparent(traceparent)?.traceId;
}
