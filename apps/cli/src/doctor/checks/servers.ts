import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serverFailure } from '@signalbox/client/operator/internal';
import type { Config } from '@signalbox/daemon/config';
import type { McpServerConfig, ServerStatus } from '@signalbox/mcp-host';
import type { ServerReport } from '@signalbox/protocol';
import { formatElapsed } from '@signalbox/protocol/duration';
import { unshownTexts } from '../../servers/server-report.ts';
import { count, linesOf, oneLine } from '../../terminal/output.ts';
import { shellWords } from '../../terminal/shell-words.ts';
import { type Finding, failed, ok, warning } from '../finding.ts';

const takeOut = 'take it out of mcpServers, or out of the file that mcpConfig names';
const byHand = 'run its command by hand to see what it says';
const details = (name: string): string => `signalbox servers show ${name}`;

/** Judges a server that a running orchestrator hosts. */
export function hostedServerFinding(server: ServerReport): Finding {
  const { name, host, state, tool_count, circuit, uptime_ms, definitions } = server;
  const failure = serverFailure(server);
  const why = failure === undefined ? '' : `: ${failure}`;
  switch (state) {
    case 'backing_off':
    case 'ejected':
      return failed(`${name} fails${why}`, `${details(name)}; then: signalbox servers reload ${name}`);
    case 'away':
      return failed(`${name} is away${why}`, `on that machine: signalbox orchestrator --host ${host}`);
    case 'refused':
      return failed(`${name} is a worker of Signalbox and is not served`, takeOut);
    case 'needs_auth':
      return warning(`${name} needs somebody to sign in`, `signalbox servers auth ${name}`);
    case 'ready': {
      if (circuit === 'open') return warning(`${name} gets no calls, as they failed${why}`, details(name));
      if (definitions && definitions.withheld > 0) {
        const what = `${name}: ${count(definitions.withheld, 'definition')} withheld until an operator accepts what it says`;
        return warning(what, `signalbox servers diff ${shellWords(name)}`);
      }
      const up = uptime_ms === undefined ? '' : `, up for ${formatElapsed(uptime_ms)}`;
      return ok([`${name} is ready: ${count(tool_count, 'tool')}${up}`, ...unshownTexts(server)].join('; '));
    }
    case 'not_offered':
      return ok(`${name} is not offered by host ${host}`);
    case 'queued':
      return ok(`${name} waits for its turn to start`);
    case 'starting':
      return ok(`${name} is starting`);
    default:
      return ok(`${name} is ${state}`);
  }
}

/** The outcome of a start here. `tookMs` counts from the start of all servers. */
export interface StartedServer {
  status: ServerStatus;
  tookMs: number;
  /** The end of its standard error, free of secrets. */
  stderr: string;
}

/** Judges a server that was started here. */
export function startedServerFinding({ status, tookMs, stderr }: StartedServer): Finding {
  const { name, state, toolCount, lastError, startFailure } = status;
  if (state === 'ready' || (state === 'idle' && lastError === undefined))
    return ok(`${name} started and listed ${count(toolCount, 'tool')} in ${formatElapsed(tookMs)}`);
  if (state === 'refused') {
    return failed(`${name} is a worker of Signalbox and would not be served`, takeOut);
  }
  if (state === 'needs_auth')
    return warning(`${name} needs somebody to sign in`, `signalbox up, then: signalbox servers auth ${name}`);
  const advice = startFailure?.advice.join('; ') ?? '';
  const lastWords = linesOf(stderr.trimEnd()).at(-1) ?? '';
  return failed(
    `${name} did not start: ${lastError ?? `it is ${state} after ${formatElapsed(tookMs)}`}` +
      (lastWords === '' ? '' : `; its last words: ${oneLine(lastWords, 200)}`),
    advice === '' ? byHand : advice,
  );
}

/**
 * Starts every server as an orchestrator would, and stops it. `onOutcome` is called with each as soon as it is known. Aborting the
 * signal ends those that have not started yet.
 */
export async function startServers(
  { mcpServers, orchestrator }: Pick<Config, 'mcpServers' | 'orchestrator'>,
  onOutcome: (finding: Finding) => void,
  signal: AbortSignal,
): Promise<void> {
  const entries = Object.entries(mcpServers).filter(([, { disabled }]) => !disabled);
  const [signedIn, servers] = [
    entries.filter(([, entry]) => hasSignIn(entry)),
    entries.filter(([, entry]) => !hasSignIn(entry) && entry.type !== 'remote'),
  ];
  for (const [name, entry] of entries)
    if (entry.type === 'remote')
      onOutcome(ok(`${name} is hosted by '${entry.label}', so only a running orchestrator can try it`));
  // A sign-in may be renewed when it is used, and belongs to the orchestrator.
  for (const [name] of signedIn) onOutcome(ok(`${name} signs in, so only a running orchestrator can try it`));
  if (servers.length === 0) return;
  const { startMcpHost } = await import('@signalbox/mcp-host');
  await using resources = new AsyncDisposableStack();
  const stateDir = await mkdtemp(join(tmpdir(), 'signalbox-doctor-'));
  resources.defer(() => rm(stateDir, { recursive: true, force: true }));
  const began = performance.now();
  const { maxProcesses } = orchestrator;
  const host = resources.use(
    startMcpHost({
      // A trial shows nothing to anybody, and pins nothing.
      servers: Object.fromEntries(
        servers.map(([name, entry]) => [name, { ...entry, definitions: 'follow' }]),
      ),
      stateDir,
      ...(maxProcesses !== undefined && { maxProcesses }),
    }),
  );
  const aborted = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  await Promise.all(
    servers.map(async ([name]) => {
      const status = await Promise.race([host.start(name), aborted]);
      const tookMs = performance.now() - began;
      if (status) onOutcome(startedServerFinding({ status, tookMs, stderr: host.stderrTail(name) }));
      else onOutcome(failed(`${name} did not start within ${formatElapsed(tookMs)}`, byHand));
    }),
  );
}

function hasSignIn(entry: McpServerConfig): boolean {
  return entry.type === 'http' && entry.auth !== undefined;
}
