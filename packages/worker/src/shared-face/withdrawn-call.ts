import { isAddress, isJsonObject, jsonProblem } from '@signalbox/protocol';

/** A tool call that is withdrawn: the name of its tool, and the agent whom it asks, if it is a question. */
export interface WithdrawnCall {
  tool?: string;
  asked?: string;
}

/** Reads the request of a withdrawn call. Fields that cannot be read are left out. */
export function withdrawnCall(json: string): WithdrawnCall {
  const params = objectIn(json)?.params;
  if (!isJsonObject(params) || typeof params.name !== 'string') return {};
  const { name: tool, arguments: given } = params;
  const args = typeof given === 'string' ? objectIn(given) : given;
  const to = isJsonObject(args) ? args.to : undefined;
  const isQuestion = tool === 'signalbox_ask_agent' && typeof to === 'string' && isAddress(to);
  return { tool, ...(isQuestion && { asked: to }) };
}

function objectIn(text: string): Record<string, unknown> | undefined {
  if (jsonProblem(text) !== undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
