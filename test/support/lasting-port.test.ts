import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { programOptions } from '@signalbox/testing';
import { expect, it } from 'vitest';

/** Claims the share that it would take by itself, if nobody has it, before it asks for ports. */
const program = `
  import { createServer } from 'node:net';
  import { lastingPort } from '@signalbox/testing';
  const first = 10_000 + (process.pid % 110) * 200;
  const claim = createServer().listen(first, '127.0.0.1', async () => {
    const ports = [await lastingPort(), await lastingPort()];
    console.log(JSON.stringify({ first, ports }));
    claim.close();
  });
  claim.on('error', async () => console.log(JSON.stringify({ first, ports: [await lastingPort()] })));
`;

it('gives no port of a share that a process of another test run has claimed', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...programOptions(),
    '--input-type=module',
    '--eval',
    program,
  ]);
  const { first, ports } = JSON.parse(stdout) as { first: number; ports: number[] };
  for (const port of ports) expect(port < first || port >= first + 200).toBe(true);
  expect(new Set(ports).size).toBe(ports.length);
});
