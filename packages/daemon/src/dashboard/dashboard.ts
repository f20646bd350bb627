import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  frameLimits,
  isPermitted,
  operationPermissions,
  type Permission,
  SignalboxError,
} from '@signalbox/protocol';
import { listPermissions } from '@signalbox/protocol/internal';
import { z } from 'zod';
import type { ListedRoles } from '../config/internal.ts';
import type { BrokerAccess } from './access.ts';
import { commands } from './api/commands.ts';
import { type ApiOperation, readParams } from './api/operation.ts';
import { reads } from './api/reads.ts';
import { EventStream } from './events/event-stream.ts';
import { apiErrorOf, beginAnswer, sendError, sendJson } from './http/answers.ts';
import type { PageFiles } from './http/page-files.ts';
import { readJson, refuseRequest } from './http/request-check.ts';
import { SharedAnswers } from './sign-ins/shared-answers.ts';
import { type OpenSignIn, SignIns } from './sign-ins/sign-ins.ts';
import { joinToken, keyHeader, readCookie, setCookie, splitToken } from './sign-ins/split-token.ts';

/** The dependencies of a {@link Dashboard}. */
export interface DashboardOptions {
  access: BrokerAccess;
  /** Returns the files of the page. Called when the first browser asks for one. */
  files: () => PageFiles;
  /** The agent id of the orchestrator. */
  orchestrator: string;
  /** Returns the roles that the configuration in force lists; absent if there is none. */
  listed?: () => ListedRoles;
  log: (event: { event: string; level: 'error'; error: unknown }) => void;
  /** Returns epoch milliseconds. */
  now?: () => number;
  /** Returns monotonic milliseconds. */
  monotonic?: () => number;
}

const pagePath = '/ui';
const apiPath = '/api/';

/** The time that a browser has to read a part of its answer, or to send its request, in milliseconds. */
const readMs = 10_000;
/** The longest time that an operation may take, in milliseconds: starting a server takes up to a minute. */
const workMs = 70_000;

/** The header that tells by how many milliseconds an answer may be older than its request: see {@link SharedAnswers}. */
const ageHeader = 'x-signalbox-age-ms';

/** An `Idempotency-Key`: it may become the id of a message. */
const keyPattern = /^[\w.:-]{8,64}$/;

/** A browser signs in with the code of a link, or with the token of a person. */
const signInParams = z.union([
  z.strictObject({ code: z.string().min(1).max(256) }),
  z.strictObject({ token: z.string().trim().min(1).max(frameLimits.tokenLength) }),
]);

/** Serves the page of the dashboard at `/ui/`, and its API below `/api/`, to browsers that signed in. */
export class Dashboard {
  readonly #options: DashboardOptions;
  readonly #signIns: SignIns;
  readonly #shared: SharedAnswers;
  readonly #now: () => number;
  readonly #streams = new Set<EventStream>();
  #files: PageFiles | undefined;

  constructor(options: DashboardOptions) {
    const { access, orchestrator, now = Date.now, monotonic = () => performance.now() } = options;
    this.#options = options;
    this.#now = now;
    this.#signIns = new SignIns(access, orchestrator, monotonic);
    this.#shared = new SharedAnswers(monotonic);
  }

  /** Ends all streams, and closes the connections of all sign-ins. The sign-ins themselves stay valid. */
  stop(): void {
    for (const stream of this.#streams) stream[Symbol.dispose]();
    this.#signIns.closeAll();
  }

  /** Answers one request. `admit` is called when the caller has proved its identity. Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse, admit: () => void): Promise<void> {
    response.on('error', () => {});
    try {
      const refusal = refuseRequest(request, this.#options.access.origins());
      if (refusal) return sendError(response, 403, refusal);
      const url = new URL(request.url ?? '', 'http://localhost');
      if (!url.pathname.startsWith(apiPath)) {
        response.setTimeout(readMs, () => request.socket.destroy());
        return this.#page(request, response, url);
      }
      await this.#api(request, response, url, admit);
    } catch (thrown) {
      const { status, error } = apiErrorOf(thrown);
      if (status === 500) this.#options.log({ event: 'dashboard_failed', level: 'error', error: thrown });
      if (response.headersSent) response.destroy();
      else sendError(response, status, error);
    }
  }

  #page(request: IncomingMessage, response: ServerResponse, { pathname }: URL): void {
    if (request.method !== 'GET' && request.method !== 'HEAD') throw notFound();
    if (pathname === pagePath) {
      beginAnswer(response, 308, { location: `${pagePath}/` });
      response.end();
      return;
    }
    this.#files ??= this.#options.files();
    const file = this.#files.get(pathname.slice(pagePath.length + 1));
    if (!file) throw notFound();
    beginAnswer(response, 200, {
      'content-type': file.type,
      'content-length': String(file.content.length),
      ...(file.isLasting && { 'cache-control': 'public, max-age=31536000, immutable' }),
    });
    response.end(request.method === 'HEAD' ? undefined : file.content);
  }

  async #api(request: IncomingMessage, response: ServerResponse, url: URL, admit: () => void): Promise<void> {
    const path = url.pathname.slice(apiPath.length);
    if (path === 'sign-in' && request.method === 'POST') return await this.#signIn(request, response);
    const token = tokenOf(request);
    using open = await this.#signIns.use(token);
    admit();
    if (path === 'events' && request.method === 'GET') return await this.#follow(request, response, open);
    using _place = await open.limits.request();
    // Nobody waits for the answer any more.
    if (response.destroyed) return;
    response.setTimeout(readMs, () => request.socket.destroy());
    if (path === 'sign-in' && request.method === 'GET') return sendJson(response, 200, this.#describe(open));
    if (path === 'sign-in/end' && request.method === 'POST') {
      await this.#options.access.signOut(token);
      const cookie = setCookie(portOf(request), '', { maxAgeSeconds: 0, isSecure: false });
      return sendJson(response, 200, {}, { 'set-cookie': cookie });
    }
    const run = await this.#prepare(request, url, path, open);
    response.setTimeout(workMs);
    const { answer, ageMs = 0 } = await run();
    response.setTimeout(readMs);
    sendJson(response, 200, answer ?? {}, ageMs > 0 ? { [ageHeader]: String(Math.ceil(ageMs)) } : {});
  }

  async #signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const given = readParams(signInParams, await readJson(request)) as z.infer<typeof signInParams>;
    const { access } = this.#options;
    const signedIn = await access.signIn('code' in given ? given.code : await access.codeFor(given.token));
    if (!signedIn) {
      const message =
        'this link was used already, or is older than a minute: signalbox dashboard prints another';
      throw new SignalboxError('unauthorized', message);
    }
    const { cookie, key } = splitToken(signedIn.token, randomBytes);
    const header = setCookie(portOf(request), cookie, {
      maxAgeSeconds: Math.ceil((signedIn.expiresAt - this.#now()) / 1000),
      isSecure: request.headers.origin?.startsWith('https:') === true,
    });
    sendJson(response, 200, { key }, { 'set-cookie': header });
  }

  #describe({ signedIn: { agent, role, permissions, approves, expiresAt } }: OpenSignIn): SignInFacts {
    const { orchestrator } = this.#options;
    return {
      agent,
      role,
      permissions,
      ...(approves && { approves }),
      expires_at: expiresAt,
      orchestrator,
      now: this.#now(),
    };
  }

  /** Checks a request, reads its parameters and returns the operation that it asks for. */
  async #prepare(
    request: IncomingMessage,
    url: URL,
    path: string,
    open: OpenSignIn,
  ): Promise<() => Promise<{ answer: unknown; ageMs?: number }>> {
    const operation = operationAt(path, request.method);
    const { signedIn, client, results } = open;
    if (!isPermitted(operation.needs, signedIn.permissions)) throw forbidden(path, operation, signedIn);
    const { access, orchestrator, listed } = this.#options;
    const key = request.headers['idempotency-key'];
    const context = {
      client,
      orchestrator,
      listed,
      signedIn,
      tokens: access.tokens,
      backup: open.backup,
      key: typeof key === 'string' ? key : undefined,
      now: this.#now,
    };
    if (operation.method === 'GET') {
      const params = readParams(operation.params, Object.fromEntries(url.searchParams));
      // Observers are shown less than operators, and each of them the private part of its own status.
      if (!signedIn.permissions.includes('operator'))
        return async () => ({ answer: await operation.run(context, params as never) });
      return async () => {
        const sharing = this.#shared.clientOf(client, `${signedIn.token} ${url.pathname}${url.search}`);
        const answer = await operation.run({ ...context, client: sharing.client }, params as never);
        return { answer, ageMs: sharing.ageMs() };
      };
    }
    const given = await readJson(request);
    const params = readParams(operation.params, given);
    const { key: id } = context;
    if (id === undefined || !keyPattern.test(id)) {
      const message = 'a command needs a header Idempotency-Key of 8 to 64 letters, digits and _.:-';
      throw new SignalboxError('bad_request', message);
    }
    const command = `${path} ${JSON.stringify(params)}`;
    const run = () => operation.run(context, params as never);
    return async () => {
      try {
        return { answer: await results.once(id, command, run, { isSecret: operation.isSecret }) };
      } finally {
        // The page reads again what the command has changed.
        this.#shared.forget();
      }
    };
  }

  /** Streams events until the page is closed, the sign-in ends or the broker stops. */
  async #follow(request: IncomingMessage, response: ServerResponse, open: OpenSignIn): Promise<void> {
    using _place = open.limits.stream();
    const lastId = request.headers['last-event-id'];
    using stream = new EventStream(response);
    this.#streams.add(stream);
    try {
      const { events, ended, signedIn } = open;
      const reader = {
        take: ({ id, ...batch }: { id: string; events: unknown; missed: number }) =>
          stream.send('batch', batch, id),
      };
      // A person who only decides gets no events about messages and calls: that page reads again by itself.
      const isTold = isPermitted(operationPermissions.admin.tail, signedIn.permissions);
      using following = isTold
        ? await events.follow(reader, typeof lastId === 'string' ? lastId : undefined)
        : undefined;
      const resumed = following?.resumed ?? false;
      stream.send('hello', { resumed }, isTold && !resumed ? events.lastId : undefined);
      await firstAbort(stream.ended, ended);
      if (ended.aborted) stream.send('end', apiErrorOf(ended.reason).error);
    } finally {
      this.#streams.delete(stream);
    }
  }
}

/** The facts that the page shows about its sign-in. Times are epoch milliseconds. */
export interface SignInFacts {
  agent: string;
  role: string;
  /** The permissions of the sign-in: each read and each command needs one of certain permissions. */
  permissions: readonly Permission[];
  /**
   * The roles, or patterns of roles, on whose tool calls the sign-in decides. Absent for operators, who decide on all, and for observers.
   */
  approves?: readonly string[];
  expires_at: number;
  orchestrator: string;
  /** The time of the broker's machine, by which ages are shown. */
  now: number;
}

function operationAt(path: string, method: string | undefined): ApiOperation {
  const isRead = method === 'GET' || method === 'HEAD';
  const table = isRead ? reads : method === 'POST' ? commands : {};
  const operation = Object.hasOwn(table, path) ? table[path] : undefined;
  if (!operation) throw notFound();
  return operation;
}

function forbidden(
  path: string,
  { needs }: ApiOperation,
  { agent, permissions }: OpenSignIn['signedIn'],
): SignalboxError {
  const does = permissions.includes('approver') ? 'only decides on tool calls' : 'only looks';
  const message = `'${path}' needs the permission ${listPermissions(needs)}, and the token of '${agent}' ${does}`;
  return new SignalboxError('forbidden', message);
}

function notFound(): SignalboxError {
  return new SignalboxError('not_found', 'there is nothing here; docs/dashboard-api.md lists what is');
}

function tokenOf(request: IncomingMessage): string {
  const cookie = readCookie(portOf(request), request.headers.cookie);
  const key = request.headers[keyHeader];
  return cookie === undefined || typeof key !== 'string' ? '' : joinToken({ cookie, key });
}

/** Returns the port of the page, which the name of the cookie holds: the one of the address in the browser, also behind a proxy. */
function portOf({ headers: { host = '' } }: IncomingMessage): number {
  return Number(/:(\d+)$/.exec(host)?.[1] ?? 0);
}

async function firstAbort(...signals: AbortSignal[]): Promise<void> {
  const any = AbortSignal.any(signals);
  if (any.aborted) return;
  await new Promise<void>((resolve) => any.addEventListener('abort', () => resolve(), { once: true }));
}
