import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cleanEnv, signalboxArgv } from '../cli/command-line.ts';

/** `signalbox worker mcp --http` as a process of its own. */
export async function startFaceProcess(brokerUrl: string, ...flags: string[]) {
  return await startFaceAt(0, brokerUrl, ...flags);
}

export async function startFaceAt(port: number, brokerUrl: string, ...flags: string[]) {
  const args = ['worker', 'mcp', '--http', `127.0.0.1:${port}`, '--url', brokerUrl, '--json', ...flags];
  const child = spawn(process.execPath, signalboxArgv(args), {
    env: cleanEnv(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const ready = await new Promise<{ url: string; port: number }>((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
      const line = stderr.split('\n', 1)[0]!;
      if (stderr.includes('\n')) resolve(JSON.parse(line) as { url: string; port: number });
    });
    void ended.then(() => reject(new Error(stderr)));
  });
  return {
    ...ready,
    pid: child.pid!,
    ended,
    stdout: () => stdout,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    rssMiB: () => Math.round(Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)])) / 1024),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
