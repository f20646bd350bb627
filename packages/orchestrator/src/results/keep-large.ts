import { createHash } from 'node:crypto';
import {
  keptResultUri,
  type McpReply,
  type McpResult,
  readJson,
  withDataAsText,
  withoutTokens,
} from '@signalbox/protocol';
import { figure } from '@signalbox/protocol/internal';
import { late, within } from '@signalbox/serving';
import { type LargeSlices, largeLength } from '../calls/large-slices.ts';
import type { ResultRule } from './result-rules.ts';
import { type KeptCall, keptAnswerMs, type ResultStore } from './result-store.ts';

/** The dependencies of {@link keepLarge}. */
export interface KeepLargeDeps {
  results: ResultStore | undefined;
  /** Returns the minting token that issued the token of an agent. Never rejects. */
  minterOf: (agent: string) => Promise<string | undefined>;
  /** The slices of large replies. */
  replies: LargeSlices;
}

/** A reply for a caller. */
export interface ShownReply {
  reply: McpReply;
  /** The size of the result for which the reply is a preview, in bytes of JSON. */
  keptBytes?: number;
  /** The reason why the result is not kept although it is too large to be shown. */
  notKept?: string;
}

/**
 * Keeps the result of a call if it is larger than its role is shown at once, and returns a preview of it. A result that cannot be kept is
 * returned whole, with the reason. Never rejects.
 */
export async function keepLarge(
  { results, minterOf, replies }: KeepLargeDeps,
  call: Omit<KeptCall, 'minter'>,
  rule: ResultRule,
  reply: { result: McpResult },
): Promise<ShownReply> {
  const text = jsonOf(reply.result);
  if (text === undefined) return { reply };
  const bytes = Buffer.byteLength(text);
  if (bytes <= rule.maxInlineBytes) return { reply };
  if (!results) return unkept(reply.result, bytes, 'this orchestrator has no folder for it');
  const minter = await soon(minterOf(call.agent));
  const endSlice = text.length > largeLength ? await replies.next() : undefined;
  try {
    // A server may have read a token somewhere.
    const clean = withoutTokens(text);
    const result = clean === text ? reply.result : (readJson(clean) as McpResult);
    const keeping = await results.keep({ ...call, minter }, result);
    return 'preview' in keeping
      ? { reply: { result: keeping.preview }, keptBytes: bytes }
      : unkept(reply.result, bytes, keeping.notKept);
  } finally {
    endSlice?.();
  }
}

/** A read of a resource whose answer is too long for a message. */
export interface LongRead {
  agent: string;
  role: string;
  resource: { server: string; uri: string };
  answer: unknown;
}

/**
 * Keeps the answer to a read of a resource for some minutes, and returns the reply that says where its reader finds it. A reader that gets
 * the same answer again finds the same one. Never rejects.
 */
export async function keepAnswer(
  { results, minterOf, replies, now }: KeepLargeDeps & { now: () => number },
  { agent, role, resource, answer }: LongRead,
): Promise<Extract<McpReply, { kept: unknown }> | { notKept: string }> {
  // The text of the result stays empty, and its JSON holds the answer.
  const text = jsonOf({ content: [], answer });
  if (text === undefined) return { notKept: 'it nests too deeply' };
  if (!results) return { notKept: 'this orchestrator has no folder for it' };
  const minter = await soon(minterOf(agent));
  const endSlice = await replies.next();
  try {
    const clean = withoutTokens(text);
    const { server, uri } = resource;
    const digest = createHash('sha256')
      .update(JSON.stringify([server, uri, clean]))
      .digest('base64url');
    // An answer that is found again stays for half of its time at least.
    const requestId = `resource ${digest} ${Math.floor((2 * now()) / keptAnswerMs)}`;
    const call = { agent, requestId, role, tool: 'resources/read', minter, resource };
    const keeping = await results.keep(call, readJson(clean) as McpResult);
    if ('notKept' in keeping) return keeping;
    return { kept: { uri: keptResultUri(keeping.id, 'json'), bytes: Buffer.byteLength(clean) } };
  } finally {
    endSlice?.();
  }
}

/** Describes for the audit log what was done with a large result. The text is empty for any other result. */
export function keptText({ keptBytes, notKept }: ShownReply): string {
  if (keptBytes !== undefined) return `result of ${keptBytes} bytes kept`;
  return notKept === undefined ? '' : `large result not kept: ${notKept}`;
}

/** Adds to the refusal of a result that is too large for a message the reason why it is not kept either. */
export function withReason(reply: McpReply, notKept: string): McpReply {
  if (!('error' in reply) || reply.error.code !== 'result_too_large') return reply;
  const message = `${reply.error.message}; it could not be kept for you either: ${notKept}`;
  return { error: { ...reply.error, message } };
}

function unkept(result: McpResult, bytes: number, notKept: string): ShownReply {
  // Some clients show a model the texts of a result without anything between.
  const text = `\n[This result of ${figure(bytes)} bytes is shown whole. It could not be kept for you to read in parts: ${notKept}.]`;
  const { content, _meta, ...rest } = withDataAsText(result);
  const told = { content: [...content, { type: 'text', text }], _meta: { ..._meta, [notKeptMeta]: notKept } };
  return { reply: { result: { ...rest, ...told } }, notKept };
}

/** The longest wait for the minting token of an agent, in milliseconds. While the broker is away, it is unknown. */
const minterMs = 1_000;

/**
 * Waits a short time for an optional value. The result is only in memory meanwhile: if the process dies, the end of its call is unknown.
 */
async function soon<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  const value = await within(asked, minterMs);
  return value === late ? undefined : value;
}

const notKeptMeta = 'signalbox/not_kept';

/** Returns the JSON text of a result; `undefined` if it nests too deeply for the stack. */
function jsonOf(result: McpResult): string | undefined {
  try {
    return JSON.stringify(result);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
