import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ServerStarts } from './server-starts.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watch(...servers: string[]) {
  const printed: string[] = [];
  return { printed, starts: new ServerStarts(servers, (lines) => printed.push(...lines), Date.now) };
}

const ready = (server: string) => ({ server, state: 'ready', tools: 13, stderr: '' });

test('Servers that are still starting are named ever more rarely, and no more once each has started or failed.', () => {
  const { printed, starts } = watch('everything', 'files');
  vi.advanceTimersByTime(10_000);
  expect(printed).toEqual([
    'everything and files are still starting (2 s)',
    'everything and files are still starting (6 s)',
  ]);
  starts.take(ready('everything'));
  vi.advanceTimersByTime(5000);
  expect(printed.slice(2)).toEqual(['files is still starting (14 s)']);
  starts.take(ready('files'));
  vi.advanceTimersByTime(100_000);
  expect(printed).toHaveLength(3);
});

test('A failure is shown at once with what ran, its advice and the end of its standard error.', () => {
  const { printed, starts } = watch('files');
  starts.take({
    ...{
      server: 'files',
      state: 'backing_off',
      tools: 0,
      error: 'exited with code 1',
      stderr: 'usage: files DIR\n',
    },
    failure: {
      command: 'npx -y files',
      processes: [{ pid: 7, command: 'npm exec files' }],
      advice: ['name a folder'],
    },
  });
  expect(printed).toEqual([
    'files failed to start: exited with code 1',
    '  it ran: npx -y files',
    '  its processes, when the start was given up:',
    '    7  npm exec files',
    '  > name a folder',
    '  standard error, its end:',
    '    usage: files DIR',
  ]);
});

test('A server that is ready is named only if the report of the orchestrator came before.', () => {
  const { printed, starts } = watch('everything', 'files', 'lazy');
  starts.take(ready('everything'));
  starts.reported({ notReady: [{ server: 'files', state: 'starting' }] });
  starts.take(ready('files'));
  vi.advanceTimersByTime(100_000);
  expect(printed).toEqual(['files is ready: 13 tools']);
});
