import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess } from '../processes.ts';

/** Broker (`full`), orchestrator with its journal, and an agent that answers at once. */
export interface SignalboxStack extends AsyncDisposable {
  url: string;
  token: string;
  /** The directory for files of this stack. */
  home: string;
  /** The environment of a worker whose agent is `client`. */
  env: Record<string, string>;
  /** The tokens of other workers. An earlier state of the harness issues none. */
  workerTokens: string[];
  brokerPid: number;
  orchestratorPid: number;
}

/** The processes run the scripts of `harness`, ours or another checkout's. */
export async function startSignalbox(server: string, harness: URL, workers: number): Promise<SignalboxStack> {
  await using opened = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), 'signalbox-bench-calls-'));
  opened.defer(() => rm(home, { recursive: true, force: true }));
  const broker = opened.use(
    await startProcess(new URL('peers/signalbox-broker-process.ts', harness), {
      dataDir: join(home, 'state'),
      durability: 'full',
      workers,
    }),
  );
  const { url, orchestrator, client: token, server: responder } = broker.facts as Record<string, string>;
  const { pid: orchestratorPid } = opened.use(
    await startProcess(new URL('calls/orchestrator-process.ts', harness), {
      url,
      token: orchestrator,
      server,
      dataDir: home,
    }),
  );
  opened.use(await startProcess(new URL('calls/responder-process.ts', harness), { url, token: responder }));
  const tokenFile = join(home, 'client.token');
  await writeFile(tokenFile, token!, { mode: 0o600 });
  const resources = opened.move();
  return {
    url: url!,
    token: token!,
    home,
    env: { SIGNALBOX_URL: url!, SIGNALBOX_AGENT: 'client', SIGNALBOX_TOKEN_FILE: tokenFile },
    workerTokens: JSON.parse(broker.facts.workers ?? '[]') as string[],
    brokerPid: broker.pid,
    orchestratorPid,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
