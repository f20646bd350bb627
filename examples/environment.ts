import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { connectBroker, requestAddress } from '@signalbox/client';
import { issueToken } from '@signalbox/client/operator';
import type { ExampleToken } from './catalogue.ts';

const cli = fileURLToPath(new URL('../apps/cli/bin/signalbox.js', import.meta.url));
const installed = fileURLToPath(new URL('../node_modules/.bin', import.meta.url));
const compiled = fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url));

/** The environment of an example's program, and what was started for it, until it is disposed. */
export interface ExampleEnvironment extends AsyncDisposable {
  readonly env: Record<string, string>;
}

/**
 * Starts `signalbox up` on the example's own configuration, a free port and a directory that is removed afterwards. For an
 * example without tokens nothing is started.
 */
export async function startEnvironment(
  name: string,
  tokens: Record<string, ExampleToken> | undefined,
): Promise<ExampleEnvironment> {
  if (!tokens) return { env: neutralEnvironment(), [Symbol.asyncDispose]: async () => {} };
  await using started = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), 'signalbox-example-'));
  started.defer(() => rm(home, { recursive: true, force: true }));
  const config = fileURLToPath(new URL(`./${name}/signalbox.yaml`, import.meta.url));
  const data = join(home, 'state');
  const up = started.use(await startUp(['--config', config, '--data', data, '--listen', '127.0.0.1:0']));
  const files = await issueTokens({ home, data, url: up.url }, tokens);
  const resources = started.move();
  return {
    env: { ...neutralEnvironment(), SIGNALBOX_URL: up.url, ...files },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The first line of `signalbox up --json`. */
interface UpReport {
  broker?: { url: string; socket?: string };
  error?: { message: string };
}

async function startUp(args: string[]): Promise<AsyncDisposable & { url: string }> {
  const child = spawn(process.execPath, [cli, 'up', ...args, '--json'], {
    env: { ...neutralEnvironment(), SIGNALBOX_LOG: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, 'line'), exited.then(() => undefined)]);
  const said = first && (JSON.parse(String(first[0])) as UpReport);
  if (!said?.broker)
    throw new Error(`signalbox up did not start: ${said?.error?.message ?? 'it said nothing'}`);
  return {
    url: said.broker.socket ?? said.broker.url,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** Issues tokens into files, as `signalbox token issue --out` does, and returns the variables with the files' paths. */
async function issueTokens(
  { home, data, url }: { home: string; data: string; url: string },
  tokens: Record<string, ExampleToken>,
): Promise<Record<string, string>> {
  const token = (await readFile(join(data, 'operator.token'), 'utf8')).trim();
  await using operator = await connectBroker({ url, token, agent: requestAddress('operator') });
  const files: Record<string, string> = {};
  for (const [variable, { agent, role }] of Object.entries(tokens)) {
    const issued = await issueToken(operator, { agent, role });
    const file = join(home, `${variable.toLowerCase()}.token`);
    await writeFile(file, `${issued.token}\n`, { mode: 0o600 });
    files[variable] = file;
  }
  return files;
}

/** Returns our environment without the variables of Signalbox, and with this Node and the installed MCP servers first on the path. */
function neutralEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith('SIGNALBOX_'),
  );
  const path = [dirname(process.execPath), installed, process.env.PATH ?? ''].join(delimiter);
  // Nearly a dozen processes load the same modules: compiled once, each starts in half the time.
  const NODE_COMPILE_CACHE = process.env.NODE_COMPILE_CACHE ?? compiled;
  return { ...Object.fromEntries(kept), PATH: path, NODE_COMPILE_CACHE };
}
