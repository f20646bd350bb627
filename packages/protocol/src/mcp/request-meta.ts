/** Data beside the arguments of a call, as MCP has it in `params._meta`. */
export type RequestMeta = Readonly<Record<string, unknown>>;

/** Fields that concern one connection only: each side of us sets its own. */
const ofOneConnection: ReadonlySet<string> = new Set(['progressToken', 'traceparent']);
/** MCP's own names, as its specification reserves them, and ours. */
const reserved = /^(?:[^./]+\.(?:modelcontextprotocol|mcp)(?:\.[^/]*)?|signalbox)\//i;
/** The longest values of fields that W3C defines, in characters. */
const textLengths: Readonly<Record<string, number>> = { tracestate: 512, baggage: 8192 };

/**
 * Returns those fields of a request's `_meta` that are passed on to the server of its tool: all but those that concern one connection
 * and those whose names MCP or Signalbox reserves. `undefined` if there are none. The `traceparent` is passed on apart from them.
 */
export function forwardedMeta(meta: RequestMeta | undefined): RequestMeta | undefined {
  if (meta === undefined) return undefined;
  const fields = Object.entries(meta).filter(([name, value]) => isForwarded(name, value));
  return fields.length === 0 ? undefined : Object.fromEntries(fields);
}

/**
 * Returns a result of a server without the fields of `_meta` whose names Signalbox reserves, so that no server can speak in its name. The
 * same object if there are none.
 */
export function withoutOwnMeta<Result extends Record<string, unknown>>(result: Result): Result {
  const { _meta: meta } = result;
  if (typeof meta !== 'object' || meta === null || !Object.keys(meta).some(isOwn)) return result;
  return { ...result, _meta: Object.fromEntries(Object.entries(meta).filter(([name]) => !isOwn(name))) };
}

function isOwn(name: string): boolean {
  return /^signalbox\//i.test(name);
}

function isForwarded(name: string, value: unknown): boolean {
  if (ofOneConnection.has(name) || reserved.test(name)) return false;
  const longest = Object.hasOwn(textLengths, name) ? textLengths[name] : undefined;
  return longest === undefined || (typeof value === 'string' && value.length <= longest);
}
