import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { cleanEnv, signalboxArgv } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';
import { startEndpoint } from '../support/mcp-host/http-endpoint.ts';
import { npmServer } from '../support/mcp-host/test-servers.ts';

/** A double holds none of the first numbers. The last ones are written as JavaScript writes them. */
const numbers =
  '{"id":12345678901234567890,"deep":[0.12345678901234567890,{"e":-1e400}],"limit":1,"plain":[1,-2.5,1000]}';
const inputSchema =
  '{"type":"object","properties":{"id":{"type":"integer","maximum":18446744073709551615},"name":{"type":"string"},' +
  '"limit":{"type":"integer","default":18446744073709551615}},"required":["limit"]}';
const toolList = (...names: string[]) =>
  `{"tools":[${names.map((name) => `{"name":"${name}","inputSchema":${inputSchema}}`).join()}]}`;
const initialized = (name: string) =>
  `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"${name}","version":"1"}}`;

/** A server that reads no number: it answers a call with the text of its arguments, as text and as data. */
const stdioServer = `
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const args = method === 'tools/call' && /"arguments":(\\{.*?\\})(,"_meta"|\\}\\}?$)/.exec(line.replace(/,"jsonrpc".*/, ''))[1];
  const result = {
    initialize: ${JSON.stringify(initialized('pipe'))},
    'tools/list': ${JSON.stringify(toolList('echo', 'ask'))},
    'tools/call': '{"content":[{"type":"text","text":' + JSON.stringify(args) + '}],"structuredContent":' + args + '}',
  }[method];
  if (result) console.log('{"jsonrpc":"2.0","id":' + id + ',"result":' + result + '}');
});`;

/** The same over HTTP, which answers to `stream` in a stream and to any other tool in one body. */
function startHttpServer() {
  return startEndpoint(async (request) => {
    if (request.method !== 'POST') return new Response(null, { status: 405 });
    const text = await request.text();
    const { id, method, params } = JSON.parse(text);
    if (id === undefined) return new Response(null, { status: 202 });
    const args = /"arguments":(\{.*?\})[,}]*("jsonrpc"|"_meta"|$)/.exec(text)?.[1];
    const results: Record<string, string> = {
      initialize: initialized('http'),
      'tools/list': toolList('body', 'stream'),
      'tools/call': `{"content":[{"type":"text","text":${JSON.stringify(args)}}],"structuredContent":${args}}`,
    };
    const result = results[method];
    if (!result) return Response.json({ jsonrpc: '2.0', id, error: { code: -32601, message: 'none' } });
    const answer = `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
    return params?.name === 'stream'
      ? new Response(`event: message\ndata: ${answer}\n\n`, {
          headers: { 'content-type': 'text/event-stream' },
        })
      : new Response(answer, { headers: { 'content-type': 'application/json' } });
  });
}

const plainClient =
  '{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"text","version":"1"}}';

/** Returns a function that makes a request. It writes and reads texts, because every client in JavaScript rounds numbers. */
async function textClient(send: (message: string, id: number) => Promise<string>, client = plainClient) {
  let lastId = 0;
  const ask = (method: string, params: string): Promise<string> => {
    const id = ++lastId;
    return send(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`, id);
  };
  await ask('initialize', client);
  await send('{"jsonrpc":"2.0","method":"notifications/initialized"}', 0);
  return ask;
}

function pipeClient({ stdin, stdout }: ChildProcess, client?: string) {
  const lines = createInterface({ input: stdout! })[Symbol.asyncIterator]();
  return textClient(async (message, id) => {
    stdin!.write(`${message}\n`);
    while (id > 0) {
      const { value = '', done } = await lines.next();
      if (done || value.includes(`"id":${id}`)) return value;
    }
    return '';
  }, client);
}

function httpClient(url: string, token: string, client?: string) {
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  return textClient(async (body) => {
    const response = await fetch(url, { method: 'POST', headers, body });
    const session = response.headers.get('mcp-session-id');
    if (session !== null) headers['mcp-session-id'] = session;
    return await response.text();
  }, client);
}

test('No number is changed on its way: agents, rules, persons and servers get the same digits over pipes and HTTP, and a call with a name twice is refused.', async () => {
  await using server = await startHttpServer();
  const config = JSON.stringify({
    broker: { listen: '127.0.0.1:0', data: './state' },
    worker: { http: '127.0.0.1:0' },
    mcpServers: {
      pipe: { command: process.execPath, args: ['-e', stdioServer], prefix: false },
      http: { type: 'http', url: server.url, prefix: false },
    },
    roles: {
      worker: {
        tools: ['echo', 'ask', 'body', 'stream'],
        ask: [{ tool: 'ask', when: { id: '12345678901234567891' } }],
      },
    },
  });
  await using workspace = await startWorkspace(() => config, { face: true });
  const { env } = await workspace.agent('rosa', 'worker');
  const token = (await readFile(env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  const child = spawn(process.execPath, signalboxArgv(['worker', 'mcp']), {
    env: cleanEnv(env),
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  try {
    const clients = [await pipeClient(child), await httpClient(workspace.ready.face!.url!, token)];
    for (const ask of clients) {
      const call = (tool: string, args: string) =>
        ask('tools/call', `{"name":"${tool}","arguments":${args}}`);
      expect(await ask('tools/list', '{}')).toContain(inputSchema);
      for (const tool of ['echo', 'body', 'stream']) {
        expect(await call(tool, numbers)).toContain(`"structuredContent":${numbers}`);
      }
      expect(await call('echo', JSON.stringify(numbers))).toContain(`"structuredContent":${numbers}`);
      // What the schema changes keeps its digits, too: a default, and a number that becomes a text.
      const name = '0.1000000000000000055511151231257827';
      const [before, after] = [`{"name":${name}}`, `{"name":"${name}","limit":18446744073709551615}`];
      expect(await call('echo', before)).toContain(`"structuredContent":${after}`);
      expect(await call('echo', '{"name":12345678901234567890}')).toContain(
        '/name must be a string, is the number 12345678901234567890',
      );
      const twice = await call('echo', '{"limit":1,"deep":[{"id":1,"\\u0069d":2}]}');
      expect(twice).toContain('the call has the name \\"id\\" twice in one object');
      // The nearest double of this number is that of the rule.
      expect(await call('ask', '{"id":12345678901234567890,"limit":1}')).toContain('12345678901234567890');
    }
    const params = '{"name":"ask","arguments":{"id":1234567890123456789.1e1,"limit":1}}';
    const waiting = clients[0]!('tools/call', params);
    const approvals = async () => {
      const { stdout } = await workspace.run(['approvals', '--json']);
      return JSON.parse(stdout).approvals as { id: string; arguments: string }[];
    };
    await expect.poll(async () => (await approvals()).length).toBe(1);
    const [approval] = await approvals();
    expect(approval!.arguments).toBe('{"id":1234567890123456789.1e1,"limit":1}');
    const [shown, called, twice] = await Promise.all([
      workspace.run(['approvals', 'show', approval!.id]),
      workspace.run(['tools', 'call', 'echo', numbers, '--json'], env),
      workspace.run(['tools', 'call', 'echo', '{"limit":1,"limit":2}'], env),
    ]);
    expect(shown.stdout).toContain('"id": 1234567890123456789.1e1');
    expect(called.stdout).toContain(`"structuredContent":${numbers}`);
    expect(twice).toMatchObject({ code: 2, stderr: expect.stringContaining('has the name "limit" twice') });
    await workspace.run(['approve', approval!.id]);
    expect(await waiting).toContain('"structuredContent":{"id":1234567890123456789.1e1,"limit":1}');
  } finally {
    child.kill();
  }
});

test('What a client writes as null is absent, and one that takes only streams gets one; a request that does not fit is answered.', async () => {
  const everything = npmServer('everything', 'stdio');
  const config = JSON.stringify({
    broker: { listen: '127.0.0.1:0', data: './state' },
    worker: { http: '127.0.0.1:0' },
    mcpServers: { everything },
    roles: { worker: { tools: ['*'] } },
  });
  await using workspace = await startWorkspace(() => config, { face: true });
  const { env } = await workspace.agent('rosa', 'worker');
  const token = (await readFile(env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  const url = workspace.ready.face!.url!;
  const child = spawn(process.execPath, signalboxArgv(['worker', 'mcp']), {
    env: cleanEnv(env),
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  try {
    const nulls =
      '{"protocolVersion":"2025-11-25","capabilities":{"roots":null},"clientInfo":{"name":"n","version":"1","title":null},"_meta":null}';
    for (const ask of [await pipeClient(child, nulls), await httpClient(url, token, nulls)]) {
      const call = (more: string) => ask('tools/call', `{"name":"mcp_everything__echo",${more}}`);
      for (const params of ['null', '{"cursor":null}', '{"_meta":null}'])
        expect(await ask('tools/list', params), params).toContain('"mcp_everything__echo"');
      expect(await call('"arguments":{"message":"hi"},"_meta":{"progressToken":null},"task":null')).toContain(
        'hi',
      );
      expect(await call('"arguments":null')).toContain('message');
      expect(await ask('tools/list', '[]')).toContain('-32600');
    }
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'text/event-stream',
    };
    const initialize = (params: string) =>
      fetch(url, {
        method: 'POST',
        headers,
        body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${params}}`,
      });
    const answer = await initialize(nulls);
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    expect(answer.headers.get('mcp-session-id')).toBeTruthy();
    expect(await answer.text()).toMatch(/^event: message\ndata: \{"result":\{"protocolVersion":.*\}\n\n$/);
    const unfit = await initialize('{"protocolVersion":"2025-11-25"}');
    expect(await unfit.text()).toContain('initialize needs protocolVersion, capabilities, and clientInfo');
  } finally {
    child.kill();
  }
});
