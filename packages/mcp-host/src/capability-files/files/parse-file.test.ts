import { expect, it } from 'vitest';
import { compileCapability } from '../document/compile-capability.ts';
import { parseCapabilityFile } from './parse-file.ts';

const good = `name: good
providers:
  primary:
    service: rest
    config:
      base_url: https://api.example/v1
`;

/** All that is wrong with a file, as `line:column path: message`. */
function problemsOf(text: string): string[] {
  const { documents, problems } = parseCapabilityFile(text);
  const compiled = documents.flatMap(({ document, problemAt }) => {
    const made = compileCapability(document, { env: {}, directory: '/' }, () => 0);
    return 'problems' in made ? made.problems.map(({ path, message }) => problemAt(path, message)) : [];
  });
  return [...problems, ...compiled].map(
    ({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`,
  );
}

it('reads one tool per document; comments and empty documents are none', () => {
  const { documents, problems } = parseCapabilityFile(
    `# nothing here\n---\n${good}---\n${good}---\n# the end\n`,
  );
  expect([documents.map(({ document }) => document.name), problems]).toEqual([['good', 'good'], []]);
  expect(parseCapabilityFile('')).toEqual({ documents: [], problems: [] });
});

it.each([
  [
    'a key nobody knows',
    good.replace('base_url', 'base_ulr'),
    [
      '5:5 providers.primary.config.base_url: is missing',
      "6:7 providers.primary.config.base_ulr: unknown key 'base_ulr' (did you mean 'base_url'?)",
    ],
  ],
  [
    'a key like no other',
    `${good}colour: red\n`,
    [
      "7:1 colour: unknown key 'colour'; known here: name, title, description, schema, providers, auth, cache, metadata",
    ],
  ],
  ['a missing part', 'name: x\n', ['1:1 providers: is missing']],
  ['a wrong type', good.replace('name: good', 'name: 5'), ['1:1 name: must be a text (put it in quotes)']],
  [
    'a name of an MCP tool',
    good.replace('good', 'MCP_x'),
    ["1:1 name: must not begin with 'mcp_', which is for the tools of MCP servers"],
  ],
  [
    'a name that is none',
    good.replace('good', 'not good'),
    ['1:1 name: must be 1 to 47 letters, digits, _ or -'],
  ],
  [
    'an unknown service',
    good.replace('rest', 'soap'),
    ['4:5 providers.primary.service: must be one of: rest, graphql, jsonrpc'],
  ],
  [
    'a key of another service',
    good.replace('rest', 'jsonrpc').replace('base_url', 'method: x\n      body: 1\n      base_url'),
    [expect.stringMatching(/^7:7 providers\.primary\.config\.body: unknown key 'body'/)],
  ],
  [
    'a placeholder in the host',
    good.replace('api.example', '{host}.example'),
    ['6:7 providers.primary.config.base_url: cannot hold placeholders; put them into path or params'],
  ],
  [
    'a password in the URL',
    good.replace('api.example', 'me:hunter2@api.example'),
    ['6:7 providers.primary.config.base_url: must not hold a user name or password; use auth'],
  ],
  [
    'a URL of another scheme',
    good.replace('https:', 'file:'),
    ['6:7 providers.primary.config.base_url: must be an http:// or https:// URL'],
  ],
  [
    'a placeholder without quotes',
    `${good}      params: { q: {query} }\n`,
    ['7:20 (syntax): {query} without quotes is a mapping in YAML; write "{query}"'],
  ],
  [
    'a placeholder that names no input',
    `${good}      path: /{item}\n`,
    ['7:7 providers.primary.config.path: {item} is no property of schema.input'],
  ],
  [
    'a path with a query',
    `${good}      path: /x?y=1\n`,
    ["7:7 providers.primary.config.path: must begin with '/' and hold no query; use params"],
  ],
  [
    'a body of a GET',
    `${good}      body: { a: 1 }\n`,
    ['7:7 providers.primary.config.body: a GET request has no body; use params, or another method'],
  ],
  [
    'a header of the connection',
    `${good}      headers: { Host: evil.example }\n`,
    ['7:18 providers.primary.config.headers.Host: is set by the connection itself; leave it out'],
  ],
  [
    'a reference outside of auth',
    `${good}      headers: { X-Key: "env:TOKEN" }\n`,
    [
      '7:18 providers.primary.config.headers.X-Key: secrets are read only where auth.key names them; use auth',
    ],
  ],
  [
    'a path into nothing',
    `${good}      response_path: "a..b"\n`,
    [
      '7:7 providers.primary.config.response_path: must be a path as items[0].name, or a JSON pointer as /items/0/name',
    ],
  ],
  [
    'a cache of what changes things',
    `${good}cache: { ttl: 5 }\n`,
    ['7:1 cache: only a tool that changes nothing may be cached; set metadata.read_only: true'],
  ],
  [
    'a contradiction',
    `${good}metadata: { read_only: true, destructive: true }\n`,
    ['7:30 metadata.destructive: contradicts read_only; keep one of the two'],
  ],
  [
    'an input that is no object',
    `${good}schema: { input: { type: array } }\n`,
    ["7:20 schema.input.type: must be 'object'"],
  ],
  [
    'an alias',
    `x: &a 1\n${good}y: *a\n`,
    ['8:4 (syntax): aliases are not read here; write out what this one means'],
  ],
  ['a key twice', `${good}name: again\n`, ['7:1 (syntax): this key is there twice']],
  ['a prototype', `${good}__proto__: {}\n`, ["7:1 (syntax): '__proto__' cannot be a name"]],
])('%s is an error with its place', (_, text, expected) => {
  expect(problemsOf(text)).toEqual(expected);
});

it('a text body around a placeholder is refused, and so is a header that auth sets', () => {
  const text = `name: x
schema: { input: { type: object, properties: { q: { type: string } }, required: [q] } }
auth: { type: header, header: x-key, key: env:NOT_SET }
providers:
  primary:
    service: rest
    config:
      base_url: https://api.example
      method: POST
      headers: { X-Key: abc }
      body: '{{"q": "{q}"}}'
`;
  expect(problemsOf(text)).toEqual([
    '10:18 providers.primary.config.headers.X-Key: is what auth sets; keep one of the two',
    expect.stringMatching(
      /^11:7 providers\.primary\.config\.body: a text around a \{placeholder\} could be broken out of/,
    ),
    '3:38 auth.key: env:NOT_SET: the environment variable is not set',
  ]);
});
