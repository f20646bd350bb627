type Json = Record<string, unknown>;

/** A tool as a model is told of it. */
export interface ListedTool {
  name: string;
  /** A group of tools that has a name of its own. */
  namespace?: string;
  schema: unknown;
}

/** A call that the model makes. */
export interface ModelCall {
  id: string;
  name: string;
  namespace?: string;
  args: Json;
}

/** One request to a model over any of the APIs. */
export interface ModelRequest {
  tools: ListedTool[];
  /** The results of calls that were read, by their ids. */
  results: Map<string, unknown>;
  isStream: boolean;
}

/** The API of a model: how its requests are read, and how its answers are written. */
export interface Dialect {
  path: RegExp;
  read(body: Json, path: string): ModelRequest;
  /** Returns the whole answer, and the events of a stream with the same content. */
  answer(
    calls: readonly ModelCall[],
    text: string,
  ): { whole: Json; events: [name: string, data: Json | string][] };
}

const usage = { input_tokens: 10, output_tokens: 10 };

const anthropic: Dialect = {
  path: /\/v1\/messages$/,
  read: ({ tools = [], messages = [], stream }) => ({
    isStream: stream === true,
    tools: (tools as Json[]).map(({ name, input_schema }) => ({ name: String(name), schema: input_schema })),
    results: resultsOf(
      (messages as Json[])
        .flatMap(({ content }) => (Array.isArray(content) ? content : []))
        .filter(({ type }) => type === 'tool_result')
        .map(({ tool_use_id, content, is_error }) => [
          tool_use_id,
          is_error ? { is_error, content } : content,
        ]),
    ),
  }),
  answer(calls, text) {
    const content = [
      ...(text ? [{ type: 'text', text }] : []),
      ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
    ] as Json[];
    const stop = { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null };
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', usage };
    const blocks = content.flatMap((block, index): [string, Json][] => {
      const isText = block.type === 'text';
      const delta = isText
        ? { type: 'text_delta', text: block.text }
        : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
      const empty = isText ? { ...block, text: '' } : { ...block, input: {} };
      return [
        ['content_block_start', { index, content_block: empty }],
        ['content_block_delta', { index, delta }],
        ['content_block_stop', { index }],
      ];
    });
    const events: [string, Json][] = [
      ['message_start', { message: { ...message, content: [], stop_reason: null, stop_sequence: null } }],
      ...blocks,
      ['message_delta', { delta: stop, usage: { output_tokens: 10 } }],
      ['message_stop', {}],
    ];
    return {
      whole: { ...message, ...stop, content },
      events: events.map(([name, data]) => [name, { type: name, ...data }]),
    };
  },
};

const responses: Dialect = {
  path: /\/responses$/,
  read: ({ tools = [], input = [], stream }) => ({
    isStream: stream === true,
    tools: [...(tools as Json[]), ...foundTools(input)].flatMap(({ type, name, parameters, tools: inner }) =>
      type === 'namespace'
        ? (inner as Json[]).map((one) => ({
            name: String(one.name),
            namespace: String(name),
            schema: one.parameters,
          }))
        : [{ name: String(name ?? type), schema: parameters }],
    ),
    results: resultsOf(
      (Array.isArray(input) ? (input as Json[]) : [])
        .filter(({ type }) => type === 'function_call_output' || type === 'tool_search_output')
        .map(({ call_id, output, tools: found }) => [call_id, output ?? found]),
    ),
  }),
  answer(calls, text) {
    const message = {
      type: 'message',
      role: 'assistant',
      id: 'msg_1',
      content: [{ type: 'output_text', text }],
    };
    const output = [
      ...(text ? [message] : []),
      ...calls.map(({ id, name, namespace, args }) =>
        name === 'tool_search'
          ? { type: 'tool_search_call', call_id: id, execution: 'client', arguments: args }
          : {
              type: 'function_call',
              call_id: id,
              name,
              ...(namespace && { namespace }),
              arguments: JSON.stringify(args),
            },
      ),
    ];
    const whole = {
      id: 'resp_1',
      status: 'completed',
      output,
      usage: { ...usage, total_tokens: 20, input_tokens_details: null, output_tokens_details: null },
    };
    const items = output.map((item, index): [string, Json] => [
      'response.output_item.done',
      { output_index: index, item },
    ]);
    const events: [string, Json][] = [
      ['response.created', { response: { id: 'resp_1' } }],
      ...items,
      ['response.completed', { response: whole }],
    ];
    return { whole, events: events.map(([name, data]) => [name, { type: name, ...data }]) };
  },
};

const chat: Dialect = {
  path: /\/chat\/completions$/,
  read: ({ tools = [], messages = [], stream }) => ({
    isStream: stream === true,
    tools: (tools as { function: Json }[]).map(({ function: { name, parameters } }) => ({
      name: String(name),
      schema: parameters,
    })),
    results: resultsOf(
      (messages as Json[])
        .filter(({ role }) => role === 'tool')
        .map(({ tool_call_id, content }) => [tool_call_id, content]),
    ),
  }),
  answer(calls, text) {
    const tool_calls = calls.map(({ id, name, args }, index) => ({
      index,
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    }));
    const message = {
      role: 'assistant',
      content: text || null,
      ...(calls.length > 0 && { tool_calls }),
    };
    const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop';
    const counted = { usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 } };
    const about = { id: 'chat_1', created: 1, model: 'scripted' };
    const chunk = (delta: Json, end: string | null): Json => ({
      ...about,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: end }],
      ...(end && counted),
    });
    return {
      whole: {
        ...about,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason }],
        ...counted,
      },
      events: [
        ['', chunk(message, null)],
        ['', chunk({}, finish_reason)],
        ['', '[DONE]'],
      ],
    };
  },
};

const gemini: Dialect = {
  path: /:(streamGenerateContent|generateContent)$/,
  read: ({ tools = [], contents = [] }, path) => ({
    isStream: path.endsWith(':streamGenerateContent'),
    tools: (tools as { functionDeclarations?: Json[] }[])
      .flatMap(({ functionDeclarations = [] }) => functionDeclarations)
      .map(({ name, parametersJsonSchema, parameters }) => ({
        name: String(name),
        schema: parametersJsonSchema ?? parameters,
      })),
    results: resultsOf(
      (contents as { parts?: Json[] }[])
        .flatMap(({ parts = [] }) => parts)
        .flatMap(({ functionResponse }) => {
          const { id, response, parts } = (functionResponse ?? {}) as Json;
          return functionResponse ? [[id, parts ? { response, parts } : response]] : [];
        }),
    ),
  }),
  answer(calls, text) {
    const parts = [
      ...(text ? [{ text }] : []),
      ...calls.map(({ id, name, args }) => ({ functionCall: { id, name, args } })),
    ];
    const whole = {
      candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 },
    };
    return { whole, events: [['', whole]] };
  },
};

/** The APIs that agent CLIs ask their models over: of Anthropic, of OpenAI (two) and of Google. */
export const dialects: readonly Dialect[] = [anthropic, responses, chat, gemini];

function resultsOf(pairs: unknown[][]): Map<string, unknown> {
  return new Map(pairs.map(([id, read]) => [String(id), read]));
}

/** Codex puts tools that a search found into the conversation. */
function foundTools(input: unknown): Json[] {
  return (Array.isArray(input) ? (input as Json[]) : [])
    .filter(({ type }) => type === 'tool_search_output')
    .flatMap(({ tools }) => (tools as Json[] | undefined) ?? []);
}
