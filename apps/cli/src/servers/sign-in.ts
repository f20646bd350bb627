import type { Config } from '@signalbox/daemon/config';
import { findConfig, searchedText } from '@signalbox/daemon/config/internal';
import { dataDirectory, orchestratorFiles } from '@signalbox/daemon/data-directory';
import type { HttpServerConfig } from '@signalbox/mcp-host';
import { createGuardedFetch } from '@signalbox/mcp-host/guarded-fetch';
import {
  type AuthorizationCodeAuth,
  hostsOfAuth,
  openRefreshTokenFiles,
  signIn,
} from '@signalbox/mcp-host/server-auth';
import { SignalboxError } from '@signalbox/protocol';
import { nearestName } from '@signalbox/protocol/internal';
import { loadFound } from '../config/load-found.ts';
import { askOrchestrator, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { printJson, printLines } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';
import { serverSummary } from './server-report.ts';

/** The options of `signalbox servers auth`. */
export interface ServerAuthFlags extends ToolsFlags {
  signOut?: boolean;
  port?: number;
}

/** Signs a person in to a server, or forgets the sign-in. */
export async function authorizeServer(name: string, flags: ServerAuthFlags): Promise<void> {
  const found = await findSignInServer(name, flags);
  await (flags.signOut ? signOutOf : signInTo)(name, found, flags);
}

/** Signs a person in, and asks a connected orchestrator to restart the server. */
async function signInTo(name: string, found: SignInServer, flags: ServerAuthFlags): Promise<void> {
  const { config, server, auth } = found;
  const { url } = server;
  using withdrawal = withdrawOnSignal();
  const { signal } = withdrawal;
  await using fetch = createGuardedFetch({ allowHosts: [...config.allowHosts, ...hostsOfAuth(url, auth)] });
  try {
    await signIn({
      server: name,
      url,
      auth,
      fetch,
      tokens: tokensOf(found, flags),
      onUrl: (link) => printUrl(link, name, flags),
      signal,
      ...(flags.port !== undefined && { listen: { port: flags.port } }),
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new SignalboxError('cancelled', 'the sign-in was given up; nothing has changed', {
      details: { interrupted: true },
    });
  }
  const restart = await reload(name, flags);
  if (flags.json) printJson({ server: name, signed_in: true, ...restart });
  else printLines(`signed in to ${name}`, ...restartLines(restart));
}

/** Forgets a sign-in, and asks a connected orchestrator to restart the server. */
async function signOutOf(name: string, found: SignInServer, flags: ServerAuthFlags): Promise<void> {
  const forgotten = await tokensOf(found, flags).forget(name);
  const restart = forgotten ? await reload(name, flags) : {};
  if (flags.json) return printJson({ server: name, signed_out: forgotten, ...restart });
  const said = forgotten ? `the sign-in to ${name} is forgotten` : `nobody was signed in to ${name}`;
  printLines(said, ...restartLines(restart), ...lastTokenLines(restart, name));
}

function tokensOf({ config }: SignInServer, { data }: ServerAuthFlags) {
  return openRefreshTokenFiles(orchestratorFiles(dataDirectory(data, config)).signIns);
}

function printUrl(url: string, name: string, { json }: ServerAuthFlags): void {
  if (json) printJson({ server: name, url });
  else
    printLines(
      `Open this in a browser on this machine, to sign in to ${name}:`,
      `  ${url}`,
      'Waiting for it …',
    );
}

/** The outcome of asking the orchestrator to restart the server; empty if it was not asked. */
interface Restart {
  /** The state of the server after its restart. */
  state?: string;
  text?: string;
  /** The reason why the server was not restarted. */
  not_reloaded?: string;
}

/** Asks the orchestrator to restart the server. A failure is part of the result, because the sign-in is stored all the same. */
async function reload(name: string, flags: ServerAuthFlags): Promise<Restart> {
  try {
    const { server } = await askOrchestrator(flags, { op: 'reload', server: name }, 60_000);
    return { state: server.state, text: serverSummary(server) };
  } catch (error) {
    if (error instanceof SignalboxError) return { not_reloaded: error.message };
    throw error;
  }
}

function restartLines({ text, not_reloaded }: Restart): string[] {
  if (text !== undefined) return [text];
  return not_reloaded === undefined
    ? []
    : [`the orchestrator was not asked to start it anew: ${not_reloaded}`];
}

function lastTokenLines({ state }: Restart, name: string): string[] {
  if (state !== 'ready') return [];
  return [
    'It still has a token, which ends by itself. To end its use now:',
    `  signalbox servers stop ${shellWords(name)}`,
  ];
}

/** A server to which a person signs in. */
interface SignInServer {
  config: Config;
  server: HttpServerConfig;
  auth: AuthorizationCodeAuth;
}

/** Finds a server by its name in the configuration. Rejects with `server_not_found`, or `usage` if nobody signs in to it. */
async function findSignInServer(name: string, flags: { config?: string }): Promise<SignInServer> {
  const found = findConfig(flags.config);
  if (!found) {
    throw new SignalboxError('usage', `no configuration to find the server in: ${searchedText()}`, {
      details: { hint: 'name it with --config' },
    });
  }
  const names: string[] = [];
  const config = await loadFound(found, { onlyServer: name, onServer: (other) => names.push(other) });
  const server = config.mcpServers[name];
  if (server === undefined) {
    const nearest = nearestName(name, names);
    const hint =
      nearest === undefined ? `there are: ${names.join(', ') || 'none'}` : `did you mean '${nearest}'?`;
    throw new SignalboxError('server_not_found', `no server is named '${name}' in ${found.file}`, {
      details: { hint },
    });
  }
  if (server.type === 'http' && server.auth?.type === 'authorization_code') {
    return { config, server, auth: server.auth };
  }
  const has =
    server.type === 'http'
      ? `has auth of type ${server.auth?.type ?? '(none)'}`
      : server.type === 'remote'
        ? `is hosted by '${server.label}', where its sign-in belongs`
        : 'is run here';
  throw new SignalboxError('usage', `nobody signs in to '${name}': it ${has}`, {
    details: { hint: 'a sign-in is for HTTP servers with auth: { type: authorization_code }' },
  });
}
