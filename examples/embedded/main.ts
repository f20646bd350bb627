import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Log, runBroker, runOrchestrator } from '@signalbox/daemon';
import { loadConfig } from '@signalbox/daemon/config';
import { McpProxyExecutor } from '@signalbox/worker';

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
const log: Log = ({ level, event, message }) => {
  if (level === 'warn' || level === 'error') process.stderr.write(`${level}: ${message ?? event}\n`);
};

const config = await loadConfig(fileURLToPath(new URL('./signalbox.yaml', import.meta.url)));
// A program that is not an example keeps its data: leave `dataDir` out and name `broker.data` in the file.
await using directory = await mkdtempDisposable(join(tmpdir(), 'signalbox-embedded-'));
const dataDir = join(directory.path, 'state');

// They stop in reverse order: the agent, then the orchestrator, then the broker.
await using broker = await runBroker({ config, dataDir, log });
const url = broker.socket ?? broker.url;
await using orchestrator = await runOrchestrator({ config, dataDir, url, log });
const { servers } = await orchestrator.ready;
say(`serving ${servers.map(({ name, tools }) => `${tools} tools of ${name}`).join(', ')}`);

const role = process.argv.includes('--break') ? 'guest' : 'clerk';
const { token } = await broker.issueToken({ agent: 'rosa', role });
await using rosa = await McpProxyExecutor.connect({ url, token, agent: 'rosa' });
const { result, error } = await rosa.execute({
  name: 'mcp_everything__get-sum',
  arguments: { a: 19, b: 23 },
});

const answer = result?.text ?? `${error?.code}: ${error?.message}`;
say(`rosa (role ${rosa.role}) asked for 19 + 23: ${answer}`);
if (!answer.includes('42')) {
  say('WRONG: expected 42');
  process.exitCode = 1;
}
