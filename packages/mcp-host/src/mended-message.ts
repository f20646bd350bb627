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
 * same: serializers write `null` for what is absent. A message that needs no mending is the same object. Returns `undefined` for an answer
 * that is neither a result nor an error.
 */
export function mendedMessage<Message extends Json>(message: Message): Message | undefined {
  return mended(message) as Message | undefined;
}

function mended(message: Json): Json | undefined {
  if (message.method !== undefined) return withField(message, 'params', mendedParams(message.params));
  if (message.id === undefined) return message;
  const { jsonrpc, id, result, error } = message;
  if (isJsonObject(result)) {
    const whole = withoutOddMeta(result);
    return whole === result && !('error' in message) ? message : { jsonrpc, id, result: whole };
  }
  const whole = mendedError(error);
  if (whole === undefined) return undefined;
  return whole === error && !('result' in message) ? message : { jsonrpc, id, error: whole };
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

function mendedParams(params: unknown): unknown {
  return isJsonObject(params) ? withoutOddMeta(params) : undefined;
}

function withoutOddMeta(holder: Json): Json {
  return holder._meta === undefined || isJsonObject(holder._meta)
    ? holder
    : withField(holder, '_meta', undefined);
}

/** Returns an error with a code and a message. Its server's words are kept, whatever it gave them for a code. */
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

/** Returns an object with another value of a field, or without the field. */
function withField(holder: Json, field: string, value: unknown): Json {
  if (holder[field] === value) return holder;
  const { [field]: _before, ...rest } = holder;
  return value === undefined ? rest : { ...rest, [field]: value };
}
