import { type ErrorCode, isPermitted, operationPermissions, subprotocol } from '@signalbox/protocol';
import { figuresAccessPath } from '@signalbox/protocol/internal';
import {
  type AccessRefusal,
  bearerOf,
  plainText,
  refusedAccess,
  StatusRequests,
} from '@signalbox/serving/monitoring';
import { checkCertificate, type TlsPair } from '@signalbox/serving/tls';
import { auditEvent } from '../audit-event.ts';
import type { Authenticated, Authentication } from '../auth/authentication.ts';
import type { FrameDeps } from '../frames/frame-deps.ts';
import type { BrokerHealth } from '../health/broker-health.ts';

type Deps = Pick<
  FrameDeps,
  'metrics' | 'reports' | 'connected' | 'limits' | 'audit' | 'now' | 'monotonic' | 'log'
>;

/** The dependencies of {@link statusRequests}. */
export interface StatusRequestOptions {
  deps: Deps;
  health: BrokerHealth;
  authentication: Pick<Authentication, 'authenticate' | 'check'>;
  /** True if anybody may see the metrics. */
  opensMetrics: boolean;
  /** Returns the number of connections that have not said `hello`. */
  strangers: () => number;
  /** Returns the current certificate, if connections are encrypted. */
  tls: () => TlsPair | undefined;
}

/** Answers HTTP requests on the port of the broker that are not for WebSockets. */
export function statusRequests({
  deps,
  health,
  opensMetrics,
  authentication,
  strangers,
  tls,
}: StatusRequestOptions): StatusRequests {
  const { metrics, reports, connected, limits, now, monotonic, log } = deps;
  const hint = plainText(426, `This is a Signalbox broker: connect by WebSocket with ${subprotocol}.`, {
    upgrade: 'websocket',
  });
  return new StatusRequests(
    {
      ready: () => health.ready(),
      checks: () => {
        const { total } = limits.forAll.connections;
        const detail = `${connected.size} of ${total}`;
        const pair = tls();
        const provider = authentication.check();
        return [
          health.check(),
          { name: 'connections', ok: connected.size < total, detail },
          ...reports.checks(),
          ...(pair ? [{ name: 'certificate', ...checkCertificate(pair, now()) }] : []),
          ...(provider ? [{ name: 'identity_provider', ...provider }] : []),
        ];
      },
      metrics: () => metrics.collect(strangers()),
      refuse: (bearer) => (opensMetrics ? undefined : refuse(bearer, authentication, deps)),
      monotonic,
      onError: (error) => log({ level: 'error', event: 'http_request_failed', error }),
    },
    {
      '/': () => hint,
      [figuresAccessPath]: async (request) => {
        const refused = await refuse(bearerOf(request), authentication, deps);
        return refused ? refusedAccess(request, refused) : plainText(200, 'ok');
      },
    },
  );
}

/** Refuses a request without the token of an operator or observer. */
function refuse(
  bearer: string | undefined,
  authentication: Pick<Authentication, 'authenticate'>,
  deps: Deps,
): AccessRefusal | undefined | Promise<AccessRefusal | undefined> {
  if (bearer === undefined) {
    const message =
      "send 'Authorization: Bearer' with the token of an observer or operator, or set broker.metrics: open";
    return noted({ status: 401, code: 'unauthorized', message }, undefined, deps);
  }
  const found = authentication.authenticate(bearer);
  return found instanceof Promise
    ? found.then((known) => refuseHolder(known, deps))
    : refuseHolder(found, deps);
}

function refuseHolder(found: Authenticated, deps: Deps): AccessRefusal | undefined {
  if ('refused' in found) {
    const { code, message } = found.refused;
    return noted({ status: code === 'token_unchecked' ? 503 : 401, code, message }, undefined, deps);
  }
  if (isPermitted(operationPermissions.http.metrics, found.permissions)) return undefined;
  const message = `this needs the token of an observer or operator, and that of '${found.agent}' is neither`;
  return noted({ status: 403, code: 'forbidden', message }, found.agent, deps);
}

/** Counts and records a refusal. */
function noted<Code extends ErrorCode>(
  refusal: AccessRefusal & { code: Code },
  agent: string | undefined,
  { metrics, audit, now }: Deps,
): AccessRefusal {
  const { code, message } = refusal;
  metrics.refused(code);
  audit.record(auditEvent(code, { at: now(), detail: message, ...(agent !== undefined && { agent }) }));
  return refusal;
}
