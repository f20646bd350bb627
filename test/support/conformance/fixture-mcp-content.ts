import { ProtocolError, type Server } from '@modelcontextprotocol/server';
import { embedded, image, text } from './fixture-content.ts';

/** The capabilities that the fixture declares beside tools. */
export const mcpContentCapabilities = {
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
};

const user = (content: object) => ({ role: 'user', content }) as never;
const argument = (name: string) => ({ name, required: true });

const prompts = [
  { name: 'test_simple_prompt', description: 'Says something simple.' },
  {
    name: 'test_prompt_with_arguments',
    description: 'Says two words.',
    arguments: [argument('arg1'), argument('arg2')],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'Embeds a resource.',
    arguments: [argument('resourceUri')],
  },
  {
    name: 'test_prompt_with_image',
    description: 'Shows a picture.',
    title: 'A picture',
    _meta: { 'vendor/kind': 'picture' },
  },
  { name: 'test_input_required_result_prompt', description: 'Asks for its context.' },
];

const messagesOf: Record<string, (args: Record<string, string>) => never[]> = {
  test_simple_prompt: () => [user(text('This is a simple prompt for testing.'))],
  test_prompt_with_arguments: ({ arg1, arg2 }) => [user(text(`arg1='${arg1}', arg2='${arg2}'`))],
  test_prompt_with_embedded_resource: ({ resourceUri }) => [
    user(embedded(resourceUri!, 'text/plain', 'Embedded resource content for testing.')),
    user(text('Please process the embedded resource above.')),
  ],
  test_prompt_with_image: () => [user(image), user(text('Please analyze the image above.'))],
  test_input_required_result_prompt: () => [user(text('Thank you.'))],
};

const question = {
  user_context: {
    method: 'elicitation/create',
    params: {
      message: 'What context should the prompt use?',
      requestedSchema: {
        type: 'object',
        properties: { context: { type: 'string' } },
        required: ['context'],
      },
    },
  },
} as const;

const resources = [
  { uri: 'test://static-text', name: 'Static text', mimeType: 'text/plain', size: 12 },
  { uri: 'test://static-binary', name: 'Static binary', mimeType: 'image/png' },
  { uri: 'test://watched-resource', name: 'Watched', mimeType: 'text/plain' },
];

function contentsOf(uri: string) {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id !== undefined) {
    const data = { id, templateTest: true, data: `Data for ID: ${id}` };
    return { uri, mimeType: 'application/json', text: JSON.stringify(data) };
  }
  switch (uri) {
    case 'test://static-text':
    case 'test://watched-resource':
      return { uri, mimeType: 'text/plain', text: `The text of ${uri}.` };
    case 'test://static-binary':
      return { uri, mimeType: 'image/png', blob: image.data };
    default:
      throw new ProtocolError(-32602, `Resource not found: ${uri}`, { uri });
  }
}

/** Makes a server of the fixture offer prompts, one of which changes, and resources, a template and completions. */
export function addMcpContent(server: Server, promptChanges: () => number): void {
  server.setRequestHandler('prompts/list', () => ({
    prompts: [...prompts, { name: 'test_changing_prompt', description: `Changed ${promptChanges()} times.` }],
  }));
  server.setRequestHandler('prompts/get', ({ params }, { mcpReq }) => {
    const messages = messagesOf[params.name];
    if (!messages) throw new ProtocolError(-32602, `there is no prompt '${params.name}'`);
    const asks = params.name === 'test_input_required_result_prompt' && mcpReq.envelope !== undefined;
    if (asks && !mcpReq.inputResponses)
      return { resultType: 'input_required', inputRequests: question } as never;
    return { messages: messages(params.arguments ?? {}) };
  });
  server.setRequestHandler('resources/list', () => ({ resources }));
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'Template' }],
  }));
  server.setRequestHandler('resources/read', ({ params }) => ({ contents: [contentsOf(params.uri)] }));
  server.setRequestHandler('resources/subscribe', () => ({}));
  server.setRequestHandler('resources/unsubscribe', () => ({}));
  server.setRequestHandler('completion/complete', ({ params }) => {
    const all = ['paris', 'park', 'party'];
    const values = all.filter((value) => value.startsWith(params.argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
}
