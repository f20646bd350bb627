import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { splitFrames } from '../src/wire/frame-text.ts';
import { parseClientFrame } from '../src/wire/parse-frame.ts';
import { referenceFiles } from './files.ts';
import { definitionName, protocolJsonSchema } from './json-schema.ts';
import { withTables } from './tables.ts';

const ajv = new Ajv2020({ schemas: [{ ...protocolJsonSchema(), $id: 'protocol' }] });

describe('the reference of the protocol', () => {
  it.each(referenceFiles().map(({ url, text }) => [url.pathname.split('/').at(-1), url, text] as const))(
    '%s is in step with the code (npm run protocol:reference writes it)',
    (_, url, text) => {
      expect(readFileSync(url, 'utf8')).toBe(text);
    },
  );

  it('is not written into a page that has no place for it', () => {
    const page = 'a `<!-- x -->`\n<!-- x -->\nold\n<!-- /x -->\nb';
    expect(withTables(page, { x: 'new' })).toBe('a `<!-- x -->`\n<!-- x -->\n\nnew\n\n<!-- /x -->\nb');
    expect(() => withTables(page, { y: 'new' })).toThrow("no place for 'y'");
  });
});

describe('the JSON Schema', () => {
  it('accepts every golden frame, as one of its side and of its type', () => {
    const folder = new URL('../../../docs/protocol/fixtures/', import.meta.url);
    for (const file of readdirSync(folder)) {
      const side = file.startsWith('client-') ? 'Client' : 'Broker';
      for (const { header } of splitFrames(readFileSync(new URL(file, folder), 'utf8'))) {
        const frame = JSON.parse(header);
        for (const name of [`${side}Frame`, definitionName(side, frame.type)]) {
          expect(errorsOf(name, frame), `${name} ${header}`).toEqual([]);
        }
      }
    }
  });

  it('refuses what a broker refuses', () => {
    const deliver = { type: 'deliver', to: 'bob', id: 'a1', kind: 'note' };
    expect(errorsOf('ClientFrame', { ...deliver, unknown: 1 })).toEqual([]);
    for (const change of [
      { to: 'Bob' },
      { id: '' },
      { ttl_ms: 0 },
      { seq: 1 },
      { from: 1 },
      { type: 'delivered' },
      { kind: undefined },
    ]) {
      const header = JSON.stringify({ ...deliver, ...change });
      expect(parseClientFrame(header).refusal, header).toBeDefined();
      expect(errorsOf('ClientFrame', JSON.parse(header)), header).not.toEqual([]);
    }
  });
});

function errorsOf(definition: string, value: unknown): unknown[] {
  const validate = ajv.getSchema(`protocol#/$defs/${definition}`);
  return validate!(value) ? [] : (validate!.errors ?? []);
}
