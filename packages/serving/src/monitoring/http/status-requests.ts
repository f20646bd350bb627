import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MetricFamily } from '../metrics/metric-family.ts';
import { prometheusText, prometheusType } from '../metrics/prometheus-text.ts';
import { type Answer, json, plainText, refusal } from './answer.ts';
import { CostlyText } from './costly-text.ts';
import type { HealthCheck, Readiness } from './readiness.ts';

/** The reason why a request may not see its subject. With 503, the broker could not be asked about that. */
export interface AccessRefusal {
  status: 401 | 403 | 503;
  code: string;
  message: string;
}

/** The daemon behind the requests. */
export interface StatusSources {
  /** Tells whether the daemon can do its work. */
  ready(): Promise<Readiness>;
  /** The lines of `/readyz?verbose`. */
  checks(): readonly HealthCheck[];
  /** Returns the metrics of `/metrics`. */
  metrics(): Promise<readonly MetricFamily[]>;
  /** Refuses a request that may not see figures, by the token of its `Authorization` header. */
  refuse(bearer: string | undefined): AccessRefusal | undefined | Promise<AccessRefusal | undefined>;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  /** Called with an error that became a 500. */
  onError: (error: unknown) => void;
}

/** The time that a client has to read a part of its answer, in milliseconds. */
const readMs = 5000;

type Route = (request: IncomingMessage, url: URL) => Answer | Promise<Answer>;

/**
 * Answers `GET /livez`, `/readyz` and `/metrics`; `more` are further paths. A connection is for one request, so that clients keep nothing
 * open here.
 */
export class StatusRequests {
  readonly #sources: StatusSources;
  readonly #metrics: CostlyText;
  readonly #routes: Readonly<Record<string, Route>>;

  constructor(sources: StatusSources, more: Readonly<Record<string, Route>> = {}) {
    this.#sources = sources;
    this.#metrics = new CostlyText(async () => prometheusText(await sources.metrics()), sources.monotonic);
    this.#routes = {
      '/livez': () => plainText(200, 'ok'),
      '/readyz': (request, url) => this.#readyz(request, url),
      '/metrics': (request) => this.#scrape(request),
      ...more,
    };
  }

  /** Answers one request. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setTimeout(readMs, () => request.socket.destroy());
    let answer: Answer;
    try {
      answer = await this.#route(request);
    } catch (error) {
      this.#sources.onError(error);
      const message = 'this request failed; the log of the process says why';
      answer = refusal(request, 500, { code: 'internal', message });
    }
    send(response, answer);
  }

  #route(request: IncomingMessage): Answer | Promise<Answer> {
    const url = URL.parse(request.url ?? '', 'http://localhost');
    const path = url?.pathname ?? '';
    const route = Object.hasOwn(this.#routes, path) ? this.#routes[path] : undefined;
    if (!url || !route) {
      const known = Object.keys(this.#routes).join(', ');
      return refusal(request, 404, { code: 'not_found', message: `there is nothing here; known: ${known}` });
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      const message = `${path} answers GET and HEAD only`;
      return refusal(request, 405, { code: 'method_not_allowed', message }, { allow: 'GET, HEAD' });
    }
    return route(request, url);
  }

  async #readyz(request: IncomingMessage, { searchParams }: URL): Promise<Answer> {
    const isVerbose = searchParams.has('verbose');
    const refused = isVerbose ? await this.#refuse(request) : undefined;
    if (refused) return refused;
    const readiness = await this.#sources.ready();
    const status = readiness.ready ? 200 : 503;
    const all = this.#sources.checks();
    // Strangers learn only which part does not work.
    const degraded = [...new Set(all.flatMap(({ name, ok }) => (ok ? [] : [name.split(' ')[0]!])))];
    const checks = isVerbose ? all : [];
    if (request.headers.accept?.includes('application/json')) {
      const said = { ...readiness, ...(degraded.length > 0 && { degraded }) };
      return json(status, isVerbose ? { ...said, checks } : said);
    }
    const state = readiness.ready ? 'ok' : `${readiness.code}: ${readiness.reason}`;
    const first = !readiness.ready || degraded.length === 0 ? state : `${state}, but: ${degraded.join(', ')}`;
    const lines = checks.map(({ name, ok, detail }) => `${ok ? '[ok]  ' : '[fail]'} ${name}: ${detail}`);
    return plainText(status, [first, ...lines].join('\n'));
  }

  async #scrape(request: IncomingMessage): Promise<Answer> {
    const refused = await this.#refuse(request);
    if (refused) return refused;
    return { status: 200, headers: { 'content-type': prometheusType }, body: await this.#metrics.get() };
  }

  async #refuse(request: IncomingMessage): Promise<Answer | undefined> {
    const refused = await this.#sources.refuse(bearerOf(request));
    return refused && refusedAccess(request, refused);
  }
}

/** Makes the answer to a request that may not see its subject. */
export function refusedAccess(
  request: Pick<IncomingMessage, 'headers'>,
  { status, code, message }: AccessRefusal,
): Answer {
  const challenge = { 'www-authenticate': 'Bearer realm="signalbox"' };
  return refusal(request, status, { code, message }, status === 401 ? challenge : {});
}

/** Returns the token of a request's `Authorization` header. */
export function bearerOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  return /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1];
}

/** Sends an answer. The connection ends with it. */
export function send(response: ServerResponse, answer: Answer): void {
  beginAnswer(response, answer);
  response.end(answer.body);
}

/** Sends the head of an answer, which names the length of its body. The connection ends with it. */
export function beginAnswer(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, {
    ...headers,
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  });
}
