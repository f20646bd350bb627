import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { startTestHost, type TestHost } from './test-host.ts';
import { npmServer } from './test-servers.ts';

/** server-everything over HTTP, in a process of its own: the 2025 revision, with sessions. */
export async function legacyServer(
  port: number,
): Promise<AsyncDisposable & { child: ChildProcess; kill(): Promise<void> }> {
  const { command, args = [] } = npmServer('everything', 'streamableHttp');
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: 'ignore',
  });
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  return { child, kill, [Symbol.asyncDispose]: kill };
}

export function start(url: string, headers: Record<string, string> = {}): TestHost {
  return startTestHost({ servers: { web: { type: 'http', url, headers } } });
}
