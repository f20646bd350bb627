import { ProtocolError } from '@modelcontextprotocol/server';
import { audio, embedded, image, text } from './fixture-content.ts';
import { type FixtureTool, fixtureTool } from './fixture-tool.ts';

/** A schema of JSON Schema 2020-12 with keywords that readers of older drafts misread. */
const schema2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object' as const,
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: the keyword is JSON Schema's
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

const readOnly = { annotations: { readOnlyHint: true } };

/** A tool that wants one of its arguments repeated in a header. */
export const headerTool = fixtureTool(
  'test_repeated_argument',
  'Wants its argument in a header too.',
  ({ args }) => ({ content: [text(`The region is ${args.region}.`)] }),
  {
    inputSchema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
      required: ['region'],
    },
  },
);

/** Tools that answer at once or after some progress, and ask nobody. */
export const plainTools: readonly FixtureTool[] = [
  fixtureTool(
    'test_simple_text',
    'One line of text.',
    () => ({ content: [text('This is a simple text response for testing.')] }),
    { title: 'Simple text', icons: [{ src: 'https://icons.test/a.png', sizes: ['48x48'] }], ...readOnly },
  ),
  fixtureTool('test_image_content', 'One image.', () => ({ content: [image] }), readOnly),
  fixtureTool('test_audio_content', 'One sound.', () => ({ content: [audio] }), readOnly),
  fixtureTool('test_embedded_resource', 'One resource inside the answer.', () => ({
    content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  })),
  fixtureTool('test_multiple_content_types', 'Text, image and resource.', () => ({
    content: [
      text('Multiple content types test:'),
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  })),
  fixtureTool(
    'test_rich_result',
    'Everything that a result can carry.',
    ({ args }) => ({
      content: [
        {
          ...text('said'),
          annotations: { audience: ['user'], priority: 0.5 },
          _meta: { 'fixture/block': 1 },
        },
        { type: 'resource_link', uri: 'test://linked', name: 'linked', mimeType: 'text/plain', size: 3 },
        { type: 'resource', resource: { uri: 'test://bytes', blob: 'AAEC/w==', _meta: { bytes: 4 } } },
      ],
      structuredContent: { echoed: args.value ?? null, list: [1, { deep: true }] },
      _meta: { 'fixture/trace': ['a', { b: 1 }] },
      'x-fixture': { kept: true },
    }),
    {
      inputSchema: { type: 'object', properties: { value: { type: ['string', 'number'] } } },
      outputSchema: { type: 'object', required: ['list'], properties: { list: { type: 'array' } } },
      annotations: { readOnlyHint: true, openWorldHint: false, title: 'Rich' },
      _meta: { 'fixture/tool': { shown: 'yes' } },
    },
  ),
  fixtureTool('test_data_alone', 'Data without content.', ({ args }) => ({
    content: [],
    structuredContent: { celsius: 21 },
    isError: args.fails === true,
  })),
  fixtureTool('test_error_handling', 'Fails, as tools do.', () => ({
    content: [text('This tool intentionally returns an error for testing')],
    isError: true,
  })),
  fixtureTool('test_rpc_error', 'Fails, as protocols do.', () => {
    throw new ProtocolError(4711, 'the fixture refuses', { reason: 'asked to', depth: { list: [1, null] } });
  }),
  fixtureTool('test_tool_with_progress', 'Reports its progress.', async ({ context }) => {
    const token = context.mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (token === undefined) continue;
      const params = { progressToken: token, progress, total: 100 };
      await context.mcpReq.notify({ method: 'notifications/progress', params });
    }
    return { content: [text('progress was made')] };
  }),
  fixtureTool(
    'test_reconnection',
    'Closes the stream of its call before it answers.',
    async ({ context }) => {
      // Without anything to tell before it, an answer through us is no stream.
      await context.mcpReq.log('info', 'The stream will be closed.');
      context.http?.closeSSE?.();
      return { content: [text('The client has come back.')] };
    },
  ),
  headerTool,
  fixtureTool('test_tool_with_logging', 'Writes to the log.', logging),
  fixtureTool('test_logging_tool', 'Writes to the log, for those who want it.', logging),
  fixtureTool('test_trigger_prompt_change', 'Changes the list of prompts.', ({ changePrompts }) => {
    changePrompts();
    return { content: [text('changed')] };
  }),
  fixtureTool('test_change_resource', 'Changes a resource.', ({ args, changeResource }) => {
    changeResource(String(args.uri));
    return { content: [text('changed')] };
  }),
  fixtureTool('test_trigger_tool_change', 'Changes the list of tools.', ({ changeTools }) => {
    changeTools();
    return { content: [text('changed')] };
  }),
  fixtureTool(
    'json_schema_2020_12_tool',
    'Takes what JSON Schema 2020-12 describes.',
    ({ args }) => ({
      content: [text(JSON.stringify(args))],
    }),
    { inputSchema: schema2020 },
  ),
];

async function logging({ context }: Parameters<FixtureTool['run']>[0]) {
  for (const words of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
    await context.mcpReq.log('info', words);
  }
  return { content: [text('logged')] };
}
