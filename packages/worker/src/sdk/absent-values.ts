import { isJsonObject } from '@signalbox/protocol';

/**
 * Takes out the members of a client's message that are null where MCP knows none: serializers of several languages write null for an absent
 * value. The message is changed in place. Arguments of tools stay as they are.
 */
export function dropAbsent(message: unknown): void {
  if (!isJsonObject(message)) return;
  if (message.params === null) delete message.params;
  const { method, params, result } = message;
  if (isJsonObject(result)) dropNulls(result);
  if (!isJsonObject(params)) return;
  dropNulls(params);
  const { _meta } = params;
  if (isJsonObject(_meta) && _meta.progressToken === null) delete _meta.progressToken;
  if (method !== 'initialize') return;
  for (const part of [params.capabilities, params.clientInfo]) if (isJsonObject(part)) dropNulls(part);
}

function dropNulls(holder: Record<string, unknown>): void {
  for (const name in holder) if (holder[name] === null) delete holder[name];
}
