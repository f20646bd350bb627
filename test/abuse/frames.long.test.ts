import { connectWire, startTestBroker } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { connect } from '../support/abuse/frames.ts';

describe('three hundred connections', () => {
  it('are listed page by page, each once, in order, and again where the cursor says', async () => {
    await using broker = await startTestBroker({
      durability: 'process',
      limits: { connections: { perAgent: 300 } },
    });
    const token = await broker.token('crowd');
    await using lister = await connect(broker, 'lister');
    const crowd = await Promise.all(
      Array.from({ length: 300 }, (_, i) => connectWire(broker.url, { agent: `crowd#s${i}`, token })),
    );
    const addresses: string[] = [];
    let cursor: unknown;
    let pages = 0;
    do {
      lister.send({ type: 'list_connected', request_id: 'l', ...(cursor !== undefined && { cursor }) });
      const page = await lister.next('connected');
      addresses.push(...(page.agents as { address: string }[]).map(({ address }) => address));
      cursor = page.cursor;
      pages++;
    } while (cursor !== undefined);
    const expected = [...crowd.map((_, i) => `crowd#s${i}`), 'lister'].sort();
    expect(pages).toBe(2);
    expect([...addresses].sort()).toEqual(expected);
    for (const odd of ['', '\u{10ffff}', '__proto__']) {
      lister.send({ type: 'list_connected', request_id: 'odd', cursor: odd });
      expect((await lister.next('connected')).request_id).toBe('odd');
    }
    await Promise.all(crowd.map((client) => client[Symbol.asyncDispose]()));
  });
});
