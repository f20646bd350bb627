import {
  agentOf,
  type ErrorCode,
  type HelloFrame,
  isAgentId,
  isReservedName,
  parseClientFrame,
  protocolVersion,
  type Sender,
  splitFrames,
} from '@signalbox/protocol';
import type { TokenRecord } from '@signalbox/store';
import type { Authenticated, Authentication } from '../auth/authentication.ts';
import { patternCovers } from '../auth/token-rules.ts';

/** The identity of a connection: its token, and the sender that all its messages have. */
export interface Identity {
  token: TokenRecord;
  sender: Sender;
}

/** The result of a connection's first message: its identity and the frames after `hello`, or a refusal. */
export type Admission =
  | { identity: Identity; rest: string }
  | {
      refusal: { code: ErrorCode; message: string; field?: string; agent?: string; retryAfterMs?: number };
    };

/**
 * Checks the first WebSocket message of a connection, which must begin with `hello`. `bearer` is the token of the upgrade request's
 * `Authorization` header, if it has one. Only a token of the identity provider takes time; `isOpen` returns false if the connection has
 * ended meanwhile.
 */
export function admit(
  message: string,
  bearer: string | undefined,
  authentication: Pick<Authentication, 'authenticate' | 'refuseRole'>,
  isOpen: () => boolean,
): Admission | Promise<Admission> {
  const first = splitFrames(message).next();
  if (first.done) return refuse('bad_hello', "the first frame must be 'hello'");
  const { frame, refusal } = parseClientFrame(first.value.header);
  if (refusal) {
    return refuse('bad_hello', refusal.message, refusal.field);
  }
  if (frame.type !== 'hello')
    return refuse('bad_hello', `the first frame must be 'hello', not '${frame.type}'`, 'type');
  if (frame.protocol !== protocolVersion) {
    return refuse(
      'unsupported_protocol',
      `this broker speaks protocol ${protocolVersion}, not ${frame.protocol}`,
      'protocol',
    );
  }
  const text = frame.token ?? bearer;
  if (text === undefined)
    return refuse('unauthorized', "no token: put it in 'hello.token' or the Authorization header", 'token');
  const rest = afterFirstFrame(message, first.value);
  const admitWith = (found: Authenticated): Admission => {
    if ('refused' in found) return { refusal: { ...found.refused, field: 'token' } };
    const admission = identify(frame, found, authentication);
    return 'refusal' in admission ? admission : { ...admission, rest };
  };
  const found = authentication.authenticate(text, isOpen);
  return found instanceof Promise ? found.then(admitWith) : admitWith(found);
}

/** A refusal of the first message. */
type Refusal = Extract<Admission, { refusal: unknown }>;

function identify(
  frame: HelloFrame,
  record: TokenRecord,
  authentication: Pick<Authentication, 'refuseRole'>,
): { identity: Identity } | Refusal {
  const agent = agentOf(frame.agent);
  const minting = record.permissions.includes('mint');
  const covered = minting
    ? patternCovers(record.agent, agent) && isAgentId(frame.agent)
    : record.agent === agent;
  if (!covered) {
    return refuse(
      'forged_sender',
      minting && isReservedName(agent)
        ? `the name '${agent}' is reserved, and no minting token is for it; use another name under '${record.agent}'`
        : `the token is for '${record.agent}', not '${frame.agent}'`,
      'agent',
      record.agent,
    );
  }
  const refusedRole = authentication.refuseRole(agent, record.role);
  if (refusedRole !== undefined) return refuse('forged_sender', refusedRole, 'agent', record.agent);
  if (frame.role !== undefined && frame.role !== record.role) {
    return refuse(
      'forged_sender',
      `the token's role is '${record.role}', not '${frame.role}'`,
      'role',
      record.agent,
    );
  }
  return { identity: { token: record, sender: { agent, address: frame.agent, role: record.role } } };
}

function refuse(
  code: ErrorCode,
  message: string,
  field?: string,
  agent?: string,
): Extract<Admission, { refusal: unknown }> {
  return {
    refusal: { code, message, ...(field !== undefined && { field }), ...(agent !== undefined && { agent }) },
  };
}

function afterFirstFrame(message: string, first: { header: string; body?: string }): string {
  const start = message.indexOf(first.header) + first.header.length + 1;
  return message.slice(first.body === undefined ? start : start + first.body.length + 1);
}
