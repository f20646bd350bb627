import type { HttpRefusal } from '@signalbox/worker/agent-server';

/** The path below which agents are served, by their names. */
export const outsidePath = '/a2a/';
/** The path of a card, below the address of its agent. */
const cardPath = '.well-known/agent-card.json';

/** The operations of the REST bindings. */
export type RestOperation = 'send' | 'stream' | 'get' | 'list' | 'cancel' | 'subscribe' | 'push' | 'card';

/** A request of the REST bindings. */
export interface RestRoute {
  operation: RestOperation;
  tenant: string;
  /** The id of the task that it names, or an empty text. */
  id: string;
}

/** What a path leads to. */
export type Route =
  | { agent: string; to: 'card' }
  | { agent: string; to: 'json-rpc' }
  | { agent: string; to: 'rest'; rest: RestRoute };

/** Finds what method and path of a request lead to, or returns the reason why it is refused. */
export function routeOf(
  method: string,
  path: string,
  isLegacy: boolean,
  isListed: (agent: string) => boolean,
): Route | HttpRefusal {
  const segments = segmentsOf(path);
  const [agent = '', ...rest] = segments ?? [];
  if (!segments || !isListed(agent)) return nothing;
  if (rest.join('/') === cardPath) return only(['GET', 'HEAD'], method) ?? { agent, to: 'card' };
  if (rest.length === 0) return only(['POST'], method) ?? { agent, to: 'json-rpc' };
  const found = restRoute(method, rest, isLegacy);
  if (found === undefined) return nothing;
  return Array.isArray(found) ? (only(found, method) ?? nothing) : { agent, to: 'rest', rest: found };
}

const nothing: HttpRefusal = { status: 404, message: 'nothing is here' };

/** Refuses a method that is not one of those which are served. */
function only(allowed: readonly string[], method: string): HttpRefusal | undefined {
  if (allowed.includes(method)) return undefined;
  const allow = allowed.join(', ');
  return { status: 405, message: `${method} is not served here: use ${allow}`, headers: { allow } };
}

/** Returns the parts of a path below {@link outsidePath}, without a slash at its end; `undefined` if it is not there. */
function segmentsOf(path: string): string[] | undefined {
  if (!path.startsWith(outsidePath)) return undefined;
  const parts = path.slice(outsidePath.length).split('/');
  if (parts.length > 1 && parts.at(-1) === '') parts.pop();
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** Returns the route of a request, or the methods of its path; `undefined` if the path is unknown. A path may begin with a tenant. */
function restRoute(
  method: string,
  segments: readonly string[],
  isLegacy: boolean,
): RestRoute | string[] | undefined {
  if (isLegacy) return segments[0] === 'v1' ? matched(method, segments.slice(1), '') : undefined;
  const [tenant = '', ...rest] = segments;
  return matched(method, segments, '') ?? (rest.length > 0 ? matched(method, rest, tenant) : undefined);
}

const actions: Readonly<Record<string, { operation: RestOperation; methods: string[] }>> = {
  cancel: { operation: 'cancel', methods: ['POST'] },
  subscribe: { operation: 'subscribe', methods: ['GET', 'POST'] },
};

const plain: Readonly<Record<string, { operation: RestOperation; methods: string[] }>> = {
  'message:send': { operation: 'send', methods: ['POST'] },
  'message:stream': { operation: 'stream', methods: ['POST'] },
  tasks: { operation: 'list', methods: ['GET'] },
  extendedAgentCard: { operation: 'card', methods: ['GET'] },
  card: { operation: 'card', methods: ['GET'] },
};

function matched(
  method: string,
  [first = '', second, third]: readonly string[],
  tenant: string,
): RestRoute | string[] | undefined {
  const settled = (operation: RestOperation, methods: string[], id = '') =>
    methods.includes(method) ? { operation, tenant, id } : methods;
  if (second === undefined) {
    const entry = Object.hasOwn(plain, first) ? plain[first] : undefined;
    return entry && settled(entry.operation, entry.methods);
  }
  if (first !== 'tasks') return undefined;
  if (third !== undefined)
    return third === 'pushNotificationConfigs'
      ? settled('push', ['GET', 'POST', 'DELETE'], second)
      : undefined;
  const colon = second.lastIndexOf(':');
  const action = colon < 0 ? undefined : actions[second.slice(colon + 1)];
  return action
    ? settled(action.operation, action.methods, second.slice(0, colon))
    : settled('get', ['GET'], second);
}
