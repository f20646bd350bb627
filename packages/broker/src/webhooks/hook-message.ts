import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { bodyLimits, jsonProblem } from '@signalbox/protocol';

/** The headers that name the event, by the services that send them. */
const eventHeaders = ['x-github-event', 'x-gitlab-event', 'x-gitea-event', 'x-event-key'];

/** The levels and nodes that the body of a message has around the JSON of a request. */
const ownLevels = 1;
const ownNodes = 16;
const contentLimits = {
  ...bodyLimits,
  maxDepth: bodyLimits.maxDepth - ownLevels,
  maxNodes: bodyLimits.maxNodes - ownNodes,
};

/**
 * Returns the id of the message for a delivery: the same one for each repetition of it. No other webhook gets this id. `round` counts how
 * often the delivery was stored anew, because its message was given up and taken away.
 */
export function hookMessageId(hook: string, deliveryId: string, round = 0): string {
  const again = round === 0 ? '' : `\n${round}`;
  return createHash('sha256').update(`${hook}\n${deliveryId}${again}`).digest('hex');
}

/**
 * Writes the body of the message for a request, as one line of JSON: the headers that an agent needs, then the request's body as `json`, as
 * `form` if it is a form, as `text` if it is other text, or as `base64`. A form with nothing but JSON in a field `payload`, as GitHub and
 * Slack send it, is that JSON. It is the same for each repetition of a delivery. JSON keeps its numbers as they were
 * written.
 */
export function hookMessageBody(
  headers: IncomingHttpHeaders,
  content: Buffer,
  deliveryId: string | undefined,
): string {
  const event = eventHeaders.map((name) => headers[name]).find((value) => typeof value === 'string');
  const encoding = headers['content-encoding'];
  const about = JSON.stringify({
    event,
    delivery: deliveryId,
    content_type: headers['content-type'],
    content_encoding: encoding,
  }).slice(1, -1);
  const text = encoding === undefined || encoding === 'identity' ? utf8Of(content) : undefined;
  return `{${about === '' ? '' : `${about},`}${contentMember(content, text, headers['content-type'])}}`;
}

function contentMember(content: Buffer, text: string | undefined, type = ''): string {
  if (text === undefined) return `"base64":${JSON.stringify(content.toString('base64'))}`;
  if (isReadableJson(text)) return jsonMember(text);
  return (formType.test(type) ? formMember(text) : undefined) ?? `"text":${JSON.stringify(text)}`;
}

function jsonMember(text: string): string {
  return `"json":${text.replace(/[\r\n]+/g, ' ')}`;
}

const formType = /^\s*application\/x-www-form-urlencoded\s*(;|$)/i;

/** Writes the fields of a form, decoded. A name that comes several times has a list. `undefined` if there are too many fields. */
function formMember(text: string): string | undefined {
  const fields = [...new URLSearchParams(text)];
  const [only] = fields;
  const payload = fields.length === 1 && only?.[0] === 'payload' ? only[1].replace(/^\ufeff/, '') : undefined;
  if (payload !== undefined && isReadableJson(payload)) return jsonMember(payload);
  const form = Object.fromEntries(
    [...Map.groupBy(fields, ([name]) => name)].map(([name, of]) => {
      const values = of.map(([, value]) => value);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
  const written = JSON.stringify(form);
  return isReadableJson(written) ? `"form":${written}` : undefined;
}

/** Tells whether a text is JSON within the bounds that readers of messages accept. Its line ends are between values only. */
function isReadableJson(text: string): boolean {
  if (jsonProblem(text, contentLimits) !== undefined) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Decodes UTF-8, without a byte-order mark. */
function utf8Of(content: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    return undefined;
  }
}
