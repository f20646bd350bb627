import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { tokenFileText } from '@signalbox/protocol';
import { connectWire, startBrokerProcess, startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { admin } from '../support/broker/wire-actions.ts';

const folder = fileURLToPath(new URL('../../examples/python/', import.meta.url));
// Debian's package python3-websockets belongs to Debian's Python.
const python = '/usr/bin/python3';
const isThere = spawnSync(python, ['-c', 'import websockets']).status === 0;
const common = { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' };

test.skipIf(!isThere)(
  'A client in Python, written from the document alone, sends, asks and answers.',
  async () => {
    await using directory = await tempDir();
    await using broker = await startTestBroker();
    const env: Record<string, string> = { ...common, SIGNALBOX_URL: broker.url };
    for (const agent of ['rosa', 'walt']) {
      const file = join(directory.path, `${agent}.token`);
      await writeFile(file, tokenFileText({ token: await broker.tokenOf(agent), url: broker.url }));
      env[`${agent.toUpperCase()}_TOKEN_FILE`] = file;
    }
    const program = spawn(python, [join(folder, 'main.py')], { env });
    const output = Promise.all([text(program.stdout), text(program.stderr)]);
    const [code] = await once(program, 'exit');
    const [stdout, stderr] = await output;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('walt answered 42; the broker says that walt sent it');
    expect(stdout).toContain('a name that nobody has is refused: unknown_recipient');
    expect(stdout).toContain('undeliverable: dead, may have run: True');
  },
);

/** Sends notes one after the other until standard input ends, and prints the id of each when it has the receipt. */
const sender = `
import asyncio, os, sys
from signalbox import connect

async def main():
    until = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    async with connect(os.environ["SIGNALBOX_URL"], os.environ["SIGNALBOX_TOKEN"]) as rosa:
        n = 0
        while not until.done():
            await rosa.deliver("walt", "note", {"n": n}, id=f"n{n}")
            print(f"n{n}", flush=True)
            n += 1

asyncio.run(main())
`;

test.skipIf(!isThere)(
  'Each receipt of a client in Python holds over kill -9 of the broker, and nothing is stored twice.',
  async () => {
    await using directory = await tempDir();
    const dataDir = join(directory.path, 'data');
    const first = await startBrokerProcess(dataDir);
    await using _first = first;
    const credentials = { agent: 'operator', token: await first.operatorToken() };
    const issue = async (agent: string): Promise<string> => {
      await using operator = await connectWire(first.url, credentials);
      return (await admin(operator, 'token_issue', { agent, role: 'worker' })).token as string;
    };
    const [token] = [await issue('rosa'), await issue('walt')];
    const env = { ...common, SIGNALBOX_URL: first.url, SIGNALBOX_TOKEN: token };
    const program = spawn(python, ['-c', sender], { env });
    const stderr = text(program.stderr);
    const lines = createInterface(program.stdout);
    const receipts: string[] = [];
    lines.on('line', (line) => receipts.push(line));
    await expect.poll(() => receipts.length).toBeGreaterThan(50);
    await first.kill();
    await using second = await startBrokerProcess(dataDir, first.port);
    const before = receipts.length;
    await expect.poll(() => receipts.length).toBeGreaterThan(before);
    program.stdin.end();
    const [code] = await once(program, 'close');
    expect({ code, stderr: await stderr }).toEqual({ code: 0, stderr: '' });
    expect(receipts).toEqual(receipts.map((_, n) => `n${n}`));
    await using operator = await connectWire(second.url, credentials);
    operator.send({ type: 'peek', request_id: 'p', address: 'walt', limit: 50, bodies: false });
    const { messages } = await operator.next('peeked');
    expect((messages as { id: string }[]).map(({ id }) => id)).toEqual(receipts.slice(0, 50));
    const { pending } = await admin(operator, 'stats');
    expect(pending).toBe(receipts.length);
  },
);
