// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { dataDirectoriesIn, readPlace } from './read-place.ts';

async function placeOf(text: string): Promise<unknown> {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'signalbox-place-'));
  const file = join(directory.path, 'signalbox.yaml');
  await writeFile(file, text);
  const config = readPlace(file, { STATE: 'state' });
  const { data = '(default)' } = config?.broker ?? {};
  return config && [data.replace(`${directory.path}/`, ''), config.orchestrator.id];
}

test.each([
  ['a section with an unknown name', 'broker: { data: a }\nrole: {}', ['a', 'orchestrator']],
  [
    'mistakes in other keys of the broker',
    'broker: { data: a, listen: 7, limits: no }',
    ['a', 'orchestrator'],
  ],
  ['a misspelt key besides the directory', 'broker: { data: a, dir: b }', ['a', 'orchestrator']],
  ['a wrong orchestrator', 'broker: { data: a }\norchestrator: { id: 7 }', ['a', 'orchestrator']],
  [
    'the id of the orchestrator beside mistakes',
    'orchestrator: { id: o, x: 1 }\nbroker: { data: a }',
    ['a', 'o'],
  ],
  ['no section of the broker', 'roles: { a: { tool: [] } }', ['(default)', 'orchestrator']],
  ['a key of the broker that can be no directory', 'broker: { limit: 1 }', ['(default)', 'orchestrator']],
  ['a directory in a comment', '# broker:\n#   data: a\nrole: {}', ['(default)', 'orchestrator']],
  ['a reference', 'broker: { data: "${env:STATE}" }\nrole: {}', ['state', 'orchestrator']],
  ['an anchor elsewhere', 'roles: { a: { tool: &d a } }\nbroker: { data: *d }', ['a', 'orchestrator']],
  ['no YAML before it', 'roles: { a: [ }\n\nbroker:\n  data: a\n', ['a', 'orchestrator']],
  ['no YAML after it', 'broker:\n  data: a # here\n\nroles: [\n', ['a', 'orchestrator']],
  ['an orchestrator that is no YAML', 'broker:\n  data: a\norchestrator:\n  id: [\n', ['a', 'orchestrator']],
])('It tells where the broker is in a file with %s.', async (_, text, place) => {
  expect(await placeOf(text)).toEqual(place);
});

test.each([
  ['the section is misspelt', 'brokr: { data: a }'],
  ['the directory is misspelt', 'broker: { dta: a }'],
  ['an unknown key may name the directory', 'broker: { folder: a }'],
  ['a key of the broker stands at the top', 'broker:\ndata: a\nrole: {}'],
  ['the directory is no text', 'broker: { data: 7 }'],
  ['a variable is not set', 'broker: { data: "${env:NONE}" }'],
  ['the section is no mapping', 'broker: a'],
  ['the section is indented', 'roles:\n  a: b\n broker:\n  data: a\n'],
  ['the directory is indented otherwise', 'broker:\n  listen: x\n data: a\n'],
  ['there are two sections', 'broker:\n  data: a\nbroker:\n  data: b\n'],
  ['there are two sections, one of them in quotes', 'broker:\n  data: a\n"broker":\n  data: b\n'],
  ['there are two sections, one of them with an anchor', 'broker:\n  data: a\n&x broker:\n  data: b\n'],
  ['there are two sections, one of them as a complex key', 'broker:\n  data: a\n? broker\n: data: b\n'],
  ['there are two sections, one of them indented', ' broker:\n   data: a\nbroker:\n  data: b\n'],
  ['a section stands in a text', 'a: "x\nbroker:\n  data: a\n"\n"broker":\n  data: b\n'],
  ['a conflict hides the directory', 'broker:\n  listen: 127.0.0.1:1\n<<<<<<< a\n  data: a\n=======\n'],
  ['a conflict names another directory', 'broker:\n  data: a\n=======\n  data: b\n>>>>>>> b\nroles: {}\n'],
  ['a list hides the directory', 'broker:\n  listen: 127.0.0.1:1\n- x\n  data: a\n'],
  ['the section lies in another one', 'servers:\n  a: { command: x }\n  broker:\n    data: a\n'],
  ['the section is merged', 'base: &b { broker: { data: a } }\n<<: *b\n'],
  ['JSON is cut', '{ "broker": { "data": "a" }, "roles": {'],
  ['the text is a list', '- broker: { data: a }'],
])('It does not guess if %s.', async (_, text) => {
  expect(await placeOf(text)).toBeUndefined();
});

test('The directories that a broken file names are found.', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'signalbox-place-'));
  const file = join(directory.path, 'signalbox.yaml');
  await writeFile(file, 'brokr: { data: a, metadata: x }\n"data": "b c" [\n');
  expect(dataDirectoriesIn(file)).toEqual([join(directory.path, 'a'), join(directory.path, 'b c')]);
  expect(dataDirectoriesIn(join(directory.path, 'gone'))).toEqual([]);
});
