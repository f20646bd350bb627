import { isJsonObject, jsonLine, readJson } from '@signalbox/protocol';

type Json = Record<string, unknown>;

/** The code of an error whose server gave it none. */
const internalError = -32603;
/** The `data` of the error that stands for an answer without meaning. It is compared by identity, so no server can send it. */
export const uselessAnswer = { reason: 'the answer is neither a result nor an error' };

/** Matches what may need mending. Other texts need not be parsed for that. */
const mayBeOdd = /"(?:_meta|params|result|error)"\s*:\s*[^{\s]|"code"\s*:\s*[^\d\s-]|"message"\s*:\s*[^"\s]/;

/**
 * Returns a JSON-RPC message in a form that clients accept, where they would refuse it as its server sent it and another form means the
 * same: serializers write `null` for absent values, and members of their own. A message that needs no mending is the same object. Returns
 * `undefined` for an answer that is neither a result nor an error.
 */
export function mendedMessage<Message extends Json>(message: Message): Message | undefined {
  const { method, result } = message;
  // Nearly all messages are answers of this form.
  const isPlain = method === undefined && isJsonObject(result) && result._meta === undefined;
  if (isPlain && Object.keys(message).length === 3) return message;
  return mended(message) as Message | undefined;
}

function mended(message: Json): Json | undefined {
  const { jsonrpc, id, method, params, result, error } = message;
  if (method !== undefined) {
    const whole = isJsonObject(params) ? withoutOddMeta(params) : undefined;
    const head = id === undefined ? { jsonrpc, method } : { jsonrpc, id, method };
    return sameOr(message, whole === undefined ? head : { ...head, params: whole });
  }
  if (id === undefined) return message;
  if (isJsonObject(result)) return sameOr(message, { jsonrpc, id, result: withoutOddMeta(result) });
  const whole = mendedError(error);
  return whole === undefined ? undefined : sameOr(message, { jsonrpc, id, error: whole });
}

/** Returns the message itself if it has just these members. */
function sameOr(message: Json, members: Json): Json {
  const names = Object.keys(members);
  const isSame = names.every((name) => message[name] === members[name]);
  return isSame && names.length === Object.keys(message).length ? message : members;
}

/** Mends the messages in the text of JSON that came over HTTP. A text that needs no mending is the same. */
export function mendedText(text: string): string {
  if (!mayBeOdd.test(text)) return text;
  let sent: unknown;
  try {
    sent = readJson(text);
  } catch {
    return text;
  }
  const mendedOne = (one: unknown) => (isJsonObject(one) ? (mended(one) ?? one) : one);
  if (!Array.isArray(sent)) {
    const whole = mendedOne(sent);
    return whole === sent ? text : jsonLine(whole);
  }
  const all = sent.map(mendedOne);
  return all.every((one, i) => one === sent[i]) ? text : jsonLine(all);
}

function withoutOddMeta(holder: Json): Json {
  if (holder._meta === undefined || isJsonObject(holder._meta)) return holder;
  const { _meta, ...rest } = holder;
  return rest;
}

/** Returns an error with a code and a message. The words of its server are kept under any code. */
function mendedError(error: unknown): unknown {
  if (typeof error === 'string') return { code: internalError, message: error };
  if (!isJsonObject(error)) return undefined;
  const hasCode = Number.isSafeInteger(error.code);
  const hasWords = typeof error.message === 'string';
  if (hasCode && hasWords) return error;
  if (!hasCode && !hasWords) return undefined;
  return {
    ...error,
    code: hasCode ? error.code : internalError,
    message: hasWords ? error.message : 'an error without a message',
  };
}
