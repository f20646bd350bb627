import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type InputRequiredResult, ProtocolError } from '@modelcontextprotocol/server';
import { messageOf } from '@signalbox/protocol';
import { text } from './fixture-content.ts';
import { type FixtureCall, type FixtureTool, fixtureTool } from './fixture-tool.ts';

type Questions = NonNullable<InputRequiredResult['inputRequests']>;

/** Signs what clients carry from one round to the next. */
const stateKey = randomBytes(32);

/** Ends a round with questions. */
export function ask(inputRequests: Questions, requestState?: string): InputRequiredResult {
  return { resultType: 'input_required', inputRequests, ...(requestState !== undefined && { requestState }) };
}

/** A question for a form. */
export function elicit(message: string, properties: object, required = Object.keys(properties)) {
  const requestedSchema = { type: 'object', properties, required };
  return { method: 'elicitation/create', params: { message, requestedSchema } } as Questions[string];
}

function sample(words: string, maxTokens = 100) {
  const messages = [{ role: 'user', content: text(words) }];
  return { method: 'sampling/createMessage', params: { messages, maxTokens } } as Questions[string];
}

const roots = { method: 'roots/list', params: {} } as Questions[string];
const promptOrMessage = {
  type: 'object',
  properties: { prompt: { type: 'string' }, message: { type: 'string' } },
} as const;
const name = { name: { type: 'string' } };

const answers = ({ context }: FixtureCall): Record<string, unknown> => context.mcpReq.inputResponses ?? {};

/** Asks one question, and reports the answer. */
function asksOnce(
  toolName: string,
  key: string,
  question: (call: FixtureCall) => Questions[string],
): FixtureTool {
  return fixtureTool(
    toolName,
    `Asks for '${key}'.`,
    (call) => {
      const answer = answers(call)[key];
      if (answer === undefined) return ask({ [key]: question(call) });
      return { content: [text(`${key}: ${JSON.stringify(answer)}`)] };
    },
    { inputSchema: promptOrMessage },
  );
}

/** Asks by a request, as servers of the revisions up to 2025-11-25 do. In the current revision nothing can be sent. */
function asksByRequest(toolName: string, question: (call: FixtureCall) => Questions[string]): FixtureTool {
  return fixtureTool(
    toolName,
    'Asks by a request.',
    async (call) => {
      const { method, params = {} } = question(call);
      try {
        const answer = await call.context.mcpReq.send({ method, params: { ...params } });
        return { content: [text(JSON.stringify(answer))] };
      } catch (error) {
        return { content: [text(messageOf(error))], isError: true };
      }
    },
    { inputSchema: promptOrMessage },
  );
}

/** Tools that ask their clients. Most end a round with questions. Clients of older revisions are asked on the way, by the SDK or by the face. */
export const askingTools: readonly FixtureTool[] = [
  asksOnce('test_input_required_result_elicitation', 'user_name', () => elicit('What is your name?', name)),
  asksOnce('test_input_required_result_sampling', 'capital_question', () =>
    sample('What is the capital of France?'),
  ),
  asksOnce('test_input_required_result_list_roots', 'client_roots', () => roots),
  asksOnce('test_streaming_elicitation', 'choice', () =>
    elicit('Which one?', { choice: { type: 'string' } }),
  ),
  asksByRequest('test_sampling', ({ args }) => sample(String(args.prompt))),
  asksByRequest('test_elicitation', ({ args }) =>
    elicit(String(args.message), { username: { type: 'string' }, email: { type: 'string' } }),
  ),
  asksByRequest('test_elicitation_sep1034_defaults', () =>
    elicit(
      'Fill this in',
      {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      },
      [],
    ),
  ),
  asksByRequest('test_elicitation_sep1330_enums', () => elicit('Choose', enumProperties, [])),
  fixtureTool('test_input_required_result_request_state', 'Wants its state back.', (call) => {
    if (stateOf(call) !== 'confirm') return ask({ confirm: confirmation }, signed('confirm'));
    return { content: [text('state-ok')] };
  }),
  fixtureTool('test_input_required_result_tampered_state', 'Wants its state back unharmed.', (call) => {
    if (stateOf(call) !== 'tamper') return ask({ confirm: confirmation }, signed('tamper'));
    return { content: [text('untouched')] };
  }),
  fixtureTool('test_input_required_result_multiple_inputs', 'Asks three things at once.', (call) => {
    const questions = {
      user_name: elicit('What is your name?', name),
      greeting: sample('Generate a greeting', 50),
      client_roots: roots,
    };
    const given = answers(call);
    if (Object.keys(questions).some((key) => given[key] === undefined))
      return ask(questions, signed('three'));
    return { content: [text(JSON.stringify(given))] };
  }),
  fixtureTool('test_input_required_result_multi_round', 'Asks twice, one after the other.', (call) => {
    const state = stateOf(call);
    if (state === 'first' && answers(call).step1 !== undefined) {
      const colour = elicit('Step 2: What is your favorite color?', { color: { type: 'string' } });
      return ask({ step2: colour }, signed('second'));
    }
    if (state === 'second' && answers(call).step2 !== undefined)
      return { content: [text('both steps done')] };
    return ask({ step1: elicit('Step 1: What is your name?', name) }, signed('first'));
  }),
  fixtureTool('test_input_required_result_capabilities', 'Asks only what the client can answer.', (call) => {
    const { elicitation, sampling } = call.capabilities;
    return ask(
      {
        ...(elicitation && { name: elicit('What is your name?', name) }),
        ...(sampling && { greeting: sample('Generate a greeting') }),
      },
      signed('capabilities'),
    );
  }),
  fixtureTool(
    'test_kept_answer',
    'Reads only, and says of each answer that it may be kept.',
    (call) => {
      const kept = { ttlMs: 60_000, cacheScope: 'public' };
      if (answers(call).user_name === undefined) {
        return { ...ask({ user_name: elicit('What is your name?', name) }), ...kept };
      }
      return { content: [text('hello')], ...kept };
    },
    { annotations: { readOnlyHint: true } },
  ),
  fixtureTool('test_state_only', 'Wants to be called again, and asks nothing.', (call) =>
    stateOf(call) === 'again'
      ? { content: [text('called again')] }
      : { resultType: 'input_required', requestState: signed('again') },
  ),
  fixtureTool('test_missing_capability', 'Needs a client with sampling.', (call) => {
    if (answers(call).words === undefined) return ask({ words: sample('Say something') });
    return { content: [text('said')] };
  }),
];

const confirmation = elicit('Please confirm', { ok: { type: 'boolean' } });

const options = ['option1', 'option2', 'option3'];
const titled = (title: string) =>
  ['First', 'Second', 'Third'].map((nth, i) => ({ const: `value${i + 1}`, title: `${nth} ${title}` }));
const enumProperties = {
  untitledSingle: { type: 'string', enum: options },
  titledSingle: { type: 'string', oneOf: titled('Option') },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
  titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
};

function signed(state: string): string {
  return `${state}.${createHmac('sha256', stateKey).update(state).digest('base64url')}`;
}

/** Returns the state that a client brought back; `undefined` if it brought none. Throws for a state that we did not sign. */
function stateOf({ context }: FixtureCall): string | undefined {
  const brought = context.mcpReq.requestState<string>();
  if (brought === undefined) return undefined;
  const state = brought.slice(0, brought.indexOf('.'));
  const [own, other] = [Buffer.from(signed(state)), Buffer.from(brought)];
  if (own.length === other.length && timingSafeEqual(own, other)) return state;
  throw new ProtocolError(-32602, 'the state is not as it was given', { reason: 'invalid_request_state' });
}
