import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { measureDisk } from './disk-use.ts';
import { measureMemory } from './memory-use.ts';

const help = `npm run bench:sizing -- [--workers 1,100,1000] [--messages N]
Measures what Signalbox takes of a machine, as rows of Markdown tables for the guide on operations: the memory of broker, orchestrator,
shared face, shims and HTTP face with so many workers, and the disk for a million messages, from N of them (200000). A shim takes about
12 MB. Linux only.
`;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      workers: { type: 'string', default: '1,100,1000' },
      messages: { type: 'string', default: '200000' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return 0;
  }
  const date = new Date().toISOString().slice(0, 10);
  print(`${date}; ${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}; Node ${process.version}\n`);
  print('| workers | process | RSS | PSS |');
  print('| --- | --- | --- | --- |');
  for (const workers of values.workers
    .split(',')
    .filter((text) => text !== '')
    .map(Number)) {
    for (const { process: name, rssBytes, pssBytes } of await measureMemory(workers))
      print(`| ${workers} | ${name} | ${megabytes(rssBytes)} | ${megabytes(pssBytes)} |`);
  }
  print('\n| a million messages | disk |');
  print('| --- | --- |');
  const messages = Number(values.messages);
  if (messages === 0) return 0;
  for (const bodyBytes of [200, 4096]) {
    for (const state of ['pending', 'settled'] as const) {
      const perMessage = await measureDisk({ messages, bodyBytes, state });
      print(`| bodies of ${bodyBytes} bytes, ${state} | ${megabytes(perMessage * 1e6)} |`);
    }
  }
  return 0;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function megabytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;
}
