import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfigText } from '../read-config.ts';
import { importPathText, parseImportPath } from './import-path.ts';

test('A path may name an object in its file by a JSON pointer, whose keys may hold slashes and tildes.', () => {
  const pointed = { file: '~/.claude.json', pointer: ['projects', '/home/rosa/a~b'] };
  expect(importPathText(pointed)).toBe('~/.claude.json#/projects/~1home~1rosa~1a~0b');
  expect(parseImportPath(importPathText(pointed))).toEqual(pointed);
  expect(parseImportPath('./c#/d.json').pointer).toEqual(['d.json']);
  expect(parseImportPath('./c#.json')).toEqual({ file: './c#.json', pointer: [] });
});

test('The servers of one project in a file of many are used alone, and work in the directory of the project.', () => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-import-')));
  try {
    const projects = { '/srv/shop': { mcpServers: { local: { command: './serve' } } } };
    const text = JSON.stringify({ mcpServers: { all: { command: 'a' } }, projects });
    writeFileSync(join(directory, 'client.json'), text);
    const read = (path: string) => readConfigText(`mcpConfig: "${path}"`, join(directory, 'signalbox.yaml'));
    expect(read('./client.json#/projects/~1srv~1shop').mcpServers).toEqual({
      local: expect.objectContaining({ command: '/srv/shop/serve', cwd: '/srv/shop' }),
    });
    expect(read('./client.json#/projects/~1srv~1other').warnings).toEqual([
      expect.stringContaining("holds no object under 'projects', '/srv/other'"),
    ]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
