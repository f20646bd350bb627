import { messageOf, SignalboxError } from '@signalbox/protocol';
import { z } from 'zod';
import { networkFailure } from '../../guarded-fetch/index.ts';
import { bearerChallenge } from './challenge.ts';
import { signalboxErrorIn } from './oauth-failure.ts';

/** The protected-resource metadata of an MCP server (RFC 9728), which name its authorization server. */
export interface ProtectedResource {
  resource: string;
  issuer: string;
  /** The scopes that the server needs, separated by spaces. */
  scope?: string;
}

const metadata = z.object({
  resource: z.string(),
  authorization_servers: z.array(z.string()).min(1),
  scopes_supported: z.array(z.string()).optional(),
});

/**
 * Asks a server for its protected-resource metadata, at the place that its 401 names and then at the well-known places.
 * Resolves with `undefined` if it has none. Rejects with `auth_failed` if they are about another server.
 */
export async function findProtectedResource(
  url: string,
  send: typeof fetch,
  signal: AbortSignal,
): Promise<ProtectedResource | undefined> {
  const challenge = await challengeOf(url, send, signal);
  const places = [challenge?.resource_metadata, ...wellKnownPlaces(url)];
  for (const place of places) {
    if (place === undefined || !URL.canParse(place)) continue;
    const response = await send(place, { headers: { accept: 'application/json' }, signal });
    const body = response.ok ? await response.json().catch(() => undefined) : await response.body?.cancel();
    const { success, data } = metadata.safeParse(body);
    if (!success) continue;
    if (!covers(data.resource, url)) throw aboutAnother(data.resource);
    const scope = challenge?.scope ?? data.scopes_supported?.join(' ');
    return { resource: data.resource, issuer: data.authorization_servers[0]!, ...(scope && { scope }) };
  }
  return undefined;
}

/** Returns a server's URL without its query, user name and password, which may be secret (RFC 8707 §2). */
export function resourceOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return pathname === '/' ? origin : `${origin}${pathname}`;
}

async function challengeOf(url: string, send: typeof fetch, signal: AbortSignal) {
  const response = await send(url, { headers: { accept: 'text/event-stream' }, signal }).catch((error) => {
    throw signalboxErrorIn(error) ?? unknownSignIn(networkFailure(error)?.reason ?? messageOf(error));
  });
  await response.body?.cancel();
  return response.status === 401 ? bearerChallenge(response.headers.get('www-authenticate')) : undefined;
}

function unknownSignIn(reason: string): SignalboxError {
  const message = `the server ${reason}, so it can't say who gives tokens for it`;
  return new SignalboxError('auth_failed', message, { retryable: true });
}

function wellKnownPlaces(url: string): string[] {
  const { origin, pathname } = new URL(url);
  const root = `${origin}/.well-known/oauth-protected-resource`;
  return pathname === '/' ? [root] : [`${root}${pathname}`, root];
}

/** Tells whether metadata are about the server's URL or a folder above it. Tokens for another resource would work there. */
function covers(resource: string, url: string): boolean {
  const of = URL.parse(resource);
  const { origin, pathname } = new URL(url);
  if (!of || of.origin !== origin) return false;
  const folder = of.pathname.replace(/\/$/, '');
  return pathname === of.pathname || pathname === folder || pathname.startsWith(`${folder}/`);
}

function aboutAnother(resource: string): SignalboxError {
  return new SignalboxError(
    'auth_failed',
    `the server's OAuth metadata are about another resource ('${resource.slice(0, 200)}'): set auth.issuer and auth.resource if that is right`,
  );
}
