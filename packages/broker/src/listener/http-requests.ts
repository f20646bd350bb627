import {
  type AccessRefusal,
  bearerOf,
  plainText,
  refusedAccess,
  StatusRequests,
} from '@signalbox/monitoring';
import { figuresAccessPath, isPermitted, operationPermissions, subprotocol } from '@signalbox/protocol';
import { auditEvent } from '../audit-event.ts';
import type { IdentityProvider } from '../auth/identity-provider.ts';
import { describeExpired } from '../auth/token-rules.ts';
import type { FrameDeps } from '../frames/frame-deps.ts';
import type { BrokerHealth } from '../health/broker-health.ts';

type Deps = Pick<
  FrameDeps,
  'tokens' | 'metrics' | 'reports' | 'connected' | 'limits' | 'audit' | 'now' | 'monotonic' | 'log'
>;

/** The dependencies of {@link statusRequests}. */
export interface StatusRequestOptions {
  deps: Deps;
  health: BrokerHealth;
  identityProvider?: IdentityProvider;
  /** True if anybody may see the metrics. */
  opensMetrics: boolean;
  /** Returns the number of connections that have not said `hello`. */
  strangers: () => number;
}

/** Answers the HTTP requests that come on the port of the broker beside WebSockets. */
export function statusRequests({
  deps,
  health,
  opensMetrics,
  identityProvider,
  strangers,
}: StatusRequestOptions): StatusRequests {
  const { metrics, reports, connected, limits, monotonic, log } = deps;
  const hint = plainText(426, `This is a Signalbox broker: connect by WebSocket with ${subprotocol}.`, {
    upgrade: 'websocket',
  });
  return new StatusRequests(
    {
      ready: () => health.ready(),
      checks: () => {
        const { total } = limits.forAll.connections;
        const detail = `${connected.size} of ${total}`;
        return [
          health.check(),
          { name: 'connections', ok: connected.size < total, detail },
          ...reports.checks(),
          ...(identityProvider ? [{ name: 'identity_provider', ...identityProvider.check() }] : []),
        ];
      },
      metrics: () => metrics.collect(strangers()),
      refuse: (bearer) => (opensMetrics ? undefined : refuse(bearer, deps)),
      monotonic,
      onError: (error) => log({ level: 'error', event: 'http_request_failed', error }),
    },
    {
      '/': () => hint,
      [figuresAccessPath]: (request) => {
        const refused = refuse(bearerOf(request), deps);
        return refused ? refusedAccess(request, refused) : plainText(200, 'ok');
      },
    },
  );
}

/** Refuses a request without the token of an operator or observer. */
function refuse(
  bearer: string | undefined,
  { tokens, metrics, audit, now }: Deps,
): AccessRefusal | undefined {
  const refused = (
    status: 401 | 403,
    code: 'unauthorized' | 'forbidden',
    message: string,
    agent?: string,
  ): AccessRefusal => {
    metrics.refused(code);
    audit.record(auditEvent(code, { at: now(), detail: message, ...(agent !== undefined && { agent }) }));
    return { status, code, message };
  };
  if (bearer === undefined)
    return refused(
      401,
      'unauthorized',
      "send 'Authorization: Bearer' with the token of an observer or operator, or set broker.metrics: open",
    );
  const record = tokens.authenticate(bearer);
  if (record === 'unknown')
    return refused(401, 'unauthorized', 'the token is not known here, or was revoked');
  if ('expired' in record)
    return refused(401, 'unauthorized', describeExpired(record.expired), record.expired.agent);
  if (isPermitted(operationPermissions.http.metrics, record.permissions)) return undefined;
  const message = `this needs the token of an observer or operator, and that of '${record.agent}' is neither`;
  return refused(403, 'forbidden', message, record.agent);
}
