import { expect, test } from 'vitest';
import { type Step, startScriptedModel } from './model-server.ts';

const steps: readonly Step[] = [[{ tool: 'echo', args: { message: 'hello' } }], [{ tool: 'missing' }]];
const parameters = { type: 'object', properties: { message: { type: 'string' } } };
const read = 'what was read';
const name = 'server__echo';

/** The requests of a client of each API: its tools, and the result of the call with the id `call_0_0`. */
const apis = [
  {
    path: '/v1/messages',
    tools: [{ name, input_schema: parameters }],
    result: { messages: [{ content: [{ type: 'tool_result', tool_use_id: 'call_0_0', content: read }] }] },
    call: { type: 'tool_use', id: 'call_0_0', name, input: { message: 'hello' } },
  },
  {
    path: '/v1/responses',
    tools: [{ type: 'function', name, parameters }],
    result: { input: [{ type: 'function_call_output', call_id: 'call_0_0', output: read }] },
    call: { type: 'function_call', call_id: 'call_0_0', name, arguments: '{"message":"hello"}' },
  },
  {
    path: '/v1/chat/completions',
    tools: [{ type: 'function', function: { name, parameters } }],
    result: { messages: [{ role: 'tool', tool_call_id: 'call_0_0', content: read }] },
    call: { id: 'call_0_0', function: { name, arguments: '{"message":"hello"}' } },
  },
  {
    path: '/v1beta/models/any:generateContent',
    tools: [{ functionDeclarations: [{ name, parametersJsonSchema: parameters }] }],
    result: { contents: [{ parts: [{ functionResponse: { id: 'call_0_0', response: read } }] }] },
    call: { functionCall: { id: 'call_0_0', name, args: { message: 'hello' } } },
  },
];

test.each(apis)(
  'The scripted model calls tools over $path, whole or as a stream, and notes what it is told.',
  async ({ path, tools, result, call }) => {
    await using model = await startScriptedModel(steps);
    const ask = async (body: object, at = path): Promise<string> => {
      const response = await fetch(`${model.url}${at}`, { method: 'POST', body: JSON.stringify(body) });
      return await response.text();
    };
    expect(parts(JSON.parse(await ask({ tools })))).toContainEqual(expect.objectContaining(call));
    const stream = await ask({ tools, stream: true }, path.replace(':generate', ':streamGenerate'));
    expect(stream).toContain('call_0_0');
    expect(stream).toMatch(/^(event: \S+\n)?data: \{/);
    // The second step has a tool that no server lists, so that the first result is the last.
    expect(await ask({ tools, ...result })).toContain('All is done.');
    expect([...model.tools]).toEqual([[name, { name, schema: parameters }]]);
    expect([...model.read]).toEqual([['0.0', read]]);
  },
);

test('The scripted model finds a tool with the search of its client.', async () => {
  await using model = await startScriptedModel(steps);
  const tools = [{ name: 'ToolSearch', input_schema: {} }];
  const response = await fetch(`${model.url}/v1/messages`, {
    method: 'POST',
    body: JSON.stringify({ tools }),
  });
  expect(parts(await response.json())).toContainEqual(
    expect.objectContaining({ name: 'ToolSearch', input: { query: 'echo' } }),
  );
});

/** Returns a value and all that it holds, at any depth. */
function parts(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [value];
  return [value, ...Object.values(value).flatMap(parts)];
}
