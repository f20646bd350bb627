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

/** Returns the id of the message for a delivery: the same one for each repetition of it. No other webhook gets this id. */
export function hookMessageId(hook: string, deliveryId: string): string {
  return createHash('sha256').update(`${hook}\n${deliveryId}`).digest('hex');
}

/**
 * Writes the body of the message for a request, as one line of JSON: the headers that an agent needs, then the request's body as `json`, as
 * `text` if it is other text, or as `base64`. It is the same for each repetition of a delivery. JSON keeps its numbers as they were
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
  return `{${about === '' ? '' : `${about},`}${contentMember(content, text)}}`;
}

function contentMember(content: Buffer, text: string | undefined): string {
  if (text === undefined) return `"base64":${JSON.stringify(content.toString('base64'))}`;
  if (isReadableJson(text)) return `"json":${text.replace(/[\r\n]+/g, ' ')}`;
  return `"text":${JSON.stringify(text)}`;
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

function utf8Of(content: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return undefined;
  }
}
