import {
  agentOf,
  type DeliverFrame,
  isGroup,
  isOperator,
  operationPermissions,
  type Sender,
} from '@signalbox/protocol';
import { figure } from '@signalbox/protocol/internal';
import type { Delivery } from '../../core/delivery.ts';
import { lifetimeOf } from '../../core/message-header.ts';
import { type Caller, mayDo } from '../caller.ts';
import { badField, type Refusal } from '../outcome.ts';

/** Refuses a frame with a claim about its sender that the token does not prove. That closes the connection. */
export function refuseForgedClaim({ from, role }: DeliverFrame, sender: Sender): Refusal | undefined {
  if (role !== undefined && role !== sender.role)
    return forged(`field 'role': the token's role is '${sender.role}'`);
  if (from === undefined) return undefined;
  if (typeof from === 'string') {
    return from === sender.agent || from === sender.address
      ? undefined
      : forged(`field 'from': the token is for '${sender.agent}'`);
  }
  const differs =
    (from.agent !== undefined && from.agent !== sender.agent) ||
    (from.address !== undefined && from.address !== sender.address) ||
    (from.role !== undefined && from.role !== sender.role);
  if (!differs) return undefined;
  return forged(`field 'from': the token is for '${sender.agent}' with role '${sender.role}'`);
}

function forged(message: string): Refusal {
  return { code: 'forged_sender', message };
}

/** Refuses a body of more than `max` bytes. */
export function refuseSize(body: string | undefined, max: number): Refusal | undefined {
  // A character takes at most three bytes.
  if (body === undefined || body.length * 3 <= max || Buffer.byteLength(body) <= max) return undefined;
  return {
    code: 'message_too_large',
    message: `the body is over ${max} bytes; send it in parts or by reference`,
    field: 'body',
  };
}

/** The kinds of messages that go to one member of a group only: their sender waits for one answer, or answers itself. */
const kindsForOne = new Set(['ask', 'mcp_request', 'reply', 'mcp_reply', 'progress']);

/** Refuses a frame with fields that only a message to a group may have, or that do not go together. */
export function refuseGroupFields(frame: DeliverFrame): Refusal | undefined {
  const { to, group_key, all, partial } = frame;
  if (group_key === undefined && all === undefined && partial === undefined) return undefined;
  const field = all ? 'all' : partial ? 'partial' : 'group_key';
  if (!isGroup(to)) return badField(field, `'${to}' is no group; leave it out`);
  if (!all) return partial && badField('partial', "it goes with 'all'; leave it out, or add that");
  if (group_key !== undefined)
    return badField('group_key', 'each member has a copy of its own; leave it out');
  if (frame.ephemeral) return badField('all', 'an ephemeral message goes to one agent; leave it out');
  if (kindsForOne.has(frame.kind))
    return badField('all', `kind '${frame.kind}' goes to one member; leave it out, or use another kind`);
  return undefined;
}

/** The kinds of final replies, whose thread is that of the request that they answer. */
const finalReplies = new Set(['reply', 'mcp_reply']);

/** Refuses a frame with a thread that its sender may not choose. */
export function refuseThread({ thread, kind, ephemeral }: DeliverFrame): Refusal | undefined {
  if (thread === undefined) return undefined;
  if (finalReplies.has(kind))
    return badField('thread', `a message of kind '${kind}' has the thread of its request; leave it out`);
  return ephemeral ? badField('thread', 'an ephemeral message has none; leave it out') : undefined;
}

/** The kinds of messages that can't be scheduled: somebody waits for the message, or for the answer to it, now. */
const kindsForNow = new Set(['ask', 'mcp_request', 'reply', 'mcp_reply']);

/** Refuses a frame whose message may not have a `not_before_ms`, or whose time is too far away. */
export function refuseTimes(frame: DeliverFrame, limits: Caller['limits']['message']): Refusal | undefined {
  const { not_before_ms: waitMs, kind, ephemeral, settles } = frame;
  if (waitMs === undefined) return undefined;
  if (ephemeral) return badField('not_before_ms', 'an ephemeral message is never stored; leave it out');
  if (settles !== undefined)
    return badField('not_before_ms', 'a message that settles another one is stored at once; leave it out');
  if (kindsForNow.has(kind))
    return badField('not_before_ms', `kind '${kind}' is for now; leave it out, or send a task or a note`);
  const wholeMs = waitMs + lifetimeOf(limits, frame.ttl_ms);
  if (wholeMs <= limits.scheduledMs) return undefined;
  const why = `the message would wait and then live for ${days(wholeMs)} days together, and ${days(limits.scheduledMs)} are allowed; take less, or a shorter ttl_ms, or raise broker.limits.message.scheduledMs (now ${figure(limits.scheduledMs)})`;
  return badField('not_before_ms', why);
}

function days(ms: number): string {
  return figure(Math.round(ms / 864_000) / 100);
}

/** Refuses a frame with `asked` if it is no reply, or if the request was for somebody for whom the caller may not answer. */
export function refuseAsked(
  { kind, ephemeral, settles }: DeliverFrame,
  asked: string,
  caller: Caller,
): Refusal | undefined {
  if (kind !== 'reply' || ephemeral) return badField('asked', "it goes with a stored 'reply'; leave it out");
  if (settles !== undefined)
    return badField('asked', "'settles' names the request already; leave one of them out");
  const agent = agentOf(asked);
  const own = caller.sender.agent;
  if (agent === own || (isOperator(agent) && mayDo(caller, operationPermissions.frame.answer)))
    return undefined;
  const message = `field 'asked': you are '${own}', and answer what you were asked; an operator also answers what other operators were asked`;
  return { code: 'not_yours', message, field: 'asked' };
}

/** Refuses a frame with `settles` if it is ephemeral, or if the caller does not hold the message to settle. */
export function refuseSettles(
  frame: DeliverFrame,
  { consumer }: Caller,
  delivery: Delivery,
): Refusal | undefined {
  if (frame.settles === undefined) return undefined;
  if (frame.ephemeral) {
    return {
      code: 'bad_frame',
      message: "field 'settles': an ephemeral message settles nothing; leave it out",
      field: 'settles',
    };
  }
  const lease = delivery.leaseOf(consumer);
  // Another member of a group may have the message by now.
  if (lease && !(lease.isShared && !delivery.inFlight(consumer, frame.settles))) return undefined;
  if (lease) {
    delivery.heardLate(consumer);
    const message = `field 'settles': this connection no longer has the message ${frame.settles} of '${lease.address}'`;
    return { code: 'no_lease', message, field: 'settles' };
  }
  return {
    code: 'no_lease',
    message: "field 'settles': this connection doesn't hold its inbox; subscribe first",
    field: 'settles',
  };
}
