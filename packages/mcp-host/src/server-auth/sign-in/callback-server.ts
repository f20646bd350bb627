import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { send } from '@signalbox/serving/monitoring';

const path = '/callback';

/** The browser's return from the authorization server. `finish` shows it a page with the result of the sign-in. */
export interface Callback {
  url: URL;
  finish(ok: boolean): Promise<void>;
}

/** A web server to which the authorization server sends the browser. */
export interface CallbackServer extends AsyncDisposable {
  /** The address to which the authorization server sends the browser. */
  redirectUri: string;
  /** Resolves with the first request that carries `state`; all others are answered with 404. */
  next(state: string, signal: AbortSignal): Promise<Callback>;
}

/** Opens a server on the loopback interface (RFC 8252 §7.3). Port 0 is any free port. */
export async function openCallbackServer(port: number): Promise<CallbackServer> {
  const arrivals: ((url: URL, response: ServerResponse) => boolean)[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const isTaken =
      request.method === 'GET' && url.pathname === path && arrivals.some((take) => take(url, response));
    if (!isTaken) answer(response, 404, 'Not the sign-in that Signalbox waits for.');
  });
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new SignalboxError(
      'auth_failed',
      `cannot listen on port ${port} of this machine for the browser's return (${messageOf(error)}); choose another port`,
    );
  }
  const { port: actual } = server.address() as AddressInfo;
  return {
    redirectUri: `http://127.0.0.1:${actual}${path}`,
    async next(state, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<Callback>();
      const giveUp = () => reject(signal.reason);
      signal.throwIfAborted();
      signal.addEventListener('abort', giveUp, { once: true });
      let isOver = false;
      arrivals.push((url, response) => {
        if (isOver || url.searchParams.get('state') !== state) return false;
        isOver = true;
        resolve({ url, finish: (ok) => page(response, ok) });
        return true;
      });
      return promise.finally(() => signal.removeEventListener('abort', giveUp));
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function page(response: ServerResponse, ok: boolean): Promise<void> {
  const text = ok
    ? 'Done: Signalbox is signed in. You can close this window.'
    : 'The sign-in failed. The terminal says why; you can close this window.';
  const written = once(response, 'close');
  answer(response, ok ? 200 : 400, text);
  await written;
}

function answer(response: ServerResponse, status: number, text: string): void {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'referrer-policy': 'no-referrer',
  };
  const body = `<!doctype html><meta charset="utf-8"><title>Signalbox</title><p>${text}</p>`;
  send(response, { status, headers, body });
}
