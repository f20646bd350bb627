import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { markVariable } from '../../environment/inherited-variables.ts';
import type { HostEvent } from '../../host-event.ts';
import { DetachedProcesses } from './detached-processes.ts';
import { isRunning, startOfProcess } from './process-start-time.ts';

/** Starts a shell whose `script` prints a line. Resolves when it has printed it. */
async function startShell(script: string, mark: string) {
  const child = spawn('sh', ['-c', script], {
    detached: true,
    env: { PATH: process.env.PATH, [markVariable]: mark },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  return { child, pid: child.pid!, start: startOfProcess(child.pid!)! };
}

function endGroup({ pid }: ChildProcess): void {
  try {
    process.kill(-pid!, 'SIGKILL');
  } catch {
    // ESRCH: it has ended.
  }
}

/** Resolves with the start time of a process that begins after another one. */
async function laterStart(than: string): Promise<string> {
  for (;;) {
    const { child, start } = await startShell('echo up; exec sleep 1000', randomUUID());
    endGroup(child);
    if (Number(start.split(' ')[1]) > Number(than.split(' ')[1])) return start;
  }
}

it.runIf(process.platform === 'linux')(
  'ends a process that has the whole mark, and none that began earlier, has a terminal, has another mark, or runs another host',
  async () => {
    const mark = randomUUID();
    const wait = 'echo up; exec sleep 1000';
    const earlier = await startShell(wait, mark);
    // Start times count hundredths of a second, in which a shell may be up.
    const ended = { server: 'files', mark, start: await laterStart(earlier.start) };
    const obedient = await startShell(wait, mark);
    const stubbornMark = randomUUID();
    const stubborn = await startShell("trap '' TERM; echo up; while :; do sleep 1000; done", stubbornMark);
    const longer = await startShell(wait, `${mark}0`);
    // The child says that it is there: before its exec it has the environment of its parent.
    const hosted = `${markVariable}=${randomUUID()} sh -c "echo up; exec sleep 1000" & wait`;
    const host = await startShell(hosted, mark);
    const onTerminal = `${markVariable}=${mark} sh -c "echo up; exec sleep 1000"`;
    // The program `script` has no terminal itself, and ends with the shell that it gives one.
    const terminal = await startShell(`exec script -qefc '${onTerminal}' /dev/null`, randomUUID());
    const all = [earlier, obedient, stubborn, longer, host, terminal];
    const events: HostEvent[] = [];
    try {
      const log = (event: HostEvent): void => void events.push(event);
      await new DetachedProcesses(30_000, log).endThoseOf(ended);
      await new DetachedProcesses(50, log).endThoseOf({ ...ended, mark: stubbornMark });
      expect(all.map(isRunning)).toEqual([true, false, false, true, true, true]);
      const facts = { event: 'detached_process_ended', server: 'files' };
      expect(events).toEqual(
        expect.arrayContaining([
          { ...facts, pid: obedient.pid, program: 'sleep', signal: 'SIGTERM' },
          { ...facts, pid: stubborn.pid, program: 'sh', signal: 'SIGKILL' },
        ]),
      );
      await new DetachedProcesses(30_000, () => {}).endThoseOf({ ...ended, start: earlier.start });
      expect(isRunning(earlier)).toBe(false);
    } finally {
      for (const { child } of all) endGroup(child);
    }
  },
);
